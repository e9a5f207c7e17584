import HTTPTypes
import Networking
import TestSupport
import Testing

@testable import NetworkingTesting

@Suite(.timeLimit(.minutes(20)))
struct SimulationTests {
    private let server = SimulatedServer(workers: 10, serviceTime: .constant(.milliseconds(10)))

    // MARK: Determinism

    @Test func sameSeedGivesTheSameRun() async throws {
        func run(seed: UInt64) async throws -> SimulationReport {
            var server = SimulatedServer(workers: 4, serviceTime: .exponential(mean: .milliseconds(50)), queue: 20)
            server.change(at: .seconds(5)) { $0.failure = .status(.serviceUnavailable, share: 0.3) }
            return try await Simulation(of: server, for: .seconds(20), seed: seed) { _ in 100 }
                .run { transport in
                    transport.timeout(.seconds(1)).throttled(max: 6, queue: 10).retry().deduplicated()
                        .deadline(.seconds(5))
                }
        }
        let (first, second, other) = (try await run(seed: 1), try await run(seed: 1), try await run(seed: 2))
        #expect(first.description == second.description)
        #expect(first.records.map(\.latency) == second.records.map(\.latency))
        #expect(first.sent == second.sent)
        #expect(first.svg() == second.svg())
        #expect(first.records.map(\.latency) != other.records.map(\.latency))
        #expect(first.calls > 1_800)
    }

    /// An alarm starts the extra attempts, in no task.
    @Test func tasksOfAlarmsKeepTheOrder() async throws {
        let times = (1...2_000)
            .map { (number: Int) -> Duration in
                .milliseconds(number % 50 == 0 ? 1_000 + number : 50 + number / 40)
            }
        let server = SimulatedServer(workers: .max, serviceTime: .samples(times))
        func run() async throws -> SimulationReport {
            try await Simulation(of: server, for: .seconds(60), seed: 1) { _ in 20 }
                .run { $0.timeout(.seconds(10)).hedged(extraLoad: 0.05) }
        }
        let (first, second) = (try await run(), try await run())
        #expect(first.sent == second.sent && first.records.map(\.latency) == second.records.map(\.latency))
        #expect((1.02...1.06).contains(first.amplification), "\(first)")
    }

    @Test func anotherStackHasTheSameArrivals() async throws {
        let simulation = Simulation(of: server, for: .seconds(10)) { _ in 50 }
        let plain = try await simulation.run { $0 }
        let retried = try await simulation.run { $0.delayed(by: .seconds(1)).retry() }
        #expect(plain.records.map(\.start) == retried.records.map(\.start))
        #expect(plain.seed == simulation.seed)
        #expect(retried.percentile(50) >= .seconds(1))
    }

    // MARK: The model of the server

    /// The formula of a queue with one worker: the time in the system is exponential with the mean 1 / (μ - λ).
    @Test func queueHasTheLatencyOfTheory() async throws {
        let server = SimulatedServer(workers: 1, serviceTime: .exponential(mean: .milliseconds(10)))
        let report = try await Simulation(of: server, for: .seconds(600), seed: 3) { _ in 50 }.run { $0 }
        #expect((27_000...33_000).contains(report.calls))
        let (median, p99) = (report.percentile(50) / .milliseconds(1), report.percentile(99) / .milliseconds(1))
        #expect((12.5...15.5).contains(median), "\(median) ms, and 13.9 in theory")
        #expect((80...104).contains(p99), "\(p99) ms, and 92 in theory")
        #expect(report.percentile(0) < report.percentile(100))
    }

    @Test(arguments: [(SimulatedServer.Discipline.queue, 100), (.sharing, 300)])
    func capacityIsQueuedForOrShared(_ discipline: SimulatedServer.Discipline, milliseconds: Int) async throws {
        let server = SimulatedServer(
            workers: 1,
            serviceTime: .constant(.milliseconds(100)),
            discipline: discipline
        )
        let report = try await Simulation(of: server, for: .seconds(1_000), seed: 1) { _ in 0.02 }
            .run { transport in
                transport.modified("three at once") { request, upstream in
                    try await withThrowingTaskGroup(of: HTTPResponseData.self) { group in
                        for _ in 0..<3 {
                            group.addTask { try await upstream.send(request) }
                        }
                        defer { group.cancelAll() }
                        return try await group.next() ?? HTTPResponseData(request: request)
                    }
                }
            }
        #expect(report.successes == report.calls && report.calls > 5)
        #expect(report.percentile(50) / .milliseconds(1) - Double(milliseconds) < 0.01)
        #expect(report.percentile(50) / .milliseconds(1) - Double(milliseconds) > -0.01)
        #expect(report.amplification == 3)
    }

