import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience

/// Stacks that contain the same limiter twice.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
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
