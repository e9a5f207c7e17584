import Foundation
import TestSupport
import Testing

@testable import NetworkingCore

/// The parsing tests of structured-field-tests (httpwg), for RFC 9651.
@Suite(.timeLimit(.minutes(20)))
struct StructuredFieldSuiteTests {
    @Test(.requires(.publicSuites)) func fieldsAreReadAsTheSuiteRequires() throws {
        let cases = try PublicSuite.structuredFields.cases().filter { $0["kind"] as? String == "parse" }
        try #require(cases.count > 1_000)
        var differences: [String: String] = [:]
        for example in cases {
            let lines = try #require(example["raw"] as? [String])
            let field = lines.joined(separator: ", ")
            let result = Self.result(of: field, as: example["header_type"] as? String)
            let isRight: Bool
            if let result {
                isRight = try example["must_fail"] == nil && result == Self.expected(of: example)
            } else {
                isRight = example["must_fail"] != nil || example["can_fail"] != nil
            }
            guard !isRight else { continue }
            let name = "\(example["file"] ?? ""): \(example["name"] ?? "")"
            differences[name] = "\(field.debugDescription) is read as \(String(describing: result))"
        }
        KnownDifferences([:]).expect(differences)
    }

    /// A whole field.
    private enum Field: Equatable {
        case item(StructuredItem)
        case list([StructuredItem])
        case dictionary([String: StructuredItem])
    }

    private static func result(of field: String, as type: String?) -> Field? {
        switch type {
        case "item": StructuredItem.item(field).map { .item($0) }
        case "list": StructuredItem.list(field).map { .list($0) }
        default: StructuredItem.dictionary(field).map { .dictionary($0) }
        }
    }

    // MARK: Expected values

    private static func expected(of example: [String: Any]) throws -> Field {
        let value = try #require(example["expected"])
        switch example["header_type"] as? String {
        case "item": return .item(try member(value))
        case "list": return .list(try #require(value as? [Any]).map(member))
        default: return .dictionary(try pairs(value).mapValues(member))
        }
    }

    /// Reads an item or an inner list: a pair of its value and its parameters.
    private static func member(_ any: Any) throws -> StructuredItem {
        let pair = try #require(any as? [Any])
        try #require(pair.count == 2)
        let parameters = try pairs(pair[1]).mapValues(value)
        if let items = pair[0] as? [Any] {
            return StructuredItem(.innerList(try items.map(member)), parameters: parameters)
        }
        return StructuredItem(try value(pair[0]), parameters: parameters)
    }

    private static func pairs(_ any: Any) throws -> [String: Any] {
        let pairs = try #require(any as? [[Any]]).map { (try #require($0.first as? String), try #require($0.last)) }
        return Dictionary(pairs) { $1 }
    }

    private static func value(_ any: Any) throws -> StructuredItem.Value {
        if let object = any as? [String: Any] {
            let value = object["value"]
            switch object["__type"] as? String {
            case "token": return .token(try #require(value as? String))
            case "binary": return .bytes(bytes(ofBase32: try #require(value as? String)))
            case "date": return .date(try #require(value as? NSNumber).int64Value)
            default: return .displayString(try #require(value as? String))
            }
        }
        if let text = any as? String { return .string(text) }
        let number = try #require(any as? NSNumber)
        switch number.objCType.pointee {
        case CChar(UInt8(ascii: "c")), CChar(UInt8(ascii: "B")): return .boolean(number.boolValue)
        case CChar(UInt8(ascii: "d")): return .decimal(number.doubleValue)
        default: return .integer(number.int64Value)
        }
    }

    /// Decodes the base 32 that the suite uses for bytes (RFC 4648 section 6).
    private static func bytes(ofBase32 text: String) -> [UInt8] {
        var (bytes, bits, count): ([UInt8], UInt64, UInt64) = ([], 0, 0)
        for byte in text.utf8 where byte != UInt8(ascii: "=") {
            let digit = byte >= UInt8(ascii: "A") ? byte - UInt8(ascii: "A") : byte - UInt8(ascii: "2") + 26
            (bits, count) = (bits << 5 | UInt64(digit), count + 5)
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        return bytes
    }
}
