import HTTPTypes

/// The part of a representation that a response contains (RFC 9110 section 14.4).
package struct ContentRange: Sendable, Equatable {
    /// The bytes of the part; never empty.
    package let range: Range<Int64>
    /// The number of bytes of the whole representation; `nil` if the server does not know it.
    package let length: Int64?

    /// Parses `bytes 0-4/10` and `bytes 0-4/*`; returns `nil` for anything else.
    ///
    /// It does not check that the part lies within the representation.
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
    /// The single part in a 206 response.
    ///
    /// `nil` for any other status, for several parts, and for a field that cannot be parsed.
    package var contentRange: ContentRange? {
        status.code == 206 ? headerFields[.contentRange].flatMap { ContentRange($0) } : nil
    }
}
