import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Several processes with one limit, in simulated time.
@Suite(.timeLimit(.minutes(20)))
struct SharedRateSimulationTests {
    /// The moments at which requests reach the upstream of all processes, and the waits of the requests.
    private final class Arrivals: Sendable {
        let moments = Mutex<[Int: [Duration]]>([:])

        func add(_ machine: Int) {
            let now = NetworkEnvironment.current.clock.now
            moments.withLock { $0[machine, default: []].append(now) }
        }

        func count(during interval: Range<Duration>, of machine: Int? = nil) -> Int {
            moments.withLock { moments in
                moments.filter { machine == nil || $0.key == machine }
                    .reduce(0) { $0 + $1.value.count { interval.contains($0) } }
            }
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var rate = 100
        var burst = 10
        var machines = 4
        var lead = Duration.milliseconds(100)
        /// The time of a round trip to the store.
        var latency = Duration.milliseconds(1)
        /// Calls per second, of all machines.
        var load = 140.0
        /// Whether two of the processes end suddenly, and are started again.
        var endsTwo = false
        var testDescription: String {
            "\(rate)/s, burst \(burst), \(machines) machines, lead \(lead), latency \(latency), load \(load), \(endsTwo)"
        }
    }

    /// A store that is out of reach of a process that has ended.
    private struct Connection: RateLimitStore {
        let store: FakeRateLimitStore
        let isOver: @Sendable () -> Bool

        func take(_ demand: RateLimitDemand) async throws -> RateLimitGrant {
            guard !isOver() else { throw CocoaError(.fileReadUnknown) }
            return try await store.take(demand)
        }
    }

    private func run(_ test: Case, for duration: Duration) async throws -> (Arrivals, FakeRateLimitStore) {
        let arrivals = Arrivals()
        let store = FakeRateLimitStore { NetworkEnvironment.current.clock.now }
        store.behavior = .takes(test.latency)
        let end = duration / 2
        func stack(_ machine: Int, _ isOver: @escaping @Sendable () -> Bool) -> any NetworkingComponent {
            let limiter = RateLimiter(
                test.rate,
                per: .seconds(1),
                burst: test.burst,
                sharing: .init(
                    in: Connection(store: store, isOver: isOver),
                    as: "vendor",
                    localShare: 1 / Double(test.machines),
                    lead: test.lead
                )
            )
            return MockTransport { _ in
                if !isOver() { arrivals.add(machine) }
                return .ok()
            }
            .rateLimited(by: limiter)
        }
        let stacks = (0..<test.machines)
            .map { machine in
                let isEnding = test.endsTwo && machine < 2
                return (
                    stack(machine) { isEnding && NetworkEnvironment.current.clock.now >= end },
                    stack(machine) { false }
                )
            }
        let machines = Machines { machine, request in
            let isRestarted = test.endsTwo && machine < 2 && NetworkEnvironment.current.clock.now >= end
            return try await (isRestarted ? stacks[machine].1 : stacks[machine].0).send(request)
        }
        let simulation = Simulation(
            of: SimulatedServer(workers: 1, serviceTime: .constant(.zero)),
            for: duration,
            seed: 1,
            request: { HTTPRequestData(authority: "server.example", path: "/\($0 % test.machines)") },
            callsPerSecond: { _ in test.load }
        )
        _ = try await simulation.run { _ in machines }
        return (arrivals, store)
    }

    @Test(
        arguments: [
            Case(), Case(burst: 1), Case(latency: .milliseconds(20)), Case(endsTwo: true),
            Case(burst: 100, load: 200, endsTwo: true), Case(burst: 1, machines: 30),
            Case(rate: 10, burst: 1, load: 15),
        ]
    )
    func processesTogetherKeepTheRate(test: Case) async throws {
        let (arrivals, store) = try await run(test, for: .seconds(12))
        // The first seconds fill the queues and use up the burst.
        let time = Duration.seconds(2)..<Duration.seconds(12)
        let count = arrivals.count(during: time)
        let expected = Double(10 * test.rate)
        #expect(abs(Double(count) - expected) <= max(0.02 * expected, 2), "\(count) of \(expected)")
        #expect(store.maximumRunning <= test.machines + 2)
        // Each process has its part.
        let parts = (0..<test.machines).map { Double(arrivals.count(during: time, of: $0)) }
        #expect(parts.min() ?? 0 > 0.5 * expected / Double(test.machines), "\(parts)")
        // A round trip for each permit, and one for each turn, at most.
        #expect(store.demands.count <= 3 * 12 * test.rate, "\(store.demands.count)")
    }

    @Test func singleProcessTakesItsPermitsInBatches() async throws {
        let (arrivals, store) = try await run(Case(machines: 1), for: .seconds(5))
        #expect(abs(arrivals.count(during: .seconds(1)..<Duration.seconds(5)) - 400) <= 8)
        // A limit that is used up gives one permit, or a few, at a time.
        #expect(store.demands.count < 500)
    }

    @Test func batchesSaveRoundTripsBelowTheRate() async throws {
        let (arrivals, store) = try await run(Case(rate: 2_000, burst: 200, load: 800), for: .seconds(3))
        let count = arrivals.count(during: .zero..<Duration.seconds(60))
        #expect(store.demands.count < count / 5, "\(store.demands.count) round trips for \(count)")
        // All permits that were not used have been given back.
        #expect(store.permits == count)
        let (_, single) = try await run(Case(rate: 2_000, burst: 200, lead: .zero, load: 800), for: .seconds(3))
        #expect(single.demands.count > count * 8 / 10, "\(single.demands.count) round trips")
    }
}
