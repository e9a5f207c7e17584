#if TestServer
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
private import Synchronization

/// Serves scripted HTTP/1.1 answers on a real loopback socket and records what arrives.
///
/// A test starts a server, scripts what it answers, lets the code under test talk to ``url``, and then asserts which
/// requests arrived. Nothing is polled and no time has to pass: ``waitForRequests(_:)`` resumes when the requests are
/// there, and a ``Gate`` holds an answer back until the test opens it.
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
/// Who answers a request is decided the moment its last byte has arrived, or at its head while anything that is
/// scripted for it says how the body is received, in this order:
/// 1. the responses given to ``enqueue(_:)``, one for each request, whatever its method and path;
/// 2. the newest route that matches its method and path;
/// 3. the closure given to ``dispatch(_:)``;
/// 4. nobody: the answer is `501 Not Implemented` with a sentence that names the method and the path.
///
/// A connection stays open between requests unless the request or the answer says `Connection: close`. A client that
/// closes its side while its request is being answered cancels the task of that handler. There are no timeouts.
///
/// At its end a test may ask ``verify()`` whether all went by the script: each request taken, each response used,
/// nothing unscripted.
///
/// The server sends the fields of a ``TestResponse`` in their order, plus the framing that the body needs; it adds no
/// `Date` and no `Server`.
public final class TestServer: Sendable {
    /// The port the server listens on, chosen by the system.
    public let port: Int

    let switchboard: Switchboard

    private let lifetime: Mutex<Lifetime>

    private struct Lifetime {
        var serving: Task<Void, Never>
        /// The latest stop or restart, which the next one waits for.
        var change: Task<Void, any Error>?
    }

    private init(listener: Listener, switchboard: Switchboard) {
        self.port = listener.port
        self.switchboard = switchboard
        self.lifetime = Mutex(Lifetime(serving: Self.serve(switchboard, on: listener)))
    }

    /// Unstructured because the server lives from `start()` to `stop()`, which are two different calls.
    private static func serve(_ switchboard: Switchboard, on listener: Listener) -> Task<Void, Never> {
        Task { await listener.serve(switchboard) }
    }

    /// Starts a server on a port of 127.0.0.1.
    ///
    /// The port accepts connections when this returns. The server runs until ``stop()`` is called, also when the value
    /// is dropped; prefer ``withTestServer(port:keepingBodiesUpTo:clock:_:)`` where a scope fits.
    ///
    /// - Parameters:
    ///   - port: The port to listen on; 0 for a free one, which no two tests can quarrel about.
    ///   - bodyLimit: How many bytes of each request's body are kept; the rest is read and counted.
    ///   - clock: Lets the time of every delay pass; a test with a clock of its own does not sleep.
    /// - Returns: A running server.
    /// - Throws: A ``TestServerError`` when the port is taken or may not be listened on, or the error of the socket
    ///   when nothing of loopback can be.
    /// - Precondition: `port` is at most 65535, and neither it nor `bodyLimit` is negative.
    public static func start(
        port: Int = 0,
        keepingBodiesUpTo bodyLimit: Int = .max,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> TestServer {
        precondition((0...65_535).contains(port), "port must be from 0 to 65535 (is \(port))")
        precondition(bodyLimit >= 0, "bodyLimit must not be negative (is \(bodyLimit))")
        let listener = try await Listener(port: port)
        return TestServer(listener: listener, switchboard: Switchboard(bodyLimit: bodyLimit, clock: clock))
    }

    /// Stops the server and returns once every connection is closed and every handler has ended.
    ///
    /// Handlers that still run are cancelled, so a handler that ignores cancellation delays this call. Everything that
    /// was recorded stays readable. From here on the port refuses connections. Stopping twice is allowed, and stops and
    /// restarts that overlap take place one after the other, in the order in which they were asked for.
    public func stop() async {
        _ = await inTurn { await self.endServing() }.result
    }

    /// Stops the server if it runs, and starts it again on the same port, as a server that is deployed anew.
    ///
    /// What was scripted and recorded stays, and connections are numbered on.
    ///
    /// ```swift
    /// await server.stop()
    /// // Here, the client is refused.
    /// try await server.restart()
    /// ```
    ///
    /// - Throws: A ``TestServerError`` when somebody else has taken the port meanwhile; the server is stopped then.
    public func restart() async throws {
        try await inTurn {
            await self.endServing()
            let listener = try await Listener(port: self.port)
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

    /// Makes a change when those that were asked for before it are over.
    ///
    /// Unstructured because a server has to stop, and must not be left between two states, also when the caller's task
    /// is cancelled.
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

    /// The host and port, as the `Host` field of a request names them: `127.0.0.1:49152`.
    public var authority: String {
        "127.0.0.1:\(port)"
    }

    /// The root of the server: `http://127.0.0.1:49152`.
    public var url: URL {
        // Four numbers and a port always make a URL.
        URL(string: "http://\(authority)")!
    }
}
#endif
