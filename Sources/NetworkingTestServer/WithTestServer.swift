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
///   - bodyLimit: How many bytes of each request's body are kept; the rest is read and counted.
///   - body: Uses the running server.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws, or the error of the socket when loopback cannot be listened on.
public func withTestServer<Result>(
    keepingBodiesUpTo bodyLimit: Int = .max,
    _ body: nonisolated(nonsending) (TestServer) async throws -> Result
) async throws -> Result {
    let server = try await TestServer.start(keepingBodiesUpTo: bodyLimit)
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
