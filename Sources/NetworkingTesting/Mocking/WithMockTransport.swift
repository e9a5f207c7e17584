public import Networking

/// Runs a test with a transport that answers without a network, and throws at its end what was not used.
///
/// ```swift
/// try await withMockTransport { transport in
///     transport.on(.get, "/users", uses: .once, .json(users))
///     let network = transport.server(authority: "api.example.com")
///     #expect(try await network.value(.users).body == users)
/// }
/// ```
///
/// A test that throws is told of nothing else: what it did not get to is not news.
///
/// - Parameter body: The test.
/// - Returns: What the test returns.
/// - Throws: What the test throws, else ``Networking/UnusedMocks``; see ``Networking/MockTransport/verifyAllUsed()``.
@discardableResult
public func withMockTransport<Result>(
    _ body: nonisolated(nonsending) (MockTransport) async throws -> Result
) async throws -> Result {
    let transport = MockTransport()
    let result = try await body(transport)
    try transport.verifyAllUsed()
    return result
}
