#if TestServer
public import HTTPTypes

/// A response of a ``TestServer``: a status, fields, a body, their pace, and an optional disconnect.
///
/// ```swift
/// server.enqueue(
///     .text("hello"),
///     .status(.notFound),
///     TestResponse(headerFields: [.contentType: "text/event-stream"], body: .chunks(["data: 1\n\n", "data: 2\n\n"])),
///     .text("never all of it").disconnecting(.reset, at: .responseBody(after: 5))
/// )
/// ```
///
/// The fields are sent unchanged and in order, followed by the framing field of the body unless the test sets one. If
/// the test sets a `Content-Length` that differs from the number of bytes, the connection closes after them. This makes
/// a truncated body:
///
/// ```swift
/// TestResponse(headerFields: [.contentLength: "100"], body: .data(Data("only these".utf8)))
/// ```
public struct TestResponse: Sendable {
    /// The status.
    ///
    /// A status without a body, such as 204 and 304, is sent without one.
    public var status: HTTPResponse.Status

    /// The fields, in the order in which they are sent.
    public var headerFields: HTTPFields

    /// The body and the way it is sent.
    ///
    /// The response to `HEAD` has the framing fields of the body, but no bytes.
    public var body: Body

    /// The time to wait before the head is sent, after the informational responses.
    public var delay: Duration

    /// The time to wait between the head and the first bytes of the body: ``delayed(head:body:trailers:)``.
    var bodyDelay = Duration.zero

    /// The time to wait between the last bytes of the body and the trailers: ``delayed(head:body:trailers:)``.
    var trailersDelay = Duration.zero

    /// The responses sent before the head: ``preceded(by:)``.
    var informational: [Informational] = []

    /// The fields after the body: ``trailers(_:)``.
    var trailerFields = HTTPFields()

    /// The pace at which the body is sent: ``throttled(to:every:)``.
    var throttle: Throttle?

    /// The pace at which the body of the request is read: ``readingThrottled(to:every:)``.
    var readingThrottle: Throttle?

    /// The response to a client with `Expect: 100-continue`: ``onExpectation(_:)``.
    var expectation = Expectation.continued

    /// The disconnect of the exchange: ``disconnecting(_:at:gate:)``.
    var disconnect: Disconnect?

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The fields.
    ///   - body: The body.
    ///   - delay: The time to wait before the head is sent.
    public init(
        status: HTTPResponse.Status = .ok,
        headerFields: HTTPFields = [:],
        body: Body = .empty,
        delay: Duration = .zero
    ) {
        self.status = status
        self.headerFields = headerFields
        self.body = body
        self.delay = delay
    }
}

extension TestResponse {
    /// Whether the response controls how its request is received, and so has to be known when the head arrives.
    var actsOnRequest: Bool {
        readingThrottle != nil || expectation != .continued || disconnect?.stage.isWithinRequest == true
    }

    /// Returns a copy with a change.
    ///
    /// The response must not be raw, because a raw response defines everything itself.
    func with(_ modifier: StaticString, _ change: (inout TestResponse) -> Void) -> TestResponse {
        if case .raw = body {
            preconditionFailure(
                "a raw response contains all bytes that are sent and how it ends: it cannot have \(modifier)"
            )
        }
        var response = self
        change(&response)
        return response
    }
}
#endif
