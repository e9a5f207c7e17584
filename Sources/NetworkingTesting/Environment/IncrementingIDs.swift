import NetworkingCore

/// Numbers the requests that an operation creates: the first gets the id `000001`, the second `000002`, and so on.
///
/// Request ids are normally numbered across the whole process, so a test that runs in parallel with others cannot
/// predict them. Within this function it can:
///
/// ```swift
/// try await withIncrementingIDs {
///     try await network.data(HTTPRequestData(path: "one"))
///     try await network.data(HTTPRequestData(path: "two"))
///     #expect(transport.requests.map { "\($0.id)" } == ["000001", "000002"])
/// }
/// ```
///
/// It applies to the operation and to the tasks that it starts, even if they outlive it, but not to detached tasks.
/// Concurrent calls are independent of each other, so the same id may also be in use elsewhere.
///
/// - Parameters:
///   - isolation: The caller's isolation; leave it to the compiler.
///   - operation: The operation that creates requests.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation.
public func withIncrementingIDs<Result>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: nonisolated(nonsending) () async throws -> Result
) async rethrows -> Result {
    try await RequestNumbering.scope(isolation: isolation, operation)
}