    @Test func changesApplyAtTheirTime() async throws {
        var server = SimulatedServer(workers: 10, serviceTime: .constant(.milliseconds(10)))
        server.change(at: .seconds(10)) { $0.workers = 0 }
        server.change(at: .seconds(20)) { $0.workers = 10 }
        let report = try await Simulation(of: server, for: .seconds(30), seed: 1, patience: .seconds(1)) { _ in 50 }
            .run { $0 }
        #expect(report.during(.zero..<(.seconds(9))).failures.isEmpty)
        let outage = report.during(.seconds(10)..<(.seconds(19)))
        #expect(outage.successes == 0 && outage.goodput == 0)
        #expect(outage.failures == ["cancelled": outage.calls])
        #expect(report.during(.seconds(25)..<(.seconds(90))).interval == .seconds(25)..<(.seconds(30)))
        #expect(report.during(.seconds(25)..<(.seconds(90))).failures.isEmpty)
    }

    @Test(arguments: [SimulatedServer.Discipline.queue, .sharing])
    func serverWithoutWorkersProcessesNothing(_ discipline: SimulatedServer.Discipline) async throws {
        var server = SimulatedServer(workers: 20, serviceTime: .constant(.seconds(1)), discipline: discipline)
        server.change(at: .seconds(10)) { $0.workers = 0 }
        server.change(at: .seconds(20)) { $0.workers = 20 }
        let report = try await Simulation(of: server, for: .seconds(10), seed: 1) { _ in 5 }.run { $0 }
        // The requests of the last second before the change wait for its end.
        #expect(report.during(.zero..<(.seconds(8))).percentile(100) < .seconds(2))
        #expect(report.during(.milliseconds(9_100)..<(.seconds(10))).percentile(0) > .seconds(10))
        #expect(report.failures.isEmpty)
    }

    @Test func failuresAreCountedByKind() async throws {
        func failures(_ failure: SimulatedServer.Failure) async throws -> (SimulationReport, [String: Int]) {
            var server = server
            server.failure = failure
            let report = try await Simulation(of: server, for: .seconds(10), seed: 1, patience: .seconds(2)) { _ in 20 }
                .run { $0 }
            return (report, report.failures)
        }
        let (status, statuses) = try await failures(.status(.internalServerError))
        #expect(statuses == ["500": status.calls])
        let (down, errors) = try await failures(.error(.connection))
        #expect(errors == ["connection": down.calls])
        let (hung, cancellations) = try await failures(.hang())
        #expect(cancellations == ["cancelled": hung.calls])
        #expect(hung.requests == hung.calls)
        let (some, shares) = try await failures(.status(.internalServerError, share: 0.5))
        let share = Double(shares["500"] ?? 0) / Double(some.calls)
        #expect((0.35...0.65).contains(share))
        #expect(some.successes + (shares["500"] ?? 0) == some.calls)
    }

    @Test func requestsBeyondTheQueueGet503() async throws {
        let server = SimulatedServer(workers: 1, serviceTime: .constant(.seconds(1)), queue: 2)
        let report = try await Simulation(of: server, for: .seconds(100), seed: 1) { _ in 20 }.run { $0 }
        #expect((98...104).contains(report.successes))
        #expect(report.failures == ["503": report.calls - report.successes])
        #expect(report.percentile(100) <= .seconds(3))
    }

    @Test func abandonedRequestsUseCapacityUnlessSkipped() async throws {
        var server = SimulatedServer(workers: 1, serviceTime: .constant(.milliseconds(100)))
        // The server may be busy with abandoned requests for a long time after an overload.
        func failuresAfterOverload() async throws -> [String: Int] {
            let simulation = Simulation(of: server, for: .seconds(60), seed: 1, patience: .seconds(1)) { time in
                time < .seconds(30) ? 40 : 2
            }
            return try await simulation.run { $0 }.during(.seconds(40)..<(.seconds(60))).failures
        }
        #expect(try await failuresAfterOverload()["cancelled"] ?? 0 > 20)
        server.skipsAbandonedRequests = true
        #expect(try await failuresAfterOverload().isEmpty)
    }

