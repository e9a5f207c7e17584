import HTTPTypes

extension Redaction {
    /// The maximum number of bytes of a value in a line of a log.
    static let maximumValue = 2_048
    /// The maximum number of header fields in a log.
    private static let maximumFields = 200

    /// Returns header fields as lines, with redacted values replaced.
    func lines(for fields: HTTPFields) -> [String] {
        fields.map { line(for: $0) }
    }

    /// Returns a limited number of header fields as lines for a log, with redacted values replaced.
    package func boundedLines(for fields: HTTPFields) -> [String] {
        var lines = fields.prefix(Self.maximumFields).map { line(for: $0, limit: Self.maximumValue) }
        if fields.count > Self.maximumFields {
            lines.append("… (\(fields.count) fields)")
        }
        return lines
    }

    private func line(for field: HTTPField, limit: Int = .max) -> String {
        let name = PrintableText.cut(redactingValues(in: field.name.rawName), to: limit)
        guard !redacts(field) else { return "\(name): \(Self.placeholder)" }
        return "\(name): \(mask ?? PrintableText.cut(PrintableText.singleLine(value(of: field)), to: limit))"
    }

    /// Returns the value of a field that is not redacted itself, with redacted values in its URLs replaced.
    package func value(of field: HTTPField) -> String {
        switch field.name.canonicalName {
        case "location", "content-location", "referer", "destination": redactingValues(in: reference(field.value))
        default: redactingValues(in: value(ofAnyField: field.value))
        }
    }

    /// Returns the value of a field that may be a URL, contain one, or contain JSON.
    private func value(ofAnyField value: String) -> String {
        if Self.mayBeJSON(value.utf8) { return redactedText(value, depth: 1) ?? value }
        // Only a pair has a name, and only an authority has a userinfo.
        guard value.utf8.contains(UInt8(ascii: "=")) || value.utf8.firstRange(of: "//".utf8) != nil
        else { return value }
        return redactingUserinfo(in: pairs(value[...], redacting: redactsQueryItem))
    }

    /// Returns an absolute or relative URL with its userinfo redacted, and the secrets of its query and fragment.
    package func reference(_ text: String) -> String {
        let hash = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        let fragment = pairs(text[hash...].dropFirst(), redacting: redactsQueryItem)
        let reference = redactingUserinfo(in: target(String(text[..<hash])))
        return hash == text.endIndex ? reference : "\(reference)#\(fragment)"
    }

    /// Returns a text with the userinfo of all URLs in it replaced.
    private func redactingUserinfo(in text: String) -> String {
        var shown = ""
        var rest = text[...]
        while let slashes = rest.utf8.firstRange(of: "//".utf8) {
            let end = rest[slashes.upperBound...].utf8.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
            shown += rest[..<slashes.upperBound]
            shown += authority(String(rest[slashes.upperBound..<end]))
            rest = rest[end...]
        }
        return shown + rest
    }

    /// Returns the path and query with only the redacted values replaced.
    package func target(_ target: String) -> String {
        let (path, query) = RequestTarget.split(target)
        guard let query else { return redactingValues(in: target) }
        return redactingValues(in: "\(path)?\(pairs(query, redacting: redactsQueryItem))")
    }

    /// Returns the names and values of a query or a form with the redacted values replaced.
    ///
    /// By bytes, because a combining mark after an equals sign or an ampersand would form a different character with
    /// it.
    func pairs(_ text: Substring, redacting isRedacted: (String) -> Bool) -> String {
        text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .map { pair(Substring($0), redacting: isRedacted) }
            .joined(separator: "&")
    }

    /// Redacts a pair from its first redacted name to its end.
    ///
    /// A URL or another query may precede the name, and the value may contain another query or a second pair. So a name
    /// also starts after a question mark, a semicolon or a number sign. Each byte belongs to at most one such name, so
    /// the time is linear in the length of the pair.
    private func pair(_ part: Substring, redacting isRedacted: (String) -> Bool) -> Substring {
        var nameStart: Substring.Index? = part.startIndex
        var hasEquals = false
        for index in part.utf8.indices {
            switch part.utf8[index] {
            case UInt8(ascii: "?"), UInt8(ascii: ";"), UInt8(ascii: "#"):
                nameStart = part.utf8.index(after: index)
            case UInt8(ascii: "="):
                guard let start = nameStart else { continue }
                nameStart = nil
                let isFirst = !hasEquals
                hasEquals = true
                // The name of a form field may contain the marks.
                if redactsValue(of: part[start..<index], isRedacted)
                    || isFirst && start > part.startIndex && redactsValue(of: part[..<index], isRedacted)
                {
                    return "\(part[..<index])=\(Self.placeholder)"
                }
                if isFirst, hasSecretDocument(part[index...].dropFirst()) {
                    return "\(part[..<index])=\(Self.placeholder)"
                }
                if isFirst, let mask { return "\(part[..<index])=\(mask)" }
            default: continue
            }
        }
        // Without a name, the text could be a value.
        return hasEquals || part.isEmpty ? part : mask.map { $0[...] } ?? part
    }

    /// Returns whether the value of a pair is a JSON or XML document with redacted values, encoded or not.
    private func hasSecretDocument(_ value: Substring) -> Bool {
        guard value.utf8.contains(where: { "\"<%".utf8.contains($0) }) else { return false }
        let text = PercentEncoding.decode(value)
        guard let first = text.utf8.first(where: { $0 > 32 }), "{[<\"".utf8.contains(first) else { return false }
        return redactedText(text, depth: 1) != nil
    }

    /// The maximum number of bytes of a name that is compared with the rules.
    private static let maximumName = 1_024

    /// Returns whether the value after a name is redacted: the name is, or is too long to be compared with the rules.
    private func redactsValue(of text: Substring, _ isRedacted: (String) -> Bool) -> Bool {
        let name = text.utf8.drop { $0 == UInt8(ascii: " ") }
        return name.count > Self.maximumName || isRedacted(PercentEncoding.decode(Substring(name)))
    }

    /// Returns an authority with its userinfo replaced.
    package func authority(_ authority: String) -> String {
        guard let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else { return redactingValues(in: authority) }
        return redactingValues(in: "\(Self.placeholder)\(authority[at...])")
    }
}
