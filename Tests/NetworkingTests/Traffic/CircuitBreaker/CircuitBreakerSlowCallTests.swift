import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Calls that take too long, also those that have not ended.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CircuitBreakerSlowCallTests {
    private let policy = CircuitBreaker.Policy(slowCalls: .init(after: .seconds(2)))

    /// A server that hangs while it receives 200 requests a second, each with a time limit of 10 s.
    @Test(arguments: [0, 2_000])
    func serverThatHangsReceivesAtMostTwoAndAHalfSecondsOfTraffic(healthyCalls: Int) async throws {
        let bench = CircuitBench(policy)
        let network = bench.inEnvironment(bench.transport.timeout(.seconds(10)).circuitBreaker(by: bench.breaker))
        for _ in 0..<healthyCalls {
            try await network.data(.lawful)
            bench.clock.advance(by: .milliseconds(5))
        }
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let rejections = Locked(0)
        var calls: [Task<Void, Never>] = []
        for number in 1...600 {
            calls.append(
                Task {
                    do {
                        _ = try await network.data(.lawful("/\(number)"))
                    } catch let error as NetworkingError where error.circuitRejection != nil {
                        rejections.withLock { $0 += 1 }
                    } catch {}
                }
            )
            try await eventually("the request is sent or rejected") {
                held.requests.count + rejections.value == number
            }
            bench.clock.advance(by: .milliseconds(5))
        }
        #expect(bench.state == .open)
        #expect(held.requests.count <= 500)
        #expect(held.requests.count >= 400)
        for call in calls {
            call.cancel()
        }
        for call in calls {
            await call.value
        }
    }

    @Test func slowCallsCountOnce() async throws {
        let bench = CircuitBench(policy)
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let network = bench.network
        let calls = (1...3).map { number in Task { try await network.data(.lawful("/\(number)")) } }
        try await held.waitForRequests(3)
        bench.clock.advance(by: .seconds(2))
        // They count when the next request arrives.
        #expect(bench.statistics?.slow == 0)
        bench.respond(with: .ok())
        await bench.send(1)
        #expect(bench.statistics?.slow == 3)
        #expect(bench.statistics?.calls == 4)
        held.respond()
        for call in calls {
            _ = try await call.value
        }
        #expect(bench.statistics?.slow == 3)
        #expect(bench.statistics?.calls == 4)
    }

    @Test func callThatEndsSlowlyCountsWithoutAnotherRequest() async throws {
        let bench = CircuitBench(policy)
        bench.respond(with: .ok().delayed(by: .seconds(2)))
        let network = bench.network
        let call = Task { try await network.data(.lawful) }
        try await bench.clock.waitForSleepers()
        bench.clock.advance(by: .seconds(2))
        _ = try await call.value
        #expect(bench.statistics?.slow == 1)
        #expect(bench.statistics?.calls == 1)
    }

    @Test func halfOfTenSlowCallsOpensTheCircuit() async throws {
        let bench = CircuitBench(policy)
        let network = bench.network
        await bench.send(5)
        for number in 1...5 {
            #expect(bench.state == .closed)
            bench.respond(with: .ok().delayed(by: .seconds(2)))
            let call = Task { try await network.data(.lawful("/\(number)")) }
            try await bench.clock.waitForSleepers()
            bench.clock.advance(by: .seconds(2))
            _ = try await call.value
        }
        #expect(bench.state == .open)
        let rejection = await bench.failure()?.circuitRejection
        #expect(rejection != nil)
        #expect(rejection?.lastFailure == nil)
    }

    @Test func slowCallsDoNotCountByDefault() async throws {
        let bench = CircuitBench()
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let network = bench.network
        let calls = (1...20).map { number in Task { try await network.data(.lawful("/\(number)")) } }
        try await held.waitForRequests(20)
        bench.clock.advance(by: .seconds(20))
        bench.respond(with: .ok())
        #expect(await bench.send(1) == 1)
        held.respond()
        for call in calls {
            _ = try await call.value
        }
        #expect(bench.state == .closed)
        #expect(bench.statistics?.slow == 0)
    }

    @Test func downloadIsNotSlowOnceItsHeadHasArrived() async throws {
        let bench = CircuitBench(policy)
        let gate = MockGate()
        bench.respond(with: .chunks(["a", .wait(for: gate), "b"]))
        let network = bench.network
        let downloads = (1...12)
            .map { number in
                let request = HTTPRequestData.lawful("/\(number)").with { $0.sink = CollectingSink() }
                return Task { try await network.data(request) }
            }
        try await bench.transport.waitForChunks(12)
        bench.clock.advance(by: .seconds(10))
        let probe = Task { try await network.data(.lawful("/next")) }
        try await bench.transport.waitForRequests(13)
        #expect(bench.statistics?.slow == 0)
        gate.open()
        for download in downloads {
            _ = try await download.value
        }
        _ = try await probe.value
        #expect(bench.state == .closed)
    }

    @Test func headEndsARowOfConnectionFailures() async throws {
        let bench = CircuitBench()
        let gate = MockGate()
        await bench.send(20)
        let network = bench.network
        bench.respond(with: .failure(.connection))
        await bench.send(4)
        bench.respond(with: .chunks(["a", .wait(for: gate), "b"]))
        let download = Task { try await network.data(.lawful.with { $0.sink = CollectingSink() }) }
        try await bench.transport.waitForChunks(1)
        bench.respond(with: .failure(.connection))
        await bench.send(4)
        #expect(bench.state == .closed)
        gate.open()
        _ = try await download.value
    }

    @Test func downloadThatBreaksAfterItsHeadIsAFailure() async {
        let bench = CircuitBench()
        let request = HTTPRequestData.lawful.with { $0.sink = CollectingSink() }
        bench.respond(with: .chunks(["a", .failure(NetworkingError(.connectionLost, request: .lawful))]))
        _ = await bench.failure(request)
        #expect(bench.statistics?.calls == 1)
        #expect(bench.statistics?.failures == 1)
        bench.respond(with: .text("a"))
        _ = await bench.failure(.lawful.with { $0.sink = CollectingSink() })
        #expect(bench.statistics?.calls == 2)
        #expect(bench.statistics?.failures == 1)
    }

    @Test func memoryDoesNotGrowWithLongCalls() {
        var calls = CallsInFlight(at: .zero)
        let hour = calls.begin(at: .zero)
        for second in 1...10_000 {
            let call = calls.begin(at: .seconds(second))
            _ = calls.becomeOverdue(startedBy: .seconds(second - 2))
            let wasOverdue = calls.end(call)
            #expect(!wasOverdue)
            #expect(calls.count <= 3)
        }
        #expect(calls.overdue == 1)
        let wasOverdue = calls.end(hour)
        #expect(wasOverdue)
        #expect(calls.overdue == 0)
    }

    @Test func callThatEndsTwiceCountsOnce() {
        var calls = CallsInFlight(at: .zero)
        let (first, second) = (calls.begin(at: .zero), calls.begin(at: .zero))
        _ = calls.becomeOverdue(startedBy: .zero)
        for number in [first, first, second, second] {
            _ = calls.end(number)
        }
        #expect(calls.overdue == 0)
        let third = calls.begin(at: .zero)
        for _ in 1...2 {
            let wasOverdue = calls.end(third)
            #expect(!wasOverdue)
        }
        #expect(calls.count == 0)
    }

    @Test func callThatEndsWhileItWaitsIsNotSlow() throws {
        let breaker = CircuitBreaker(policy)
        let time = ManualClock()
        let clock = NetworkClock.manual(time)
        let pass = try #require(try breaker.circuits.admit(.lawful, "a", TimeLimits(), on: clock))
        let call = CircuitCall(pass, through: breaker.circuits, inside: nil)
        call.requestWaits()
        time.advance(by: .seconds(10))
        let end = call.end()
        breaker.circuits.record(.success, of: .lawful, "a", end.pass, end, on: clock)
        #expect(breaker.statistics(of: "a")?.slow == 0)
        #expect(breaker.statistics(of: "a")?.calls == 1)
    }

    /// A request of a call that has ended may go on in the background.
    @Test func waitAfterTheEndOfACallHasNoEffect() async throws {
        let breaker = CircuitBreaker(policy)
        let time = ManualClock()
        let clock = NetworkClock.manual(time)
        let pass = try #require(
            try breaker.circuits.admit(.lawful, "a", TimeLimits(), on: clock)
        )
        let call = CircuitCall(pass, through: breaker.circuits, inside: nil)
        call.requestWaits()
        call.resume(at: breaker.circuits)
        let end = call.end()
        breaker.circuits.record(.success, of: .lawful, "a", end.pass, end, on: clock)
        call.requestWaits()
        #expect(call.end().pass.isInFlight)
        call.resume(at: breaker.circuits)
        time.advance(by: .seconds(10))
        _ = try breaker.circuits.admit(.lawful, "a", TimeLimits(), on: clock)
        #expect(breaker.statistics(of: "a")?.slow == 0)
        #expect(breaker.statistics(of: "a")?.calls == 1)
    }
}
