public import NetworkingMocking

/// Runs a test with a mock transport, and throws at the end if mock responses are unused.
///
/// ```swift
/// try await withMockTransport { transport in
///     transport.on(.get, "/users", uses: .once, .json(users))
///     let network = transport.server(authority: "api.example.com")
///     let (users, _) = try await network.value(.users)
///     #expect(users.count == 2)
/// }
/// ```
///
/// If the test throws, only its own error is thrown: the mocks that it did not reach are not reported.
///
/// - Parameter body: The test.
/// - Returns: The result of the test.
/// - Throws: The error of the test, or `UnusedMocks`; see `MockTransport.verifyAllUsed()`.
@discardableResult
public func withMockTransport<Result>(
    _ body: nonisolated(nonsending) (MockTransport) async throws -> Result
) async throws -> Result {
    let transport = MockTransport()
    let result = try await body(transport)
    try transport.verifyAllUsed()
    return result
}
