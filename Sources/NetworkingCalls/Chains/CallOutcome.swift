import NetworkingCore
import Synchronization

/// The result of a prepared call, for its handlers and for the tasks that wait for it.
final class CallOutcome<Value: Sendable>: Sendable {
    typealias Observer = @Sendable (Result<Value, any Error>) -> Void

    private struct State {
        var result: Result<Value, any Error>?
        var observers: [Observer] = []
        var waiters: [ObjectIdentifier: Suspension<Value>] = [:]
    }

    private let state = Mutex(State())

    /// Calls an observer with the result: when it is there, or now if it is there already.
    func observe(_ observer: @escaping Observer) {
        if let result = add(observer) {
            observer(result)
        }
    }

    /// Adds an observer, unless there is a result; returns the result then.
    private func add(_ observer: @escaping Observer) -> Result<Value, any Error>? {
        state.withLock { state in
            if state.result == nil {
                state.observers.append(observer)
            }
            return state.result
        }
    }

    /// Sets the result, unless there is one, and passes it to the observers and waiters.
    func end(with result: Result<Value, any Error>) {
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
    /// - Throws: `CancellationError` at once if the waiting task is cancelled, or the error of the call.
    func value() async throws -> Value {
        let wait = Suspension<Value>()
        let result = state.withLock { state -> Result<Value, any Error>? in
            if state.result == nil {
                state.waiters[ObjectIdentifier(wait)] = wait
            }
            return state.result
        }
        if let result { return try result.get() }
        return try await wait.value { [self] in
            state.withLock { $0.waiters[ObjectIdentifier(wait)] = nil }
        }
    }

    /// Returns the outcome with a value that is computed from the value of this one, once.
    func map<New: Sendable>(_ transform: @escaping @Sendable (Value) throws -> New) -> CallOutcome<New> {
        let mapped = CallOutcome<New>()
        let observer: Observer = { result in
            mapped.end(with: Result<New, any Error> { try transform(result.get()) })
        }
        // In one step, so that the end of the call in between does not make the caller's thread transform the value.
        if let result = add(observer) {
            // The caller may be on the main thread, and decoding may take long.
            _ = OwnedTask<Void>.detached { observer(result) }
        }
        return mapped
    }
}
