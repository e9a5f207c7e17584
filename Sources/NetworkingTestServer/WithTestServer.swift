#if TestServer
/// Runs a server for as long as a closure runs.
///
/// The server is stopped when the closure returns, throws, or returns because its task was cancelled, and every
/// connection and handler has ended when this function returns.
///
/// ```swift
/// try await withTestServer { server in
///     server.enqueue(.text("hello"))
///     …
/// }
/// ```
///
/// - Parameters:
///   - port: The port to listen on; 0 for a free one.
///   - bodyLimit: How many bytes of each request's body are kept; the rest is read and counted.
///   - clock: Lets the time of every delay pass.
///   - body: Uses the running server.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws, or a ``TestServerError`` when the port cannot be listened on.
/// - Precondition: `port` is at most 65535, and neither it nor `bodyLimit` is negative.
public func withTestServer<Result>(
    port: Int = 0,
    keepingBodiesUpTo bodyLimit: Int = .max,
    clock: any Clock<Duration> = ContinuousClock(),
    _ body: nonisolated(nonsending) (TestServer) async throws -> Result
) async throws -> Result {
    let server = try await TestServer.start(port: port, keepingBodiesUpTo: bodyLimit, clock: clock)
    do {
        let result = try await body(server)
        await server.stop()
        return result
    } catch {
        await server.stop()
        throw error
    }
}
#endif
