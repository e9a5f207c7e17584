extension Redaction {
    /// Whether a body starts like an object or an array of JSON, whatever its media type is.
    ///
    /// If such a body is not parsed to its end, its secrets are not known, so nothing of it is shown.
    static func mayBeJSON(_ body: some Collection<UInt8>) -> Bool {
        // White space, a byte order mark, and the zero bytes of UTF-16 and UTF-32.
        let first = body.first { $0 > 32 && ![0xEF, 0xBB, 0xBF, 0xFE, 0xFF].contains($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Returns a JSON document with its redacted values replaced, also those in its strings.
    ///
    /// - Parameters:
    ///   - source: The document.
    ///   - layout: The layout of the result.
    ///   - depth: The number of strings around the document.
    /// - Returns: The document and whether anything was redacted; `nil` if the source is not JSON.
    func document(
        _ source: [UInt8],
        layout: JSONRedactor.Layout = .compact,
        depth: Int = 0
    ) -> (text: String, hasRedacted: Bool)? {
        JSONRedactor.redact(source, layout: layout, isRedacted: redactsBodyField) { text in
            redactedText(text, depth: depth + 1)
        }
    }

    /// The maximum number of strings around a document in a string; a body from outside decides how deep they are.
    private static let maximumNesting = 4

    /// Returns a text of no known format with its redacted values replaced; `nil` if it has none.
    func redactedText(_ text: String, depth: Int = 0) -> String? {
        let source = Array(text.utf8)
        if depth > 0, Self.mayBeJSON(source) {
            guard depth <= Self.maximumNesting else { return Self.placeholder }
            if let json = document(source, depth: depth) { return json.hasRedacted ? json.text : nil }
        }
        return FreeTextRedactor.redact(source, by: self).map { String(decoding: $0, as: UTF8.self) }
    }
}
