import NetworkingCore

/// The name of a file, without a directory.
enum FileName {
    /// The most bytes that file systems let a name have.
    static let longest = 255

    /// What is before the extension, and the extension with its dot.
    static func parts(of name: Substring) -> (stem: Substring, suffix: Substring) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return (name, "") }
        // An extension is short; what is behind a dot in a sentence is none.
        guard name[dot...].utf8.count <= 16 else { return (name, "") }
        var stem = name[..<dot]
        // Not "archive.tar 2.gz".
        if stem.hasSuffix(".tar"), stem.utf8.count > 4 {
            stem = stem.dropLast(4)
        }
        return (stem, name[stem.endIndex...])
    }

    /// Cuts a text to so many bytes, between scalars: one character may be as long as a name.
    static func shorten(_ text: inout Substring, toFit count: Int) {
        while text.utf8.count > max(count, 0) {
            text.unicodeScalars.removeLast()
        }
    }

    /// A name that somebody else has thought up, as one that can do no harm: nil when nothing is left of it.
    ///
    /// It has no directory, no character that cannot be seen or that turns the direction of text, and no dot at its
    /// start; neither a dot nor a blank at its end, and it is not too long.
    static func safe(_ name: some StringProtocol) -> String? {
        var safe = String.UnicodeScalarView()
        for scalar in String(name).unicodeScalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last
            ?? Substring.UnicodeScalarView()
        {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: continue
            default: break
            }
            // What some file systems or shells take for more than a character.
            safe.append(["<", ">", ":", "\"", "|", "?", "*"].contains(scalar) ? "_" : scalar)
        }
        var rest = Substring(String(safe))
        while let first = rest.unicodeScalars.first, first.mayNotBegin { rest.unicodeScalars.removeFirst() }
        while let last = rest.unicodeScalars.last, last == "." || last.properties.isWhitespace {
            rest.unicodeScalars.removeLast()
        }
        // Else a server could leave what looks like the partial file of another download.
        let isReserved = [".download", ".download-state", ".download-state.new"]
            .contains { rest.lowercased().hasSuffix($0) }
        if isReserved {
            rest += "_"
        }
        if isDevice(rest) {
            rest = "_" + rest
        }
        var (stem, suffix) = parts(of: rest)
        shorten(&stem, toFit: longest - suffix.utf8.count)
        return stem.isEmpty ? nil : String(stem + suffix)
    }

    /// Whether it names a device on Windows, whatever its extension; a disk may be shared.
    private static func isDevice(_ name: Substring) -> Bool {
        let device = name.prefix { $0 != "." }.uppercased()
        if ["CON", "PRN", "AUX", "NUL"].contains(device) { return true }
        return device.count == 4 && ["COM", "LPT"].contains(device.prefix(3)) && device.last?.isNumber == true
    }
}

extension Unicode.Scalar {
    /// Whether a name that begins with it is hidden, is taken for a home, or begins with half a character.
    fileprivate var mayNotBegin: Bool {
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: self == "." || self == "~" || properties.isWhitespace
        }
    }
}
