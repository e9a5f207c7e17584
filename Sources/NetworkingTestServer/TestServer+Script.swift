#if TestServer
public import HTTPTypes
import NetworkingCore

extension TestServer {
    /// A closure that returns the response to a request.
    ///
    /// It runs in a task of the connection, which is cancelled if the client disconnects or the server stops. If it
    /// throws, the client gets `500 Internal Server Error` with a text that names the error.
    public typealias Handler = nonisolated(nonsending) @Sendable (RecordedRequest) async throws -> TestResponse

    /// A closure that returns the response to a request, or `nil` if there is none: ``dispatch(_:)``.
    public typealias Dispatcher = nonisolated(nonsending) @Sendable (RecordedRequest) async throws -> TestResponse?

    /// A scripted route, for removing it or counting its uses.
    public struct ScriptedRoute: Sendable {
        let id: Int
        let switchboard: Switchboard

        /// The number of requests that the route has responded to.
        ///
        /// Zero after it is removed.
        public var uses: Int {
            switchboard.withScript { $0.uses(ofRoute: id) }
        }

        /// Removes the route, so that older routes respond again.
        ///
        /// Requests in progress still get their response.
        public func remove() {
            switchboard.withScript { $0.removeRoute(id) }
        }
    }
}

extension TestServer {
    /// Responds to requests with a method and a path.
    ///
    /// A path consists of segments. `:name` matches any one segment, which is `request.parameters["name"]`. A trailing
    /// `*` matches the rest of the path, even none, which is `request.parameters["*"]`. Other segments match literally.
    /// Segments are compared, and parameters are returned, without percent-encoding. A trailing slash is significant.
    /// If several routes match, the newest one responds, so a test can replace a route of its fixture.
    ///
    /// ```swift
    /// server.route(.delete, "/users/:id") { _ in .status(.noContent) }
    /// server.route(.get, "/users", times: 1) { _ in .status(.serviceUnavailable) }
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method, matched exactly: a route for `.get` does not match `HEAD`.
    ///   - path: The pattern of the path.
    ///   - times: The number of requests that the route responds to. Afterwards older routes respond again.
    ///   - handler: Returns the response.
    /// - Returns: The route, for removing it.
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

    /// Responds to requests with any method and a path.
    ///
    /// The path is matched as in ``route(_:_:times:handler:)``.
    ///
    /// - Parameters:
    ///   - path: The pattern of the path.
    ///   - times: The number of requests that the route responds to. Afterwards older routes respond again.
    ///   - handler: Returns the response.
    /// - Returns: The route, for removing it.
    /// - Precondition: `path` starts with `/`, `*` is its last segment if it has one, its parameters have different
    ///   names, and `times` is greater than zero.
    @discardableResult
    public func route(_ path: String, times: Int = .max, handler: @escaping Handler) -> ScriptedRoute {
        add(nil, path, times: times, .handler(handler))
    }

    /// Responds to requests with a method and a path with one response after the other.
    ///
    /// Each request takes the next response. The last one repeats.
    ///
    /// ```swift
    /// server.route(.get, "/report", responses: .status(.accepted), .status(.accepted), .text("done"))
    /// ```
    ///
    /// Unlike those of a handler, these responses are known when the head of a request arrives. They can control how
    /// the request is received.
    ///
    /// - Parameters:
    ///   - method: The method, matched exactly.
    ///   - path: The pattern of the path, matched as in ``route(_:_:times:handler:)``.
    ///   - times: The number of requests that the route responds to. Afterwards older routes respond again.
    ///   - responses: The responses, in order.
    /// - Returns: The route, for removing it.
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

