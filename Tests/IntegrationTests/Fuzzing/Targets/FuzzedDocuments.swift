import Foundation

@testable import NetworkingCore
@testable import NetworkingMocking

extension FuzzTarget {
    /// JSON documents.
    static let documents = [
        FuzzTarget(
            "json",
            of: "NetworkingCore/Text/JSONTokenizer.swift",
            "NetworkingMocking/Matching/JSONParser.swift",
            "NetworkingCore/Redaction/JSONRedactor.swift"
        ) { bytes in
            let fault = JSONTokenizer.fault(in: bytes)
            try require(fault.map { 0...bytes.count ~= $0 } ?? true, "the fault is outside of the document")
            let isText = String(validating: bytes, as: UTF8.self) != nil
            let document = JSONDocument(Data(bytes))
            try require(document == nil || fault == nil && isText, "a document with a fault is read")
            let redacted = JSONRedactor.redact(bytes, isRedacted: { $0 == "secret" })
            try require(fault != nil || !isText || redacted != nil, "a valid document is not redacted")
            if let redacted {
                try require(fault == nil, "a document with a fault is redacted")
                try require(JSONTokenizer.fault(in: Array(redacted.text.utf8)) == nil, "the redaction is no JSON")
                let again = JSONRedactor.redact(Array(redacted.text.utf8), isRedacted: { $0 == "secret" })
                try requireEqual(redacted.text, again?.text ?? "", "redacting twice changes the document")
            }
            // Foundation guesses other encodings from NUL bytes, and drops byte order marks, also from strings.
            guard isText, !bytes.contains(0), bytes.firstRange(of: [0xEF, 0xBB, 0xBF]) == nil else { return }
            let options: JSONSerialization.ReadingOptions = .fragmentsAllowed
            guard let object = try? JSONSerialization.jsonObject(with: Data(bytes), options: options) else {
                // Foundation refuses large numbers, unpaired surrogates and depth.
                let isPlain = !bytes.contains { DecimalDigits.contains($0) || $0 == UInt8(ascii: "\\") }
                try require(fault != nil || !isPlain || document == nil, "Foundation refuses the document")
                return
            }
            if let fault {
                // On Linux, Foundation allows a comma after the last element or member.
                let isBracket = fault < bytes.count && "]}".utf8.contains(bytes[fault])
                let before = bytes[..<fault].last { ![0x09, 0x0A, 0x0D, 0x20].contains($0) }
                try require(
                    isBracket && before == UInt8(ascii: ","),
                    "Foundation reads a document with a fault at \(fault)"
                )
                return
            }
            try require(document?.equals(object) ?? true, "Foundation reads another document")
        },
        FuzzTarget("problem-details", of: "NetworkingCore/Errors/ProblemDetails.swift") { bytes in
            guard let problem = try? ProblemDetails(json: Data(bytes)) else { return }
            try require(problem.status.map { 100...599 ~= $0 } ?? true, "the status is no status")
            try require(bytes.count <= ProblemDetails.maximumBytes, "the document is too long")
            try require(problem.description.utf8.count <= 4_096, "the description is long")
            guard let members = try? problem.members(as: StandardTexts.self) else { return }
            try requireEqual(members.title.text, problem.title, "JSONDecoder reads another title")
            try requireEqual(members.detail.text, problem.detail, "JSONDecoder reads another detail")
            try requireEqual(members.type.text ?? "about:blank", problem.type, "JSONDecoder reads another type")
        },
    ]
}

/// The standard members as `JSONDecoder` reads them.
private struct StandardTexts: Decodable {
    struct Text: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            text = try? decoder.singleValueContainer().decode(String.self)
        }
    }

    let title, detail, type: Text

    private enum CodingKeys: String, CodingKey {
        case title, detail, type
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) throws -> Text {
            try container.decodeIfPresent(Text.self, forKey: key) ?? Text(text: nil)
        }
        (title, detail, type) = (try text(.title), try text(.detail), try text(.type))
    }
}

extension StandardTexts.Text {
    fileprivate init(text: String?) {
        self.text = text
    }
}

extension JSONDocument {
    /// Whether Foundation's object has the same strings, literals and containers; numbers are not compared.
    fileprivate func equals(_ object: Any) -> Bool {
        switch self {
        case .null: object is NSNull
        case .boolean(let value): (object as? Bool) == value
        case .number: object is NSNumber
        case .string(let text): (object as? String).map { $0.utf8.elementsEqual(text.utf8) } ?? false
        case .array(let elements):
            (object as? [Any]).map { $0.count == elements.count && zip(elements, $0).allSatisfy { $0.equals($1) } }
                ?? false
        // Of members with the same name, Foundation reads another one, and it compares names by characters.
        case .object: object is [String: Any]
        }
    }
}
