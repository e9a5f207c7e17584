import NetworkingCore
import NetworkingResilience
import Synchronization

/// The part of a ``RateLimiter`` that takes its permits from a store.
///
/// It has the queue of an ordinary limiter for each key. At most one call per key is in flight to the store.
final class SharedRateLimiter: SharedLimit {
    let sharing: RateLimiter.Sharing
    private let settings: SharedRateCell.Settings
    private let state = ClockedMutex(State())
    /// The number of calls to the store that have not returned, also after their time limit.
    private let calls = Atomic(0)

    /// The maximum number of such calls; a store that ignores cancellation receives no more.
    private static let maximumCalls = 1_000

    private struct State: Sendable {
        var cells = RateCells<SharedRateCell>()
        var numbers = WaitNumbers()
    }

    init(_ sharing: RateLimiter.Sharing, interval: Duration, burst: Int) {
        self.sharing = sharing
        // The checks of a demand apply to each of this limiter, so they fail here and not at the first request.
        let demand = RateLimitDemand(key: "", permits: 0, interval: interval, burst: burst, lead: sharing.lead)
        settings = SharedRateCell.Settings(
            interval: demand.interval,
            burst: burst,
            lead: demand.lead,
            localShare: sharing.localShare
        )
    }

    var waiting: Int {
        state.withLatest { state, _ in state.cells.waiting }
    }

    var keys: Int {
        state.withLatest { state, _ in state.cells.count }
    }

    /// Returns whether the local share applies to a key, because the store has failed.
    func isLocal(_ key: String) -> Bool {
        state.withLatest { state, _ in state.cells.withExistingValue(for: key) { $0.isLocal } ?? false }
    }

    func report(_ request: HTTPRequestData, _ key: String) {
        if isLocal(key) { request.emit(RateLimitEvent.localShare) }
    }

    /// A request waits for the decision of the store in any case, also behind an earlier call.
    func end(ofWaitFrom start: Duration, upTo maximumWait: Duration) -> Duration {
        start + max(maximumWait.bounded, sharing.timeout * 2)
    }

    func wait(_ key: String, on clock: NetworkClock) -> Duration {
        state.withValue(on: clock) { state, now in
            state.cells.withExistingValue(for: key) { $0.waitOfFirst(at: now) } ?? .zero
        }
    }

    // MARK: Requests

    /// Takes permits, or enters the queue of a key; see ``RateLimiter/take(_:_:_:waitingUpTo:on:)``.
    func take(
        _ weight: Int,
        _ priority: RequestPriority,
        _ key: String,
        waitingUpTo maximumWait: Duration?,
        on clock: NetworkClock
    ) -> RateLimiter.Decision {
        guard weight <= settings.burst else { return .impossible }
        let (decision, step) = state.withValue(on: clock) { [settings] state, now in
            let new = SharedRateCell(settings, lastNumberBefore: state.numbers.last, at: now)
            return state.cells.withValue(for: key, at: now, default: new) {
                cell -> (RateLimiter.Decision, SharedRateCell.Step) in
                var decision = RateLimiter.Decision.taken
                if !cell.take(weight, at: now) {
                    let wait = cell.wait(for: weight, at: now)
                    if let maximumWait, wait > maximumWait {
                        decision = .refused(wait)
                    } else {
                        let place = cell.enter(
                            priority,
                            weight: weight,
                            waitingUpTo: maximumWait,
                            after: wait,
                            numbered: &state.numbers
                        )
                        decision = .wait(place, wait)
                    }
                }
                return (decision, cell.step(at: now, isProbing: true, on: clock, numbered: &state.numbers))
            }
        }
        perform(step, key, on: clock)
        return decision
    }

    /// Returns permits that were not used.
    func giveBack(_ place: WaitPlace, _ key: String, on clock: NetworkClock) {
        update(key, on: clock) { cell, now in
            guard place.number > cell.lastNumberBefore else { return }
            cell.giveBack(place.weight, at: now)
        }
    }

    /// Removes a place after its caller has stopped waiting; later places move up.
    func left(_ place: WaitPlace, _ key: String, on clock: NetworkClock) {
        update(key, on: clock) { cell, _ in cell.leave(place) }
    }

    // MARK: Steps

    /// Changes a cell, if it exists, and does what follows.
    private func update(
        _ key: String,
        on clock: NetworkClock,
        _ change: @Sendable (inout SharedRateCell, _ now: Duration) -> Void
    ) {
        let step = state.withValue(on: clock) { state, now in
            state.cells.withExistingValue(for: key) { cell in
                change(&cell, now)
                return cell.step(at: now, on: clock, numbered: &state.numbers)
            }
        }
        if let step { perform(step, key, on: clock) }
    }

