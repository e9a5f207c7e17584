import Synchronization

/// A wait that ends exactly once: by whoever it waits for, or by its caller's cancellation.
///
/// It is the one place where a continuation is kept. It may end before anybody waits, and is resumed outside the lock.
package final class Suspension<Value: Sendable>: Sendable {
    private enum State {
        /// Nobody waits yet.
        case pending
        case waiting(CheckedContinuation<Value, any Error>)
        case over(Result<Value, any Error>)
    }

    private let state = Mutex(State.pending)

    package init() {}

    /// Whether it has not ended yet.
    package var isPending: Bool {
        state.withLock { state in
            if case .over = state { return false }
            return true
        }
    }

    /// Ends the wait; does nothing when it is over.
    ///
    /// - Returns: Whether this call ended it.
    @discardableResult
    package func resume(with result: Result<Value, any Error>) -> Bool {
        let (isFirst, continuation) = state.withLock { state -> (Bool, CheckedContinuation<Value, any Error>?) in
            switch state {
            case .pending:
                state = .over(result)
                return (true, nil)
            case .waiting(let continuation):
                state = .over(result)
                return (true, continuation)
            case .over:
                return (false, nil)
            }
        }
        continuation?.resume(with: result)
        return isFirst
    }

    /// Waits until it is over.
    ///
    /// Only one caller may wait.
    ///
    /// - Parameter onCancel: Called when the caller's cancellation was what ended it, for the other side to let go.
    /// - Returns: What it was ended with.
    /// - Throws: `CancellationError` at the caller's cancellation, and what it was ended with.
    package func value(onCancel: @escaping @Sendable () -> Void = {}) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
                    if case .over(let result) = state { return result }
                    state = .waiting(continuation)
                    return nil
                }
                if let result {
                    continuation.resume(with: result)
                }
            }
        } onCancel: {
            if resume(with: .failure(CancellationError())) {
                onCancel()
            }
        }
    }
}

extension Suspension where Value == Void {
    /// Ends the wait; does nothing when it is over.
    package func resume() {
        resume(with: .success(()))
    }
}
