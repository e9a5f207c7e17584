import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization

/// The store of a shared limit behind a model of its server, whose round trips are the requests of the simulation.
private final class SimulatedEngine: RateLimitStore {
    private let transport: SimulatedTransport
    private let limits = Mutex<[String: RateLimitState]>([:])

    init(over transport: SimulatedTransport) {
        self.transport = transport
    }

    func take(_ demand: RateLimitDemand) async throws -> RateLimitGrant {
        _ = try await transport.send(HTTPRequestData(authority: "engine.example", path: "/"))
        let now = NetworkEnvironment.current.clock.now
        return limits.withLock { $0[demand.key, default: RateLimitState()].take(demand, at: now) }
    }
}

/// The moments at which requests reach the vendor, from any machine.
private final class UpstreamArrivals: Sendable {
    private let moments = Mutex<[Duration]>([])

    func add() {
        let now = NetworkEnvironment.current.clock.now
        moments.withLock { $0.append(now) }
    }

    /// Returns the number of requests per second of an interval.
    func rate(during interval: Range<Duration>) -> Double {
        let count = moments.withLock { $0.count { interval.contains($0) } }
        return Double(count) / ((interval.upperBound - interval.lowerBound) / .seconds(1))
    }
}

/// The machines of a service, each with a limiter of its own that takes its permits from the same engine.
private struct Machines: NetworkingComponent {
    let stacks: [any NetworkingComponent]

    init(
        _ count: Int,
        _ limit: (count: Int, burst: Int),
        lead: Duration,
        in engine: SimulatedEngine,
        counting arrivals: UpstreamArrivals
    ) {
        let upstream = MockTransport { _ in
            arrivals.add()
            return .ok()
        }
        stacks = (0..<count)
            .map { _ in
                let sharing = RateLimiter.Sharing(in: engine, as: "vendor", localShare: 1 / Double(count), lead: lead)
                return upstream.rateLimited(
                    by: RateLimiter(limit.count, per: .seconds(1), burst: limit.burst, sharing: sharing)
                )
            }
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await stacks[Int((request.path ?? "/").dropFirst()) ?? 0].send(request)
    }
}

extension Scenario {
    /// Machines with one limit, below the limit and then at twice the limit.
    static let manyMachines = Scenario(name: "many-machines") { length, seed in
        let machines = length == .full ? 1_000 : 40
        let limit = (count: length == .full ? 20_000 : 800, burst: length == .full ? 2_000 : 80)
        let (busy, duration): (Duration, Duration) =
            length == .full ? (.seconds(10), .seconds(20)) : (.seconds(2), .seconds(4))
        // A round trip of half a millisecond, and an engine that decides 80,000 times a second.
        let engine = SimulatedServer(
            workers: 1,
            serviceTime: .constant(.microseconds(12)),
            roundTrip: .constant(.microseconds(500))
        )
        let simulation = Simulation(
            of: ["engine.example": engine],
            for: duration,
            seed: seed,
            patience: .seconds(2),
            request: { HTTPRequestData(authority: "vendor.example", path: "/\($0 % machines)") },
            callsPerSecond: { Double(limit.count) * ($0 < busy ? 0.8 : 1.5) }
        )
        let (quiet, full) = (Duration.seconds(1)..<busy, busy + .seconds(1)..<duration)
        func run(_ name: String, _ lead: Duration, below: ClosedRange<Double>?) async throws -> Run {
            let arrivals = UpstreamArrivals()
            let report = try await simulation.run { transport in
                Machines(
                    machines,
                    limit,
                    lead: lead,
                    in: SimulatedEngine(over: transport),
                    counting: arrivals
                )
            }
            func trips(_ interval: Range<Duration>) -> Double {
                Double(report.during(interval).requests) / ((interval.upperBound - interval.lowerBound) / .seconds(1))
            }
            let wait = report.during(quiet).percentile(99) / .milliseconds(1)
            let figures = [
                Figure(
                    name: "\(name), round trips per request below the limit",
                    value: trips(quiet) / arrivals.rate(during: quiet),
                    limits: below
                ),
                Figure(name: "\(name), round trips per second below the limit", value: trips(quiet)),
                Figure(name: "\(name), 99 % of the waits below the limit, in ms", value: wait, limits: 0...10),
                Figure(name: "\(name), round trips per second above the limit", value: trips(full)),
                Figure(
                    name: "\(name), requests above the limit, to the limit",
                    value: arrivals.rate(during: full) / Double(limit.count),
                    limits: 0.98...1.02
                ),
            ]
            return Run(report: report, figures: figures)
        }
        let batches = try await run("lead 100 ms", .milliseconds(100), below: 0...0.75)
        let title = "\(machines) machines, one limit: batches of permits save round trips"
        guard length == .full else {
            return Outcome(figures: batches.figures, picture: batches.report.svg("lead: 100 ms", title: title))
        }
        let single = try await run("no batches", .zero, below: nil)
        let long = try await run("lead 1 s", .seconds(1), below: 0...0.2)
        return Outcome(
            figures: single.figures + batches.figures + long.figures,
            picture: SimulationReport.svg(
                comparing: ["lead: .zero": single.report, "lead: 100 ms": batches.report, "lead: 1 s": long.report],
                title: title
            )
        )
    }

    private struct Run {
        let report: SimulationReport
        let figures: [Figure]
    }
}
