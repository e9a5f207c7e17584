import NetworkingCore

/// The name of a file, without a directory.
enum FileName {
    /// The maximum length of a name in common file systems, in bytes.
    static let maximumLength = 255

    /// Splits a name into the part before the extension, and the extension with its dot.
    static func parts(of name: Substring) -> (stem: Substring, suffix: Substring) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return (name, "") }
        // An extension is short. The text after a dot in a sentence is not an extension.
        guard name[dot...].utf8.count <= 16 else { return (name, "") }
        var stem = name[..<dot]
        // Not "archive.tar 2.gz".
        if stem.hasSuffix(".tar"), stem.utf8.count > 4 {
            stem = stem.dropLast(4)
        }
        return (stem, name[stem.endIndex...])
    }

    /// Shortens a text to a number of bytes.
    ///
    /// It cuts between scalars, because a single character can be as long as a whole name.
    static func shorten(_ text: inout Substring, toFit count: Int) {
        while text.utf8.count > max(count, 0) {
            text.unicodeScalars.removeLast()
        }
    }

    /// Returns a harmless form of a name from an untrusted source; `nil` if nothing is left of it.
    ///
    /// The result has no directory, no invisible characters, no characters that change the text direction, and no dot
    /// at its start. It does not end with a dot or a blank, and it is not too long.
    static func safe(_ name: some StringProtocol) -> String? {
        var safe = String.UnicodeScalarView()
        for scalar in String(name).unicodeScalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last
            ?? Substring.UnicodeScalarView()
        {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: continue
            default: break
            }
            // Characters with a special meaning in some file systems or shells.
            safe.append(["<", ">", ":", "\"", "|", "?", "*"].contains(scalar) ? "_" : scalar)
        }
        var rest = Substring(String(safe))
        while let first = rest.unicodeScalars.first, first.mayNotBegin { rest.unicodeScalars.removeFirst() }
        trimEnd(&rest)
        if isDevice(rest) {
            rest = "_" + rest
        }
        fit(&rest, maximumLength)
        // Otherwise a server could create a file that looks like the partial file of another download, or like the
        // state of an upload.
        let isReserved = [
            ".download", ".download-state", ".download-state.new", ".upload-state", ".upload-state.new", ".upload-lock",
        ]
        .contains { rest.lowercased().hasSuffix($0) }
        if isReserved {
            fit(&rest, maximumLength - 1)
            rest += "_"
        }
        return rest.isEmpty ? nil : String(rest)
    }

    private static func trimEnd(_ name: inout Substring) {
        while let last = name.unicodeScalars.last, last == "." || last.properties.isWhitespace {
            name.unicodeScalars.removeLast()
        }
    }

    /// Shortens a name, which keeps its extension.
    private static func fit(_ name: inout Substring, _ count: Int) {
        guard name.utf8.count > count else { return }
        var (stem, suffix) = parts(of: name)
        shorten(&stem, toFit: count - suffix.utf8.count)
        name = stem + suffix
        // A name without an extension ends where it was cut.
        trimEnd(&name)
    }

    /// Whether the name refers to a device on Windows, whatever its extension; the disk may be shared with Windows.
    private static func isDevice(_ name: Substring) -> Bool {
        let device = name.prefix { $0 != "." }.uppercased()
        if ["CON", "PRN", "AUX", "NUL"].contains(device) { return true }
        return device.count == 4 && ["COM", "LPT"].contains(device.prefix(3)) && device.last?.isNumber == true
    }
}

extension Unicode.Scalar {
    /// Whether a name that starts with this scalar is hidden, is taken for a home directory, or starts with an
    /// incomplete character.
    fileprivate var mayNotBegin: Bool {
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: self == "." || self == "~" || properties.isWhitespace
        }
    }
}
