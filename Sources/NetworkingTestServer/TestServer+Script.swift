#if TestServer
public import HTTPTypes

extension TestServer {
    /// Produces the answer to one request.
    ///
    /// It runs in a task of the connection, which is cancelled when the client hangs up or the server stops. An error
    /// it throws is answered with `500 Internal Server Error` and a sentence that names the error.
    public typealias Handler = nonisolated(nonsending) @Sendable (RecordedRequest) async throws -> TestResponse

    /// Answers requests of one method and path.
    ///
    /// A path is made of segments: a literal one, `:name`, which takes any one segment and makes it readable as
    /// `request.parameters["name"]`, and a trailing `*`, which takes the rest, even none, as
    /// `request.parameters["*"]`. Segments are compared, and parameters are given, without percent-encoding. A trailing
    /// slash counts. Of several routes that match, the newest answers, so a test can replace what its fixture scripted.
    ///
    /// ```swift
    /// server.route(.delete, "/users/:id") { _ in .status(.noContent) }
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method, matched exactly: a route for `.get` does not answer `HEAD`.
    ///   - path: The pattern of the path.
    ///   - handler: Produces the answer.
    /// - Precondition: `path` starts with `/`, and `*` is its last segment if it has one.
    public func route(_ method: HTTPRequest.Method, _ path: String, handler: @escaping Handler) {
        switchboard.add(Route(method: method, path: PathPattern(path), handler: handler))
    }

    /// Answers requests of any method to one path.
    ///
    /// The path is matched as in ``route(_:_:handler:)``.
    ///
    /// - Parameters:
    ///   - path: The pattern of the path.
    ///   - handler: Produces the answer.
    /// - Precondition: `path` starts with `/`, and `*` is its last segment if it has one.
    public func route(_ path: String, handler: @escaping Handler) {
        switchboard.add(Route(method: nil, path: PathPattern(path), handler: handler))
    }

    /// Queues responses that answer the next requests, ahead of every route.
    ///
    /// Each request takes the first response that is left, whatever its method and path, in the order in which the
    /// requests arrive; when none is left, the routes answer again.
    ///
    /// ```swift
    /// server.enqueue(.status(.serviceUnavailable), .text("second time lucky"))
    /// ```
    ///
    /// - Parameter responses: The responses, first to be sent first.
    public func enqueue(_ responses: TestResponse...) {
        switchboard.enqueue(responses)
    }
}
#endif
