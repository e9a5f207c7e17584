package import FoundationForNetworking

extension URL {
    /// Creates the URL of a reference, without its fragment; `nil` for an empty one, for which Foundation has no URL.
    ///
    /// Characters that a URL may not contain are encoded first, because Foundation would encode the escapes of the
    /// reference again.
    ///
    /// The scheme of the base without an authority, as in `http:path`, is skipped (RFC 3986 section 5.2.2), and another
    /// one names no server: `nil`.
    ///
    /// - Parameters:
    ///   - reference: The absolute or relative reference.
    ///   - base: The URL that a relative reference is resolved against.
    package init?(reference: String, relativeTo base: URL?) {
        var reference = reference[..<(reference.utf8.firstIndex(of: UInt8(ascii: "#")) ?? reference.endIndex)]
        if let base, let (scheme, path) = reference.schemeWithoutAuthority {
            guard scheme == base.scheme?.lowercased() else { return nil }
            // A relative path may not have a colon in its first segment.
            reference = path.first.map { "/?".contains($0) } ?? true ? path : "./" + path
        }
        let isDelimiter = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }
        var targetStart = reference.startIndex
        if let slashes = reference.utf8.firstRange(of: "//".utf8),
            !reference.utf8[..<slashes.lowerBound].contains(where: isDelimiter)
        {
            let rest = reference.utf8[slashes.upperBound...]
            targetStart = rest.firstIndex(where: isDelimiter) ?? rest.endIndex
        }
        let target = PercentEncoding.encodeTarget(String(reference[targetStart...]))
        guard let url = URL(string: reference[..<targetStart] + target, relativeTo: base) else { return nil }
        self = url.absoluteURL
    }
}

extension Substring {
    /// The scheme of HTTP at the beginning of a reference, in lower case, and what follows it, if that is no authority.
    fileprivate var schemeWithoutAuthority: (scheme: String, rest: Substring)? {
        guard let colon = utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let (scheme, rest) = (self[..<colon].lowercased(), self[index(after: colon)...])
        return (scheme == "http" || scheme == "https") && !rest.hasPrefix("//") ? (scheme, rest) : nil
    }
}
