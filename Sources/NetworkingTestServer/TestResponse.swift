#if TestServer
public import HTTPTypes

/// Describes one answer of a ``TestServer``: a status, fields, a body, and how slowly they are sent.
///
/// ```swift
/// server.enqueue(
///     .text("hello"),
///     .status(.notFound),
///     TestResponse(headerFields: [.contentType: "text/event-stream"], body: .chunks(["data: 1\n\n", "data: 2\n\n"]))
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

    /// The time to wait before the head is sent.
    public var delay: Duration

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
#endif
