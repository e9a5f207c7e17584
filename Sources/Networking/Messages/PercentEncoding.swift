/// Percent-encoding as RFC 3986 section 2.1 has it, over sets of ASCII bytes.
package struct PercentEncoding: Sendable, Hashable {
    /// The bytes that stand for themselves, one bit for each ASCII code.
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(allowing characters: String) {
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
    ///   - string: What to encode.
    ///   - keepsEscapes: Whether a `%` and two hex digits stay as they are.
    /// - Returns: The text, in ASCII.
    package func encode(_ string: String, keepsEscapes: Bool = false) -> String {
        if string.utf8.allSatisfy(allows) { return string }
        let source = Array(string.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count + 16)
        for (index, byte) in source.enumerated() {
            if allows(byte) || keepsEscapes && Self.hasEscape(source, at: index) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(Hexadecimal.digit(for: byte >> 4, uppercase: true))
                bytes.append(Hexadecimal.digit(for: byte, uppercase: true))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes each `%` and two hex digits; a `%` that is not followed by two digits stands for itself.
    package static func decode(_ string: some StringProtocol) -> String {
        guard string.utf8.contains(UInt8(ascii: "%")) else { return String(string) }
        let source = Array(string.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        var index = 0
        while index < source.count {
            if hasEscape(source, at: index), let upper = Hexadecimal.value(of: source[index + 1]),
                let lower = Hexadecimal.value(of: source[index + 2])
            {
                bytes.append(upper << 4 | lower)
                index += 3
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hasEscape(_ bytes: [UInt8], at index: Int) -> Bool {
        bytes[index] == UInt8(ascii: "%") && index + 2 < bytes.count
            && Hexadecimal.value(of: bytes[index + 1]) != nil && Hexadecimal.value(of: bytes[index + 2]) != nil
    }
}

extension PercentEncoding {
    private static let alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

    /// RFC 3986 section 2.3.
    package static let unreserved = PercentEncoding(allowing: alphanumerics + "-._~")

    /// What may stand in a path or query as it is, by RFC 3986 sections 3.3 and 3.4.
    ///
    /// Control characters pass too, so that the check before sending can refuse them. Anything else would not: a
    /// Foundation URL that meets one character it does not take encodes all of its escapes a second time.
    /// For the name of a file, also where the file system does not tell upper case from lower.
    static let fileName = PercentEncoding(allowing: "abcdefghijklmnopqrstuvwxyz0123456789-_")

    private static let target = PercentEncoding(
        allowing: alphanumerics + "-._~!$&'()*+,;=:@/?" + String(decoding: (0..<32) + [127], as: UTF8.self)
    )

    /// Encodes what may not stand in a path or query; the escapes that are there stay as they are.
    static func encodeTarget(_ text: String) -> String {
        target.encode(text, keepsEscapes: true)
    }

    /// What a query item may hold as it is.
    ///
    /// `&`, `=`, `+` and `#` are not among it, since some server would read each of them as something else.
    static let queryItem = PercentEncoding(allowing: alphanumerics + "-._~!$'()*,;:@/?")
}
