#if TestServer
public import FoundationForNetworking
private import Synchronization

/// A server that sends scripted HTTP/1.1 responses on a loopback socket and records the requests.
///
/// A test starts a server, scripts its responses, connects the code under test to ``url``, and then checks the requests
/// that arrived. Tests need no polling and no sleeping: ``waitForRequests(_:)`` resumes when the requests have arrived,
/// and a ``Gate`` holds a response until the test opens it.
///
/// ```swift
/// try await withTestServer { server in
///     server.route(.get, "/users/:id") { request in
///         .text("user \(request.parameters["id"] ?? "")")
///     }
///     let (data, _) = try await URLSession.shared.data(from: server.url.appending(path: "users/7"))
///     #expect(String(decoding: data, as: UTF8.self) == "user 7")
///     #expect(server.requests.map(\.path) == ["/users/7"])
/// }
/// ```
///
/// The server selects a response when the last byte of a request has arrived. It selects at the head if the route
/// responds at the head, or while a scripted response controls how a body is received. It uses the first of:
/// 1. the next response of ``enqueue(_:)``, whatever the method and path;
/// 2. the newest route that matches the method and path;
/// 3. the closure of ``dispatch(_:)``;
/// 4. otherwise `501 Not Implemented`, with a text that names the method and the path.
///
/// A connection stays open between requests unless the request or the response has `Connection: close`. If a client
/// disconnects during its request, the task of the handler is cancelled. There are no timeouts.
///
/// At its end, a test can call ``verify()`` to check that each request was taken, each response was used, and each
/// request had a response.
///
/// The server sends the fields of a ``TestResponse`` in order, plus the framing of the body. It adds no `Date` and no
/// `Server`.
public final class TestServer: Sendable {
    /// The port of the server; if it was started with port 0, the system has chosen it.
    public let port: Int

    let switchboard: Switchboard

    private let scheme: String
    private let listen: @Sendable (Int) async throws -> any Listening
    private let lifetime: Mutex<Lifetime>

    private struct Lifetime {
        var serving: Task<Void, Never>
        /// The latest stop or restart.
        ///
        /// The next one waits for it.
        var change: Task<Void, any Error>?
    }

    private init(
        scheme: String,
        listener: any Listening,
        switchboard: Switchboard,
        listen: @escaping @Sendable (Int) async throws -> any Listening
    ) {
        port = listener.port
        self.scheme = scheme
        self.switchboard = switchboard
        self.listen = listen
        self.lifetime = Mutex(Lifetime(serving: Self.serve(switchboard, on: listener)))
    }

    /// An unstructured task, because the server runs from `start()` to `stop()`, which are different calls.
    private static func serve(_ switchboard: Switchboard, on listener: any Listening) -> Task<Void, Never> {
        Task { await listener.serve(switchboard) }
    }

    /// Starts a server on a port of 127.0.0.1.
    ///
    /// The port accepts connections when this method returns. The server runs until ``stop()`` is called, even if the
    /// value is released. Prefer ``withTestServer(port:keepingBodiesUpTo:clock:_:)`` if the server is needed only in
    /// one scope.
    ///
    /// - Parameters:
    ///   - port: The port; 0 for a free one, so that tests cannot conflict.
    ///   - bodyLimit: The maximum number of bytes recorded of each body. The rest is read and counted.
    ///   - clock: The clock of all delays. With its own clock, a test does not sleep.
    /// - Returns: A running server.
    /// - Throws: A ``TestServerError`` if the port is in use or not permitted, or the error of the socket if loopback
    ///   is not available.
    /// - Precondition: `port` is at most 65535, and neither it nor `bodyLimit` is negative.
    public static func start(
        port: Int = 0,
        keepingBodiesUpTo bodyLimit: Int = .max,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> TestServer {
        try await start(scheme: "http", port: port, keepingBodiesUpTo: bodyLimit, clock: clock) { port, _ in
            try await Listener(port: port)
        }
    }

    /// Starts a server on a listener for its scheme.
    ///
    /// Each restart creates a new listener.
    static func start(
        scheme: String,
        port: Int,
        keepingBodiesUpTo bodyLimit: Int,
        clock: any Clock<Duration>,
        listening: @escaping @Sendable (Int, Switchboard) async throws -> any Listening
    ) async throws -> TestServer {
        precondition((0...65_535).contains(port), "port must be from 0 to 65535 (is \(port))")
        precondition(bodyLimit >= 0, "bodyLimit must not be negative (is \(bodyLimit))")
        let switchboard = Switchboard(bodyLimit: bodyLimit, clock: clock)
        let listener = try await listening(port, switchboard)
        return TestServer(scheme: scheme, listener: listener, switchboard: switchboard) { port in
            try await listening(port, switchboard)
        }
    }

    /// Stops the server and returns once every connection is closed and every handler has ended.
    ///
    /// Running handlers are cancelled; a handler that ignores cancellation delays this call. The recorded requests stay
    /// available. Afterwards the port refuses connections. Stopping twice is allowed. Overlapping stops and restarts
    /// run one after the other, in the order of their calls.
    public func stop() async {
        _ = await inTurn { await self.endServing() }.result
    }

    /// Stops the server if it runs, and starts it again on the same port, as in a deployment.
    ///
    /// The script and the recorded requests stay, and the numbers of connections continue.
    ///
    /// ```swift
    /// await server.stop()
    /// // Connections are refused here.
    /// try await server.restart()
    /// ```
    ///
    /// - Throws: A ``TestServerError`` if another process has taken the port. The server is stopped then.
    public func restart() async throws {
        try await inTurn {
            await self.endServing()
            let listener = try await self.listen(self.port)
            self.switchboard.withRecord { $0.reopen() }
            self.lifetime.withLock { $0.serving = Self.serve(self.switchboard, on: listener) }
        }
        .value
    }

    private func endServing() async {
        let serving = lifetime.withLock { $0.serving }
        serving.cancel()
        await serving.value
    }

    /// Runs a change after all earlier changes.
    ///
    /// An unstructured task, because the server must not stay between two states if the caller's task is cancelled.
    private func inTurn(_ change: @escaping @Sendable () async throws -> Void) -> Task<Void, any Error> {
        lifetime.withLock { lifetime in
            let previous = lifetime.change
            let task = Task {
                _ = await previous?.result
                try await change()
            }
            lifetime.change = task
            return task
        }
    }

    /// The host and port as in the `Host` field of a request: `127.0.0.1:49152`.
    public var authority: String {
        "127.0.0.1:\(port)"
    }

    /// The root of the server: `http://127.0.0.1:49152`, or `https://127.0.0.1:49152` with TLS.
    public var url: URL {
        // Four numbers and a port are always a valid URL.
        URL(string: "\(scheme)://\(authority)")!
    }
}
#endif
