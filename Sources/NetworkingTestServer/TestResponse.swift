#if TestServer
public import HTTPTypes

/// Describes one answer of a ``TestServer``: a status, fields, a body, how slowly they are sent, and where they break
/// off.
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
/// The fields are sent as they are, in their order. The framing field that the body needs is added behind them unless
/// it was set by hand. A `Content-Length` set by hand that is not the number of bytes sent closes the connection after
/// them, which is how a truncated body is made:
///
/// ```swift
/// TestResponse(headerFields: [.contentLength: "100"], body: .data(Data("only these".utf8)))
/// ```
public struct TestResponse: Sendable {
    /// The status; a status that cannot have a body, such as 204 and 304, is sent without one.
    public var status: HTTPResponse.Status

    /// The fields, in the order in which they are sent.
    public var headerFields: HTTPFields

    /// The body and the way it is sent; the answer to `HEAD` has the framing of this body and no bytes of it.
    public var body: Body

    /// The time to wait before the head is sent, behind the informational responses.
    public var delay: Duration

    /// The time to wait between the head and the first bytes of the body: ``delayed(head:body:trailers:)``.
    public internal(set) var bodyDelay = Duration.zero

    /// The time to wait between the last bytes of the body and the trailers: ``delayed(head:body:trailers:)``.
    public internal(set) var trailersDelay = Duration.zero

    /// What is sent before the head: ``preceded(by:)``.
    public internal(set) var informational: [Informational] = []

    /// The fields behind the body: ``trailers(_:)``.
    public internal(set) var trailerFields = HTTPFields()

    /// How slowly the body is sent: ``throttled(to:every:)``.
    public internal(set) var throttle: Throttle?

    /// How slowly the body of the request is read: ``readingThrottled(to:every:)``.
    public internal(set) var readingThrottle: Throttle?

    /// What the client gets that asks with `Expect: 100-continue` whether it may send its body: ``onExpectation(_:)``.
    public internal(set) var expectation = Expectation.continued

    /// Where the exchange breaks off: ``disconnecting(_:at:gate:)``.
    public internal(set) var disconnect: Disconnect?

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
    /// Whether it says how the body of its request is received, and so has to be known when the head arrives.
    var actsOnRequest: Bool {
        readingThrottle != nil || expectation != .continued || disconnect?.stage.isWithinRequest == true
    }

    /// A copy with a change, of an answer that is not raw: that one says everything itself.
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
