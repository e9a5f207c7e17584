import Synchronization

/// A continuation that is resumed exactly once, either with a result or by cancellation of the waiting task.
///
/// NetworkingCore stores continuations only in this type. It may be resumed before a task waits, and resumes the
/// waiting task outside of the lock.
package final class Suspension<Value: Sendable>: Sendable {
    private enum State {
        /// No task is waiting yet.
        case pending
        case waiting(CheckedContinuation<Value, any Error>)
        case over(Result<Value, any Error>)
    }

    private let state = Mutex(State.pending)

    package init() {}

    /// Whether it has not been resumed yet.
    package var isPending: Bool {
        state.withLock { state in
            if case .over = state { return false }
            return true
        }
    }

    /// Resumes the waiting task; does nothing if it has been resumed before.
    ///
    /// - Returns: `true` if this call has resumed it.
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

    /// Waits for the result without a time limit.
    ///
    /// It is for this folder. The others wait with `value(until:)`, which also observes the limit of a request.
    ///
    /// - Parameter onCancel: Called if the caller's cancellation ended the wait, so that the other side can release it.
    /// - Returns: The result.
    /// - Throws: `CancellationError` if the caller is cancelled, or the error with which the wait was resumed.
    func cancellableValue(onCancel: @escaping @Sendable () -> Void = {}) async throws -> Value {
        try await withTaskCancellationHandler {
            try await uncancellableValue()
        } onCancel: {
            if resume(with: .failure(CancellationError())) {
                onCancel()
            }
        }
    }

    /// Waits for the result, also while the caller is cancelled; the code that resumes the wait must limit it.
    package func uncancellableValue() async throws -> Value {
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
    }
}

extension Suspension where Value == Void {
    /// Resumes the waiting task; does nothing if it has been resumed before.
    package func resume() {
        resume(with: .success(()))
    }
}
