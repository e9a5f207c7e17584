import Synchronization

/// Runs an operation that has to be over by a moment.
///
/// When the time comes the operation is cancelled, and awaited: being prompt then is its own duty. A result that it
/// still gives is kept. The caller's own cancellation goes to the operation too, and throws `CancellationError`.
///
/// - Parameters:
///   - deadline: The moment, on `clock`.
///   - clock: The clock that tells when it has come.
///   - timeIsUp: Makes the error for it, given the operation's own, if that was more than giving up.
///   - operation: What to run.
/// - Returns: What the operation returns.
/// - Throws: `timeIsUp`'s error once the moment has come, and what the operation throws before it.
package func withTimeLimit<Success: Sendable>(
    until deadline: Duration,
    on clock: NetworkClock,
    timeIsUp: (_ error: (any Error)?) -> any Error,
    _ operation: sending @escaping @isolated(any) () async throws -> Success
) async throws -> Success {
    // The work is a task of its own, so it does not know of a cancellation that came before it.
    try Task.checkCancellation()
    let isOver = Flag()
    let work = OwnedTask.immediate(operation)
    let alarm = clock.alarm(at: deadline) {
        isOver.raise()
        work.cancel()
    }
    defer { alarm.cancel() }
    do {
        return try await work.value
    } catch {
        guard isOver.isRaised, !Task.isCancelled else { throw error }
        throw timeIsUp(error is CancellationError ? nil : error)
    }
}

/// A flag that one thread raises and another sees.
private final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool {
        value.load(ordering: .acquiring)
    }

    func raise() {
        value.store(true, ordering: .releasing)
    }
}
