import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The time for which a circuit is open, and the probes after it.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CircuitBreakerProbeTests {
    /// Starts a request that waits for its response.
    private func start(
        _ path: String,
        _ held: HeldResponse,
        over bench: CircuitBench
    ) async throws -> Task<HTTPResponseData, any Error> {
        bench.respond(with: .held(by: held))
        let call = Task { try await bench.network.data(.lawful(path)) }
        try await held.waitForRequests()
        return call
    }

    // MARK: The time for which a circuit is open

    @Test func breakDoublesWithEachTripUpToAMinute() async {
        let bench = CircuitBench()
        await bench.open()
        var breaks: [Double?] = []
        for _ in 1...6 {
            let error = await bench.failure()
            breaks.append(error?.secondsToWait)
            bench.clock.advance(by: error?.retryAfter ?? .zero)
            // The probe fails.
            #expect(await bench.send(1) == 1)
        }
        #expect(breaks == [5, 10, 20, 40, 60, 60])
    }

    @Test func jitterShortensABreakByUpToAHalf() async {
        let bench = CircuitBench()
        let network = bench.transport.circuitBreaker(by: bench.breaker)
            .environment(\.random, RandomSource { 0 }).environment(\.clock, .manual(bench.clock))
        bench.respond(with: .failure(.connection))
        for _ in 1...5 {
            _ = try? await network.data(.lawful)
        }
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.secondsToWait == 2.5)
    }

    @Test func breaksOfClientsDiffer() async {
        var breaks: Set<Double> = []
        for seed: UInt64 in 1...20 {
            let bench = CircuitBench()
            let network = bench.transport.circuitBreaker(by: bench.breaker)
                .environment(\.random, .seeded(seed)).environment(\.clock, .manual(bench.clock))
            bench.respond(with: .failure(.connection))
            for _ in 1...5 {
                _ = try? await network.data(.lawful)
            }
            let error = await bench.failure()
            #expect((2.5...5).contains(error?.secondsToWait ?? 0))
            breaks.insert(error?.secondsToWait ?? 0)
        }
        #expect(breaks.count > 15)
    }

    @Test(arguments: [("20", 20.0), ("1", 5.0), ("500", 60.0)])
    func retryAfterLengthensTheBreak(field: String, seconds: Double) async {
        let bench = CircuitBench(.init(minimumCalls: 1))
        bench.respond(with: .status(.serviceUnavailable, headerFields: [.retryAfter: field]))
        await bench.send(1)
        #expect(await bench.failure()?.secondsToWait == seconds)
    }

    @Test func breakIsShortAgainAfterAWholeWindowWithoutATrip() async {
        let bench = CircuitBench()
        for (pause, expected) in [(Duration.seconds(29), 5.0), (.seconds(30), 10), (.zero, 5)] {
            await bench.open()
            #expect(await bench.failure()?.secondsToWait == expected)
            bench.clock.advance(by: .seconds(60))
            bench.respond(with: .ok())
            await bench.send(1)
            #expect(bench.state == .closed)
            bench.clock.advance(by: pause)
        }
    }

    // MARK: Probes

    @Test func tooManyRequestsFreesTheSlotOfAProbe() async {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        bench.respond(with: .status(.tooManyRequests))
        #expect(await bench.send(3) == 3)
        #expect(bench.state == .halfOpen)
        bench.respond(with: .ok())
        #expect(await bench.send(1) == 1)
        #expect(bench.state == .closed)
    }

    @Test func successfulProbeClosesTheCircuitWithAnEmptyWindow() async {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .milliseconds(4_999))
        #expect(bench.state == .open)
        #expect(await bench.send(1) == 0)
        bench.clock.advance(by: .milliseconds(1))
        #expect(bench.state == .halfOpen)
        bench.respond(with: .ok())
        #expect(await bench.send(1) == 1)
        #expect(bench.state == .closed)
        #expect(bench.statistics?.calls == 0)
        #expect(bench.statistics?.failures == 0)
        bench.respond(with: .failure(.connection))
        #expect(await bench.send(4) == 4)
        #expect(bench.state == .closed)
    }

    @Test func circuitOfAServerClosesAfterThreeProbes() async {
        let bench = CircuitBench(.server)
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        bench.respond(with: .ok())
        await bench.send(2)
        #expect(bench.state == .halfOpen)
        await bench.send(1)
        #expect(bench.state == .closed)
    }

    @Test(arguments: 1...3)
    func numberOfProbesInFlightIsLimited(probes: Int) async throws {
        let bench = CircuitBench(.init(probes: probes, closesAfter: probes))
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let calls = (1...probes).map { number in Task { try await bench.network.data(.lawful("/\(number)")) } }
        try await held.waitForRequests(probes)
        let error = await bench.failure()
        #expect(error?.circuitRejection?.state == .halfOpen)
        #expect(error?.secondsToWait == 10)
        #expect(held.requests.count == probes)
        held.respond()
        for call in calls {
            _ = try await call.value
        }
        #expect(bench.state == .closed)
    }

    @Test(arguments: [404, 401, 501])
    func probeWithAnyResponseOfAWorkingServerCloses(code: Int) async {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        bench.respond(with: .status(HTTPResponse.Status(code: code)))
        await bench.send(1)
        #expect(bench.state == .closed)
    }

    @Test(arguments: [MockResponse.status(.tooManyRequests), .failure(.offline), .failure(.rejected), .failure(.tls)])
    func probeThatSaysNothingLeavesItsSlotToTheNext(response: MockResponse) async {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        bench.respond(with: response)
        #expect(await bench.send(3) == 3)
        #expect(bench.state == .halfOpen)
        bench.respond(with: .ok())
        await bench.send(1)
        #expect(bench.state == .closed)
    }

    /// A thousand callers, of which each probe is cancelled.
    @Test func cancelledProbesLeaveTheCircuitHalfOpen() async throws {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        for round in 1...20 {
            let rejections = Locked(0)
            let calls = (1...50)
                .map { number in
                    Task {
                        do {
                            _ = try await bench.network.data(.lawful("/\(round)-\(number)"))
                        } catch let error as NetworkingError where error.circuitRejection != nil {
                            rejections.withLock { $0 += 1 }
                        } catch {}
                    }
                }
            try await held.waitForRequests(round)
            try await eventually("all but the probe are rejected") { rejections.value == 49 }
            #expect(held.requests.count == round)
            for call in calls {
                call.cancel()
            }
            for call in calls {
                await call.value
            }
            #expect(held.cancellations == round)
            #expect(bench.state == .halfOpen)
        }
        bench.respond(with: .ok())
        await bench.send(1)
        #expect(bench.state == .closed)
    }

    @Test func resultOfACallFromBeforeTheTripHasNoEffect() async throws {
        let bench = CircuitBench()
        let (successful, failing, late) = (HeldResponse(), HeldResponse(), HeldResponse())
        let first = try await start("/successful", successful, over: bench)
        let second = try await start("/failing", failing, over: bench)
        let third = try await start("/late", late, over: bench)
        await bench.open()
        #expect(await bench.failure()?.secondsToWait == 5)
        // While open: the break is not extended.
        failing.fail(NetworkingError(.connection, request: .lawful))
        _ = await second.result
        #expect(await bench.failure()?.secondsToWait == 5)
        bench.clock.advance(by: .seconds(5))
        let probed = HeldResponse()
        let probe = try await start("/probe", probed, over: bench)
        // While half-open: the circuit neither closes nor opens.
        successful.respond()
        _ = try await first.value
        #expect(bench.state == .halfOpen)
        #expect(await bench.send(1) == 0)
        probed.respond()
        _ = try await probe.value
        #expect(bench.state == .closed)
        // After closing: nothing is counted.
        late.fail(NetworkingError(.connection, request: .lawful))
        _ = await third.result
        #expect(bench.statistics?.calls == 0)
        #expect(bench.statistics?.lateResults == 3)
    }

    @Test func resultOfAnEarlierProbeHasNoEffect() async throws {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        let held = HeldResponse()
        let probe = try await start("/probe", held, over: bench)
        bench.clock.advance(by: .seconds(10))
        // The probe has taken too long, so it counts as a failure.
        let error = await bench.failure()
        #expect(error?.circuitRejection?.state == .open)
        #expect(error?.circuitRejection?.lastFailure == .error(.timeout))
        #expect(error?.secondsToWait == 10)
        held.respond()
        _ = try await probe.value
        #expect(bench.state == .open)
        bench.clock.advance(by: .seconds(10))
        #expect(bench.state == .halfOpen)
        bench.respond(with: .ok())
        #expect(await bench.send(1) == 1)
        #expect(bench.state == .closed)
    }

    @Test func callThatIsCancelledAfterTheTripIsNoLateResult() async throws {
        let bench = CircuitBench()
        let call = try await start("/cancelled", HeldResponse(), over: bench)
        await bench.open()
        call.cancel()
        _ = await call.result
        #expect(bench.statistics?.lateResults == 0)
    }

    @Test func probeMayTakeAsLongAsAnAttempt() async throws {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let network = bench.inEnvironment(bench.transport.timeout(.seconds(20)).circuitBreaker(by: bench.breaker))
        let request = HTTPRequestData.lawful.with { $0.timeout = .seconds(30) }
        let probe = Task { try await network.data(request) }
        try await held.waitForRequests()
        bench.clock.advance(by: .seconds(29))
        #expect(await bench.failure()?.circuitRejection?.state == .halfOpen)
        held.respond()
        _ = try await probe.value
        #expect(bench.state == .closed)
    }

    @Test func probeMayTakeAsLongAsTheHeadOfAnAttempt() async throws {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let network = bench.inEnvironment(
            bench.transport.timeout(connect: .seconds(5), head: .seconds(20), idle: .seconds(30))
                .circuitBreaker(by: bench.breaker)
        )
        let probe = Task { try await network.data(.lawful) }
        try await held.waitForRequests()
        bench.clock.advance(by: .seconds(19))
        #expect(await bench.failure()?.circuitRejection?.state == .halfOpen)
        held.respond()
        _ = try await probe.value
        #expect(bench.state == .closed)
    }

    @Test func probeWithoutATimeLimitCountsAsFailedAfterTenSeconds() async throws {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let network = bench.network
        let probe = Task { try await network.data(.lawful.with { $0.timeout = .unlimited }) }
        try await held.waitForRequests()
        bench.clock.advance(by: .seconds(10))
        #expect(await bench.failure()?.circuitRejection?.state == .open)
        probe.cancel()
        _ = await probe.result
        #expect(bench.state == .open)
    }

    @Test func probeThatDownloadsClosesTheCircuitAtTheHead() async throws {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        let gate = MockGate()
        bench.respond(with: .chunks(["a", .wait(for: gate), "b"]))
        let request = HTTPRequestData.lawful.with { $0.sink = CollectingSink() }
        let download = Task { try await bench.network.data(request) }
        try await eventually("the circuit is closed") { bench.state == .closed }
        gate.open()
        _ = try await download.value
        #expect(bench.state == .closed)
    }

    /// A sink may take the body of any response.
    @Test func probeThatReceivesAFailureIntoASinkOpensTheCircuit() async throws {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        bench.respond(with: .status(503))
        _ = await bench.failure(.lawful.with { $0.sink = GreedySink() })
        #expect(bench.state == .open)
        #expect(await bench.failure()?.circuitRejection?.lastFailure == .status(.init(code: 503)))
    }

    private struct GreedySink: ResponseSink {
        func offer(_ head: HTTPResponse) async throws -> SinkDecision { .take }
        func receive(_ chunk: Data) async throws {}
        func finish() async throws {}
    }

    // MARK: Numbers

    @Test func numbersAreNeverUsedAgain() {
        var numbers = CircuitNumbers()
        #expect(Set((1...1_000).map { _ in numbers.next() }).count == 1_000)
    }
}
