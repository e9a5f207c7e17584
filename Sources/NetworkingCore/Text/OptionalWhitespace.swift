extension Substring.UTF8View {
    /// The text without the spaces and tabs at both ends, the optional white space of RFC 9110 section 5.6.3.
    package var trimmed: Substring.UTF8View {
        var text = drop(while: Self.isBlank)
        while let last = text.last, Self.isBlank(last) {
            text.removeLast()
        }
        return text
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}

extension Substring {
    /// The text without the spaces and tabs at both ends.
    package var trimmed: Substring {
        Substring(utf8.trimmed)
    }
}

extension String {
    /// The text without the spaces and tabs at both ends.
    package var trimmed: Substring {
        self[...].trimmed
    }
}
