import NetworkingCore
import Synchronization

/// The changes of stored entries that are in progress, one at a time for each URL.
///
/// A change reads the stored entries of its URL and then writes, so two changes of one URL must not overlap. A change
/// belongs to no caller: a response and a read wait for it for a short time only, and it continues without them.
final class CacheWrites: Sendable {
    /// The maximum time that a response or a read waits for a change, on the environment's clock.
    ///
    /// A disk that works takes a fraction of it. In that case the status of the response is exact, and other processes
    /// see the change when the response is returned.
    static let patience = Duration.milliseconds(250)
    /// The maximum time that a request waits for the entries of its URL, after which it is sent, on the environment's
    /// clock.
    static let readPatience = Duration.seconds(1)
    /// The maximum number of changes in progress, which limits the memory if the store never returns.
    static let maximumCount = 256

    /// A change, and its result for those that wait for it.
    fileprivate final class Change: Sendable {
        private struct State {
            var result: Result<CacheBypass?, any Error>?
            // Created by the first that waits, which few changes have: its type parameter makes it expensive.
            var outcome: Outcome<CacheBypass?>?
        }

        private let state = Mutex(State())

        var outcome: Outcome<CacheBypass?> {
            state.withLock { state in
                if let outcome = state.outcome { return outcome }
                let outcome = Outcome<CacheBypass?>()
                if let result = state.result {
                    outcome.end(with: result)
                }
                state.outcome = outcome
                return outcome
            }
        }

        var hasEnded: Bool {
            state.withLock { $0.result != nil }
        }

        /// Sets the result, and returns the outcome, which the caller ends with it; `nil` if nothing waits.
        func end(_ refusal: CacheBypass?) -> Outcome<CacheBypass?>? {
            state.withLock { state in
                state.result = .success(refusal)
                return state.outcome
            }
        }
    }

    private struct State {
        /// The last change of each URL.
        var last: [String: Change] = [:]
        /// The number of changes that have not ended.
        var activeCount = 0
        /// The changes that have taken longer than the patience.
        ///
        /// While there are any, nothing waits for the store.
        var overdue: Set<ObjectIdentifier> = []
    }

    private let state = Mutex(State())

    /// A change that has its place in the order and must be run.
    struct Place: Sendable {
        fileprivate let url: String
        fileprivate let change: Change
        fileprivate let previous: Change?
    }

    /// Returns a place after all earlier changes of a URL; `nil` if too many changes are in progress.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - onlyIfFirst: Whether to return `nil` if there is an earlier change of the URL, too.
    /// - Returns: The place.
    func place(for url: String, onlyIfFirst: Bool = false) -> Place? {
        let change = Change()
        return state.withLock { state in
            guard state.activeCount < Self.maximumCount, !onlyIfFirst || state.last[url] == nil else { return nil }
            state.activeCount += 1
            return Place(url: url, change: change, previous: state.last.updateValue(change, forKey: url))
        }
    }

    /// Runs a change in its place.
    ///
    /// - Parameters:
    ///   - place: The place.
    ///   - isInline: Whether the work never waits, so that it needs no task if there is no earlier change.
    ///   - work: The change, which returns the reason why a response is not stored.
    /// - Returns: The result of the change; `nil` if it is still in progress.
    func run(
        _ place: Place,
        isInline: Bool,
        _ work: @escaping @Sendable () async -> CacheBypass?
    ) async -> CacheBypass? {
        if isInline, place.previous == nil {
            let refusal = await work()
            end(place, refusal)
            return refusal
        }
        // A shared operation without waiters does not inherit the deadline of a caller.
        let operation = SharedOperation<Void>(outlivesWaiters: true)
        // Before the store is called, because other code may move a clock as soon as it sees the call.
        let start = NetworkEnvironment.current.clock.now
        operation.start { [self] in
            _ = try? await place.previous?.outcome.value()
            end(place, await work())
        }
        let patience = state.withLock { $0.overdue.isEmpty } ? Self.patience : .zero
        guard case .success(let refusal) = await result(of: place.change, atMost: patience, since: start) else {
            return nil
        }
        return refusal
    }

    /// Ends a change, and resumes the changes after it.
    func end(_ place: Place, _ refusal: CacheBypass?) {
        let outcome = state.withLock { state in
            state.activeCount -= 1
            if !state.overdue.isEmpty {
                state.overdue.remove(ObjectIdentifier(place.change))
            }
            if let index = state.last.index(forKey: place.url), state.last.values[index] === place.change {
                state.last.remove(at: index)
            }
            // Under the lock, so that a change that has ended does not become overdue.
            return place.change.end(refusal)
        }
        outcome?.end(with: .success(refusal))
    }

    /// Waits for the changes of a URL, and returns whether they have ended.
    ///
    /// Otherwise the entries in the store are older than responses that were already returned, and must not be used.
    func settle(_ url: String) async -> Bool {
        guard let change = state.withLock({ $0.last.isEmpty ? nil : $0.last[url] }) else { return true }
        let now = NetworkEnvironment.current.clock.now
        guard case .success = await result(of: change, atMost: Self.readPatience, since: now) else { return false }
        return true
    }

    /// Whether a change of a URL is in progress.
    func isChanging(_ url: String) -> Bool {
        state.withLock { !$0.last.isEmpty && $0.last[url] != nil }
    }

    /// Waits until all changes that are in progress now have ended.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled.
    func flush() async throws {
        for change in state.withLock({ Array($0.last.values) }) {
            _ = try await change.outcome.value()
        }
    }

    /// A change has taken longer than its patience.
    private struct Overdue: Error {}

    /// Waits for the result of a change.
    ///
    /// - Returns: The result, or a failure if the change takes too long or the caller is cancelled.
    private func result(
        of change: Change,
        atMost patience: Duration,
        since start: Duration
    ) async -> Result<CacheBypass?, any Error> {
        let wait = Suspension<CacheBypass?>()
        if let result = change.outcome.add({ wait.resume(with: $0) }) { return result }
        guard patience > .zero else { return .failure(CancellationError()) }
        let clock = NetworkEnvironment.current.clock
        let deadline = WaitDeadline<CacheBypass?>(start + patience, on: clock, with: .failure(Overdue()))
        do {
            return .success(try await wait.value(until: nil, or: deadline))
        } catch {
            if error is Overdue {
                state.withLock { state in
                    guard !change.hasEnded else { return }
                    state.overdue.insert(ObjectIdentifier(change))
                }
            }
            return .failure(error)
        }
    }
}
