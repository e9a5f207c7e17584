/// Text for a line of a log or of an error, whatever it has in it.
package enum PrintableText {
    /// Text on one line, without the characters that could forge a line of a log or make it read as something else.
    ///
    /// Those are the control characters (C0 and C1, among them the escape that begins a terminal's commands), the line
    /// and paragraph separators, the marks that turn the direction of text, and spaces without a width. The joiners
    /// that emoji and some scripts need stay.
    package static func singleLine(_ text: String) -> String {
        guard text.utf8.contains(where: { mayBeginUnprintable($0) }),
            text.unicodeScalars.contains(where: { isUnprintable($0) })
        else { return text }
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            line.append(isUnprintable(scalar) ? "\u{FFFD}" : scalar)
        }
        return String(line)
    }

    /// Text of several lines on one: tabs and line breaks as the escapes that a programmer knows.
    package static func escapedLine(_ text: String) -> String {
        let line = text.replacing("\r\n", with: "\\n").replacing("\n", with: "\\n").replacing("\r", with: "\\r")
            .replacing("\t", with: "\\t")
        return singleLine(line)
    }

    /// Text whose lines stay, indented so that none can pass for the log's own.
    static func indentedLines(_ text: String) -> String {
        let lines = text.replacing("\r\n", with: "\n").utf8
            .split(
                separator: UInt8(ascii: "\n"),
                omittingEmptySubsequences: false
            )
        return lines.map { singleLine(String(Substring($0)).replacing("\t", with: "    ")) }.joined(separator: "\n    ")
    }

    /// No more of a text than a number of bytes, whole characters, and how many it has.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - limit: The most bytes of it.
    ///   - count: How many bytes to tell of; nil for the text's own.
    /// - Returns: The text, or its beginning with what is left out.
    package static func cut(_ text: String, to limit: Int, of count: Int? = nil) -> String {
        guard text.utf8.count > limit else { return text }
        var bytes = text.utf8.prefix(max(0, limit))
        // Not in the middle of a character, whose bytes after the first begin with 10.
        while let next = text.utf8[bytes.endIndex...].first, next & 0xC0 == 0x80, !bytes.isEmpty {
            bytes = bytes.dropLast()
        }
        return "\(String(Substring(bytes)))… (\(count ?? text.utf8.count) bytes)"
    }

    /// Whether a byte is, or begins, a character that might not be printable.
    static func mayBeginUnprintable(_ byte: UInt8) -> Bool {
        switch byte {
        case ..<32, 127, 0xC2, 0xD8, 0xE1, 0xE2, 0xEF: true
        default: false
        }
    }

    static func isUnprintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F...0x9F: true
        // Marks and overrides of direction.
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x206F: true
        case 0x2028, 0x2029: true
        // Nothing to see, and nothing that a script needs.
        case 0x180E, 0x200B, 0x2060...0x2065, 0xFEFF, 0xFFF9...0xFFFB: true
        default: false
        }
    }
}
