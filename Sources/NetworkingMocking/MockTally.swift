import NetworkingCore
import Synchronization

/// A set of counts, with tasks that wait until the counts meet a condition.
final class MockTally<Counts: Sendable>: Sendable {
    private struct Watch {
        let isReached: @Sendable (Counts) -> Bool
        let wait: Suspension<Void>
    }

    private struct State {
        var counts: Counts
        var watches: [Int: Watch] = [:]
        var lastID = 0

        mutating func takeReached() -> [Suspension<Void>] {
            let reached = watches.filter { $0.value.isReached(counts) }
            for id in reached.keys {
                watches[id] = nil
            }
            return reached.values.map(\.wait)
        }
    }

    private let state: Mutex<State>

    init(_ counts: Counts) {
        state = Mutex(State(counts: counts))
    }

    /// Reads the counts.
    func read<Value: Sendable>(_ body: (Counts) -> Value) -> Value {
        state.withLock { body($0.counts) }
    }

    /// Changes the counts, and resumes the waiters with a condition that is now met.
    @discardableResult
    func update<Value: Sendable>(_ change: (inout Counts) -> Value) -> Value {
        let (value, reached) = state.withLock { state -> (Value, [Suspension<Void>]) in
            let value = change(&state.counts)
            return (value, state.watches.isEmpty ? [] : state.takeReached())
        }
        for wait in reached {
            wait.resume()
        }
        return value
    }

    /// Waits until the counts meet a condition.
    ///
    /// - Parameter isReached: Returns whether the condition is met.
    /// - Throws: `CancellationError` if the caller is cancelled first.
    func wait(until isReached: @escaping @Sendable (Counts) -> Bool) async throws {
        try Task.checkCancellation()
        let wait = Suspension<Void>()
        let id = state.withLock { state -> Int? in
            guard !isReached(state.counts) else { return nil }
            state.lastID += 1
            state.watches[state.lastID] = Watch(isReached: isReached, wait: wait)
            return state.lastID
        }
        guard let id else { return }
        try await wait.value(until: nil) { self.state.withLock { $0.watches[id] = nil } }
    }
}
