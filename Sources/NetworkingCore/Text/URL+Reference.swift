package import FoundationForNetworking

extension URL {
    /// Creates the URL of a reference, without its fragment; `nil` for an empty one, for which Foundation has no URL.
    ///
    /// Characters that a URL may not contain are encoded first, because Foundation would encode the escapes of the
    /// reference again.
    ///
    /// - Parameters:
    ///   - reference: The absolute or relative reference.
    ///   - base: The URL that a relative reference is resolved against.
    package init?(reference: String, relativeTo base: URL?) {
        let reference = reference[..<(reference.utf8.firstIndex(of: UInt8(ascii: "#")) ?? reference.endIndex)]
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
