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

    private typealias Change = Outcome<CacheBypass?>

    private struct State {
        /// The last change of each URL.
        var last: [String: Change] = [:]
        /// The changes that have not ended.
        var active: Set<ObjectIdentifier> = []
        /// The changes that have taken longer than the patience.
        ///
        /// While there are any, nothing waits for the store.
        var overdue: Set<ObjectIdentifier> = []
    }

    private let state = Mutex(State())

    /// A change that has its place in the order and must be run.
    struct Place: Sendable {
        fileprivate let url: String
        fileprivate let change: Outcome<CacheBypass?>
        fileprivate let previous: Outcome<CacheBypass?>?
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
            let previous = state.last[url]
            guard state.active.count < Self.maximumCount, !onlyIfFirst || previous == nil else { return nil }
            state.active.insert(ObjectIdentifier(change))
            state.last[url] = change
            return Place(url: url, change: change, previous: previous)
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
        operation.start { [self] in
            _ = try? await place.previous?.value()
            end(place, await work())
        }
        let patience = state.withLock { $0.overdue.isEmpty } ? Self.patience : .zero
        guard case .success(let refusal) = await result(of: place.change, atMost: patience) else { return nil }
        return refusal
    }

    /// Ends a change, and resumes the changes after it.
    func end(_ place: Place, _ refusal: CacheBypass?) {
        state.withLock { state in
            state.active.remove(ObjectIdentifier(place.change))
            state.overdue.remove(ObjectIdentifier(place.change))
            if state.last[place.url] === place.change {
                state.last[place.url] = nil
            }
        }
        place.change.end(with: .success(refusal))
    }

    /// Waits for the changes of a URL, and returns whether they have ended.
    ///
    /// Otherwise the entries in the store are older than responses that were already returned, and must not be used.
    func settle(_ url: String) async -> Bool {
        guard let change = state.withLock({ $0.last[url] }) else { return true }
        guard case .success = await result(of: change, atMost: Self.readPatience) else { return false }
        return true
    }

    /// Waits until all changes that are in progress now have ended.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled.
    func flush() async throws {
        for change in state.withLock({ Array($0.last.values) }) {
            _ = try await change.value()
        }
    }

    /// Waits for the result of a change.
    ///
    /// - Returns: The result, or a failure if the change takes too long or the caller is cancelled.
    private func result(of change: Change, atMost patience: Duration) async -> Result<CacheBypass?, any Error> {
        let wait = Suspension<CacheBypass?>()
        if let result = change.add({ wait.resume(with: $0) }) { return result }
        guard patience > .zero else { return .failure(CancellationError()) }
        let clock = NetworkEnvironment.current.clock
        let alarm = clock.alarm(at: clock.now + patience) { [self] in
            guard wait.resume(with: .failure(CancellationError())) else { return }
            state.withLock { state in
                guard state.active.contains(ObjectIdentifier(change)) else { return }
                state.overdue.insert(ObjectIdentifier(change))
            }
        }
        defer { alarm.cancel() }
        do {
            return .success(try await wait.value())
        } catch {
            return .failure(error)
        }
    }
}