    @Test func distributions() async throws {
        func report(_ time: SimulatedDuration) async throws -> SimulationReport {
            let server = SimulatedServer(workers: .max, serviceTime: time, roundTrip: .constant(.milliseconds(20)))
            return try await Simulation(of: server, for: .seconds(100), seed: 1) { _ in 100 }.run { $0 }
        }
        let typical = try await report(.logNormal(median: .milliseconds(40), p99: .milliseconds(400)))
        #expect((57...63).contains(typical.percentile(50) / .milliseconds(1)))
        #expect((370...480).contains(typical.percentile(99) / .milliseconds(1)))
        let measured = try await report(.samples([.milliseconds(30), .milliseconds(10), .milliseconds(10)]))
        #expect((measured.percentile(50), measured.percentile(99)) == (.milliseconds(30), .milliseconds(50)))
        #expect(SimulatedDuration.samples([.zero]).description == "samples(1)")
        #expect(SimulatedDuration.exponential(mean: .seconds(1)).description == "exponential(mean: 1.0 seconds)")
    }

    @Test func severalServers() async throws {
        let names = ["a.example", "b.example", "c.example"]
        var failing = server
        failing.failure = .error(.connection)
        let report = try await Simulation(
            of: ["a.example": server, "b.example": failing],
            for: .seconds(30),
            seed: 1,
            request: { HTTPRequestData(authority: names[$0 % 3], path: "/\($0)") },
            callsPerSecond: { _ in 30 }
        )
        .run { $0 }
        #expect(Set(report.failures.keys) == ["connection", "nameResolution"])
        #expect(abs(report.successes * 3 - report.calls) <= 3)
    }

    // MARK: The stack

    @Test func timeoutsAndRetriesRunOnTheSimulatedClock() async throws {
        var server = server
        server.failure = .hang(share: 0.5)
        let report = try await Simulation(of: server, for: .seconds(60), seed: 1) { _ in 10 }
            .run { $0.timeout(.seconds(1)).retry(.constant(.seconds(1)), budget: .unlimited) }
        #expect((1.7...2).contains(report.amplification))
        // Half of the calls need a second attempt, which starts after two seconds.
        #expect((2.0...2.1).contains(report.percentile(70) / .seconds(1)))
        #expect((report.failures["timeout"] ?? 0) < report.calls / 8)
    }

    @Test func cancellationEndsTheRun() async throws {
        let simulation = Simulation(of: server, for: .seconds(1_000_000)) { _ in 1_000 }
        let run = Task { try await simulation.run { $0 } }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    @Test func callsThatNeverEndAreReported() async throws {
        let held = HeldResponse()
        let simulation = Simulation(of: server, for: .seconds(1), seed: 1) { _ in 3 }
        let error = await #expect(throws: SimulationStalled.self) {
            _ = try await simulation.run(
                { _ in
                    MockTransport { _ in .held(by: held) }
                        .modified("Uncancellable") { request, upstream in
                            let task = Task { try await upstream.send(request) }
                            return try await task.value
                        }
                },
                in: SimulationLoop(patience: .milliseconds(50))
            )
        }
        #expect(error?.description.contains("wait for something other than its clock") == true)
        #expect(error.map { $0.calls > 0 } == true)
        held.respond()
    }

