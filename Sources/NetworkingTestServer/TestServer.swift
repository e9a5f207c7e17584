#if TestServer
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
/// Who answers a request is decided the moment its last byte has arrived, in this order:
/// 1. the responses given to ``enqueue(_:)``, one for each request, whatever its method and path;
/// 2. the newest route that matches its method and path;
/// 3. nobody: the answer is `501 Not Implemented` with a sentence that names the method and the path.
///
/// A connection stays open between requests unless the request or the answer says `Connection: close`. A client that
/// closes its side while its request is being answered cancels the task of that handler. There are no timeouts.
///
/// The server sends the fields of a ``TestResponse`` in their order, plus the framing that the body needs; it adds no
/// `Date` and no `Server`.
public final class TestServer: Sendable {
    /// The port the server listens on, chosen by the system.
    public let port: Int

    let switchboard: Switchboard

    /// Unstructured because the server lives from `start()` to `stop()`, which are two different calls.
    private let serving: Task<Void, Never>

    private init(listener: Listener, bodyLimit: Int) {
        let switchboard = Switchboard(bodyLimit: bodyLimit)
        self.port = listener.port
        self.switchboard = switchboard
        self.serving = Task { await listener.serve(switchboard) }
    }

    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// The port accepts connections when this returns. The server runs until ``stop()`` is called, also when the value
    /// is dropped; prefer ``withTestServer(_:)`` where a scope fits.
    ///
    /// - Parameter bodyLimit: How many bytes of each request's body are kept; the rest is read and counted.
    /// - Returns: A running server.
    /// - Throws: The error of the socket when loopback cannot be listened on.
    /// - Precondition: `bodyLimit` is not negative.
    public static func start(keepingBodiesUpTo bodyLimit: Int = .max) async throws -> TestServer {
        precondition(bodyLimit >= 0, "bodyLimit must not be negative (is \(bodyLimit))")
        return TestServer(listener: try await Listener(), bodyLimit: bodyLimit)
    }

    /// Stops the server and returns once every connection is closed and every handler has ended.
    ///
    /// Handlers that still run are cancelled, so a handler that ignores cancellation delays this call. Everything that
    /// was recorded stays readable. Stopping twice is allowed.
    public func stop() async {
        serving.cancel()
        await serving.value
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
