import HTTPTypes

extension Redaction {
    /// The most bytes of a value that a line of a log shows.
    static let maximumValue = 2_048
    /// The most header fields that a log shows.
    private static let maximumFields = 200

    /// Method and URL of a request.
    package func line(for request: HTTPRequestData) -> String {
        let (open, query) = target(of: request)
        return open + query
    }

    /// Method and URL of a request, apart: as far as the path, and the query with its question mark.
    package func target(of request: HTTPRequestData) -> (open: String, query: String) {
        let redaction = hidingSecrets(of: request)
        let (path, query) = HTTPRequestData.split(request.closedTarget)
        var open = "\(request.method) "
        if let authority = request.authority {
            open += "\(request.scheme ?? "https")://\(redaction.authority(authority))\(path == "*" ? " " : "")"
        }
        open += path
        let shown = query.map { "?\(redaction.pairs($0, hiding: redaction.hidesQueryItem))" } ?? ""
        return (
            PrintableText.cut(PrintableText.singleLine(redaction.hidingValues(in: open)), to: Self.maximumValue),
            PrintableText.cut(PrintableText.singleLine(redaction.hidingValues(in: shown)), to: Self.maximumValue)
        )
    }

    /// Header fields as lines, hidden values replaced.
    func lines(for fields: HTTPFields) -> [String] {
        fields.map { line(for: $0) }
    }

    /// The same for a log, which has room for so much only.
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

    /// The value of a field that is not hidden itself; a URL in it may have what is.
    package func value(of field: HTTPField) -> String {
        switch field.name.canonicalName {
        case "location", "content-location", "referer", "destination": hidingValues(in: reference(field.value))
        // A URL, and what is said of it.
        case "link", "refresh": hidingValues(in: String(pairs(field.value[...], hiding: hidesQueryItem)))
        default: hidingValues(in: field.value)
        }
    }

    /// Why something failed.
    ///
    /// Other people's errors may print anything, so only this library's speak for themselves.
    package func reason(of error: any Error) -> String {
        let reason = (error as? NetworkingError)?.reason ?? "\(type(of: error))"
        return PrintableText.cut(PrintableText.singleLine(hidingValues(in: reason)), to: Self.maximumValue)
    }

    /// A URL, absolute or relative, with its userinfo and the hidden values of its query and fragment replaced.
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

    /// Path and query, hidden values replaced and everything else to the byte.
    package func target(_ target: String) -> String {
        let (path, query) = HTTPRequestData.split(target)
        guard let query else { return hidingValues(in: target) }
        return hidingValues(in: "\(path)?\(pairs(query, hiding: hidesQueryItem))")
    }

    /// Names and values as a query and a form have them, hidden values replaced.
    ///
    /// By bytes: a combining mark after an equals sign or an ampersand would make another character of it.
    func pairs(_ text: Substring, hiding isHidden: (String) -> Bool) -> String {
        text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .map { piece in
                let piece = Substring(piece)
                guard let equals = piece.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                    // Without a name, it may be a value.
                    return piece.isEmpty ? piece : mask.map { $0[...] } ?? piece
                }
                let name = piece[..<equals]
                if isHidden(PercentEncoding.decode(name)) { return "\(name)=\(Self.placeholder)" }
                return mask.map { "\(name)=\($0)" } ?? hidingInner(piece, after: equals, isHidden)
            }
            .joined(separator: "&")
    }

    /// A pair in whose value is a query of its own, or a second pair after a semicolon: what is hidden there is so to
    /// its end.
    private func hidingInner(
        _ piece: Substring,
        after equals: Substring.Index,
        _ isHidden: (String) -> Bool
    ) -> Substring {
        var start = equals
        while let mark = piece.utf8[start...].firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: ";") })
        {
            start = piece.utf8.index(after: mark)
            guard let inner = piece.utf8[start...].firstIndex(of: UInt8(ascii: "=")) else { break }
            let name = piece[start..<inner].drop { $0 == " " }
            if isHidden(PercentEncoding.decode(name)) { return "\(piece[...inner])\(Self.placeholder)" }
        }
        return piece
    }

    /// An authority, userinfo replaced.
    package func authority(_ authority: String) -> String {
        guard let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else { return hidingValues(in: authority) }
        return hidingValues(in: "\(Self.placeholder)\(authority[at...])")
    }
}