    @Test func callsThatIgnoreTheirCancellationAreReported() async throws {
        let simulation = Simulation(of: server, for: .seconds(1), seed: 1, patience: .seconds(2)) { _ in 5 }
        let error = await #expect(throws: SimulationStalled.self) {
            _ = try await simulation.run { transport in
                transport.modified("Waits for ever") { request, upstream in
                    let clock = NetworkEnvironment.current.clock
                    while true {
                        await withUnsafeContinuation { continuation in
                            _ = clock.alarm(at: clock.now + .seconds(1)) { continuation.resume() }
                        }
                        if clock.now > .seconds(100_000) { return try await upstream.send(request) }
                    }
                }
            }
        }
        #expect(error.map { $0.calls > 0 } == true)
        #expect(error?.description.contains("do not end when they are cancelled") == true)
    }

    @Test func longTimesAreBounded() async throws {
        let farthest = Duration.seconds(Int64.max)
        for time in [SimulatedDuration.constant(farthest), .exponential(mean: farthest), .samples([farthest])] {
            var server = SimulatedServer(workers: 1, serviceTime: time, roundTrip: time)
            server.change(at: farthest) { $0.workers = 2 }
            let report = try await Simulation(of: server, for: .seconds(1), seed: 1, patience: farthest) { _ in 5 }
                .run { $0.timeout(.seconds(1)) }
            #expect(report.failures == ["timeout": report.calls])
        }
        let run = Task { [server] in try await Simulation(of: server, for: farthest) { _ in 1_000 }.run { $0 } }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    // MARK: The report

    @Test func figures() {
        let report = SimulationReport(
            seed: 7,
            interval: .zero..<(.seconds(10)),
            records: [
                .init(start: 1, latency: 0.5, failure: nil), .init(start: 2, latency: 1, failure: nil),
                .init(start: 3, latency: 9, failure: "503"), .init(start: 8, latency: 0.1, failure: nil),
            ],
            sent: [1, 2, 3, 3.5, 8]
        )
        #expect((report.calls, report.successes, report.requests) == (4, 3, 5))
        #expect((report.offeredLoad, report.goodput, report.amplification) == (0.4, 0.3, 1.25))
        #expect((report.percentile(0), report.percentile(50)) == (.seconds(0.1), .seconds(0.5)))
        #expect(report.percentile(99) == .seconds(1))
        let part = report.during(.seconds(2)..<(.seconds(4)))
        #expect((part.calls, part.requests, part.goodput) == (2, 3, 0.5))
        #expect(
            report.description == """
                seed 7, 0.0 seconds to 10.0 seconds
                4 calls: 0.4/s offered, 0.3/s successful
                5 requests: 1.25 per call
                latency: p50 500.0 ms, p95 1000.0 ms, p99 1000.0 ms
                failures: 503: 1
                """
        )
        let empty = report.during(.seconds(4)..<(.seconds(5)))
        #expect((empty.amplification, empty.percentile(99)) == (0, .zero))
        #expect(empty.description.hasSuffix("failures: none"))
    }

    @Test func picture() {
        let report = SimulationReport(
            seed: 7,
            interval: .zero..<(.seconds(120)),
            records: (0..<1_200).map { .init(start: Double($0) / 10, latency: 0.25, failure: $0 < 600 ? nil : "503") },
            sent: (0..<1_200).map { Double($0) / 10 }
        )
        let svg = SimulationReport.svg(comparing: ["a < b": report, "c": report])
        #expect(svg.hasPrefix("<svg ") && svg.hasSuffix("</svg>\n"))
        #expect(svg.contains("a &lt; b") && !svg.contains("a < b"))
        #expect(svg.matches(of: /<polyline class="s1" points/).count == 4)
        // The line of the latency ends with the last successful call, in the middle.
        let ends = svg.matches(of: /<polyline class="s1" points="[^"]*?(\d+)[.\d]*,[.\d]+"/).map { String($0.1) }
        #expect(ends.dropFirst().allSatisfy { (Int($0) ?? 0) < 750 } && (Int(ends.last ?? "") ?? 999) < 410)
        #expect(svg.contains("seed 7"))
        #expect(svg.contains("prefers-color-scheme: dark"))
        #expect(report.svg("only").contains(">only<"))
        #expect(report.svg(title: "A & B").contains(">A &amp; B</text>"))
        #expect(report.svg(title: "A & B").contains("<title id=\"title\">A &amp; B</title>"))
        #expect(report.svg().contains(">120 s</text>"))
        let hour = SimulationReport(seed: 7, interval: .zero..<(.seconds(3_600)), records: [], sent: [])
        #expect(hour.svg().contains(">15 min</text>") && hour.svg().contains(">60 min</text>"))
        #expect(report.svg() == report.svg("stack"))
    }
}
