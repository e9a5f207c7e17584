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

    /// Answers requests to one path before their bodies have arrived.
    ///
    /// The handler is asked at the head. While it answers, nothing of the body is read, so a client that sends much is held
    /// back; what is left of the body is read and dropped when the answer is over. ``TestResponse/Body/echo`` reads the body and
    /// answers with it at the same time:
    ///
    /// ```swift
    /// server.routeAtHead(.post, "/echo") { _ in TestResponse(body: .echo) }
    /// server.routeAtHead(.put, "/files/*") { _ in .text("Not that much.", status: .contentTooLarge) }
    /// ```
    ///
    /// Such a request counts as arrived at its head, and is recorded without its body. Since nobody reads, a client that hangs
    /// up is only noticed when the answer is over. A queued response comes first, as always, and waits for the body.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The pattern of the path, matched as in ``route(_:_:handler:)``.
    ///   - handler: Produces the answer.
    /// - Precondition: `path` starts with `/`, and `*` is its last segment if it has one.
    public func routeAtHead(_ method: HTTPRequest.Method, _ path: String, handler: @escaping Handler) {
        switchboard.add(Route(method: method, path: PathPattern(path), answersAtHead: true, handler: handler))
    }

    /// Answers a request without a socket, by the script, and records it.
    ///
    /// - Parameter request: The request, with its body.
    /// - Returns: The answer, with an echo in place.
    package func answer(to request: RecordedRequest) async -> TestResponse {
        let exchange = switchboard.admit(request)
        defer { switchboard.finish(exchange) }
        var response = await exchange.response()
        if response.body.isEcho { response.body = .data(request.body) }
        return response
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
