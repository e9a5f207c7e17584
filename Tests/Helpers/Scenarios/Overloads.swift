import Networking
import NetworkingTesting
import Synchronization

/// A server that processes all requests at the same time, slower beyond its capacity, as most services do.
///
/// A response takes 200 ms without load, and varies by 15 %. The client waits for at most three times as long.
private struct SharingServer {
    let capacity: Int

    var model: SimulatedServer {
        SimulatedServer(
            workers: capacity,
            serviceTime: .logNormal(median: .milliseconds(200), p99: .milliseconds(284)),
            discipline: .sharing,
            queue: 1_000
        )
    }

    static let timeout = Duration.milliseconds(600)

    /// The number of requests that it can process per second.
    var rate: Double {
        // The mean of the log-normal distribution.
        Double(capacity) / 0.2023
    }
}

private func plain(_ transport: some NetworkingComponent) -> some NetworkingComponent {
    transport.timeout(SharingServer.timeout).retry()
}

private func limited(
    _ transport: some NetworkingComponent,
    by limiter: AdaptiveLimiter = AdaptiveLimiter()
) -> some NetworkingComponent {
    transport.timeout(SharingServer.timeout).adaptiveLimit(by: limiter).retry()
}

/// The changes of the limit.
private final class LimitHistory: NetworkEventObserver {
    private let changes = Mutex<[(time: Duration, limit: Int)]>([])

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        guard case AdaptiveLimitEvent.changed(let limit) = event else { return }
        let now = NetworkEnvironment.current.clock.now
        changes.withLock { $0.append((now, limit)) }
    }

    /// Returns the limits during an interval, with the one at its start.
    func limits(during interval: Range<Duration>) -> [Double] {
        let changes = changes.withLock { $0 }
        let before = changes.last { $0.time <= interval.lowerBound }
        return ([before].compactMap(\.self) + changes.filter { interval.contains($0.time) }).map { Double($0.limit) }
    }
}

extension Scenario {
    /// Four times the load that a server can take, after a minute with half of it.
    static func overload(capacity: Int) -> Scenario {
        Scenario(name: "overload-\(capacity)") { length, seed in
            try await overload(
                SharingServer(capacity: capacity),
                after: length == .full ? .seconds(60) : .seconds(10),
                "An hour at four times the load of \(capacity) workers: adaptiveLimit holds",
                length,
                seed
            )
        }
    }

    /// Four times the load that a server can take from the first call on.
    static func coldStart(capacity: Int) -> Scenario {
        Scenario(name: "cold-start-\(capacity)") { length, seed in
            try await overload(
                SharingServer(capacity: capacity),
                after: .zero,
                "A start at four times the load of \(capacity) workers: adaptiveLimit adapts",
                length,
                seed
            )
        }
    }

    private static func overload(
        _ server: SharingServer,
        after start: Duration,
        _ title: String,
        _ length: Length,
        _ seed: UInt64
    ) async throws -> Outcome {
        let duration = length == .full ? .seconds(3_600) : start + .seconds(server.capacity > 20 ? 20 : 60)
        let simulation = Simulation(of: server.model, for: duration, seed: seed) { time in
            server.rate * (time < start ? 0.5 : 4)
        }
        /// The lowest share of the capacity that gives successful calls in a minute.
        func worst(_ report: SimulationReport) -> Double {
            report.parts(of: .seconds(60), from: start + .seconds(10)).map(\.goodput).min()! / server.rate
        }
        let adaptive = try await simulation.run { limited($0) }
        let goodput = Figure(
            name: "adaptiveLimit, goodput of the worst minute",
            value: worst(adaptive),
            limits: 0.9...1.1
        )
        guard length == .full else {
            return Outcome(figures: [goodput], picture: adaptive.svg("adaptiveLimit, retry", title: title))
        }
        let unlimited = try await simulation.run { plain($0) }
        let figures = [
            goodput,
            Figure(name: "adaptiveLimit, goodput", value: adaptive.during(start..<duration).goodput / server.rate),
            Figure(name: "plain, goodput", value: unlimited.during(start..<duration).goodput / server.rate),
        ]
        guard start > .zero else {
            return Outcome(
                figures: figures,
                picture: SimulationReport.svg(
                    comparing: ["timeout, retry": unlimited, "with adaptiveLimit": adaptive],
                    title: title
                )
            )
        }
        let gradient2 = try await simulation.run { transport in
            transport.timeout(SharingServer.timeout).modified(Gradient2Limit()).retry()
        }
        let lastMinutes = Duration.seconds(3_000)..<duration
        return Outcome(
            figures: figures + [
                Figure(
                    name: "Gradient2, goodput of the last 10 minutes",
                    value: gradient2.during(lastMinutes).goodput / server.rate,
                    limits: 0...0.899
                )
            ],
            picture: SimulationReport.svg(
                comparing: [
                    "timeout, retry": unlimited, "with adaptiveLimit": adaptive, "with Gradient2": gradient2,
                ],
                title: title
            )
        )
    }

    /// The capacity of a server halves and returns, under twice its load.
    static let halvedCapacity = Scenario(name: "halved-capacity") { length, seed in
        let phase = length == .full ? Duration.seconds(300) : .seconds(40)
        let full = SharingServer(capacity: length == .full ? 50 : 16)
        let half = SharingServer(capacity: full.capacity / 2)
        let (halved, restored, end) = (phase, phase * 2, phase * 3)
        var model = full.model
        model.change(at: halved) { $0.workers = half.capacity }
        model.change(at: restored) { $0.workers = full.capacity }
        let simulation = Simulation(of: model, for: end, seed: seed) { _ in 2 * full.rate }
        let history = LimitHistory()
        let adaptive = try await simulation.run { limited($0).observed(by: history) }
        /// Compares a mean with the limit at which the algorithm settles: 1.25 C + √(1.25 C).
        func limit(during interval: Range<Duration>, of server: SharingServer) -> Double {
            let limits = history.limits(during: interval)
            let capacity = 1.25 * Double(server.capacity)
            return limits.reduce(0, +) / Double(limits.count) / (capacity + capacity.squareRoot())
        }
        let settling = Duration.seconds(30)
        let figures = [
            Figure(
                name: "limit 30 s after the capacity has halved, to the right one",
                value: limit(during: halved + settling..<restored, of: half),
                limits: 0.75...1.25
            ),
            Figure(
                name: "goodput from then on",
                value: adaptive.during(halved + settling..<restored).goodput / half.rate,
                limits: 0.9...1.1
            ),
            Figure(
                name: "limit 30 s after it has returned, to the right one",
                value: limit(during: restored + settling..<end, of: full),
                limits: 0.75...1.25
            ),
            Figure(
                name: "goodput from then on",
                value: adaptive.during(restored + settling..<end).goodput / full.rate,
                limits: 0.9...1.1
            ),
        ]
        let title = "The capacity halves from 5 to 10 min: the limit follows within 30 s, both ways"
        guard length == .full else {
            return Outcome(figures: figures, picture: adaptive.svg("adaptiveLimit, retry", title: title))
        }
        let unlimited = try await simulation.run { plain($0) }
        return Outcome(
            figures: figures + [Figure(name: "plain, goodput", value: unlimited.goodput / full.rate)],
            picture: SimulationReport.svg(
                comparing: ["timeout, retry": unlimited, "with adaptiveLimit": adaptive],
                title: title
            )
        )
    }
}
