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
        let slots = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: slots, maximumWait: .zero).throttled(max: 3).retry()
            .throttled(by: slots, maximumWait: .zero)
        for _ in 0..<2 {
            #expect(try await get(network).status == .ok)
            #expect((slots.inFlight, slots.waiting) == (0, 0))
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
        let slots = ConcurrencyLimiter(max: 1)
        #expect(slots.takeIfFree(nil))
        let network = transport.throttled(by: slots, maximumWait: .zero).environment(\.isThrottled, false)
            .environment(\.clock, .manual(ManualClock()))
        #expect(try await get(network).status == .ok)
        #expect(slots.inFlight == 1)
    }

    @Test func differentLimitersEachGiveAPermit() async throws {
        let (outer, inner) = (ConcurrencyLimiter(max: 1), ConcurrencyLimiter(max: 1))
        let answer = HeldAnswer()
        let transport = MockTransport { _ in .held(by: answer) }
        let network = transport.throttled(by: inner).throttled(by: outer)
        let call = Task { try await get(network) }
        try await answer.waitForRequests(1)
        #expect((outer.inFlight, inner.inFlight) == (1, 1))
        #expect(network.diagnostics.isEmpty)
        answer.answer()
        _ = try await call.value
        #expect((outer.inFlight, inner.inFlight) == (0, 0))
    }

    /// The revalidation outlives the call of the caller, and therefore its permit.
    @Test func revalidationInTheBackgroundNeedsAPermit() async throws {
        let (slots, answer, clock) = (ConcurrencyLimiter(max: 1), HeldAnswer(), ManualClock())
        let stale: HTTPFields = [
            .cacheControl: "max-age=1, stale-while-revalidate=100", .date: NetworkClock.manual(clock).date.httpDate,
        ]
        let network = MockTransport([.ok(headerFields: stale), .held(by: answer)])
            .throttled(by: slots).cached().throttled(by: slots)
            .environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        clock.advance(by: .seconds(2))
        #expect(try await network.data(.lawful).isCached)
        try await answer.waitForRequests(1)
        #expect(slots.inFlight == 1)
        answer.answer()
        try await eventually("slots.inFlight == 0") { slots.inFlight == 0 }
    }

    /// The request of a response or an error no longer holds a permit.
    @Test func requestThatIsSentAgainNeedsAPermit() async throws {
        let slots = ConcurrencyLimiter(max: 1)
        let network = transport.throttled(by: slots, maximumWait: .zero)
        let former = try await get(network).sentRequest
        let answer = HeldAnswer()
        let held = MockTransport { _ in .held(by: answer) }.throttled(by: slots)
        let call = Task { try await get(held) }
        try await answer.waitForRequests(1)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(former) }
        #expect(error?.kind == .rejected)
        answer.answer()
        _ = try await call.value
    }
}
