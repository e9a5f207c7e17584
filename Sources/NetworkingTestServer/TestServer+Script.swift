#if TestServer
public import HTTPTypes
import Networking

extension TestServer {
    /// Produces the answer to one request.
    ///
    /// It runs in a task of the connection, which is cancelled when the client hangs up or the server stops. An error
    /// it throws is answered with `500 Internal Server Error` and a sentence that names the error.
    public typealias Handler = nonisolated(nonsending) @Sendable (RecordedRequest) async throws -> TestResponse

    /// Produces the answer to one request, or nil for a request that nobody scripted: ``dispatch(_:)``.
    public typealias Dispatcher = nonisolated(nonsending) @Sendable (RecordedRequest) async throws -> TestResponse?

    /// Names a route that was scripted, to take it back or to ask how often it answered.
    public struct ScriptedRoute: Sendable {
        let id: Int
        let switchboard: Switchboard

        /// How many requests it has answered; zero again once it is removed.
        public var uses: Int {
            switchboard.withScript { $0.uses(ofRoute: id) }
        }

        /// Takes the route back; the older ones answer again, and requests it is answering now are answered to their
        /// end.
        public func remove() {
            switchboard.withScript { $0.removeRoute(id) }
        }
    }
}

extension TestServer {
    /// Answers requests of one method and path.
    ///
    /// A path is made of segments: a literal one, `:name`, which takes any one segment and makes it readable as
    /// `request.parameters["name"]`, and a trailing `*`, which takes the rest, even none, as
    /// `request.parameters["*"]`. Segments are compared, and parameters are given, without percent-encoding. A trailing
    /// slash counts. Of several routes that match, the newest answers, so a test can replace what its fixture scripted.
    ///
    /// ```swift
    /// server.route(.delete, "/users/:id") { _ in .status(.noContent) }
    /// server.route(.get, "/users", times: 1) { _ in .status(.serviceUnavailable) }
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method, matched exactly: a route for `.get` does not answer `HEAD`.
    ///   - path: The pattern of the path.
    ///   - times: How many requests it answers; then the older routes answer again.
    ///   - handler: Produces the answer.
    /// - Returns: The route, to take it back.
    /// - Precondition: `path` starts with `/`, `*` is its last segment if it has one, its parameters have different
    ///   names, and `times` is greater than zero.
    @discardableResult
    public func route(
        _ method: HTTPRequest.Method,
        _ path: String,
        times: Int = .max,
        handler: @escaping Handler
    ) -> ScriptedRoute {
        add(method, path, times: times, .handler(handler))
    }

    /// Answers requests of any method to one path.
    ///
    /// The path is matched as in ``route(_:_:times:handler:)``.
    ///
    /// - Parameters:
    ///   - path: The pattern of the path.
    ///   - times: How many requests it answers; then the older routes answer again.
    ///   - handler: Produces the answer.
    /// - Returns: The route, to take it back.
    /// - Precondition: `path` starts with `/`, `*` is its last segment if it has one, its parameters have different
    ///   names, and `times` is greater than zero.
    @discardableResult
    public func route(_ path: String, times: Int = .max, handler: @escaping Handler) -> ScriptedRoute {
        add(nil, path, times: times, .handler(handler))
    }

    /// Answers requests of one method and path with one response after the other.
    ///
    /// Each request takes the next one, and the last one stays for all that come behind.
    ///
    /// ```swift
    /// server.route(.get, "/report", responses: .status(.accepted), .status(.accepted), .text("done"))
    /// ```
    ///
    /// Unlike those of a handler, these are known when the head of a request arrives, and may say how that is received.
    ///
    /// - Parameters:
    ///   - method: The method, matched exactly.
    ///   - path: The pattern of the path, matched as in ``route(_:_:times:handler:)``.
    ///   - times: How many requests it answers; then the older routes answer again.
    ///   - responses: The responses, first to be sent first.
    /// - Returns: The route, to take it back.
    /// - Precondition: `path` starts with `/`, `*` is its last segment if it has one, its parameters have different
    ///   names, `times` is greater than zero, and there is a response.
    @discardableResult
    public func route(
        _ method: HTTPRequest.Method,
        _ path: String,
        times: Int = .max,
        responses: TestResponse...
    ) -> ScriptedRoute {
        precondition(!responses.isEmpty, "the route \(method) \(path) has no response")
        return add(method, path, times: times, .responses(responses))
    }

