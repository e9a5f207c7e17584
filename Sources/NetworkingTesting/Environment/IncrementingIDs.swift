import Networking

/// Numbers the requests that an operation creates from one on: `000001`, `000002` and so on.
///
/// The labels of requests count up through the whole process, so a test that runs beside others cannot say what they
/// will be. Within this it can:
///
/// ```swift
/// try await withIncrementingIDs {
///     try await network.data(HTTPRequestData(path: "one"))
///     try await network.data(HTTPRequestData(path: "two"))
///     #expect(transport.requests.map { "\($0.id)" } == ["000001", "000002"])
/// }
/// ```
///
/// It holds for the operation and the tasks that it starts, detached ones not among them, also for as long as such a
/// task outlives it. Two of them may run at once and know nothing of each other; so the same label may be in use
/// outside.
///
/// - Parameters:
///   - isolation: The caller's isolation; leave it to the compiler.
///   - operation: What creates requests.
/// - Returns: What the operation returns.
/// - Throws: What the operation throws.
public func withIncrementingIDs<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws -> Result
) async rethrows -> Result {
    try await RequestNumbering.scope(isolation: isolation, operation)
}
