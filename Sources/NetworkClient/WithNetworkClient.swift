public import Networking

/// Runs an operation whose ``NetworkClient/current`` is a client, without leaving the caller's executor.
///
/// ```swift
/// @Test func showsTheUser() async throws {
///     let transport = MockTransport()
///     transport.on(.get, "/users/42") { _ in .json(User(id: 42, name: "Emily")) }
///     try await withNetworkClient(transport) {
///         let user = try await UserAPI().user(id: 42)
///         #expect(user.name == "Emily")
///     }
/// }
/// ```
///
/// It is a task-local value, so tests that run side by side do not see each other's.
///
/// - Parameters:
///   - client: The client.
///   - isolation: The caller's isolation; leave it to the compiler.
///   - operation: What to run.
/// - Returns: What the operation returns.
/// - Throws: What the operation throws.
@discardableResult
public func withNetworkClient<Result>(
    _ client: NetworkClient,
    isolation: isolated (any Actor)? = #isolation,
    operation: nonisolated(nonsending) () async throws -> Result
) async rethrows -> Result {
    try await NetworkClient.$taskLocal.withValue(client) {
        // The standard library's function alone would hop off the caller's executor and back.
        _ = isolation
        return try await operation()
    }
}

/// Runs an operation whose ``NetworkClient/current`` has a stack, or a transport, as its network.
///
/// - Parameters:
///   - network: The network.
///   - isolation: The caller's isolation; leave it to the compiler.
///   - operation: What to run.
/// - Returns: What the operation returns.
/// - Throws: What the operation throws.
@discardableResult
public func withNetworkClient<Result>(
    _ network: some NetworkingComponent,
    isolation: isolated (any Actor)? = #isolation,
    operation: nonisolated(nonsending) () async throws -> Result
) async rethrows -> Result {
    try await withNetworkClient(NetworkClient(network), isolation: isolation, operation: operation)
}
