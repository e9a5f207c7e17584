import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The settings and the texts of the parts that adapt, as an app writes and reads them.
@Suite(.timeLimit(.minutes(20)))
struct AdaptiveSettingsTests {
    @Test func eachSettingOfAPolicyCounts() async throws {
        let clock = ManualClock()
        let policy = CircuitBreaker.Policy(
            failureRatio: 1,
            minimumCalls: 3,
            connectionFailures: nil,
            slowCalls: nil,
            window: .seconds(10),
            firstBreak: .seconds(20),
            maximumBreak: .seconds(20),
            probes: 1,
            closesAfter: 2
        )
        let breaker = CircuitBreaker(policy)
        let failing = [MockResponse](repeating: .status(.serviceUnavailable), count: 3)
        let transport = MockTransport(failing + [.ok(), .ok()])
        let network = transport.circuitBreaker(by: breaker).environment(\.clock, .manual(clock))
        let key = try #require(HTTPRequestData.lawful.authority)
        for _ in 1...2 { try await network.data(.lawful) }
        #expect(breaker.state(of: key) == .closed)
        try await network.data(.lawful)
        #expect(breaker.state(of: key) == .open)
        clock.advance(by: .seconds(9))
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        clock.advance(by: .seconds(11))
        try await network.data(.lawful)
        #expect(breaker.state(of: key) == .halfOpen)
        try await network.data(.lawful)
        #expect(breaker.state(of: key) == .closed)
        #expect(transport.requests.count == 5)
    }

    @Test func halfOfTheCallsAreSlowUnlessThePolicySaysOtherwise() {
        let slow = CircuitBreaker.SlowCalls(after: .seconds(2))
        #expect(slow == CircuitBreaker.SlowCalls(after: .seconds(2), ratio: 0.5))
    }

    @Test func eventsHaveTheirNamesAndDetails() {
        let events: [any NetworkEvent] = [
            HedgingEvent.won(attempt: 2), HedgingEvent.refused(.tooManyLosers), RateLimitEvent.reduced,
            RateLimitEvent.localShare,
        ]
        #expect(
            events.map { "\($0)" } == [
                "hedgeWon(attempt: 2)", "hedgeRefused(tooManyLosers)", "rateReduced", "rateLocalShare",
            ]
        )
    }

    @Test func valuesOfServersHaveTheirNames() {
        let problems: [RateLimitProblem.Kind] = [.quotaExceeded, .temporaryReducedCapacity, .abnormalUsageDetected]
        #expect(problems == RateLimitProblem.Kind.allCases)
        #expect(ServerLimit.Unit.concurrentRequests == ServerLimit.Unit("concurrent-requests"))
    }

    @Test(arguments: [(503, true), (404, false)])
    func failureThatAnAppReplacesSaysWhetherItsServerIsUnavailable(code: Int, isUnavailable: Bool) async throws {
        let seen = Mutex<[Bool]>([])
        let network = MockTransport { _ in .status(HTTPResponse.Status(code: code)) }
            .fallback(to: MockTransport { _ in .ok() }) { failure in
                seen.withLock { $0.append(failure.isServerUnavailable) }
                return true
            }
        let response = try await network.data(.lawful)
        #expect(response.status == .ok)
        #expect(seen.withLock { $0 } == [isUnavailable])
    }
}