    /// Responds to requests before their bodies have arrived.
    ///
    /// The handler runs when the head has arrived. Meanwhile the body is not read, so a client with a large body
    /// blocks. The rest of the body is read and dropped after the response. ``TestResponse/Body/echo`` reads the body
    /// and sends it back at the same time:
    ///
    /// ```swift
    /// server.routeAtHead(.post, "/echo") { _ in TestResponse(body: .echo) }
    /// server.routeAtHead(.put, "/files/*") { _ in .text("Not that much.", status: .contentTooLarge) }
    /// ```
    ///
    /// Such a request arrives with its head and is recorded without its body. The server reads nothing, so it notices
    /// only after the response that a client has disconnected. A client with `Expect: 100-continue` gets the response
    /// at once, and the connection is closed; an echo sends `100 Continue`. A queued response takes precedence, as
    /// always, and waits for the body.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The pattern of the path, matched as in ``route(_:_:times:handler:)``.
    ///   - times: The number of requests that the route responds to. Afterwards older routes respond again.
    ///   - handler: Returns the response.
    /// - Returns: The route, for removing it.
    /// - Precondition: `path` starts with `/`, `*` is its last segment if it has one, its parameters have different
    ///   names, and `times` is greater than zero.
    @discardableResult
    public func routeAtHead(
        _ method: HTTPRequest.Method,
        _ path: String,
        times: Int = .max,
        handler: @escaping Handler
    ) -> ScriptedRoute {
        add(method, path, times: times, respondsAfterHead: true, .handler(handler))
    }

    /// Handles requests that have neither a queued response nor a route.
    ///
    /// ```swift
    /// server.dispatch { request in
    ///     request.path.hasPrefix("/v1/") ? .status(.gone) : nil
    /// }
    /// ```
    ///
    /// - Parameter dispatcher: Returns the response, or `nil` if there is none. It replaces an earlier dispatcher.
    public func dispatch(_ dispatcher: @escaping Dispatcher) {
        switchboard.withScript { $0.dispatcher = dispatcher }
    }

    func add(
        _ method: HTTPRequest.Method?,
        _ path: String,
        times: Int,
        respondsAfterHead: Bool = false,
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
                    respondsAfterHead: respondsAfterHead,
                    limit: times,
                    script: script
                )
            }
        }
        return ScriptedRoute(id: id, switchboard: switchboard)
    }
}

extension TestServer {
    /// Queues responses for the next requests.
    ///
    /// They take precedence over every route.
    ///
    /// Each request takes the first response in the queue, whatever its method and path, in the order in which the
    /// requests arrive. When the queue is empty, the routes respond again.
    ///
    /// ```swift
    /// server.enqueue(.status(.serviceUnavailable), .text("second time lucky"))
    /// ```
    ///
    /// A response that controls how the request is received, such as with ``TestResponse/disconnecting(_:at:gate:)``,
    /// has to be queued before the client sends the request. While there is one in the queue, each request takes its
    /// response when its head arrives. The response is used even if the client disconnects before its body has arrived.
    /// The same applies to routes.
    ///
    /// - Parameter responses: The responses, in order.
    public func enqueue(_ responses: TestResponse...) {
        switchboard.withScript { $0.enqueue(responses) }
    }

    /// The queued responses that no request has taken, in order.
    public var queuedResponses: [TestResponse] {
        switchboard.withScript { $0.queue }
    }

    /// Removes the queued responses and connection effects that were not used, so that the routes respond again.
    public func clearQueue() {
        switchboard.withScript { $0.clearQueue() }
    }

    /// Returns the scripted response to a request without a socket, and records the request.
    ///
    /// - Parameter request: The request, with its body.
    /// - Returns: The response, with an echo replaced by the body.
    package func response(to request: RecordedRequest) async -> TestResponse {
        let exchange = switchboard.admit(request)
        defer { switchboard.finish(exchange) }
        if let receive = exchange.handler.receive {
            var body = IncomingBody(request.body)
            return (try? await receive(exchange.request, &body)) ?? TestResponse(body: .hangUp)
        }
        var response = await switchboard.response(for: exchange)
        if response.body.isEcho { response.body = .data(request.body) }
        return response
    }
}
#endif
