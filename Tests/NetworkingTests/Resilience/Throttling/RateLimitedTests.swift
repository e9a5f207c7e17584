import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RateLimitedTests {
    private let clock = ManualClock()
    private let transport = MockTransport { _ in .ok() }

    private func network(_ limiter: RateLimiter, maximumWait: Duration? = nil) -> some NetworkingComponent {
        transport.rateLimited(by: limiter, maximumWait: maximumWait).environment(\.clock, .manual(clock))
    }

    private func sent(_ count: Int, over network: some NetworkingComponent, weight: Int = 1) async -> Int {
        let before = transport.requests.count
        for _ in 0..<count {
            _ = try? await network.data(.lawful.with { $0.rateLimitWeight = weight })
        }
        return transport.requests.count - before
    }

    // MARK: The rate

    @Test func burstIsSentAtOnceAndFurtherRequestsAreRejected() async {
        let network = network(RateLimiter(10, per: .seconds(1), burst: 5), maximumWait: .zero)
        #expect(await sent(20, over: network) == 5)
        clock.advance(by: .milliseconds(99))
        #expect(await sent(20, over: network) == 0)
        clock.advance(by: .milliseconds(1))
        #expect(await sent(20, over: network) == 1)
        clock.advance(by: .milliseconds(250))
        #expect(await sent(20, over: network) == 2)
        clock.advance(by: .seconds(3_600))
        #expect(await sent(20, over: network) == 5)
    }

    @Test func rejectionHasARetryAfter() async {
        let network = network(RateLimiter(1, per: .seconds(10)), maximumWait: .seconds(5))
        #expect(await sent(1, over: network) == 1)
        clock.advance(by: .seconds(2))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .rejected)
        #expect(error?.retryAfter == .seconds(8))
        #expect(error?.reason.contains("1 per 10.0 seconds") == true)
        // The rejected request took no permit.
        clock.advance(by: .seconds(8))
        #expect(await sent(1, over: network) == 1)
    }

    @Test func requestMayHaveAWeight() async {
        let network = network(RateLimiter(10, per: .seconds(1), burst: 5), maximumWait: .zero)
        #expect(await sent(3, over: network, weight: 2) == 2)
        #expect(await sent(3, over: network) == 1)
        clock.advance(by: .milliseconds(300))
        #expect(await sent(1, over: network, weight: 4) == 0)
        #expect(await sent(1, over: network, weight: 3) == 1)
    }

    @Test func requestIsSentEarlierIfAHeavierOneBeforeItLeaves() async throws {
        let limiter = RateLimiter(1, per: .seconds(1), burst: 5)
        let network = network(limiter)
        #expect(await sent(5, over: network) == 5)
        let heavy = Task { try await network.data(.lawful.with { $0.rateLimitWeight = 5 }) }
        try await eventually("the heavy request waits") { clock.nextDeadline?.offset == .seconds(5) }
        let light = Task { try await network.data(.lawful) }
        try await eventually("both wait") { limiter.waiting == 2 }
        heavy.cancel()
        await #expect(throws: CancellationError.self) { try await heavy.value }
        try await eventually("the light request is next") { clock.nextDeadline?.offset == .seconds(1) }
        light.cancel()
        await #expect(throws: CancellationError.self) { try await light.value }
        try await eventually("no alarm is left") { clock.sleepers == 0 }
    }

    @Test func weightBeyondTheBurstIsRejected() async {
        let network = network(RateLimiter(10, per: .seconds(1), burst: 5))
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(.lawful.with { $0.rateLimitWeight = 6 })
        }
        #expect(error?.kind == .rejected)
        #expect(error?.retryAfter == nil)
        #expect(error?.reason.contains("6") == true)
    }

    // MARK: Waiting

    @Test func waitingRequestsAreSentInOrderAtTheRate() async throws {
        let limiter = RateLimiter(1, per: .seconds(1))
        let network = network(limiter)
        #expect(await sent(1, over: network) == 1)
        var calls: [Task<HTTPResponseData, any Error>] = []
        for name in ["a", "b", "c"] {
            calls.append(Task { try await network.data(HTTPRequestData(authority: "x.example", path: name)) })
            try await eventually("it waits") { limiter.waiting == calls.count }
        }
        try await clock.waitForSleepers()
        for name in ["/a", "/b", "/c"] {
            #expect(transport.requests.last?.path != name)
            clock.advance(by: .seconds(1))
            _ = try await calls.removeFirst().value
            #expect(transport.requests.last?.path == name)
        }
    }

    @Test func cancelledRequestTakesNoPermitAndTheOthersAdvance() async throws {
        let limiter = RateLimiter(1, per: .seconds(1))
        let network = network(limiter)
        #expect(await sent(1, over: network) == 1)
        let first = Task { try await network.data(.lawful.with { $0.priority = .high }) }
        try await clock.waitForSleepers()
        let second = Task { try await network.data(.lawful) }
        try await eventually("limiter.waiting >= 2") { limiter.waiting >= 2 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(limiter.waiting == 1)
        clock.advance(by: .seconds(1))
        _ = try await second.value
        clock.advance(by: .seconds(1))
        #expect(await sent(1, over: network) == 1)
    }

    @Test func requestsOfHigherPriorityAreSentFirst() async throws {
        let limiter = RateLimiter(1, per: .seconds(1))
        let network = network(limiter)
        #expect(await sent(1, over: network) == 1)
        var calls: [Task<HTTPResponseData, any Error>] = []
        for (name, priority) in [("low", RequestPriority.low), ("normal", .normal), ("high", .high)] {
            let request = HTTPRequestData(authority: "x.example", path: name).with { $0.priority = priority }
            calls.append(Task { try await network.data(request) })
            try await eventually("limiter.waiting >= calls.count") { limiter.waiting >= calls.count }
        }
        for index in [2, 1, 0] {
            clock.advance(by: .seconds(1))
            _ = try await calls[index].value
        }
        #expect(transport.requests.suffix(3).map(\.path) == ["/high", "/normal", "/low"])
    }

    @Test func waitBeyondTheDeadlineIsRejected() async {
        let network = transport.rateLimited(to: 1, per: .seconds(10)).deadline(.seconds(5))
            .environment(\.clock, .manual(clock))
        #expect(await sent(1, over: network) == 1)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .rejected)
        #expect(error?.retryAfter == .seconds(10))
    }

    // MARK: Keys

    @Test func eachHostCanHaveItsOwnLimit() async {
        let network = network(RateLimiter(1, per: .seconds(1), key: .host), maximumWait: .zero)
        #expect(await sent(2, over: network) == 1)
        let elsewhere = HTTPRequestData(authority: "other.example")
        _ = try? await network.data(elsewhere)
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: ["API.example.com", "api.example.com:443"])
    func hostHasOneLimitInAnySpelling(authority: String) async throws {
        let network = network(RateLimiter(1, per: .seconds(1), key: .host), maximumWait: .zero)
        try await network.data(HTTPRequestData(authority: "api.example.com"))
        await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(authority: authority)) }
        #expect(transport.requests.count == 1)
    }

    @Test func customKeysHaveTheirOwnLimits() async {
        let limiter = RateLimiter(1, per: .seconds(1), key: .custom { $0.method.rawValue })
        let network = network(limiter, maximumWait: .zero)
        #expect(await sent(2, over: network) == 1)
        _ = try? await network.data(.lawful.with { $0.method = .put })
        #expect(transport.requests.count == 2)
    }

    @Test func numberOfKeysIsLimited() async {
        let limiter = RateLimiter(1, per: .seconds(1), key: .custom { $0.path ?? "" })
        let network = network(limiter, maximumWait: .zero)
        for number in 0..<10_500 {
            _ = try? await network.data(HTTPRequestData(authority: "x.example", path: "\(number)"))
        }
        #expect(transport.requests.count == 10_500)
        #expect(limiter.keys <= 10_000)
    }

    @Test func stacksCanShareALimiter() async {
        let limiter = RateLimiter(1, per: .seconds(1))
        #expect(await sent(1, over: network(limiter, maximumWait: .zero)) == 1)
        #expect(await sent(1, over: network(limiter, maximumWait: .zero)) == 0)
    }

    @Test func requestThatDisablesThrottlingIsNotLimited() async {
        let network = network(RateLimiter(1, per: .seconds(1)), maximumWait: .zero)
        #expect(await sent(1, over: network) == 1)
        _ = try? await network.data(.lawful.with { $0.isThrottled = false })
        #expect(transport.requests.count == 2)
    }

    // MARK: Settings

    @Test func extremeSettingsDoNotCrash() async {
        let most = RateLimiter(1_000_000_000, per: .nanoseconds(1), burst: 1_000_000_000)
        #expect(await sent(10, over: network(most, maximumWait: .zero)) == 10)
        let least = RateLimiter(1, per: .seconds(31_556_952_000), burst: 1_000_000_000)
        #expect(await sent(10, over: network(least, maximumWait: .zero), weight: 100_000_000) == 10)
        #expect(await sent(1, over: network(least, maximumWait: .zero)) == 0)
    }

    @Test func outlineListsTheRate() {
        let network = MockTransport().rateLimited(to: 10, per: .seconds(1), burst: 20)
        #expect(network.outline.hasPrefix("rateLimited(10 per 1.0 seconds, burst: 20)\n"))
    }
}
