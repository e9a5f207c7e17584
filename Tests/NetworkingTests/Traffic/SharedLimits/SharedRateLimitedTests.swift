import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// `rateLimited` with a store, in simulated time.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SharedRateLimitedTests {
    private let transport = MockTransport { _ in .ok() }
    // The clock of the store differs from that of the processes.
    private let store = FakeRateLimitStore { .seconds(1_800_000_000) + NetworkEnvironment.current.clock.now }

    private func limiter(
        _ count: Int = 10,
        burst: Int = 1,
        key: RateLimiter.Key = .everything,
        localShare: Double = 0.5,
        lead: Duration = .milliseconds(100),
        breaker: CircuitBreaker = CircuitBreaker(.sharedStore)
    ) -> RateLimiter {
        let sharing = RateLimiter.Sharing(
            in: store,
            as: "vendor",
            localShare: localShare,
            lead: lead,
            breaker: breaker
        )
        return RateLimiter(count, per: .seconds(1), burst: burst, key: key, sharing: sharing)
    }

    private func network(_ limiter: RateLimiter, maximumWait: Duration? = nil) -> some NetworkingComponent {
        transport.rateLimited(by: limiter, maximumWait: maximumWait)
    }

    private func request(_ path: String, _ priority: RequestPriority = .normal) -> HTTPRequestData {
        HTTPRequestData(authority: "x.example", path: path).with { $0.priority = priority }
    }

    private func isLocal(_ limiter: RateLimiter) -> Bool {
        (limiter.shared as? SharedRateLimiter)?.isLocal("") ?? false
    }

    private func error(of request: HTTPRequestData, over network: some NetworkingComponent) async -> NetworkingError? {
        do {
            _ = try await network.send(request)
            return nil
        } catch {
            return error as? NetworkingError
        }
    }

    // MARK: Permits

    @Test func twoProcessesShareOneLimit() async throws {
        try await simulated { _ in
            let networks = [network(limiter(burst: 2)), network(limiter(burst: 2))]
            _ = try await networks[0].send(.lawful)
            _ = try await networks[1].send(.lawful)
            let third = try await timed { try await networks[0].send(.lawful) }
            #expect(third.time == .milliseconds(100))
            #expect(store.demands.allSatisfy { $0.key == "vendor" && $0.interval == .milliseconds(100) })
        }
    }

    /// The clock moves beyond the interval before one of its reads after the store has decided.
    ///
    /// The wait begins with the second of them; the first is that of the circuit breaker.
    @Test(arguments: 3...7)
    func waitEndsIfTheClockMovesWhileItBegins(read: Int) async throws {
        let clock = MovingClock()
        let limiter = limiter()
        let network = network(limiter).environment(\.clock, NetworkClock(clock))
        try await network.data(.lawful)
        let reads = clock.move(by: .seconds(1), beforeRead: read, if: { [store] in store.permits > 1 })
        let isOver = Locked(false)
        let call = Task {
            _ = try await network.data(.lawful)
            isOver.withLock { $0 = true }
        }
        defer { call.cancel() }
        try await eventually("the store has decided") { store.permits > 1 }
        // The wait has begun.
        try await eventually("its start was read") { reads() >= 3 || isOver.withLock { $0 } }
        clock.moveNow()
        try await eventually("the call ends") { isOver.withLock { $0 } }
    }

    @Test func requestsWithoutPermitAreRefusedAfterTheDecision() async throws {
        try await simulated { clock in
            store.behavior = .takes(.milliseconds(1))
            let network = network(limiter(burst: 2), maximumWait: .zero)
            for _ in 0..<2 { _ = try await network.send(.lawful) }
            let start = clock.now
            let error = await error(of: .lawful, over: network)
            #expect(error?.kind == .rejected)
            #expect(error?.retryAfter.map { $0 > .zero && $0 <= .milliseconds(200) } == true)
            #expect(clock.now - start <= .milliseconds(1))
            #expect(transport.requests.count == 2)
        }
    }

    @Test func groupsHaveTheirOwnLimits() async throws {
        try await simulated { _ in
            let network = network(limiter(key: .host), maximumWait: .zero)
            _ = try await network.send(HTTPRequestData(authority: "a.example"))
            _ = try await network.send(HTTPRequestData(authority: "b.example"))
            #expect(Set(store.demands.map(\.key)) == ["vendor a.example", "vendor b.example"])
        }
    }

    @Test func requestsOfHigherPriorityAreSentFirst() async throws {
        try await simulated { clock in
            let network = network(limiter())
            _ = try await network.send(.lawful)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (name, priority) in [("low", RequestPriority.low), ("normal", .normal), ("high", .high)] {
                    let request = request(name, priority)
                    group.addTask { _ = try await network.send(request) }
                }
                try await group.waitForAll()
            }
            #expect(transport.requests.suffix(3).map(\.path) == ["/high", "/normal", "/low"])
        }
    }

    @Test func oneCallPerKeyIsInFlight() async throws {
        try await simulated { _ in
            store.behavior = .takes(.milliseconds(10))
            let network = network(limiter(1_000, burst: 100))
            let (_, time) = try await timed {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<50 { group.addTask { _ = try await network.send(.lawful) } }
                    try await group.waitForAll()
                }
            }
            #expect(time == .milliseconds(20))
            #expect(store.maximumRunning == 1)
            #expect(store.demands.count == 2)
        }
    }

    @Test func weightNeedsAsManyPermits() async throws {
        try await simulated { _ in
            let network = network(limiter(burst: 3))
            _ = try await network.send(.lawful.with { $0.rateLimitWeight = 3 })
            let (_, time) = try await timed { try await network.send(.lawful.with { $0.rateLimitWeight = 2 }) }
            #expect(time == .milliseconds(200))
            #expect(await error(of: .lawful.with { $0.rateLimitWeight = 4 }, over: network)?.kind == .rejected)
        }
    }

    @Test func unusedPermitsAreGivenBack() async throws {
        try await simulated { clock in
            let network = network(limiter(1_000, burst: 100))
            // The batches grow with the demand.
            for _ in 0..<30 {
                try await clock.sleep(for: .milliseconds(1))
                _ = try await network.send(.lawful)
            }
            let calls = store.demands.count
            #expect(calls <= 8)
            try await clock.sleep(for: .milliseconds(300))
            #expect(store.demands.count == calls + 1)
            #expect(store.demands.last.map { $0.permits == 0 && $0.returned > 0 } == true)
        }
    }

    @Test func permitsOfBeforeASleepAreNeitherUsedNorGivenBack() {
        let settings = SharedRateCell.Settings(
            interval: .milliseconds(1),
            burst: 100,
            lead: .milliseconds(100),
            localShare: 1
        )
        for (sleep, returned) in [(Duration.milliseconds(250), 3), (.seconds(3_600), 0)] {
            var cell = SharedRateCell(settings, lastNumberBefore: 0, at: .zero)
            var numbers = WaitNumbers()
            let clock = NetworkClock.continuous
            _ = cell.take(1, at: .zero)
            _ = cell.enter(.normal, weight: 1, waitingUpTo: nil, after: .zero, numbered: &numbers)
            let fetch = cell.step(at: .zero, on: clock, numbered: &numbers).fetch
            guard let fetch else {
                Issue.record("the store is not asked")
                return
            }
            _ = cell.end(fetch, with: .granted(RateLimitGrant(permits: 4, wait: .zero)), at: .zero)
            #expect(cell.step(at: .zero, on: clock, numbered: &numbers).due.count == 1)
            // The machine sleeps, so the alarm is late.
            let isTaken = cell.take(1, at: sleep)
            #expect(!isTaken)
            _ = cell.enter(.normal, weight: 1, waitingUpTo: nil, after: .zero, numbered: &numbers)
            #expect(cell.step(at: sleep, on: clock, numbered: &numbers).fetch?.returned == returned)
        }
    }

    // MARK: The end of waits

    @Test func cancelledRequestLeavesTheQueueAndTheOthersMoveUp() async throws {
        try await simulated { clock in
            let limiter = limiter()
            let network = network(limiter)
            _ = try await network.send(.lawful)
            let start = clock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await #expect(throws: CancellationError.self) { try await network.send(.lawful) } }
                try await clock.sleep(for: .milliseconds(50))
                group.cancelAll()
                try await group.waitForAll()
            }
            #expect(limiter.waiting == 0 && clock.now - start == .milliseconds(50))
            // The permit that was taken for it goes to the next request.
            _ = try await network.send(.lawful)
            #expect(clock.now - start == .milliseconds(100))
        }
    }

    @Test(arguments: [FakeRateLimitStore.Behavior.hangs, .ignoresCancellation])
    func waitForTheStoreEndsWithItsCallerAndItsTimeLimit(behavior: FakeRateLimitStore.Behavior) async throws {
        try await simulated { clock in
            store.behavior = behavior
            let limiter = limiter()
            let network = network(limiter)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await #expect(throws: CancellationError.self) { try await network.send(.lawful) } }
                try await clock.sleep(for: .milliseconds(10))
                group.cancelAll()
                try await group.waitForAll()
            }
            #expect(clock.now == .milliseconds(10) && limiter.waiting == 0)
            let error = await error(of: .lawful, over: network.timeout(.milliseconds(20)))
            #expect(error?.kind == .timeout && clock.now == .milliseconds(30) && limiter.waiting == 0)
            // Without either, the local share applies at the time limit of the store.
            _ = try await network.send(.lawful)
            #expect(clock.now == .milliseconds(50))
        }
    }

    @Test func requestIsRefusedAtTheEndOfItsMaximumWait() async throws {
        try await simulated { clock in
            let network = network(limiter(1), maximumWait: .milliseconds(400))
            _ = try await network.send(.lawful)
            // Another process takes the permit that becomes available.
            let other = try await store.take(
                RateLimitDemand(key: "vendor", permits: 1, interval: .seconds(1), burst: 1, lead: .seconds(2))
            )
            #expect(other.permits == 1)
            let start = clock.now
            let error = await error(of: .lawful, over: network)
            #expect(error?.kind == .rejected && error?.retryAfter.map { $0 > .milliseconds(400) } == true)
            #expect(clock.now - start <= .milliseconds(400))
            // Now it is known at once.
            let next = clock.now
            #expect(await self.error(of: .lawful, over: network)?.kind == .rejected && clock.now == next)
        }
    }

    // MARK: A store that fails

    @Test(arguments: [
        FakeRateLimitStore.Behavior.fails, .hangs, .ignoresCancellation, .takes(.milliseconds(100)),
        .returns(RateLimitGrant(permits: 2_000_000, wait: .zero)), .returns(RateLimitGrant(permits: -1, wait: .zero)),
        .returns(RateLimitGrant(permits: 1, wait: .seconds(-1))),
        .returns(RateLimitGrant(permits: 1, wait: .seconds(1_000_000))),
        .returns(RateLimitGrant(permits: .min, wait: .seconds(Int64.min))),
    ])
    func localShareAppliesWhileTheStoreFails(behavior: FakeRateLimitStore.Behavior) async throws {
        try await simulated { clock in
            store.behavior = behavior
            let events = EventRecorder()
            // 100 per second, of which this process may use half.
            let breaker = CircuitBreaker(.sharedStore)
            let limiter = limiter(100, burst: 2, breaker: breaker)
            let network = network(limiter).observed(by: events)
            let start = clock.now
            for _ in 0..<40 {
                let (_, time) = try await timed { try await network.send(.lawful) }
                #expect(time <= .milliseconds(50))
            }
            let time = clock.now - start
            #expect(time >= .milliseconds(39 * 20) && time <= .milliseconds(39 * 20 + 50), "\(time)")
            #expect(events.events.count { ($0 as? RateLimitEvent)?.isLocalShare == true } == 40)
            // Three failures open the circuit, and then there are few probes.
            #expect(store.demands.count <= 8, "\(store.demands.count)")
            #expect(breaker.state(of: "vendor") != .closed)

            store.behavior = .works
            while isLocal(limiter), clock.now - start < .seconds(5) { _ = try await network.send(.lawful) }
            #expect(!isLocal(limiter) && breaker.state(of: "vendor") == .closed)
            let (_, fast) = try await timed { for _ in 0..<101 { _ = try await network.send(.lawful) } }
            #expect(fast >= .milliseconds(900) && fast <= .milliseconds(1_010), "\(fast)")
        }
    }

    @Test func storeThatSaysNeverIsAskedAgain() async throws {
        try await simulated { clock in
            store.behavior = .returns(RateLimitGrant(permits: 0, wait: .seconds(Int64.max)))
            let network = network(limiter())
            async let response = network.send(.lawful)
            try await clock.sleep(for: .milliseconds(10))
            store.behavior = .works
            _ = try await response
            #expect(clock.now <= .milliseconds(1_300))
        }
    }

    @Test func failuresAllowNoMoreThanTheShare() async throws {
        try await simulated { clock in
            // A circuit that stays closed, so that requests try the store again and again.
            var policy = CircuitBreaker.Policy.sharedStore
            (policy.connectionFailures, policy.minimumCalls) = (nil, 1_000_000)
            let network = network(limiter(100, localShare: 0.1, breaker: CircuitBreaker(policy)))
            for number in 0..<100 {
                store.behavior = number.isMultiple(of: 2) ? .fails : .works
                _ = try await network.send(.lawful)
            }
            #expect(clock.now >= .milliseconds(99 * 9))
        }
    }

    @Test func isolatedBreakerKeepsTheLimiterFromTheStore() async throws {
        try await simulated { _ in
            let breaker = CircuitBreaker(.sharedStore)
            breaker.isolate()
            _ = try await network(limiter(breaker: breaker)).send(.lawful)
            #expect(store.demands.isEmpty)
        }
    }

    @Test func heavyRequestIsSentAtTheLocalShareToo() async throws {
        try await simulated { _ in
            store.behavior = .fails
            let network = network(limiter(100, burst: 10, localShare: 0.1))
            let heavy = try await timed { try await network.send(.lawful.with { $0.rateLimitWeight = 10 }) }
            let next = try await timed { try await network.send(.lawful) }
            #expect(heavy.time == .zero && next.time == .seconds(1))
        }
    }

    @Test func requestThatMayNotWaitIsSentOrRefusedAtTheLocalShare() async throws {
        try await simulated { clock in
            store.behavior = .hangs
            let network = network(limiter(100, localShare: 0.1), maximumWait: .zero)
            _ = try await network.send(.lawful)
            #expect(clock.now == .milliseconds(50))
            let error = await error(of: .lawful, over: network)
            #expect(error?.retryAfter == .milliseconds(100) && clock.now == .milliseconds(50))
        }
    }

    // MARK: Settings

    @Test func stacksWithDifferentClocksShareALimiter() async throws {
        let limiter = limiter(1_000, burst: 10)
        for _ in 0..<3 {
            // Each simulation has a clock of its own, which starts at zero.
            try await simulated { _ in
                for _ in 0..<20 { _ = try await network(limiter).send(.lawful) }
            }
        }
        #expect(transport.requests.count == 60)
    }

    @Test func outlineNamesTheSharing() {
        let network = MockTransport().rateLimited(by: limiter())
        #expect(network.outline.hasPrefix("rateLimited(10 per 1.0 seconds, burst: 1, shared)\n"))
    }

    @Test func settingsHaveDefaults() {
        let sharing = RateLimiter.Sharing(in: store, as: "vendor", localShare: 0.25)
        #expect(sharing.name == "vendor" && sharing.localShare == 0.25)
        #expect(sharing.lead == .milliseconds(100) && sharing.timeout == .milliseconds(50))
        #expect(sharing.breaker.state(of: "vendor") == .closed)
        #expect(CircuitBreaker.Policy.sharedStore.connectionFailures == 3)
        #expect(sharing.store is FakeRateLimitStore)
        let long = RateLimiter(10_000, per: .seconds(45 * 86_400), sharing: sharing)
        #expect(long.shared != nil)
    }

    @Test func numberOfKeysIsLimited() async throws {
        let limiter = limiter(key: .custom { $0.path ?? "" })
        try await simulated { _ in
            for number in 0..<10_100 {
                _ = try await network(limiter).send(request("\(number)"))
            }
        }
        #expect(limiter.keys <= 10_000)
    }
}

extension RateLimitEvent {
    fileprivate var isLocalShare: Bool {
        if case .localShare = self { true } else { false }
    }
}
