#if TestServer
public import HTTPTypes

extension TestResponse {
    /// A response before the final one (RFC 9110, section 15.2).
    public struct Informational: Sendable {
        /// The status, from 100 to 199.
        public let status: HTTPResponse.Status

        /// The fields, in the order in which they are sent.
        public let headerFields: HTTPFields

        /// The time to wait before the response is sent.
        public let delay: Duration

        /// The gate that has to be open before the response is sent.
        ///
        /// The delay starts afterwards.
        public let gate: Gate?

        /// Creates an informational response.
        ///
        /// - Parameters:
        ///   - status: The status.
        ///   - headerFields: The fields.
        ///   - delay: The time to wait before the response is sent.
        ///   - gate: The gate that has to be open before the response is sent.
        /// - Precondition: `status` is informational and not `101 Switching Protocols`, after which there is no
        ///   response.
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

        /// A request to send the body, even if the client does not wait for it: `100 Continue`.
        public static let `continue` = Informational(.continue)

        /// A notice that the response takes longer: `102 Processing`.
        public static let processing = Informational(HTTPResponse.Status(code: 102, reasonPhrase: "Processing"))

        /// Returns `103 Early Hints`, which lets a client load resources before the response arrives.
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
    /// TestResponse.text("page").preceded(by: .processing, .earlyHints("</style.css>; rel=preload"))
    /// ```
    ///
    /// They are sent before the head and its ``delay``, after informational responses that were added earlier.
    ///
    /// - Parameter responses: The informational responses, in order.
    /// - Returns: The response with these informational responses.
    /// - Precondition: The body is not raw.
    public func preceded(by responses: Informational...) -> TestResponse {
        with("preceded") { $0.informational += responses }
    }

    /// Sends fields after the body, in the chunked coding.
    ///
    /// The chunked coding is used for every body, because only this coding allows trailers. A response without a body,
    /// such as to `HEAD`, has no trailers.
    ///
    /// - Parameter fields: The fields, in the order in which they are sent.
    /// - Returns: The response with these trailers, which replace earlier ones.
    /// - Precondition: The body is not raw.
    public func trailers(_ fields: HTTPFields) -> TestResponse {
        with("trailers") { $0.trailerFields = fields }
    }

    /// The response to a client with `Expect: 100-continue`.
    public enum Expectation: Sendable, Hashable {
        /// The client gets `100 Continue` and sends the body.
        case continued

        /// The client gets the final response, such as `413` or `417`, and the connection is closed.
        case refused

        /// The client gets nothing until it sends the body anyway, which it does after a timeout (RFC 9110, section
        /// 10.1.1).
        case ignored
    }

    /// Sets the response to a client with `Expect: 100-continue`.
    ///
    /// ```swift
    /// server.enqueue(.status(.contentTooLarge).onExpectation(.refused))
    /// ```
    ///
    /// By default, the client gets `100 Continue`. A client that does not wait for it sees no difference. As with
    /// ``disconnecting(_:at:gate:)``, the response has to be known when the head arrives. A response of
    /// ``TestServer/routeAtHead(_:_:times:handler:)`` is sent instead of `100 Continue`, unless it is an echo.
    ///
    /// - Parameter expectation: The response to the client.
    /// - Returns: The response with that expectation.
    public func onExpectation(_ expectation: Expectation) -> TestResponse {
        var response = self
        response.expectation = expectation
        return response
    }
}
#endif
