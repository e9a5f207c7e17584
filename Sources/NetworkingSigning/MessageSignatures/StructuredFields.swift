#if Crypto
import HTTPTypes
import RawStructuredFieldValues

extension HTTPField.Name {
    static let contentDigest = HTTPField.Name("Content-Digest")!
    static let signature = HTTPField.Name("Signature")!
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
            return bytes
        }
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
