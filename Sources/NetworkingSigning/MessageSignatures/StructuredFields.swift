#if Crypto
import FoundationForNetworking
import HTTPTypes
import RawStructuredFieldValues

extension HTTPField.Name {
    static let contentDigest = HTTPField.Name("Content-Digest")!
    static let signature = HTTPField.Name("Signature")!
    static let signatureAgent = HTTPField.Name("Signature-Agent")!
    static let signatureInput = HTTPField.Name("Signature-Input")!
}

extension Item {
    /// The item, serialised by RFC 9651 section 4.1.3.
    var serialized: String {
        get throws {
            var serializer = StructuredFieldValueSerializer()
            return String(decoding: try serializer.writeItemFieldValue(self), as: UTF8.self)
        }
    }
}

extension InnerList {
    /// The list, serialised by RFC 9651 section 4.1.1.1.
    var serialized: String {
        get throws {
            var serializer = StructuredFieldValueSerializer()
            return String(decoding: try serializer.writeListFieldValue([.innerList(self)]), as: UTF8.self)
        }
    }
}

extension ItemOrInnerList {
    /// The value, serialised by RFC 9651 section 4.1 outside a dictionary.
    var serialized: String {
        get throws {
            switch self {
            case .item(let item): try item.serialized
            case .innerList(let list): try list.serialized
            }
        }
    }
}

extension OrderedMap<String, ItemOrInnerList> {
    /// Parses a dictionary from the lines of a field.
    init(lines: [HTTPField]) throws {
        var parser = StructuredFieldValueParser(try lines.structured)
        self = try parser.parseDictionaryFieldValue()
    }

    /// The dictionary, serialised by RFC 9651 section 4.1.2.
    var serialized: String {
        get throws {
            var serializer = StructuredFieldValueSerializer()
            return String(decoding: try serializer.writeDictionaryFieldValue(self), as: UTF8.self)
        }
    }
}

extension [HTTPField] {
    /// The bytes of the values, for a parser.
    ///
    /// They are limited because the parser scans all members or parameters for each one: a field with many of them
    /// would take very long.
    var structured: [UInt8] {
        get throws {
            let bytes = combined
            guard bytes.count <= 32 << 10,
                bytes.count(where: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }) <= 1_024
            else { throw StructuredHeaderError.invalidDictionary }
            return try Self.canonicalByteSequences(in: bytes)
        }
    }

    /// Returns a field with its byte sequences in their canonical form, because the parser does not decode them.
    ///
    /// A byte sequence may lack its padding, and may have bits after its last byte (RFC 9651 section 4.2.7).
    private static func canonicalByteSequences(in field: [UInt8]) throws -> [UInt8] {
        var output: [UInt8] = []
        var index = 0
        while index < field.count {
            let start = index
            let previous = start == 0 ? UInt8(ascii: ",") : field[start - 1]
            index += 1
            switch field[start] {
            case UInt8(ascii: "\""):
                // The string ends at the next quotation mark; only a display string (%"…") has no escapes.
                let hasEscapes = previous != UInt8(ascii: "%")
                while index < field.count, field[index] != UInt8(ascii: "\"") {
                    index += hasEscapes && field[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                index = Swift.min(index + 1, field.count)
                output += field[start..<index]
            case UInt8(ascii: ":") where " \t,(=".utf8.contains(previous):
                // A colon within a token starts no byte sequence.
                guard let end = field[index...].firstIndex(of: UInt8(ascii: ":")) else {
                    throw StructuredHeaderError.invalidByteSequence
                }
                output += ":\(try bytes(ofBase64: field[index..<end]).base64EncodedString()):".utf8
                index = end + 1
            default:
                output.append(field[start])
            }
        }
        return output
    }

    private static func bytes(ofBase64 text: ArraySlice<UInt8>) throws -> Data {
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        let padding = text[digits.endIndex...]
        let isComplete = text.count.isMultiple(of: 4) && padding.count <= 2
        guard padding.isEmpty || isComplete, padding.allSatisfy({ $0 == UInt8(ascii: "=") }),
            let data = Data(base64Encoded: Data(digits + repeatElement(UInt8(ascii: "="), count: -digits.count & 3)))
        else { throw StructuredHeaderError.invalidByteSequence }
        return data
    }

    /// The bytes of the values, joined by RFC 9110 section 5.2.
    ///
    /// Folded lines do not occur: transports unfold them.
    var combined: [UInt8] {
        [UInt8](map(\.bytes).joined(separator: ", ".utf8))
    }
}

extension HTTPField {
    /// The bytes of the value, in any encoding, without surrounding blanks.
    var bytes: [UInt8] {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        return withUnsafeBytesOfValue { value in
            guard let start = value.firstIndex(where: { !isBlank($0) }) else { return [] }
            return Array(value[start..<(value.lastIndex { !isBlank($0) } ?? start) + 1])
        }
    }
}
#endif
