import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization

extension Scenario {
    /// One of three endpoints refuses connections.
    static let deadMember = member(
        "dead-member",
        .error(.connection),
        "One of three endpoints is dead from 1 to 3 min: server(endpoints:) leaves it out"
    )

    /// One of three endpoints does not respond.
    static let hangingMember = member(
        "hanging-member",
        .hang(),
        "One of three endpoints hangs from 1 to 3 min: server(endpoints:) leaves it out"
    )

    private static func member(_ name: String, _ failure: SimulatedServer.Failure, _ title: String) -> Scenario {
        Scenario(name: name) { length, seed in
            let members = ["a.example", "b.example", "c.example"]
            let (start, end, duration): (Duration, Duration, Duration) =
                length == .full
                ? (.seconds(60), .seconds(180), .seconds(240)) : (.seconds(10), .seconds(90), .seconds(95))
            let server = SimulatedServer(workers: 20, serviceTime: .exponential(mean: .milliseconds(50)))
            var failing = server
            failing.change(at: start) { $0.failure = failure }
            failing.change(at: end) { $0.failure = nil }
            let simulation = Simulation(
                of: ["a.example": server, "b.example": failing, "c.example": server],
                for: duration,
                seed: seed,
                request: { _ in HTTPRequestData(authority: "api.example", path: "/") },
                callsPerSecond: { _ in length == .full ? 50 : 20 }
            )
            func endpoints() -> ServerEndpoints {
                ServerEndpoints("api.example", endpoints: members.map { ServerEndpoints.Endpoint($0) })
            }
            let adaptive = try await simulation.run { $0.timeout(.seconds(1)).server(endpoints: endpoints()) }
            let failures = Figure(
                name: "server(endpoints:), share of failed calls after 10 s",
                value: adaptive.during(start + .seconds(10)..<end).failureShare,
                limits: 0...0.01
            )
            guard length == .full else {
                return Outcome(figures: [failures], picture: adaptive.svg("server(endpoints:)", title: title))
            }
            let next = Atomic(0)
            let turns = try await simulation.run { transport in
                transport.timeout(.seconds(1))
                    .modified("Each endpoint in turn") { request, upstream in
                        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
                        var request = request
                        request.authority = members[number % members.count]
                        return try await upstream.send(request)
                    }
            }
            let retried = try await simulation.run { transport in
                transport.timeout(.seconds(1)).server(endpoints: endpoints()).retry(.immediate())
            }
            return Outcome(
                figures: [
                    failures,
                    Figure(
                        name: "with retry, share of failed calls",
                        value: retried.during(start..<end).failureShare,
                        limits: 0...0.001
                    ),
                    Figure(name: "in turn, share of failed calls", value: turns.during(start..<end).failureShare),
                ],
                picture: SimulationReport.svg(
                    comparing: [
                        "in turn": turns, "server(endpoints:)": adaptive, "server(endpoints:), retry": retried,
                    ],
                    title: title
                )
            )
        }
    }

    /// A server is down for 10 s, and 500 callers make a call per second each.
    static let outage = Scenario(name: "outage") { length, seed in
        let (start, duration): (Duration, Duration) =
            length == .full ? (.seconds(20), .seconds(60)) : (.seconds(5), .seconds(22))
        let end = start + .seconds(10)
        var server = SimulatedServer(workers: 75, serviceTime: .exponential(mean: .milliseconds(100)))
        server.change(at: start) { $0.failure = .error(.connection) }
        server.change(at: end) { $0.failure = nil }
        let simulation = Simulation(of: server, for: duration, seed: seed) { _ in 500 }
        func figures(_ name: String, _ report: SimulationReport, isGated: Bool = true) -> [Figure] {
            let after = report.parts(of: .milliseconds(500), from: end)
            let recovery = after.lastIndex { $0.failureShare > 0.05 }.map { Double($0 + 1) / 2 } ?? 0
            let peak = after.map { Double($0.requests) / 250 }.max() ?? 0
            return [
                Figure(
                    name: "\(name), requests per call in the outage",
                    value: report.during(start..<end).amplification,
                    limits: isGated ? 0...1.3 : nil
                ),
                Figure(
                    name: "\(name), seconds until 95 % succeed again",
                    value: recovery,
                    limits: isGated ? 0...2 : nil
                ),
                Figure(
                    name: "\(name), highest rate afterwards, to the usual one",
                    value: peak,
                    limits: isGated ? 0...1.5 : nil
                ),
            ]
        }
        var policy = CircuitBreaker.Policy.server
        (policy.firstBreak, policy.maximumBreak) = (.seconds(1), .seconds(2))
        let guarded = try await simulation.run { $0.timeout(.seconds(2)).circuitBreaker(policy).retry() }
        let title = "An outage of 10 s: no herd, and a breaker with short breaks closes soon"
        guard length == .full else {
            return Outcome(figures: figures("breaker", guarded), picture: guarded.svg(title: title))
        }
        let unlimited = try await simulation.run { $0.timeout(.seconds(2)).retry(budget: .unlimited) }
        let budgeted = try await simulation.run { $0.timeout(.seconds(2)).retry() }
        let standard = try await simulation.run { $0.timeout(.seconds(2)).circuitBreaker(.server).retry() }
        return Outcome(
            figures: figures("breaker of at most 2 s", guarded) + figures("budget", budgeted)
                + figures("no budget", unlimited, isGated: false)
                + figures("breaker of at most 60 s", standard, isGated: false),
            picture: SimulationReport.svg(
                comparing: [
                    "no budget": unlimited, "breaker, 1 to 2 s": guarded, "budget": budgeted,
                    "breaker, 5 to 60 s": standard,
                ],
                title: title
            )
        )
    }

    /// A server processes nothing for a minute, and its queue afterwards.
    static let hang = Scenario(name: "hang") { length, seed in
        let (start, duration): (Duration, Duration) =
            length == .full ? (.seconds(60), .seconds(240)) : (.seconds(10), .seconds(72))
        let end = start + .seconds(60)
        var server = SimulatedServer(workers: 40, serviceTime: .exponential(mean: .milliseconds(100)))
        server.change(at: start) { $0.workers = 0 }
        server.change(at: end) { $0.workers = 40 }
        let simulation = Simulation(of: server, for: duration, seed: seed) { _ in 200 }
        var policy = CircuitBreaker.Policy.server
        policy.slowCalls = .init(after: .seconds(2))
        let guarded = try await simulation.run { $0.timeout(.seconds(10)).circuitBreaker(policy).retry() }
        let traffic = Figure(
            name: "breaker, seconds of traffic that the server receives",
            value: Double(guarded.during(start..<end).requests) / 200,
            limits: 0...2.5
        )
        let title = "A server hangs from 1 to 2 min: slowCalls stops the requests after 2 s"
        guard length == .full else { return Outcome(figures: [traffic], picture: guarded.svg(title: title)) }
        let plain = try await simulation.run { $0.timeout(.seconds(10)).retry() }
        return Outcome(
            figures: [
                traffic,
                Figure(
                    name: "plain, seconds of traffic that the server receives",
                    value: Double(plain.during(start..<end).requests) / 200
                ),
            ],
            picture: SimulationReport.svg(
                comparing: ["timeout, retry": plain, "with a breaker for slow calls": guarded],
                title: title
            )
        )
    }
}
