import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Stacks that contain the same limiter twice.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ThrottledTwiceTests {
    private let transport = MockTransport { _ in .ok() }

    private func get(_ network: some NetworkingComponent) async throws -> HTTPResponseData {
        try await network.data(HTTPRequestData(authority: "api.example.com"))
    }

    @Test func sameLimiterGivesARequestOnePermit() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: limiter, maximumWait: .zero).throttled(max: 3).retry()
            .throttled(by: limiter, maximumWait: .zero)
        for _ in 0..<2 {
            #expect(try await get(network).status == .ok)
            #expect((limiter.inFlight, limiter.waiting) == (0, 0))
        }
        #expect(network.diagnostics.contains { $0.message.contains("with the same limiter") })
    }

    @Test func sameRateLimiterCountsARequestOnce() async throws {
        let limiter = RateLimiter(1, per: .seconds(60))
        let network = transport.rateLimited(by: limiter, maximumWait: .zero)
            .rateLimited(by: limiter, maximumWait: .zero)
            .environment(\.clock, .manual(ManualClock()))
        #expect(try await get(network).status == .ok)
        let error = await #expect(throws: NetworkingError.self) { try await get(network) }
        #expect(error?.kind == .rejected)
        #expect(network.diagnostics.contains { $0.message.contains("with the same limiter") })
    }

    @Test func requestsInAnEnvironmentWithoutLimitsNeedNoPermit() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        #expect(limiter.takeIfFree(nil))
        let network = transport.throttled(by: limiter, maximumWait: .zero).environment(\.isThrottled, false)
            .environment(\.clock, .manual(ManualClock()))
        #expect(try await get(network).status == .ok)
        #expect(limiter.inFlight == 1)
    }

    @Test func differentLimitersEachGiveAPermit() async throws {
        let (outer, inner) = (ConcurrencyLimiter(max: 1), ConcurrencyLimiter(max: 1))
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let network = transport.throttled(by: inner).throttled(by: outer)
        let call = Task { try await get(network) }
        try await held.waitForRequests(1)
        #expect((outer.inFlight, inner.inFlight) == (1, 1))
        #expect(network.diagnostics.isEmpty)
        held.respond()
        _ = try await call.value
        #expect((outer.inFlight, inner.inFlight) == (0, 0))
    }

    // MARK: Opposite orders

    @Test func oppositeOrdersOfSharedLimitersAreReported() {
        let (one, two) = (ConcurrencyLimiter(max: 1), ConcurrencyLimiter(max: 1))
        let first = transport.throttled(by: one).throttled(by: two)
        #expect(first.diagnostics.isEmpty)
        let second = transport.throttled(by: two).throttled(by: one)
        for network in [first, second] as [any NetworkingComponent] {
            #expect(network.diagnostics.count { $0.message.contains("opposite order") } == 1)
        }
        #expect(transport.throttled(by: one).diagnostics.isEmpty)
    }

    @Test func circleOfThreeLimitersIsReported() {
        let limiters = (1...3).map { _ in ConcurrencyLimiter(max: 1) }
        for (outer, inner) in [(0, 1), (1, 2)] {
            let network = transport.throttled(by: limiters[inner]).timeout(.seconds(1)).throttled(by: limiters[outer])
            #expect(!network.diagnostics.contains { $0.message.contains("opposite order") })
        }
        let circle = AnyNetworkingComponent(transport.throttled(by: limiters[0])).throttled(by: limiters[2])
        #expect(circle.diagnostics.contains { $0.message.contains("opposite order") })
    }

    @Test func oldestOfVeryManyInnerLimitersIsForgotten() {
        let outer = LimiterOrder()
        let inner = (0...1_000).map { _ in LimiterOrder() }
        for order in inner {
            outer.note(order)
        }
        #expect(!outer.contains(inner[0]))
        #expect(outer.contains(inner[1]))
    }

    // MARK: Redirects

    @Test func hopsTakePermitsOfTheirOwnHosts() async throws {
        let limiter = ConcurrencyLimiter(maxPerHost: 1)
        let held = HeldResponse()
        let transport = MockTransport { request in
            request.authority == "a.example" ? .redirect(to: "https://b.example/") : .held(by: held)
        }
        let network = transport.throttled(by: limiter)
        let first = Task { try await network.data(HTTPRequestData(authority: "a.example")) }
        try await held.waitForRequests(1)
        // The first hop has released its permit, and the second one holds that of its host.
        let host = limiter.key(for: HTTPRequestData(scheme: "https", authority: "a.example"))
        #expect(limiter.inFlight == 1)
        #expect(limiter.takeIfFree(host))
        limiter.giveBack(host)
        let second = Task { try await network.data(HTTPRequestData(authority: "b.example")) }
        try await eventually("the second request waits") { limiter.waiting == 1 }
        held.respond()
        let responses = try await [first.value, second.value]
        #expect(responses.map(\.redirects.count) == [1, 0])
        #expect(limiter.inFlight == 0)
    }

    @Test func rateLimitPerHostCountsHops() async throws {
        let transport = MockTransport { request in
            request.authority == "a.example" ? .redirect(to: "https://b.example/") : .ok()
        }
        let network = transport.rateLimited(to: 1, per: .seconds(60), maximumWait: .zero, by: .host)
            .environment(\.clock, .manual(ManualClock()))
        try await network.data(HTTPRequestData(authority: "a.example"))
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(authority: "b.example"))
        }
        #expect(error?.kind == .rejected)
    }

    @Test func rateLimitForAllRequestsCountsARedirectedCallOnce() async throws {
        let transport = MockTransport { request in
            request.authority == "a.example" ? .redirect(to: "https://b.example/") : .ok()
        }
        let network = transport.rateLimited(to: 2, per: .seconds(60), maximumWait: .zero)
            .environment(\.clock, .manual(ManualClock()))
        for _ in 1...2 {
            #expect(try await network.data(HTTPRequestData(authority: "a.example")).redirects.count == 1)
        }
        await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(authority: "a.example")) }
    }

    /// The revalidation outlives the call of the caller, and therefore its permit.
    @Test func revalidationInTheBackgroundNeedsAPermit() async throws {
        let (limiter, held, clock) = (ConcurrencyLimiter(max: 1), HeldResponse(), ManualClock())
        let stale: HTTPFields = [
            .cacheControl: "max-age=1, stale-while-revalidate=100", .date: NetworkClock.manual(clock).date.httpDate,
        ]
        let network = MockTransport([.ok(headerFields: stale), .held(by: held)])
            .throttled(by: limiter).cached().throttled(by: limiter)
            .environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        clock.advance(by: .seconds(2))
        #expect(try await network.data(.lawful).isCached)
        try await held.waitForRequests(1)
        #expect(limiter.inFlight == 1)
        held.respond()
        try await eventually("limiter.inFlight == 0") { limiter.inFlight == 0 }
    }

    /// The request of a response or an error no longer holds a permit.
    @Test func requestThatIsSentAgainNeedsAPermit() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: limiter, maximumWait: .zero)
        let former = try await get(network).sentRequest
        let held = HeldResponse()
        let holding = MockTransport { _ in .held(by: held) }.throttled(by: limiter)
        let call = Task { try await get(holding) }
        try await held.waitForRequests(1)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(former) }
        #expect(error?.kind == .rejected)
        held.respond()
        _ = try await call.value
    }
}