    /// Answers requests to one path before their bodies have arrived.
    ///
    /// The handler is asked at the head. While it answers, nothing of the body is read, so a client that sends much is
    /// held back; what is left of the body is read and dropped when the answer is over. ``TestResponse/Body/echo``
    /// reads the body and answers with it at the same time:
    ///
    /// ```swift
    /// server.routeAtHead(.post, "/echo") { _ in TestResponse(body: .echo) }
    /// server.routeAtHead(.put, "/files/*") { _ in .text("Not that much.", status: .contentTooLarge) }
    /// ```
    ///
    /// Such a request counts as arrived at its head, and is recorded without its body. Since nobody reads, a client
    /// that hangs up is only noticed when the answer is over. A client that asks with `Expect: 100-continue` has its
    /// answer then, and the connection is closed; an echo tells it to send. A queued response comes first, as always,
    /// and waits for the body.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The pattern of the path, matched as in ``route(_:_:times:handler:)``.
    ///   - times: How many requests it answers; then the older routes answer again.
    ///   - handler: Produces the answer.
    /// - Returns: The route, to take it back.
    /// - Precondition: `path` starts with `/`, `*` is its last segment if it has one, its parameters have different
    ///   names, and `times` is greater than zero.
    @discardableResult
    public func routeAtHead(
        _ method: HTTPRequest.Method,
        _ path: String,
        times: Int = .max,
        handler: @escaping Handler
    ) -> ScriptedRoute {
        add(method, path, times: times, answersAtHead: true, .handler(handler))
    }

    /// Answers the requests that no queued response and no route answers.
    ///
    /// ```swift
    /// server.dispatch { request in
    ///     request.path.hasPrefix("/v1/") ? .status(.gone) : nil
    /// }
    /// ```
    ///
    /// - Parameter dispatcher: Produces the answer, or nil for a request that nobody scripted; it replaces the one that
    ///   was given before.
    public func dispatch(_ dispatcher: @escaping Dispatcher) {
        switchboard.withScript { $0.dispatcher = dispatcher }
    }

    private func add(
        _ method: HTTPRequest.Method?,
        _ path: String,
        times: Int,
        answersAtHead: Bool = false,
        _ script: Route.Script
    ) -> ScriptedRoute {
        precondition(times > 0, "times must be greater than zero (is \(times))")
        let pattern = PathPattern(route: path)
        let id = switchboard.withScript { scripts in
            scripts.add { id in
                Route(
                    id: id,
                    method: method,
                    path: pattern,
                    answersAtHead: answersAtHead,
                    limit: times,
                    script: script
                )
            }
        }
        return ScriptedRoute(id: id, switchboard: switchboard)
    }
}

extension TestServer {
    /// Queues responses that answer the next requests, ahead of every route.
    ///
    /// Each request takes the first response that is left, whatever its method and path, in the order in which the
    /// requests arrive; when none is left, the routes answer again.
    ///
    /// ```swift
    /// server.enqueue(.status(.serviceUnavailable), .text("second time lucky"))
    /// ```
    ///
    /// A response that says how the request is received, such as ``TestResponse/disconnecting(_:at:gate:)`` within it,
    /// has to be queued before the client sends that. While there is one, each request takes its response when its head
    /// arrives, in the order of the heads, and a response is spent also when the client leaves before its body has
    /// arrived. The same holds for the routes.
    ///
    /// - Parameter responses: The responses, first to be sent first.
    public func enqueue(_ responses: TestResponse...) {
        switchboard.withScript { $0.enqueue(responses) }
    }

    /// The queued responses that no request has taken, first to be sent first.
    public var queuedResponses: [TestResponse] {
        switchboard.withScript { $0.queue }
    }

    /// Drops the queued responses that no request has taken, so that the routes answer again, and the queued
    /// connections.
    public func clearQueue() {
        switchboard.withScript { $0.clearQueue() }
    }

    /// Answers a request without a socket, by the script, and records it.
    ///
    /// - Parameter request: The request, with its body.
    /// - Returns: The answer, with an echo in place.
    package func answer(to request: RecordedRequest) async -> TestResponse {
        let exchange = switchboard.admit(request)
        defer { switchboard.finish(exchange) }
        var response = await switchboard.response(for: exchange)
        if response.body.isEcho { response.body = .data(request.body) }
        return response
    }
}
#endif
