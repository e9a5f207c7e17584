import HTTPTypes

/// Which part of a representation a response brings (RFC 9110 section 14.4).
package struct ContentRange: Sendable, Equatable {
    /// Its bytes; never empty.
    package let range: Range<Int64>
    /// How many bytes the representation has; nil where the server does not know.
    package let length: Int64?

    /// Reads `bytes 0-4/10` and `bytes 0-4/*`; nil for anything else.
    ///
    /// That the part lies within the whole is not looked at.
    init?(_ field: String) {
        let words = field.split { $0 == " " || $0 == "-" || $0 == "/" }
        guard words.count == 4, words[0].lowercased() == "bytes", let first = Int64(words[1]), first >= 0,
            let last = Int64(words[2]), first <= last, last < .max
        else { return nil }
        range = first..<last + 1
        length = Int64(words[3])
    }
}

extension HTTPResponse {
    /// The one part that a 206 says it brings; nil for any other status, for several parts, and for what cannot be
    /// read.
    package var contentRange: ContentRange? {
        status.code == 206 ? headerFields[.contentRange].flatMap { ContentRange($0) } : nil
    }
}
