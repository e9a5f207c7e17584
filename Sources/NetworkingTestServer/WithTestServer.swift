#if TestServer
/// Runs a closure with a server and stops the server afterwards.
///
/// The server stops when the closure returns or throws, also after cancellation. Every connection and handler has ended
/// when this function returns.
///
/// ```swift
/// try await withTestServer { server in
///     server.enqueue(.text("hello"))
///     let (data, _) = try await URLSession.shared.data(from: server.url)
///     #expect(String(decoding: data, as: UTF8.self) == "hello")
/// }
/// ```
///
/// - Parameters:
///   - port: The port; 0 for a free one.
///   - bodyLimit: The maximum number of bytes recorded of each body. The rest is read and counted.
///   - clock: The clock of all delays.
///   - body: A closure that uses the running server.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or a ``TestServerError`` if the port is not available.
/// - Precondition: `port` is at most 65535, and neither it nor `bodyLimit` is negative.
public func withTestServer<Result>(
    port: Int = 0,
    keepingBodiesUpTo bodyLimit: Int = .max,
    clock: any Clock<Duration> = ContinuousClock(),
    _ body: nonisolated(nonsending) (TestServer) async throws -> Result
) async throws -> Result {
    try await running(try await TestServer.start(port: port, keepingBodiesUpTo: bodyLimit, clock: clock), body)
}

/// Runs a closure with a server, and stops the server when the closure ends.
func running<Result>(
    _ server: TestServer,
    _ body: nonisolated(nonsending) (TestServer) async throws -> Result
) async throws -> Result {
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
