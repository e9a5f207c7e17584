#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Redaction {
    /// A body as text for a log: JSON and forms with hidden fields replaced, other text as it is, anything else as its
    /// length; never more than a number of bytes.
    func text(for data: Data, contentType: String?, limit: Int) -> String {
        let type = (contentType ?? "").lowercased()
        if data.isEmpty { return "empty" }
        // Structured text is parsed whole or not shown: half a document could end in the middle of a secret's name.
        let parsingLimit = max(limit, 1 << 20)
        if type.contains("json") {
            guard data.count <= parsingLimit, let json = try? JSONDecoder().decode(JSONValue.self, from: data) else {
                return "\(data.count) bytes of \(Self.singleLine(type))"
            }
            return cut(json.text(hiding: hidesBodyField), to: limit)
        }
        if type.hasPrefix("application/x-www-form-urlencoded") {
            guard data.count <= parsingLimit else { return "\(data.count) bytes of a form" }
            let form = pairs(String(decoding: data, as: UTF8.self)[...], hiding: hidesBodyField)
            return cut(Self.singleLine(form), to: limit)
        }
        guard type.hasPrefix("text/") || type.contains("xml"), let text = String(validating: data, as: UTF8.self) else {
            return "\(data.count) bytes\(type.isEmpty ? "" : " of \(Self.singleLine(type))")"
        }
        return cut(text, to: limit)
    }

    /// A body that can still be sent: as it is where nothing in it is hidden, else with the hidden fields of JSON and forms replaced.
    ///
    /// Returns nil for JSON that cannot be read, since nobody knows what is in it.
    func body(_ data: Data, contentType: String?) -> Data? {
        let type = (contentType ?? "").lowercased()
        if type.contains("json") {
            guard let json = try? JSONDecoder().decode(JSONValue.self, from: data) else { return nil }
            return json.hasName(hidesBodyField) ? Data(json.text(hiding: hidesBodyField).utf8) : data
        }
        if type.hasPrefix("application/x-www-form-urlencoded") {
            return Data(pairs(String(decoding: data, as: UTF8.self)[...], hiding: hidesBodyField).utf8)
        }
        return data
    }

    private func cut(_ text: String, to limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        return "\(String(decoding: text.utf8.prefix(limit), as: UTF8.self))… (\(text.utf8.count) bytes)"
    }
}

/// JSON of any shape, to be written down again with some of its fields hidden.
private enum JSONValue: Decodable {
    case null
    case bool(Bool)
    case number(Decimal)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode([String: JSONValue].self) {
            self = .object(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else {
            self = .number(try container.decode(Decimal.self))
        }
    }

    /// Whether a name for which this holds is in it, at any depth.
    func hasName(_ isHidden: (String) -> Bool) -> Bool {
        switch self {
        case .object(let fields): fields.contains { isHidden($0.key) || $0.value.hasName(isHidden) }
        case .array(let elements): elements.contains { $0.hasName(isHidden) }
        case .null, .bool, .number, .string: false
        }
    }

    func text(hiding isHidden: (String) -> Bool) -> String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let value): "\(value)"
        case .string(let value): Self.quoted(value)
        case .array(let values): "[\(values.map { $0.text(hiding: isHidden) }.joined(separator: ","))]"
        case .object(let fields):
            "{"
                + fields.sorted { $0.key < $1.key }
                .map { name, value in
                    let text = isHidden(name) ? Self.quoted(Redaction.placeholder) : value.text(hiding: isHidden)
                    return "\(Self.quoted(name)):\(text)"
                }
                .joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            case _ where scalar.value < 32: "\u{FFFD}"
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }
}
