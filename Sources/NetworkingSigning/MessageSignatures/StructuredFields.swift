#if Crypto
import HTTPTypes
import RawStructuredFieldValues

extension HTTPField.Name {
    static let contentDigest = HTTPField.Name("Content-Digest")!
    static let signature = HTTPField.Name("Signature")!
    static let signatureInput = HTTPField.Name("Signature-Input")!
}

extension Item {
    /// The item as RFC 9651 section 4.1.3 writes it.
    var serialized: String {
        get throws {
            var serializer = StructuredFieldValueSerializer()
            return String(decoding: try serializer.writeItemFieldValue(self), as: UTF8.self)
        }
    }
}

extension InnerList {
    /// The list as RFC 9651 section 4.1.1.1 writes it.
    var serialized: String {
        get throws {
            var serializer = StructuredFieldValueSerializer()
            return String(decoding: try serializer.writeListFieldValue([.innerList(self)]), as: UTF8.self)
        }
    }
}

extension ItemOrInnerList {
    /// The value as RFC 9651 section 4.1 writes it outside of a dictionary.
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
    /// Reads a dictionary from the lines of a field.
    init(lines: [HTTPField]) throws {
        var parser = StructuredFieldValueParser(try lines.structured)
        self = try parser.parseDictionaryFieldValue()
    }

    /// The dictionary as RFC 9651 section 4.1.2 writes it.
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
    /// It looks at all members or parameters for each: who sends many could keep it busy.
    var structured: [UInt8] {
        get throws {
            let bytes = combined
            guard bytes.count <= 32 << 10,
                bytes.count(where: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }) <= 1_024
            else { throw StructuredHeaderError.invalidDictionary }
            return bytes
        }
    }

    /// The bytes of the values, joined as RFC 9110 section 5.2 has it.
    ///
    /// No line is folded: transports undo that.
    var combined: [UInt8] {
        [UInt8](map(\.bytes).joined(separator: ", ".utf8))
    }
}

extension HTTPField {
    /// The bytes of the value, in whatever encoding, without blanks around them.
    var bytes: [UInt8] {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        return withUnsafeBytesOfValue { value in
            guard let start = value.firstIndex(where: { !isBlank($0) }) else { return [] }
            return Array(value[start..<(value.lastIndex { !isBlank($0) } ?? start) + 1])
        }
    }
}
#endif
