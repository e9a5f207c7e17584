#if TestServer
public import HTTPTypes

extension TestResponse {
    /// Holds a response that comes before the answer and says that there is more to come (RFC 9110, section 15.2).
    public struct Informational: Sendable {
        /// The status, from 100 to 199.
        public let status: HTTPResponse.Status

        /// The fields, in the order in which they are sent.
        public let headerFields: HTTPFields

        /// The time to wait before it is sent.
        public let delay: Duration

        /// The gate that has to be open before it is sent; the delay starts behind it.
        public let gate: Gate?

        /// Creates an informational response.
        ///
        /// - Parameters:
        ///   - status: The status.
        ///   - headerFields: The fields.
        ///   - delay: The time to wait before it is sent.
        ///   - gate: The gate that has to be open before it is sent.
        /// - Precondition: `status` is informational and not `101 Switching Protocols`, behind which there is no
        ///   answer.
        public init(
            _ status: HTTPResponse.Status,
            headerFields: HTTPFields = [:],
            delay: Duration = .zero,
            gate: Gate? = nil
        ) {
            precondition(
                status.kind == .informational && status != .switchingProtocols,
                "an informational response has a status from 100 to 199, except 101 (is \(status.code))"
            )
            self.status = status
            self.headerFields = headerFields
            self.delay = delay
            self.gate = gate
        }

        /// Tells the client to send its body, asked or not: `100 Continue`.
        public static let `continue` = Informational(.continue)

        /// Tells the client that the answer takes a while: `102 Processing`.
        public static let processing = Informational(HTTPResponse.Status(code: 102, reasonPhrase: "Processing"))

        /// Returns `103 Early Hints`, with which a client can fetch ahead what the answer will need.
        ///
        /// - Parameter links: The values of its `Link` fields: `</style.css>; rel=preload; as=style`.
        /// - Returns: The informational response.
        public static func earlyHints(_ links: String...) -> Informational {
            var fields = HTTPFields()
            for link in links {
                fields.append(HTTPField(name: HTTPField.Name("Link")!, value: link))
            }
            return Informational(.earlyHints, headerFields: fields)
        }
    }

    /// Sends informational responses before the head.
    ///
    /// ```swift
    /// .text("page").preceded(by: .processing, .earlyHints("</style.css>; rel=preload"))
    /// ```
    ///
    /// They are sent when the answer begins, before its ``delay``, and behind those that were there already.
    ///
    /// - Parameter responses: The informational responses, first to be sent first.
    /// - Returns: The response with these in front of it.
    /// - Precondition: The body is not raw.
    public func preceded(by responses: Informational...) -> TestResponse {
        with("preceded") { $0.informational += responses }
    }

    /// Sends fields behind the body, in the chunked coding, which is the only one that has room for them.
    ///
    /// A body that would go without a coding is sent in this one. An answer without a body, as to `HEAD`, has no
    /// trailers.
    ///
    /// - Parameter fields: The fields, in the order in which they are sent.
    /// - Returns: The response with these trailers in place of those it had.
    /// - Precondition: The body is not raw.
    public func trailers(_ fields: HTTPFields) -> TestResponse {
        with("trailers") { $0.trailerFields = fields }
    }

    /// Says what a client gets that asks with `Expect: 100-continue` whether it may send its body.
    public enum Expectation: Sendable, Hashable {
        /// It is told to send the body.
        case continued

        /// It gets the answer in place of the body's go-ahead, and the connection is closed: `413`, or `417`.
        case refused

        /// It gets nothing until it has sent the body all the same, which it does after a time of its own (RFC 9110,
        /// section 10.1.1).
        case ignored
    }

    /// Says what a client gets that asks with `Expect: 100-continue` whether it may send its body.
    ///
    /// ```swift
    /// server.enqueue(.status(.contentTooLarge).onExpectation(.refused))
    /// ```
    ///
    /// Without this it is told to. A client that does not ask, or sends without waiting, sees no difference. As with
    /// ``disconnecting(_:at:gate:)``, the answer has to be known when the head arrives. An answer of
    /// ``TestServer/routeAtHead(_:_:times:handler:)`` always comes in place of the go-ahead.
    ///
    /// - Parameter expectation: What it gets.
    /// - Returns: The response that treats the client so.
    public func onExpectation(_ expectation: Expectation) -> TestResponse {
        var response = self
        response.expectation = expectation
        return response
    }
}
#endif
