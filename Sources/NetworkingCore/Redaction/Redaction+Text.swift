import HTTPTypes

extension Redaction {
    /// The maximum number of bytes of a value in a line of a log.
    static let maximumValue = 2_048
    /// The maximum number of header fields in a log.
    private static let maximumFields = 200

    /// Returns header fields as lines, with hidden values replaced.
    func lines(for fields: HTTPFields) -> [String] {
        fields.map { line(for: $0) }
    }

    /// Returns a limited number of header fields as lines for a log, with hidden values replaced.
    package func boundedLines(for fields: HTTPFields) -> [String] {
        var lines = fields.prefix(Self.maximumFields).map { line(for: $0, limit: Self.maximumValue) }
        if fields.count > Self.maximumFields {
            lines.append("… (\(fields.count) fields)")
        }
        return lines
    }

    private func line(for field: HTTPField, limit: Int = .max) -> String {
        let name = PrintableText.cut(hidingValues(in: field.name.rawName), to: limit)
        guard !hides(field) else { return "\(name): \(Self.placeholder)" }
        return "\(name): \(mask ?? PrintableText.cut(PrintableText.singleLine(value(of: field)), to: limit))"
    }

    /// Returns the value of a field that is not hidden itself, with hidden values in its URLs replaced.
    package func value(of field: HTTPField) -> String {
        switch field.name.canonicalName {
        case "location", "content-location", "referer", "destination": hidingValues(in: reference(field.value))
        // A URL with parameters after it.
        case "link", "refresh": hidingValues(in: String(pairs(field.value[...], hiding: hidesQueryItem)))
        default: hidingValues(in: field.value)
        }
    }

    /// Returns an absolute or relative URL with its userinfo and the hidden values of its query and fragment replaced.
    package func reference(_ text: String) -> String {
        let hash = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        let fragment = pairs(text[hash...].dropFirst(), hiding: hidesQueryItem)
        var reference = target(String(text[..<hash]))
        if let slashes = reference.utf8.firstRange(of: "//".utf8) {
            let rest = reference[slashes.upperBound...].utf8
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            let range = slashes.upperBound..<end
            reference.replaceSubrange(range, with: authority(String(reference[range])))
        }
        return hash == text.endIndex ? reference : "\(reference)#\(fragment)"
    }

    /// Returns the path and query with only the hidden values replaced.
    package func target(_ target: String) -> String {
        let (path, query) = RequestTarget.split(target)
        guard let query else { return hidingValues(in: target) }
        return hidingValues(in: "\(path)?\(pairs(query, hiding: hidesQueryItem))")
    }

    /// Returns the names and values of a query or a form with the hidden values replaced.
    ///
    /// By bytes, because a combining mark after an equals sign or an ampersand would form a different character with
    /// it.
    func pairs(_ text: Substring, hiding isHidden: (String) -> Bool) -> String {
        text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .map { part in
                let part = Substring(part)
                guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                    // Without a name, the text could be a value.
                    return part.isEmpty ? part : mask.map { $0[...] } ?? part
                }
                let name = part[..<equals]
                if isHidden(PercentEncoding.decode(name)) { return "\(name)=\(Self.placeholder)" }
                return mask.map { "\(name)=\($0)" } ?? hidingInner(part, after: equals, isHidden)
            }
            .joined(separator: "&")
    }

    /// Redacts a pair from the first hidden name in its value to its end.
    ///
    /// The value may contain another query, or a second pair after a semicolon.
    private func hidingInner(
        _ part: Substring,
        after equals: Substring.Index,
        _ isHidden: (String) -> Bool
    ) -> Substring {
        var start = equals
        while let mark = part.utf8[start...].firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: ";") }) {
            start = part.utf8.index(after: mark)
            guard let inner = part.utf8[start...].firstIndex(of: UInt8(ascii: "=")) else { break }
            let name = part[start..<inner].drop { $0 == " " }
            if isHidden(PercentEncoding.decode(name)) { return "\(part[...inner])\(Self.placeholder)" }
        }
        return part
    }

    /// Returns an authority with its userinfo replaced.
    package func authority(_ authority: String) -> String {
        guard let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else { return hidingValues(in: authority) }
        return hidingValues(in: "\(Self.placeholder)\(authority[at...])")
    }
}
