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
            return cut(Self.singleLine(form(String(decoding: data, as: UTF8.self))), to: limit)
        }
        guard type.hasPrefix("text/") || type.contains("xml"), let text = String(validating: data, as: UTF8.self) else {
            return "\(data.count) bytes\(type.isEmpty ? "" : " of \(Self.singleLine(type))")"
        }
        return cut(text, to: limit)
    }

    private func form(_ text: String) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false)
            .map { piece in
                guard let equals = piece.firstIndex(of: "=") else { return String(piece) }
                let name = PercentEncoding.decode(piece[..<equals])
                return hidesBodyField(name) ? "\(piece[...equals])\(Self.placeholder)" : String(piece)
            }
            .joined(separator: "&")
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
