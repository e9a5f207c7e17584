import HTTPTypes

/// The part of a representation that a response contains (RFC 9110 section 14.4).
package struct ContentRange: Sendable, Equatable {
    /// The bytes of the part; never empty.
    package let range: Range<Int64>
    /// The number of bytes of the whole representation; `nil` if the server does not know it.
    package let length: Int64?

    /// Parses `bytes 0-4/10` and `bytes 0-4/*`; returns `nil` for anything else, such as a part that is reversed or
    /// ends after the representation.
    init?(_ field: String) {
        let bytes = field.utf8
        guard let space = bytes.firstIndex(of: UInt8(ascii: " ")),
            let slash = bytes[space...].firstIndex(of: UInt8(ascii: "/")),
            let dash = bytes[space..<slash].firstIndex(of: UInt8(ascii: "-")),
            field[..<space].lowercased() == "bytes",
            let first = DecimalDigits.number(bytes[space..<dash].dropFirst()),
            let last = DecimalDigits.number(bytes[dash..<slash].dropFirst()),
            first <= last, last < .max
        else { return nil }
        let length = bytes[slash...].dropFirst()
        if length.elementsEqual("*".utf8) {
            self.length = nil
        } else {
            guard let length = DecimalDigits.number(length), last < length else { return nil }
            self.length = length
        }
        range = first..<last + 1
    }
}

extension HTTPResponse {
    /// The single part in a 206 response.
    ///
    /// `nil` for any other status, for several parts, and for a field that cannot be parsed.
    package var contentRange: ContentRange? {
        status.code == 206 ? headerFields[singleton: .contentRange].flatMap { ContentRange($0) } : nil
    }
}
