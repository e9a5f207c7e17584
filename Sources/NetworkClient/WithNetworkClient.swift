public import Networking

/// Runs an operation with a client as its ``NetworkClient/current``, without leaving the caller's executor.
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
/// The client is a task-local value, so concurrent tests do not affect each other.
///
/// - Parameters:
///   - client: The client.
///   - isolation: The caller's isolation; leave it to the compiler.
///   - operation: The operation to run.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation.
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

/// Runs an operation with a stack or a transport as the network of ``NetworkClient/current``.
///
/// - Parameters:
///   - network: The network.
///   - isolation: The caller's isolation; leave it to the compiler.
///   - operation: The operation to run.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation.
@discardableResult
public func withNetworkClient<Result>(
    _ network: some NetworkingComponent,
    isolation: isolated (any Actor)? = #isolation,
    operation: nonisolated(nonsending) () async throws -> Result
) async rethrows -> Result {
    try await withNetworkClient(NetworkClient(network), isolation: isolation, operation: operation)
}
