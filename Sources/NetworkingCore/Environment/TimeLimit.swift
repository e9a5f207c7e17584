/// Runs an operation with a deadline.
///
/// At the deadline the operation is cancelled and awaited, so it should end promptly when it is cancelled. A result
/// that it still returns is used. If the caller is cancelled, the operation is cancelled too, and the call throws
/// `CancellationError`.
///
/// - Parameters:
///   - deadline: The moment, on `clock`.
///   - clock: The clock that measures the deadline.
///   - timeIsUp: Creates the timeout error from the operation's error, which is `nil` if that was only a cancellation.
///   - operation: The operation to run.
/// - Returns: The result of the operation.
/// - Throws: The error of `timeIsUp` after the deadline, and the operation's error before it.
func withTimeLimit<Success: Sendable>(
    until deadline: Duration,
    on clock: NetworkClock,
    timeIsUp: (_ error: (any Error)?) -> any Error,
    _ operation: sending @escaping @isolated(any) () async throws -> Success
) async throws -> Success {
    let limit = ExchangeLimit(until: deadline, on: clock)
    do {
        return try await limit.run(operation)
    } catch {
        guard limit.isReached, !Task.isCancelled else { throw error }
        throw timeIsUp(error is CancellationError ? nil : error)
    }
}
