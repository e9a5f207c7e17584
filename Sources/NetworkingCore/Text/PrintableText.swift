/// Text that is safe for a line of a log or of an error, whatever its source contains.
package enum PrintableText {
    /// Returns the text on one line, without the characters that could forge a line of a log or disguise it.
    ///
    /// These are the control characters (C0 and C1, including the escape that starts terminal commands), the line and
    /// paragraph separators, the marks that change the direction of text, and zero-width spaces. The joiners that emoji
    /// and some scripts need are kept.
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

    /// Returns text of several lines on one line, with tabs and line breaks as the usual escapes.
    package static func escapedLine(_ text: String) -> String {
        let line = text.replacing("\r\n", with: "\\n").replacing("\n", with: "\\n").replacing("\r", with: "\\r")
            .replacing("\t", with: "\\t")
        return singleLine(line)
    }

    /// Returns text with its lines kept and indented, so that none of them looks like a line of the log.
    static func indentedLines(_ text: String) -> String {
        let lines = text.replacing("\r\n", with: "\n").utf8
            .split(
                separator: UInt8(ascii: "\n"),
                omittingEmptySubsequences: false
            )
        return lines.map { singleLine(String(Substring($0)).replacing("\t", with: "    ")) }.joined(separator: "\n    ")
    }

    /// Truncates a text to a number of bytes, at the end of a whole character, and appends its length.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - limit: The maximum number of bytes.
    ///   - count: The length to append, in bytes; `nil` uses the length of the text.
    /// - Returns: The text, or its start followed by the length.
    package static func cut(_ text: String, to limit: Int, of count: Int? = nil) -> String {
        guard text.utf8.count > limit else { return text }
        var bytes = text.utf8.prefix(max(0, limit))
        // Do not cut within a character. Its bytes after the first start with the bits 10.
        while let next = text.utf8[bytes.endIndex...].first, next & 0xC0 == 0x80, !bytes.isEmpty {
            bytes = bytes.dropLast()
        }
        return "\(String(Substring(bytes)))… (\(count ?? text.utf8.count) bytes)"
    }

    /// Whether a byte is, or starts, a character that might not be printable.
    static func mayBeginUnprintable(_ byte: UInt8) -> Bool {
        switch byte {
        case ..<32, 127, 0xC2, 0xD8, 0xE1, 0xE2, 0xEF: true
        default: false
        }
    }

    static func isUnprintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F...0x9F: true
        // Marks and overrides of the text direction.
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x206F: true
        case 0x2028, 0x2029: true
        // Invisible characters that no script needs.
        case 0x180E, 0x200B, 0x2060...0x2065, 0xFEFF, 0xFFF9...0xFFFB: true
        default: false
        }
    }
}
