/// The charset `windows-1252`, which is ISO 8859-1 except for 27 of the codes 128 to 159.
enum WindowsLatin {
    /// The characters of the codes 128 to 159; the five undefined codes are not changed.
    private static let upper: [Unicode.Scalar] = [
        "\u{20AC}", "\u{81}", "\u{201A}", "\u{192}", "\u{201E}", "\u{2026}", "\u{2020}", "\u{2021}", "\u{2C6}",
        "\u{2030}",
        "\u{160}", "\u{2039}", "\u{152}", "\u{8D}", "\u{17D}", "\u{8F}", "\u{90}", "\u{2018}", "\u{2019}", "\u{201C}",
        "\u{201D}", "\u{2022}", "\u{2013}", "\u{2014}", "\u{2DC}", "\u{2122}", "\u{161}", "\u{203A}", "\u{153}",
        "\u{9D}",
        "\u{17E}", "\u{178}",
    ]

    static func scalar(of byte: UInt8) -> Unicode.Scalar {
        0x80...0x9F ~= byte ? upper[Int(byte - 0x80)] : Unicode.Scalar(byte)
    }
}

/// Text in UTF-16.
enum WideText {
    /// Returns the bytes as text, without the byte order mark; `nil` if they are invalid.
    static func text(of bytes: some Collection<UInt8>, isLittle: Bool) -> String? {
        guard bytes.count.isMultiple(of: 2) else { return nil }
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2)
        var first: UInt8?
        for byte in bytes {
            if let high = first {
                units.append(isLittle ? UInt16(byte) << 8 | UInt16(high) : UInt16(high) << 8 | UInt16(byte))
                first = nil
            } else {
                first = byte
            }
        }
        return String(validating: units.first == 0xFEFF ? units.dropFirst() : units[...], as: UTF16.self)
    }
}
