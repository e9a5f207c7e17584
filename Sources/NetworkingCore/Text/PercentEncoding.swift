/// Percent-encoding (RFC 3986 section 2.1) for a set of ASCII bytes.
package struct PercentEncoding: Sendable, Hashable {
    /// The bytes that are not encoded, one bit for each ASCII code.
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    package init(allowing characters: String) {
        for byte in characters.utf8 where byte < 128 {
            insert(byte)
        }
    }

    private mutating func insert(_ byte: UInt8) {
        if byte < 64 {
            low |= 1 << UInt64(byte)
        } else {
            high |= 1 << UInt64(byte - 64)
        }
    }

    package func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case ..<64: low & (1 << UInt64(byte)) != 0
        case ..<128: high & (1 << UInt64(byte - 64)) != 0
        default: false
        }
    }

    /// Encodes every byte that is not allowed.
    ///
    /// - Parameters:
    ///   - string: The text to encode.
    ///   - keepsEscapes: Whether a `%` and two hexadecimal digits stay as they are.
    /// - Returns: The text, in ASCII.
    package func encode(_ string: String, keepsEscapes: Bool = false) -> String {
        if string.utf8.allSatisfy(allows) { return string }
        return encode(Array(string.utf8), keepsEscapes: keepsEscapes)
    }

    /// Encodes every byte that is not allowed.
    ///
    /// - Parameters:
    ///   - source: The bytes to encode, which do not have to be valid text.
    ///   - keepsEscapes: Whether a `%` and two hexadecimal digits stay as they are.
    /// - Returns: The text, in ASCII.
    package func encode(_ source: [UInt8], keepsEscapes: Bool = false) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count + 16)
        for (index, byte) in source.enumerated() {
            if allows(byte) || keepsEscapes && Self.escapedByte(in: source, at: index) != nil {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(Hexadecimal.digit(for: byte >> 4, uppercase: true))
                bytes.append(Hexadecimal.digit(for: byte, uppercase: true))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes each `%` with two hexadecimal digits; a `%` that is not followed by two digits is not changed.
    package static func decode(_ string: some StringProtocol) -> String {
        guard string.utf8.contains(UInt8(ascii: "%")) else { return String(string) }
        return String(decoding: bytes(decoding: string), as: UTF8.self)
    }

    /// Decodes text to bytes, which are not always valid text.
    ///
    /// - Parameters:
    ///   - string: The text. A `%` that is not followed by two hexadecimal digits is not changed.
    ///   - plusIsSpace: Whether a plus sign represents a space, as in forms.
    /// - Returns: The bytes.
    package static func bytes(decoding string: some StringProtocol, plusIsSpace: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = []
        // Without `isStrict`, decoding always succeeds.
        _ = decode(Array(string.utf8), to: &bytes, plusIsSpace: plusIsSpace, isStrict: false)
        return bytes
    }

    /// Decodes text to bytes; `nil` if a `%` is not followed by two hexadecimal digits.
    package static func bytes(strictlyDecoding string: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        return decode(Array(string.utf8), to: &bytes, plusIsSpace: false, isStrict: true) ? bytes : nil
    }

    /// Decodes bytes; returns `false` if an escape is invalid and `isStrict` is `true`.
    private static func decode(
        _ source: [UInt8],
        to bytes: inout [UInt8],
        plusIsSpace: Bool,
        isStrict: Bool
    ) -> Bool {
        bytes.reserveCapacity(source.count)
        var index = 0
        while index < source.count {
            let byte = source[index]
            if let escaped = escapedByte(in: source, at: index) {
                bytes.append(escaped)
                index += 3
                continue
            }
            if isStrict, byte == UInt8(ascii: "%") { return false }
            bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            index += 1
        }
        return true
    }

    /// Returns the byte that an escape at an index represents; `nil` if there is no escape.
    private static func escapedByte(in source: [UInt8], at index: Int) -> UInt8? {
        guard source[index] == UInt8(ascii: "%"), index + 2 < source.count,
            let high = Hexadecimal.value(of: source[index + 1]), let low = Hexadecimal.value(of: source[index + 2])
        else { return nil }
        return high << 4 | low
    }
}

extension PercentEncoding {
    private static let alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

    /// The unreserved characters (RFC 3986 section 2.3).
    package static let unreserved = PercentEncoding(allowing: alphanumerics + "-._~")

    /// The characters of a path and a query (RFC 3986 sections 3.3 and 3.4), and `%`, so that escapes stay as they are.
    package static let escapedTarget = PercentEncoding(allowing: targetCharacters + "%")

    /// The characters of a file name, also on file systems that ignore case.
    package static let fileName = PercentEncoding(allowing: "abcdefghijklmnopqrstuvwxyz0123456789-_")

    /// The characters of a path and a query, and control characters.
    ///
    /// Control characters are allowed so that the check before sending can reject them. No other character is allowed,
    /// because Foundation's `URL` encodes all escapes a second time if it contains a character that it does not accept.
    private static let target = PercentEncoding(
        allowing: targetCharacters + String(decoding: (0..<32) + [127], as: UTF8.self)
    )

    private static let targetCharacters = alphanumerics + "-._~!$&'()*+,;=:@/?"

    /// Encodes the characters that a path or a query may not contain, and keeps escapes.
    package static func encodeTarget(_ text: String) -> String {
        target.encode(text, keepsEscapes: true)
    }

    /// The characters that need no encoding in a query item.
    ///
    /// `&`, `=`, `+` and `#` are not included, because some servers interpret them.
    static let queryItem = PercentEncoding(allowing: alphanumerics + "-._~!$'()*,;:@/?")
}
