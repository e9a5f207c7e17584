#if Valkey
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingValkey

/// Limiters with connections of their own to one server, in real time.
@Suite(.serialized, .requires(.valkey), .timeLimit(.minutes(5)))
struct SharedLimitTests {
    /// The moments at which requests reach the upstream.
    private final class Arrivals: Sendable {
        private let moments = Mutex<[ContinuousClock.Instant]>([])

        func add() {
            moments.withLock { $0.append(.now) }
        }

        func count(_ start: ContinuousClock.Instant, _ end: ContinuousClock.Instant) -> Int {
            moments.withLock { $0.count { $0 >= start && $0 < end } }
        }
    }

    /// The end of the callers of a test.
    private final class Ending: Sendable {
        private let flag = Atomic(false)

        var isOver: Bool { flag.load(ordering: .relaxed) }

        func set() { flag.store(true, ordering: .relaxed) }
    }

    /// Sends requests with several callers until it is cancelled, with a client and a limiter of its own.
    private func runMachine(_ server: ValkeyServer, rate: Int, counting arrivals: Arrivals) async throws {
        try await withClient(server.address) { client in
            let sharing = RateLimiter.Sharing(
                in: ValkeyRateLimit(in: client, namespace: "test"),
                as: "vendor",
                localShare: 0.001,
                lead: .milliseconds(50),
                timeout: .seconds(5)
            )
            let network = MockTransport { _ in
                arrivals.add()
                return .ok()
            }
            .rateLimited(by: RateLimiter(rate, per: .seconds(1), burst: 4, sharing: sharing))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        while true { _ = try await network.send(.lawful) }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func machinesTogetherKeepTheRateWhileTwoAreStartedAgain() async throws {
        try await withValkeyServer { server in
            let arrivals = Arrivals()
            func start() -> Task<Void, any Error> {
                Task { try await runMachine(server, rate: 400, counting: arrivals) }
            }
            var machines = (0..<4).map { _ in start() }
            try await Task.sleep(for: .milliseconds(500))
            let start1 = ContinuousClock.now
            try await Task.sleep(for: .milliseconds(1_000))
            for machine in machines.prefix(2) { machine.cancel() }
            try await Task.sleep(for: .milliseconds(300))
            machines += [start(), start()]
            try await Task.sleep(for: .milliseconds(2_200))
            let end = ContinuousClock.now
            for machine in machines { machine.cancel() }
            for machine in machines { _ = await machine.result }
            let expected = (end - start1) / .seconds(1) * 400
            let count = Double(arrivals.count(start1, end))
            // Other tests may leave the machines too little time to reach the rate.
            #expect(count > 0 && count <= 1.02 * expected, "\(count) of \(expected)")
        }
    }

    @Test func localShareAppliesUntilTheServerIsBack() async throws {
        try await withValkeyServer { server in
            var configuration = ValkeyConfiguration()
            configuration.backoff = .exponential(base: .milliseconds(20), cap: .milliseconds(100))
            try await withClient(server.address, configuration) { client in
                let breaker = CircuitBreaker(.sharedStore)
                let sharing = RateLimiter.Sharing(
                    in: ValkeyRateLimit(in: client, namespace: "test"),
                    as: "vendor",
                    localShare: 0.1,
                    breaker: breaker
                )
                let arrivals = Arrivals()
                let failures = Arrivals()
                let events = EventRecorder()
                let network = MockTransport { _ in
                    arrivals.add()
                    return .ok()
                }
                .rateLimited(by: RateLimiter(500, per: .seconds(1), burst: 5, sharing: sharing))
                .observed(by: events)
                let end = Ending()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            while !end.isOver {
                                do { _ = try await network.send(.lawful) } catch { failures.add() }
                            }
                        }
                    }
                    defer { end.set() }
                    try await Task.sleep(for: .milliseconds(300))
                    server.kill()
                    try await eventually("the circuit is open") { breaker.state(of: "vendor") == .open }
                    let start = ContinuousClock.now
                    try await Task.sleep(for: .milliseconds(700))
                    let now = ContinuousClock.now
                    let expected = (now - start) / .seconds(1) * 50
                    let count = Double(arrivals.count(start, now))
                    #expect(count > 0 && count <= expected + 3, "\(count) of \(expected)")
                    try await server.start()
                    try await eventually("the circuit is closed") { breaker.state(of: "vendor") == .closed }
                    end.set()
                    try await group.waitForAll()
                }
                #expect(failures.count(.now - .seconds(600), .now) == 0)
                #expect(events.events.contains { if case RateLimitEvent.localShare = $0 { true } else { false } })
            }
        }
    }

    @Test func stoppedServerDelaysNoRequestBeyondTheTimeLimit() async throws {
        try await withValkeyServer { server in
            try await withClient(server.address, .timeout(.seconds(1))) { client in
                let sharing = RateLimiter.Sharing(
                    in: ValkeyRateLimit(in: client, namespace: "test"),
                    as: "vendor",
                    localShare: 1,
                    timeout: .seconds(1)
                )
                let network = MockTransport { _ in .ok() }
                    .rateLimited(by: RateLimiter(1_000, per: .seconds(1), sharing: sharing))
                _ = try await network.send(.lawful)
                server.pause()
                defer { server.resume() }
                var slow = 0
                for _ in 0..<50 {
                    let start = ContinuousClock.now
                    _ = try await network.send(.lawful)
                    if ContinuousClock.now - start > .milliseconds(500) { slow += 1 }
                }
                // The first request waits for the time limit. Then the local share applies, and no request waits for a probe.
                #expect(slow <= 10, "\(slow)")
            }
        }
    }

    /// A decision is one round trip, and a few microseconds for its script.
    @Test func decisionTakesLittleLongerThanARoundTrip() async throws {
        try await withValkeyServer { server in
            try await withClient(.unixSocket(server.socket)) { client in
                let store = ValkeyRateLimit(in: client, namespace: "test")
                let demand = RateLimitDemand(
                    key: "vendor",
                    permits: 1,
                    interval: .microseconds(1),
                    burst: 1_000_000,
                    lead: .milliseconds(100)
                )
                func median(_ work: () async throws -> Void) async throws -> Duration {
                    var times: [Duration] = []
                    for _ in 0..<1_000 {
                        let start = ContinuousClock.now
                        try await work()
                        times.append(ContinuousClock.now - start)
                    }
                    return times.sorted()[500]
                }
                _ = try await store.take(demand)
                let bare = try await median { _ = try await client.get("key") }
                let decision = try await median { _ = try await store.take(demand) }
                let (count, start) = (4_000, ContinuousClock.now)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<100 {
                        group.addTask {
                            for _ in 0..<count / 100 { _ = try await store.take(demand) }
                        }
                    }
                    try await group.waitForAll()
                }
                let time = ContinuousClock.now - start
                let limiter = RateLimiter(
                    1_000_000,
                    per: .seconds(1),
                    sharing: .init(in: store, as: "other", localShare: 1, lead: .zero, timeout: .seconds(5))
                )
                let network = MockTransport { _ in .ok() }.rateLimited(by: limiter)
                let request = try await median { _ = try await network.send(.lawful) }
                print(
                    "bare \(bare), decision \(decision) (\(decision / bare)), request \(request), "
                        + "\(Int(Double(count) / (time / .seconds(1)))) decisions per second"
                )
                // Five times, because builds for tests are not optimized, and other tests run.
                #expect(decision <= bare * 5)
            }
        }
    }
}
#endif
