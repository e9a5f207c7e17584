#if Crypto
import FoundationForNetworking
public import HTTPTypes
public import NetworkingCore

extension HMACSigner {
    /// A part of the text to sign.
    ///
    /// A string literal is a constant part.
    public struct Part: Sendable, ExpressibleByStringLiteral {
        private let content: Content
        /// The field that also contains the value.
        private var field: HTTPField.Name?

        private enum Content: Sendable {
            case text(@Sendable (HTTPRequestData) -> String)
            case timestamp(TimestampFormat)
            case nonce
            case bodyDigest(DigestFormat)
            case body
        }

        /// Creates a part that is the same for all requests.
        public init(stringLiteral value: String) {
            content = .text { _ in value }
        }

        private init(_ content: Content, in field: HTTPField.Name? = nil) {
            self.content = content
            self.field = field
        }

        /// The method, in capital letters if it is a standard one.
        public static let method = value { $0.method.rawValue }
        /// `https` or `http`.
        public static let scheme = value { $0.scheme ?? "https" }
        /// The host, and the port if the URL names one, as in the Host field.
        public static let authority = value { $0.authority ?? "" }
        /// The path as sent, percent-encoded, without the query.
        public static let path = value { String(RequestTarget.split($0.requestTarget).path) }
        /// The query as sent, percent-encoded, without its question mark; empty if there is none.
        public static let query = value { RequestTarget.split($0.requestTarget).query.map { String($0) } ?? "" }
        /// The path and the query as sent.
        public static let target = value { $0.requestTarget }
        /// The bytes of the body.
        public static let body = Part(.body)

        /// The digest of the body, by the signer's hash function.
        ///
        /// - Parameters:
        ///   - format: The format of the digest.
        ///   - field: A header field that also contains it; `nil` for none.
        /// - Returns: The part.
        public static func bodyDigest(_ format: DigestFormat = .hexadecimal, in field: HTTPField.Name? = nil) -> Part {
            Part(.bodyDigest(format), in: field)
        }

        /// The value of a header field; several are joined with commas, and a missing field is empty.
        ///
        /// - Parameter name: The name of the field.
        /// - Returns: The part.
        public static func field(_ name: HTTPField.Name) -> Part {
            value { $0.headerFields[name] ?? "" }
        }

        /// The time of the signature, by the environment's clock.
        ///
        /// - Parameters:
        ///   - format: The format of the time.
        ///   - field: A header field that also contains it; `nil` if the ``Destination`` sends it.
        /// - Returns: The part.
        public static func timestamp(_ format: TimestampFormat = .seconds, in field: HTTPField.Name?) -> Part {
            Part(.timestamp(format), in: field)
        }

        /// A nonce of 128 random bits in hexadecimal digits, so that all signatures are different.
        ///
        /// - Parameter field: A header field that also contains it; `nil` if the ``Destination`` sends it.
        /// - Returns: The part.
        public static func nonce(in field: HTTPField.Name?) -> Part {
            Part(.nonce, in: field)
        }

        /// A text computed from the request.
        ///
        /// - Parameter text: Returns the text of a request, which already has the fields of the other parts.
        /// - Returns: The part.
        public static func value(_ text: @escaping @Sendable (HTTPRequestData) -> String) -> Part {
            Part(.text(text))
        }

        var isBodyDigest: Bool {
            if case .bodyDigest = content { true } else { false }
        }

        /// Returns the time in the format of this part; `nil` for a part of another kind.
        func timestamp(of date: Date) -> String? {
            if case .timestamp(let format) = content { format.text(date) } else { nil }
        }

        /// Sets the header field of this part, if it has one.
        func setField(of request: inout HTTPRequestData, to values: Values) {
            if let field {
                request.headerFields[field] = text(of: request, values)
            }
        }

        /// Returns the text of the part; `nil` for the bytes of the body.
        func text(of request: HTTPRequestData, _ values: Values) -> String? {
            switch content {
            case .text(let text): text(request)
            case .timestamp(let format): format.text(values.date)
            case .nonce: values.nonce
            case .bodyDigest(let format): format.text(values.bodyDigest)
            case .body: nil
            }
        }
    }

    /// The text format of a digest.
    public enum DigestFormat: Sendable {
        /// Hexadecimal digits, in lower case.
        case hexadecimal
        /// Base 64 (RFC 4648 section 4).
        case base64

        fileprivate func text(_ bytes: [UInt8]) -> String {
            switch self {
            case .hexadecimal: bytes.hexadecimal
            case .base64: Data(bytes).base64EncodedString()
            }
        }
    }

    /// The format of a time.
    public enum TimestampFormat: Sendable {
        /// The whole seconds since 1970: `1700000000`.
        case seconds
        /// The whole milliseconds since 1970: `1700000000000`.
        case milliseconds
        /// The format of RFC 3339, in UTC and to the second: `2023-11-14T22:13:20Z`.
        case internet
        /// The format of HTTP: `Tue, 14 Nov 2023 22:13:20 GMT`.
        case httpDate

        fileprivate func text(_ date: Date) -> String {
            switch self {
            case .seconds: Self.integerText(date.timeIntervalSince1970)
            case .milliseconds: Self.integerText(date.timeIntervalSince1970 * 1_000)
            case .internet: date.formatted(.iso8601)
            case .httpDate: date.httpDate
            }
        }

        private static func integerText(_ number: Double) -> String {
            "\(Int64(exactly: number.rounded(.down)) ?? 0)"
        }
    }

    /// The values that change with each signature.
    struct Values: Sendable {
        let date = NetworkEnvironment.current.clock.date
        let nonce = NetworkEnvironment.current.secureRandom.bytes(16).hexadecimal
        /// The time, in the format of the first part with a timestamp.
        var timestamp: String?
        var bodyDigest: [UInt8] = []
    }
}
#endif