    private func perform(_ step: SharedRateCell.Step, _ key: String, on clock: NetworkClock) {
        for place in step.due where !place.wait.resume(with: .success(())) {
            // The caller was cancelled just before.
            giveBack(place, key, on: clock)
        }
        for place in step.refused {
            place.wait.resume(with: .failure(RateLimitReached(wait: step.wait)))
        }
        if let plan = step.alarm { set(plan, key, on: clock) }
        if let fetch = step.fetch { start(fetch, key, on: clock) }
    }

    private func set(_ plan: SharedRateCell.AlarmPlan, _ key: String, on clock: NetworkClock) {
        plan.replaced?.cancel()
        guard let moment = plan.moment else { return }
        // Read before the wait is computed: an alarm may ring early, but not late after a clock has been moved.
        let start = clock.now
        // The moments of the cell continue when another stack uses the limiter, so they are not those of the clock.
        let wait = state.withValue(on: clock) { _, now in max(.zero, moment - now) }
        // The alarm keeps the limiter alive until it rings, because requests wait for it.
        let alarm = clock.alarm(at: start + wait) { [self] in
            update(key, on: clock) { cell, _ in cell.ring(moment) }
        }
        let isNeeded = state.withLatest { state, _ in
            state.cells.withExistingValue(for: key) { $0.keep(alarm, for: moment, on: clock) } ?? false
        }
        if !isNeeded { alarm.cancel() }
    }

    // MARK: The store

    /// Calls the store, if its circuit allows that.
    private func start(_ fetch: SharedRateCell.Fetch, _ key: String, on clock: NetworkClock) {
        let circuits = sharing.breaker.circuits
        let pass: CircuitTable.Pass?
        switch circuits.admit(sharing.name, probeLimit: sharing.timeout * 2, on: clock) {
        case .admitted(let admitted):
            pass = admitted
        case .rejected(let rejection):
            return end(fetch, with: .refused(rejection.retryAfter ?? .seconds(1)), key, on: clock)
        }
        guard calls.wrappingAdd(1, ordering: .relaxed).newValue <= Self.maximumCalls else {
            calls.wrappingSubtract(1, ordering: .relaxed)
            circuits.record(.failure(.error(.timeout)), of: sharing.name, pass, on: clock)
            return end(fetch, with: .failed, key, on: clock)
        }
        let demand = RateLimitDemand(
            key: key.isEmpty ? sharing.name : "\(sharing.name) \(key)",
            permits: fetch.permits,
            spare: fetch.spare,
            returned: fetch.returned,
            interval: settings.interval,
            burst: settings.burst,
            lead: settings.lead
        )
        let isOver = Flag()
        // Before the store is called, which may see that a clock moves.
        let deadline = clock.now + sharing.timeout
        // Detached, because the call belongs to all requests of the key.
        let call = OwnedTask.detached { [self] in
            let grant = await grant(for: demand, on: clock)
            calls.wrappingSubtract(1, ordering: .relaxed)
            if !isOver.set() {
                circuits.record(grant == nil ? Self.failure : .success, of: sharing.name, pass, on: clock)
            }
            // Permits that arrive late are used, too, because the store has counted them.
            end(fetch, with: grant.map { .granted($0) } ?? .failed, key, on: clock)
        }
        let limit = clock.alarm(at: deadline) { [self] in
            guard !isOver.set() else { return }
            circuits.record(Self.failure, of: sharing.name, pass, on: clock)
            call.cancel()
            end(fetch, with: .failed, key, on: clock)
        }
        let isNeeded = state.withLatest { state, _ in
            state.cells.withExistingValue(for: key) { $0.keep(limit: limit, of: fetch.number) } ?? false
        }
        if !isNeeded { limit.cancel() }
    }

    /// A connection failure, so that a few in a row open the circuit.
    private static var failure: CircuitResult { .failure(.error(.connection)) }

    /// Returns the decision of the store; `nil` if it throws or contradicts the demand.
    private func grant(for demand: RateLimitDemand, on clock: NetworkClock) async -> RateLimitGrant? {
        let grant: RateLimitGrant?
        if clock.isSystem {
            grant = try? await sharing.store.take(demand)
        } else {
            var environment = NetworkEnvironment()
            environment.clock = clock
            grant = try? await withEnvironment(environment) { try await sharing.store.take(demand) }
        }
        return grant.flatMap { $0.answers(demand) ? $0 : nil }
    }

    private func end(
        _ fetch: SharedRateCell.Fetch,
        with result: SharedRateCell.FetchResult,
        _ key: String,
        on clock: NetworkClock
    ) {
        let (limit, step) = state.withValue(on: clock) { state, now -> (Alarm?, SharedRateCell.Step?) in
            state.cells
                .withExistingValue(for: key) { cell in
                    let limit = cell.end(fetch, with: result, at: now)
                    return (limit, cell.step(at: now, on: clock, numbered: &state.numbers))
                } ?? (nil, nil)
        }
        limit?.cancel()
        if let step { perform(step, key, on: clock) }
    }
}
