import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// A share of the requests to a server that fails is refused.
@Suite(.timeLimit(.minutes(20)))
struct AdaptiveThrottleTests {
    private let clock = ManualClock()
    private let throttle = AdaptiveThrottle()

    /// A stack whose requests are refused as soon as their probability is above a fraction.
    private func network(
        _ response: @escaping @Sendable () -> MockResponse,
        refusingAbove fraction: Double = 0
    ) -> (network: some NetworkingComponent, transport: MockTransport) {
        let transport = MockTransport { _ in response() }
        let bits = UInt64(fraction * 0x1p53) << 11
        let network = transport.adaptiveThrottle(by: throttle)
            .environment(\.clock, .manual(clock)).environment(\.random, RandomSource { bits })
        return (network, transport)
    }

    private var probability: Double {
        throttle.rejectionProbability(of: "laws.example")
    }

    @Test func probabilityFollowsTheFormula() async {
        let fails = Locked(false)
        // The fraction is above each probability, so that no request is refused.
        let (network, _) = network({ fails.value ? .failure(.connection) : .ok() }, refusingAbove: 0.99)
        for _ in 1...9 { _ = try? await network.data(.lawful) }
        #expect(probability == 0)
        fails.withLock { $0 = true }
        _ = try? await network.data(.lawful)
        // 9 of 10 are successful, which is the ratio.
        #expect(probability == 0)
        for _ in 1...9 { _ = try? await network.data(.lawful) }
        // (19 - 9 / 0.9) / 20
        #expect(abs(probability - 0.45) < 1e-9)
        for _ in 1...1_000 { _ = try? await network.data(.lawful) }
        #expect(probability == 0.9)
    }

