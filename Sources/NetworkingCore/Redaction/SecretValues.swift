/// Texts that are secret wherever they occur, in any encoding.
struct SecretValues: Sendable, Hashable {
    /// The longest first, because one value may begin with another.
    private(set) var values: [[UInt8]] = []

    var isEmpty: Bool {
        values.isEmpty
    }

    mutating func insert(_ value: String) {
        let value = Array(value.utf8)
        guard !value.isEmpty, !values.contains(value) else { return }
        values.append(value)
        values.sort { $0.count > $1.count }
    }

    mutating func formUnion(_ other: SecretValues) {
        guard self != other else { return }
        values = Array(Set(values + other.values)).sorted { $0.count > $1.count }
    }

    /// Returns a text with each of the values replaced by the placeholder.
    func redacted(in text: String) -> String {
        guard !isEmpty, let bytes = redacted(in: Array(text.utf8)) else { return text }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns bytes with each of the values replaced by the placeholder; `nil` if they contain none.
    func redacted(in bytes: [UInt8]) -> [UInt8]? {
        // A match starts with the first byte of a value, or with the first character of an escape.
        var canBegin = [Bool](repeating: false, count: 256)
        for value in values {
            canBegin[Int(value[0])] = true
        }
        for byte in "%\\+".utf8 {
            canBegin[Int(byte)] = true
        }
        return bytes.withUnsafeBufferPointer { source in
            var output: [UInt8] = []
            var copied = 0
            var index = 0
            while index < source.count {
                guard canBegin[Int(source[index])],
                    let end = values.lazy.compactMap({ Self.end(of: $0, in: source, from: index) }).first
                else {
                    index += 1
                    continue
                }
                output += source[copied..<index]
                output += Redaction.placeholder.utf8
                index = end
                copied = end
            }
            guard copied > 0 else { return nil }
            output += source[copied...]
            return output
        }
    }

    /// Returns the end of a value that occurs at a position; `nil` if it does not.
    private static func end(of value: [UInt8], in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        let ends = [
            literalEnd(of: value, in: text, from: start), encodedEnd(of: value, in: text, from: start),
        ]
        return ends.compactMap { $0 }.max()
    }

    private static func literalEnd(of value: [UInt8], in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard start + value.count <= text.count else { return nil }
        for index in value.indices where text[start + index] != value[index] {
            return nil
        }
        return start + value.count
    }

    /// Returns the end of a value in which bytes are escaped.
    ///
    /// A byte may be percent-encoded once or several times, a space may be a plus sign, and a character may have a JSON
    /// escape.
    private static func encodedEnd(of value: [UInt8], in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var index = start
        var matched = 0
        while matched < value.count {
            guard index < text.count else { return nil }
            let expected = value[matched]
            if let (byte, length) = percentEncoded(in: text, at: index), byte == expected {
                index += length
                matched += 1
            } else if let (bytes, length) = jsonEscaped(in: text, at: index),
                value[matched...].starts(with: bytes)
            {
                index += length
                matched += bytes.count
            } else if text[index] == expected || text[index] == UInt8(ascii: "+") && expected == UInt8(ascii: " ") {
                index += 1
                matched += 1
            } else {
                return nil
            }
        }
        return index
    }

    /// Returns the byte that `%2F` encodes, or `%252F`, and so on.
    private static func percentEncoded(in text: UnsafeBufferPointer<UInt8>, at start: Int) -> (UInt8, Int)? {
        guard text[start] == UInt8(ascii: "%") else { return nil }
        var index = start + 1
        while index + 3 < text.count, text[index] == UInt8(ascii: "2"), text[index + 1] == UInt8(ascii: "5"),
            byte(in: text, at: index + 2) != nil
        {
            index += 2
        }
        return byte(in: text, at: index).map { ($0, index + 2 - start) }
    }

    /// Returns the bytes of the character that a backslash escapes.
    private static func jsonEscaped(in text: UnsafeBufferPointer<UInt8>, at start: Int) -> ([UInt8], Int)? {
        guard text[start] == UInt8(ascii: "\\"), start + 1 < text.count else { return nil }
        guard let escape = JSONEscape(in: text, at: start) else {
            // Other formats also put a backslash before other characters.
            return text[start + 1] == UInt8(ascii: "u") ? nil : ([text[start + 1]], 2)
        }
        if let scalar = Unicode.Scalar(escape.unit) { return (Array(String(scalar).utf8), escape.byteCount) }
        guard UTF16.isLeadSurrogate(escape.unit), let low = JSONEscape(in: text, at: start + escape.byteCount),
            UTF16.isTrailSurrogate(low.unit)
        else { return nil }
        let pair = String(decoding: [escape.unit, low.unit], as: UTF16.self)
        return (Array(pair.utf8), escape.byteCount + low.byteCount)
    }

    /// Returns the value of two hexadecimal digits.
    private static func byte(in text: UnsafeBufferPointer<UInt8>, at start: Int) -> UInt8? {
        guard start + 2 <= text.count, let high = Hexadecimal.value(of: text[start]),
            let low = Hexadecimal.value(of: text[start + 1])
        else { return nil }
        return high << 4 | low
    }
}

extension String {
    /// Returns the text with each of some secrets replaced by the placeholder, in whatever encoding it occurs.
    package func redacting(_ secrets: [String]) -> String {
        var values = SecretValues()
        for secret in secrets {
            values.insert(secret)
        }
        return values.redacted(in: self)
    }
}
