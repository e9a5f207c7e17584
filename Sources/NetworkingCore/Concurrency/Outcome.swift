import Synchronization

/// The result of work, for the observers and the tasks that wait for it.
package final class Outcome<Value: Sendable>: Sendable {
    package typealias Observer = @Sendable (Result<Value, any Error>) -> Void

    private struct State {
        var result: Result<Value, any Error>?
        var observers: [Observer] = []
        var waiters: [ObjectIdentifier: Suspension<Value>] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Calls an observer with the result: at once if there is one, otherwise as soon as the work ends.
    package func observe(_ observer: @escaping Observer) {
        if let result = add(observer) {
            observer(result)
        }
    }

    /// Adds an observer and returns `nil`; if there is already a result, only returns it.
    package func add(_ observer: @escaping Observer) -> Result<Value, any Error>? {
        state.withLock { state in
            if state.result == nil {
                state.observers.append(observer)
            }
            return state.result
        }
    }

    /// Sets the result, unless there is one, and passes it to the observers and waiters.
    package func end(with result: Result<Value, any Error>) {
        let (observers, waiters) = state.withLock { state -> ([Observer], [Suspension<Value>]) in
            guard state.result == nil else { return ([], []) }
            state.result = result
            defer { (state.observers, state.waiters) = ([], [:]) }
            return (state.observers, Array(state.waiters.values))
        }
        for observer in observers {
            observer(result)
        }
        for waiter in waiters {
            waiter.resume(with: result)
        }
    }

    /// Waits for the result.
    ///
    /// - Throws: `CancellationError` at once if the waiting task is cancelled, or the error of the work.
    package func value() async throws -> Value {
        let wait = Suspension<Value>()
        let result = state.withLock { state -> Result<Value, any Error>? in
            if state.result == nil {
                state.waiters[ObjectIdentifier(wait)] = wait
            }
            return state.result
        }
        if let result { return try result.get() }
        return try await wait.cancellableValue { [self] in
            state.withLock { $0.waiters[ObjectIdentifier(wait)] = nil }
        }
    }
}