    @Test func refusedRequestCountsAndIsNotSent() async throws {
        let (network, transport) = network({ .failure(.connection) })
        _ = try? await network.data(.lawful)
        #expect(abs(probability - 0.5) < 1e-9)
        let events = EventRecorder()
        let error = try await #require(throws: NetworkingError.self) {
            try await network.observed(by: events).data(.lawful)
        }
        #expect(error.kind == .rejected)
        #expect(error.isOfFailingServer)
        #expect(error.reason.contains("50%"))
        #expect("\(events.events)".contains("throttled(50%)"))
        let lines = events.events.compactMap {
            ($0 as? AdaptiveThrottleEvent)?.record.logMessage(redactedBy: .standard)
        }
        #expect(lines == ["not sent, as 50% of the requests to this server"])
        #expect(transport.requests.count == 1)
        #expect(abs(probability - 2.0 / 3) < 1e-9)
    }

    @Test func requestIsRefusedByChance() async {
        let (network, transport) = network({ .failure(.connection) }, refusingAbove: 0.6)
        for _ in 1...10 { _ = try? await network.data(.lawful) }
        // After the second failure, the probability is 2/3.
        #expect(transport.requests.count == 2)
    }

    @Test func refusedAttemptIsNotRetried() async {
        let (network, transport) = network({ .failure(.connection) })
        _ = try? await network.data(.lawful)
        let before = probability
        _ = try? await network.retry().data(.lawful)
        #expect(transport.requests.count == 1)
        // One attempt is one call: (2 - 0) / 3.
        #expect(before == 0.5)
        #expect(abs(probability - 2.0 / 3) < 1e-9)
    }

    @Test func eachAttemptIsOneCall() async {
        let (network, transport) = network({ .status(503) }, refusingAbove: 0.99)
        let retried = network.retry().environment(\.clock, .immediate())
        _ = try? await retried.data(.lawful)
        #expect(transport.requests.count == 4)
        #expect(abs(probability - 4.0 / 5) < 1e-9)
    }

    @Test(arguments: [404, 429, 501, 505])
    func otherStatusesDoNotCount(code: Int) async {
        let (network, _) = network({ .status(HTTPResponse.Status(code: code)) })
        for _ in 1...20 { _ = try? await network.data(.lawful) }
        #expect(probability == 0)
        #expect(throttle.authorities == 0)
    }

    @Test func deviceWithoutANetworkDoesNotCount() async {
        let (network, transport) = network({ .failure(.connection) })
        let offline = network.environment(\.connectivity, ManualConnectivity(.offline))
        for _ in 1...20 { _ = try? await offline.data(.lawful) }
        #expect(probability == 0)
        #expect(transport.requests.count == 20)
    }

    @Test func failuresLeaveTheWindowAfterAMinute() async {
        let (network, _) = network({ .failure(.connection) }, refusingAbove: 0.99)
        _ = try? await network.data(.lawful)
        clock.advance(by: .seconds(56))
        #expect(probability == 0.5)
        clock.advance(by: .seconds(5))
        #expect(probability == 0)
    }

    @Test func eachServerHasItsOwnCounts() async {
        let (network, transport) = network({ .failure(.connection) })
        _ = try? await network.data(.lawful)
        _ = try? await network.data(HTTPRequestData(scheme: "https", authority: "other.example", path: "/"))
        #expect(transport.requests.count == 2)
    }

    @Test func countsAreBounded() async {
        let (network, _) = network({ .failure(.connection) }, refusingAbove: 0.99)
        for number in 1...1_000 {
            _ = try? await network.data(HTTPRequestData(scheme: "https", authority: "\(number).example", path: "/"))
        }
        #expect(throttle.authorities == 256)
        #expect(throttle.rejectionProbability(of: "1000.example") == 0.5)
        #expect(throttle.rejectionProbability(of: "1.example") == 0)
    }

    @Test func sameThrottleTwiceCountsOnce() async {
        let transport = MockTransport { _ in .failure(.connection) }
        let network = transport.adaptiveThrottle(by: throttle).adaptiveThrottle(by: throttle)
            .environment(\.clock, .manual(clock))
        _ = try? await network.data(.lawful)
        #expect(probability == 0.5)
        #expect(network.diagnostics.map(\.message).contains { $0.contains("the same counts") })
    }

    @Test func stacksWithDifferentClocksShareTheCounts() async {
        let late = ManualClock()
        late.advance(by: .seconds(1_000))
        let (network, _) = network({ .failure(.connection) }, refusingAbove: 0.99)
        let other = MockTransport { _ in .failure(.connection) }.adaptiveThrottle(by: throttle)
            .environment(\.clock, .manual(late)).environment(\.random, RandomSource { .max })
        _ = try? await network.data(.lawful)
        _ = try? await other.data(.lawful)
        #expect(abs(probability - 2.0 / 3) < 1e-9)
        late.advance(by: .seconds(61))
        #expect(probability == 0)
    }

    @Test func clockMayJump() async {
        let time = JumpingClock()
        let network = MockTransport { _ in .failure(.connection) }.adaptiveThrottle(by: throttle)
            .environment(\.clock, NetworkClock(time)).environment(\.random, RandomSource { .max })
        for calls in 1...5 {
            _ = try? await network.data(.lawful)
            time.jump(by: .seconds(-1_000))
            #expect(abs(probability - Double(calls) / Double(calls + 1)) < 1e-9)
        }
        time.jump(by: .seconds(86_400 * 365 * 100))
        #expect(probability == 0)
    }

    @Test func keepsRefusingAtMostNineOfTenWithoutAServer() async {
        let transport = MockTransport { _ in .failure(.connection) }
        let network = transport.adaptiveThrottle(by: throttle)
            .environment(\.clock, .manual(clock)).environment(\.random, .seeded(7))
        for _ in 1...2_000 { _ = try? await network.data(.lawful) }
        #expect((150...270).contains(transport.requests.count))
    }

    @Test func wrongPlacesAreReported() {
        let transport = MockTransport()
        func reports(_ network: some NetworkingComponent) -> [String] {
            network.diagnostics.map(\.message).filter { $0.hasPrefix("adaptiveThrottle") }
        }
        let wrong: [(String, [String])] = [
            ("outside retry", reports(transport.retry().adaptiveThrottle())),
            ("outside cached", reports(transport.cached().adaptiveThrottle())),
            ("outside deduplicated", reports(transport.deduplicated().adaptiveThrottle())),
            ("inside throttled", reports(transport.adaptiveThrottle().throttled(max: 1))),
            ("inside throttled", reports(transport.adaptiveThrottle().rateLimited(to: 1, per: .seconds(1)))),
            ("inside timeout", reports(transport.adaptiveThrottle().timeout(.seconds(1)))),
            ("the same counts", reports(transport.adaptiveThrottle(by: throttle).adaptiveThrottle(by: throttle))),
        ]
        for (text, reports) in wrong {
            #expect(reports.count == 1)
            #expect(reports.first?.contains(text) == true)
        }
        let right = transport.timeout(.seconds(10)).throttled(max: 6).adaptiveThrottle().retry().cached()
        #expect(right.diagnostics.isEmpty)
        #expect(right.outline.contains("adaptiveThrottle(below 90.0% of successes in 60.0 seconds)"))
    }
}
