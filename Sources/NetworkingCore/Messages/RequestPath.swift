/// The path of a request, in which interpolated values are escaped.
///
/// ```swift
/// HTTPRequestData.get("users/\(name)/posts/\(42)")   // name "a/b?c" is sent as users/a%2Fb%3Fc/posts/42
/// HTTPRequestData.get("files/\(raw: "2026/november.pdf")")
/// ```
///
/// The literal text is a path, and a query if it contains a question mark. Characters that a path may not contain are
/// percent-encoded, and existing escapes stay as they are. An interpolated value is percent-encoded as a whole, so that
/// a slash, a question mark or a number sign in it does not change the structure of the URL.
///
/// A segment of the path that contains a value must not be empty, `.` or `..`, because such a path names another
/// resource. It must not contain `..` between slashes or backslashes either, as in `../admin`, because some servers
/// decode `%2F` before they remove dot segments. Sending a request with such a segment fails with
/// ``NetworkingError/Kind/invalidRequest``. Sending a request with a URL as its path, as in `.get("https://…")`, fails
/// in the same way: pass a `URL` instead.
///
/// The segments `.` and `..` in the literal text are removed when the request is sent (RFC 3986 section 5.2.4).
public struct RequestPath: Sendable, Hashable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The path, and the query if there is one, with escaped values.
    let text: String

    /// Whether a value makes a segment empty or a dot segment, at least for a server that decodes slashes first.
    let hasInvalidSegment: Bool

    /// Creates a path from text in which slashes, question marks and escapes keep their meaning, such as the path in a
    /// response.
    ///
    /// - Parameter path: The path, with or without its leading slash, followed by the query if it contains a question
    ///   mark.
    public init(_ path: String) {
        text = path
        hasInvalidSegment = false
    }

    /// Creates a path from a literal.
    public init(stringLiteral path: String) {
        self.init(path)
    }

    /// Creates a path from a literal with values.
    public init(stringInterpolation: StringInterpolation) {
        var interpolation = stringInterpolation
        interpolation.endSegment()
        text = interpolation.text
        hasInvalidSegment = interpolation.hasInvalidSegment
    }

    /// The path with escaped values.
    public var description: String {
        text
    }

    /// Returns whether a path begins with a scheme and `://`, so that it is a URL.
    static func hasScheme(_ path: String) -> Bool {
        let scheme = path.utf8.prefix { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default:
                false
            }
        }
        return !scheme.isEmpty && path.utf8[scheme.endIndex...].starts(with: "://".utf8)
    }
}

extension RequestPath {
    /// The literal text and the values of a path.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var hasInvalidSegment = false
        private var segment = ""
        private var segmentHasValue = false
        private var isInQuery = false

        /// Creates an empty path.
        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + interpolationCount * 8)
        }

        /// Appends literal text.
        public mutating func appendLiteral(_ literal: String) {
            append(unescaped: literal)
        }

        /// Appends a value, percent-encoded as a whole.
        ///
        /// - Parameter value: The value, such as a name or a number.
        public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            append(value: value.description)
        }

        /// Appends the raw value of an enumeration or an identifier, percent-encoded as a whole.
        ///
        /// - Parameter value: The value.
        public mutating func appendInterpolation<Value: RawRepresentable>(
            _ value: Value
        ) where Value.RawValue: CustomStringConvertible {
            append(value: value.rawValue.description)
        }

        /// Appends the raw value of an enumeration or an identifier, percent-encoded as a whole.
        ///
        /// - Parameter value: The value. Its description is not used.
        public mutating func appendInterpolation<Value: RawRepresentable & CustomStringConvertible>(
            _ value: Value
        ) where Value.RawValue: CustomStringConvertible {
            append(value: value.rawValue.description)
        }

        /// Appends text that is already a part of a path.
        ///
        /// - Parameter path: The text, which may contain slashes and escapes.
        public mutating func appendInterpolation(raw path: String) {
            append(unescaped: path)
        }

        /// Not available, because a missing value would become the text "nil".
        ///
        /// - Parameter value: The value.
        @available(*, unavailable, message: "Unwrap the value: a path cannot contain an optional.")
        public mutating func appendInterpolation<Value>(_ value: Value?) {}

        /// Not available, because the value has no text that identifies it in a path.
        ///
        /// - Parameter value: The value.
        @available(
            *,
            unavailable,
            message: "Interpolate text, a number or an identifier, such as a property of the value."
        )
        public mutating func appendInterpolation<Value>(_ value: Value) {}

        private mutating func append(value: String) {
            text += PercentEncoding.unreserved.encode(value)
            segment += value
            segmentHasValue = true
        }

        private mutating func append(unescaped literal: String) {
            text += literal
            for character in literal.unicodeScalars where !isInQuery {
                if character == "/" || character == "?" {
                    endSegment()
                    isInQuery = character == "?"
                } else {
                    segment.unicodeScalars.append(character)
                }
            }
        }

        /// Checks the segment that ends here.
        fileprivate mutating func endSegment() {
            if !isInQuery, segmentHasValue, ["", ".", ".."].contains(segment) || segment.leadsToParent {
                hasInvalidSegment = true
            }
            segment = ""
            segmentHasValue = false
        }
    }
}

extension String {
    /// Whether a part between slashes or backslashes is `..`.
    fileprivate var leadsToParent: Bool {
        // By bytes, because a slash with a combining mark is a different character, but still a slash in a URL.
        utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }.contains { $0.elementsEqual("..".utf8) }
    }
}
