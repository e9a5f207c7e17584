import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The breaker together with other modifiers, in several stacks, and by hand.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CircuitBreakerStackTests {
    // MARK: Retries

    @Test func rejectionIsNotRetried() async {
        let bench = CircuitBench()
        await bench.open()
        let before = bench.transport.requests.count
        let network = bench.inEnvironment(bench.transport.circuitBreaker(by: bench.breaker).retry())
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.circuitRejection != nil)
        #expect(error?.attempts.isEmpty == true)
        #expect(error?.retryRefusal == nil)
        #expect(bench.transport.requests.count == before)
    }

    @Test func rejectedAttemptTakesNoRetryFromTheBudget() async {
        let bench = CircuitBench(.init(connectionFailures: 1))
        let events = EventRecorder()
        let network = bench.inEnvironment(
            bench.transport.circuitBreaker(by: bench.breaker)
                .retry(.immediate(maximumRetries: 1), budget: RetryBudget(.ratio(0, reserve: 1)))
                .observed(by: events)
        )
        bench.respond(with: .failure(.connection))
        // The first attempt opens the circuit, and the retry is rejected. The budget has a single retry.
        for number in 1...3 {
            let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
            #expect(error?.circuitRejection != nil)
            #expect(error?.attempts.count == 1)
            #expect(events.names.filter { $0 == "retrying" }.count == number)
            bench.breaker.close()
        }
        #expect(bench.transport.requests.count == 3)
    }

    @Test func rejectedCallsAllowNoRetries() async {
        let bench = CircuitBench()
        let network = bench.inEnvironment(
            bench.transport.circuitBreaker(by: bench.breaker)
                .retry(.immediate(maximumRetries: 1), budget: RetryBudget(.ratio(0.2, reserve: 0)))
        )
        bench.breaker.isolate()
        for _ in 1...100 {
            _ = try? await network.data(.lawful)
        }
        bench.breaker.close()
        bench.respond(with: .status(.serviceUnavailable))
        let response = try? await network.data(.lawful)
        #expect(response?.retryRefusal == .budget)
        #expect(bench.transport.requests.count == 1)
    }

    // MARK: Limiters

    @Test func rejectedRequestTakesNoPermitAndNoRate() async throws {
        let bench = CircuitBench()
        let (rate, permits) = (RateLimiter(1, per: .seconds(3_600)), ConcurrencyLimiter(max: 1, queue: 0))
        let network = bench.inEnvironment(
            bench.transport.throttled(by: permits).rateLimited(by: rate, maximumWait: .zero)
                .circuitBreaker(by: bench.breaker)
        )
        bench.breaker.isolate()
        for _ in 1...5 {
            let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
            #expect(error?.circuitRejection?.state == .isolated)
        }
        bench.breaker.close()
        try await network.data(.lawful)
    }

    @Test func requestThatWaitedForAPermitIsRejectedIfTheCircuitHasOpened() async throws {
        let bench = CircuitBench()
        let permits = ConcurrencyLimiter(max: 1)
        let network = bench.inEnvironment(bench.transport.throttled(by: permits).circuitBreaker(by: bench.breaker))
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let first = Task { try await network.data(.lawful("/first")) }
        try await held.waitForRequests()
        let second = Task { try await network.data(.lawful("/second")) }
        try await eventually("the second request waits") { permits.waiting == 1 }
        bench.breaker.isolate()
        held.respond()
        _ = try await first.value
        let error = await #expect(throws: NetworkingError.self) { try await second.value }
        #expect(error?.circuitRejection?.state == .isolated)
        #expect(bench.transport.requests.count == 1)
        #expect((permits.inFlight, permits.waiting) == (0, 0))
    }

    @Test func requestThatWaitedIsRejectedByItsCircuitAlthoughItsAuthorityHasChanged() async throws {
        let bench = CircuitBench(.init(minimumCalls: 1, connectionFailures: 1))
        let permits = ConcurrencyLimiter(max: 1)
        let network = bench.inEnvironment(
            bench.transport.throttled(by: permits).modified(Moved()).circuitBreaker(by: bench.breaker)
        )
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let first = Task { try await network.data(.lawful("/first")) }
        try await held.waitForRequests()
        let second = Task { try await network.data(.lawful("/second")) }
        try await eventually("the second request waits") { permits.waiting == 1 }
        bench.respond(with: .failure(.connection))
        _ = await bench.failure()
        #expect(bench.state == .open)
        held.respond()
        _ = try await first.value
        let error = await #expect(throws: NetworkingError.self) { try await second.value }
        #expect(error?.circuitRejection?.state == .open)
        #expect(bench.transport.requests.count == 2)
    }

    @Test(arguments: [0, 1])
    func eachBreakerIsAskedAgainAfterAWait(isolated: Int) async throws {
        let bench = CircuitBench()
        let breakers = [bench.breaker, CircuitBreaker()]
        let permits = ConcurrencyLimiter(max: 1)
        let network = bench.inEnvironment(
            bench.transport.throttled(by: permits).circuitBreaker(by: breakers[0]).circuitBreaker(by: breakers[1])
        )
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let first = Task { try await network.data(.lawful("/first")) }
        try await held.waitForRequests()
        let second = Task { try await network.data(.lawful("/second")) }
        try await eventually("the second request waits") { permits.waiting == 1 }
        breakers[isolated].isolate()
        held.respond()
        _ = try await first.value
        let error = await #expect(throws: NetworkingError.self) { try await second.value }
        #expect(error?.circuitRejection?.state == .isolated)
        #expect(bench.transport.requests.count == 1)
    }

    @Test func limiterOfAnotherPackageCanAskAgain() async throws {
        struct Gated: NetworkingModifier {
            let gate: MockGate

            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                try await gate.wait()
                try request.checkAfterWait()
                return try await upstream.send(request)
            }

            var stackPart: StackPart { StackPart(roles: [.rateLimit]) }
        }
        let bench = CircuitBench()
        let gate = MockGate()
        let network = bench.inEnvironment(
            bench.transport.modified(Gated(gate: gate)).circuitBreaker(by: bench.breaker)
        )
        let call = Task { try await network.data(.lawful) }
        try await eventually("the request is admitted") { bench.breaker.statistics(of: "laws.example") != nil }
        bench.breaker.isolate()
        gate.open()
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.circuitRejection != nil)
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func requestThatWaitedForTheRateIsRejectedAndTakesNone() async throws {
        let bench = CircuitBench()
        let rate = RateLimiter(1, per: .seconds(1))
        let network = bench.inEnvironment(bench.transport.rateLimited(by: rate).circuitBreaker(by: bench.breaker))
        try await network.data(.lawful)
        let waiting = Task { try await network.data(.lawful) }
        try await eventually("the request waits") { rate.waiting == 1 }
        bench.breaker.isolate()
        bench.clock.advance(by: .seconds(1))
        let error = await #expect(throws: NetworkingError.self) { try await waiting.value }
        #expect(error?.circuitRejection != nil)
        bench.breaker.close()
        try await network.data(.lawful)
        #expect(bench.transport.requests.count == 2)
    }

    @Test func probeMayWaitForAPermit() async throws {
        let bench = CircuitBench()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        let permits = ConcurrencyLimiter(max: 1)
        let network = bench.inEnvironment(bench.transport.throttled(by: permits).circuitBreaker(by: bench.breaker))
        let other = bench.inEnvironment(bench.transport.throttled(by: permits))
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let first = Task { try await other.data(.lawful("/other")) }
        try await held.waitForRequests()
        let probe = Task { try await network.data(.lawful("/probe")) }
        try await eventually("the probe waits") { permits.waiting == 1 }
        held.respond()
        _ = try await first.value
        _ = try await probe.value
        #expect(bench.state == .closed)
    }

    @Test func timeInTheQueueOfALimiterIsNotSlow() async throws {
        let bench = CircuitBench(.init(slowCalls: .init(after: .seconds(2))))
        let outer = CircuitBreaker(.init(slowCalls: .init(after: .seconds(3))))
        let permits = ConcurrencyLimiter(max: 1)
        bench.respond(with: .ok().delayed(by: .seconds(1)))
        let network = bench.inEnvironment(
            bench.transport.throttled(by: permits).circuitBreaker(by: bench.breaker).circuitBreaker(by: outer)
        )
        var calls = (1...19).map { number in Task { try await network.data(.lawful("/\(number)")) } }
        try await eventually("the others wait") { permits.waiting == 18 }
        for number in 1...20 {
            if number == 10 {
                // Each request looks for calls that take too long.
                calls.append(Task { try await network.data(.lawful("/last")) })
                try await eventually("the last one waits") { permits.waiting == 10 }
            }
            try await bench.transport.waitForRequests(number)
            try await bench.clock.waitForSleepers()
            bench.clock.advance(by: .seconds(1))
            // The next call may start before the breakers record the end of this one.
            for breaker in [bench.breaker, outer] {
                try await eventually("the call is recorded") {
                    breaker.statistics(of: "laws.example")?.calls == number
                }
            }
        }
        for call in calls {
            _ = try await call.value
        }
        for breaker in [bench.breaker, outer] {
            let statistics = breaker.statistics(of: "laws.example")
            #expect(statistics?.state == .closed)
            #expect(statistics?.calls == 20)
            #expect(statistics?.slow == 0)
        }
    }

    @Test func requestIsSlowFromTheMomentAtWhichItIsSent() async throws {
        let bench = CircuitBench(.init(slowCalls: .init(after: .seconds(2))))
        let outer = CircuitBreaker(.init(slowCalls: .init(after: .seconds(2))))
        let permits = ConcurrencyLimiter(max: 1)
        let network = bench.inEnvironment(
            bench.transport.throttled(by: permits).circuitBreaker(by: bench.breaker).circuitBreaker(by: outer)
        )
        let other = bench.inEnvironment(bench.transport.throttled(by: permits))
        let (first, second) = (HeldResponse(), HeldResponse())
        bench.respond(with: .held(by: first))
        let holder = Task { try await other.data(.lawful("/holder")) }
        try await first.waitForRequests()
        bench.respond(with: .held(by: second))
        let call = Task { try await network.data(.lawful("/call")) }
        try await eventually("the call waits") { permits.waiting == 1 }
        bench.clock.advance(by: .seconds(60))
        first.respond()
        _ = try await holder.value
        try await second.waitForRequests()
        for (time, slow) in [(Duration.milliseconds(1_999), 0), (.milliseconds(1), 1)] {
            bench.clock.advance(by: time)
            // The next request asks for the time of the call, and is refused by the limiter's queue or waits.
            let next = Task { try await network.data(.lawful("/next")) }
            try await eventually("the next request waits") { permits.waiting == 1 }
            for breaker in [bench.breaker, outer] {
                #expect(breaker.statistics(of: "laws.example")?.slow == slow)
            }
            next.cancel()
            _ = await next.result
        }
        second.respond()
        _ = try await call.value
        for breaker in [bench.breaker, outer] {
            let statistics = breaker.statistics(of: "laws.example")
            #expect(statistics?.slow == 1)
            #expect(statistics?.calls == 1)
        }
    }

    // MARK: Caching

    @Test(arguments: ["max-age=1, stale-if-error=100", "max-age=1"])
    func cacheRespondsWhereStaleIfErrorAllows(cacheControl: String) async throws {
        let bench = CircuitBench()
        let network = bench.inEnvironment(bench.transport.circuitBreaker(by: bench.breaker).cached())
        let date = bench.clock.date.httpDate
        bench.respond(
            with: .ok(Data("page".utf8), headerFields: [.cacheControl: cacheControl, .date: date, .eTag: "\"a\""])
        )
        try await network.data(.lawful)
        await bench.open()
        bench.clock.advance(by: .seconds(3))
        if cacheControl.contains("stale") {
            let response = try await network.data(.lawful)
            #expect(response.data == Data("page".utf8))
        } else {
            let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
            #expect(error?.circuitRejection != nil)
        }
    }

    // MARK: By hand

    @Test func isolatedBreakerRejectsUntilItIsClosed() async {
        let bench = CircuitBench()
        bench.breaker.isolate()
        bench.breaker.isolate()
        bench.clock.advance(by: .seconds(3_600))
        let error = await bench.failure()
        #expect(error?.circuitRejection?.state == .isolated)
        #expect(error?.retryAfter == nil)
        #expect(error?.reason.contains("isolated") == true)
        #expect(bench.state == .isolated)
        bench.breaker.close()
        #expect(bench.state == .closed)
        #expect(await bench.send(1) == 1)
    }

    @Test func resultsDuringAnIsolationHaveNoEffect() async throws {
        let bench = CircuitBench(.init(connectionFailures: 1))
        var states = bench.breaker.states.makeAsyncIterator()
        let held = HeldResponse()
        bench.respond(with: .held(by: held))
        let network = bench.network
        let call = Task { try await network.data(.lawful) }
        try await held.waitForRequests()
        bench.breaker.isolate()
        held.fail(NetworkingError(.connection, request: .lawful))
        _ = await call.result
        bench.breaker.close()
        #expect(bench.state == .closed)
        #expect(await states.next()?.state == .isolated)
        #expect(await states.next()?.state == .closed)
    }

    @Test func openCircuitCanBeClosedByHand() async {
        let bench = CircuitBench()
        await bench.open()
        bench.breaker.close()
        #expect(await bench.send(4) == 4)
        #expect(bench.state == .closed)
        await bench.send(1)
        // As after the first trip.
        #expect(await bench.failure()?.secondsToWait == 5)
    }

    @Test func statesAreReportedInOrder() async {
        let bench = CircuitBench()
        var states = bench.breaker.states.makeAsyncIterator()
        await bench.open()
        bench.clock.advance(by: .seconds(5))
        bench.respond(with: .ok())
        await bench.send(1)
        bench.breaker.isolate()
        bench.breaker.close()
        var changes: [String] = []
        for _ in 1...5 {
            changes.append(await states.next()?.description ?? "")
        }
        #expect(
            changes == [
                "laws.example: open", "laws.example: half-open", "laws.example: closed", "all: isolated", "all: closed",
            ]
        )
    }

    @Test func statesEndWithTheBreaker() async {
        var breaker: CircuitBreaker? = CircuitBreaker()
        var states = breaker?.states.makeAsyncIterator()
        breaker = nil
        #expect(await states?.next() == nil)
    }

    // MARK: Several stacks

    @Test func stacksShareTheCircuits() async {
        let bench = CircuitBench()
        await bench.open()
        let other = MockTransport { _ in .ok() }
        let network = bench.inEnvironment(other.circuitBreaker(by: bench.breaker))
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(other.requests.isEmpty)
    }

    @Test func stacksWithDifferentClocksShareTheCircuits() async {
        let bench = CircuitBench()
        let late = ManualClock()
        late.advance(by: .seconds(1_000))
        let network = bench.transport.circuitBreaker(by: bench.breaker)
        let other = network.environment(\.clock, .manual(late)).environment(\.random, RandomSource { .max })
        await bench.open()
        let first = await #expect(throws: NetworkingError.self) { try await other.data(.lawful) }
        #expect(first?.secondsToWait == 5)
        late.advance(by: .seconds(3))
        let second = await #expect(throws: NetworkingError.self) { try await other.data(.lawful) }
        #expect(second?.secondsToWait == 2)
        // The time on either clock counts.
        #expect(await bench.failure()?.secondsToWait == 2)
        bench.clock.advance(by: .seconds(2))
        #expect(bench.state == .halfOpen)
    }

    @Test func clockMayJump() async {
        let time = JumpingClock()
        let bench = CircuitBench()
        let network = bench.transport.circuitBreaker(by: bench.breaker)
            .environment(\.clock, NetworkClock(time)).environment(\.random, RandomSource { .max })
        func failure() async -> NetworkingError? {
            do {
                try await network.data(.lawful)
                return nil
            } catch {
                return error as? NetworkingError
            }
        }
        bench.respond(with: .failure(.connection))
        for _ in 1...5 {
            _ = await failure()
            time.jump(by: .seconds(-1_000))
        }
        // The jumps back neither removed the failures nor lengthen the break.
        #expect(await failure()?.secondsToWait == 5)
        time.jump(by: .seconds(2))
        #expect(await failure()?.secondsToWait == 3)
        time.jump(by: .seconds(-86_400 * 365))
        #expect(await failure()?.secondsToWait == 3)
        time.jump(by: .seconds(86_400 * 365 * 100))
        bench.respond(with: .ok())
        #expect(await failure() == nil)
        #expect(bench.statistics?.state == .closed)
        #expect(bench.statistics?.calls == 0)
    }

    @Test func timeNeverDecreases() {
        let clock = NetworkClock.manual(ManualClock())
        var time = SharedTime()
        var moments: [Duration?] = []
        // After 10 s, two tasks have read the clock in another order. After 11 s, the clock jumps back, and continues.
        for now in [
            Duration.seconds(100), .seconds(110), .milliseconds(109_900), .seconds(111), .seconds(50), .seconds(55),
        ] {
            moments.append(time.moment(at: now, on: clock, former: nil))
        }
        #expect(moments == [.zero, .seconds(10), .seconds(10), .seconds(11), .seconds(11), .seconds(16)])
    }

    @Test func sameBreakerTwiceCountsOnce() async {
        let bench = CircuitBench()
        let network = bench.inEnvironment(
            bench.transport.circuitBreaker(by: bench.breaker).circuitBreaker(by: bench.breaker)
        )
        bench.respond(with: .failure(.connection))
        for _ in 1...4 {
            _ = try? await network.data(.lawful)
        }
        #expect(bench.statistics?.failures == 4)
        _ = try? await network.data(.lawful)
        bench.clock.advance(by: .seconds(5))
        bench.respond(with: .ok())
        _ = try? await network.data(.lawful)
        #expect(bench.state == .closed)
    }

    // MARK: Redirects

    @Test func failureOfAnotherServerAfterARedirectDoesNotCount() async {
        let bench = CircuitBench()
        bench.transport.on(.get, "/check", .redirect(to: "https://other.example/page"))
        bench.transport.on(.get, "/page", .status(.serviceUnavailable))
        _ = await bench.failure()
        #expect(bench.statistics?.calls == 1)
        #expect(bench.statistics?.failures == 0)
    }

    @Test(arguments: [MockResponse.status(.serviceUnavailable), .failure(.connection)])
    func failureOfTheSameServerAfterARedirectOpensTheCircuit(response: MockResponse) async {
        let bench = CircuitBench(.init(minimumCalls: 2))
        bench.transport.on(.get, "/check", .redirect(to: "https://laws.example/page"))
        bench.transport.on(.get, "/page", response)
        for _ in 1...5 {
            _ = await bench.failure()
        }
        #expect(bench.state == .open)
        bench.clock.advance(by: .seconds(60))
        _ = await bench.failure()
        #expect(bench.state == .open)
    }

    @Test func failureAfterARedirectWithinAServerThatAPartFurtherInHasChosenCounts() async throws {
        let bench = CircuitBench()
        let network = bench.inEnvironment(bench.transport.modified(Moved()).circuitBreaker(by: bench.breaker))
        bench.transport.on(.get, "/check", .redirect(to: "https://moved.example/page"))
        bench.transport.on(.get, "/page", .failure(.connection))
        _ = try? await network.data(.lawful)
        #expect(bench.statistics?.failures == 1)
    }

    // MARK: Diagnostics

    @Test func wrongPlacesAreReported() {
        let transport = MockTransport()
        func reports(_ network: some NetworkingComponent) -> [String] {
            network.diagnostics.map(\.message).filter { $0.hasPrefix("circuitBreaker") }
        }
        let breaker = CircuitBreaker()
        let wrong: [(String, [String])] = [
            ("outside retry", reports(transport.retry().circuitBreaker())),
            ("outside cached", reports(transport.cached().circuitBreaker())),
            ("outside deduplicated", reports(transport.deduplicated().circuitBreaker())),
            ("inside throttled", reports(transport.circuitBreaker().throttled(max: 1))),
            ("inside throttled", reports(transport.circuitBreaker().rateLimited(to: 1, per: .seconds(1)))),
            ("inside throttled", reports(transport.circuitBreaker().rateLimited(by: ServerRateLimiter()))),
            ("inside throttled", reports(transport.circuitBreaker().adaptiveLimit())),
            ("inside timeout", reports(transport.circuitBreaker().timeout(.seconds(1)))),
            ("twice the timeout", reports(transport.timeout(.seconds(16)).circuitBreaker())),
            ("twice the timeout", reports(transport.timeout(head: .seconds(16)).circuitBreaker())),
            ("the same counts", reports(transport.circuitBreaker(by: breaker).circuitBreaker(by: breaker))),
        ]
        for (text, reports) in wrong {
            #expect(reports.count == 1)
            #expect(reports.first?.contains(text) == true)
        }
        let right = transport.timeout(.seconds(10)).throttled(max: 6).rateLimited(to: 9, per: .seconds(1))
            .circuitBreaker().redirected().retry().deduplicated().cached().deadline(.seconds(30))
        #expect(right.diagnostics.isEmpty)
        #expect(right.outline.contains("circuitBreaker(50.0% of at least 10 calls in 30.0 seconds, or 5"))
    }
}

/// Sends requests to another server than the one that the parts outside know.
private struct Moved: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        request.authority = "moved.example"
        return try await upstream.send(request)
    }
}
