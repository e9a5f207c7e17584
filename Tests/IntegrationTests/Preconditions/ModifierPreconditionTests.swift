#if os(Linux) || os(macOS)
import Foundation
import Networking
import NetworkingTesting
import Testing

/// Invalid settings of modifiers and requests stop the program at the line that sets them.
///
/// Each test ends a process. The tests run one at a time, because waiting for a process needs the executor, which
/// thousands of other tests keep busy.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ModifierPreconditionTests {
    @Test func streamLengthMustNotBeNegative() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = RequestBody.stream(length: -1) { AsyncStream<Data> { $0.finish() } }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("length must not be negative (is -1)"))
    }

    @Test func maximumRedirectsMustBePositive() async {
        await #expect(processExitsWith: .failure) {
            _ = RedirectPolicy.follow(upTo: 0)
        }
    }

    @Test func retry() async {
        await #expect(processExitsWith: .failure) { _ = Backoff.constant(.seconds(-1)) }
        await #expect(processExitsWith: .failure) { _ = Backoff.exponential(base: .seconds(-1)) }
        await #expect(processExitsWith: .failure) { _ = Backoff.exponential(multiplier: 0.5) }
        await #expect(processExitsWith: .failure) { _ = Backoff.exponential(cap: .seconds(-1)) }
        await #expect(processExitsWith: .failure) { _ = RetryPolicy.immediate(maximumRetries: -1) }
        await #expect(processExitsWith: .failure) { _ = RetryBudget(.ratio(1.5)) }
    }

    @Test func baseURLMustHaveAHost() async {
        await #expect(processExitsWith: .failure) {
            _ = MockTransport().server(baseURL: URL(filePath: "/v1"))
        }
    }

    @Test func baseURLMustNotHaveCredentials() async {
        await #expect(processExitsWith: .failure) {
            guard let url = URL(string: "https://emily:secret@api.example.com") else { return }
            _ = MockTransport().server(baseURL: url)
        }
    }

    @Test func rateLimits() async {
        await #expect(processExitsWith: .failure) { _ = RateLimiter(0, per: .seconds(1)) }
        await #expect(processExitsWith: .failure) { _ = RateLimiter(1, per: .zero) }
        await #expect(processExitsWith: .failure) { _ = RateLimiter(1, per: .seconds(1), burst: 0) }
        await #expect(processExitsWith: .failure) {
            _ = MockTransport().rateLimited(to: 1, per: .seconds(1), maximumWait: .seconds(-1))
        }
    }

    @Test func hedged() async {
        await #expect(processExitsWith: .failure) { _ = MockTransport().hedged(extraLoad: -0.01) }
        await #expect(processExitsWith: .failure) { _ = MockTransport().hedged(extraLoad: 1.01) }
        await #expect(processExitsWith: .failure) { _ = MockTransport().hedged(extraLoad: .nan) }
        await #expect(processExitsWith: .failure) { _ = HedgingPolicy.after(.seconds(-1)) }
        await #expect(processExitsWith: .failure) { _ = HedgingPolicy.percentile().losersMayFinish(within: .zero) }
        await #expect(processExitsWith: .failure) {
            var policy = HedgingPolicy.percentile()
            policy.maximumHedges = 5
        }
    }

    @Test func throttles() async {
        await #expect(processExitsWith: .failure) { _ = MockTransport().throttled(max: 0) }
        await #expect(processExitsWith: .failure) { _ = MockTransport().throttled(maxPerHost: -1) }
        await #expect(processExitsWith: .failure) { _ = MockTransport().throttled(max: 1, queue: -1) }
        await #expect(processExitsWith: .failure) { _ = MockTransport().throttled(max: 1, maximumWait: .seconds(-1)) }
    }

    @Test func timeoutMustHaveALimit() async {
        await #expect(processExitsWith: .failure) { _ = MockTransport().timeout() }
        await #expect(processExitsWith: .failure) { _ = MockTransport().timeout(.seconds(1), idle: .zero) }
    }
}
#endif
