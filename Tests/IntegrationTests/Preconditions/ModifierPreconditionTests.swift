#if os(Linux) || os(macOS)
import Foundation
import Networking
import NetworkingTesting
import Testing

/// Invalid settings of modifiers and requests stop the program at the line that sets them.
///
/// Each test ends a process. The tests run one at a time, because waiting for a process needs the executor, which
/// thousands of other tests keep busy.
@Suite(.serialized, .timeLimit(.minutes(20)))
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

    @Test func shutdownLimitMustNotBeNegative() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = StackShutdown(within: .seconds(-1))
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("limit must not be negative (is -1.0 seconds)"))
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

    @Test(arguments: [0, -1, .nan, .infinity])
    func weightMustBePositiveAndFinite(weight: Double) async {
        // An exit test takes no values of a test with arguments.
        let result =
            switch weight {
            case 0:
                await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                    _ = ServerEndpoints.Endpoint("a.example", weight: 0)
                }
            case -1:
                await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                    _ = ServerEndpoints.Endpoint("a.example", weight: -1)
                }
            case .infinity:
                await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                    _ = ServerEndpoints.Endpoint("a.example", weight: .infinity)
                }
            default:
                await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                    _ = ServerEndpoints.Endpoint("a.example", weight: .nan)
                }
            }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("weight must be greater than zero and finite (is \(weight))"))
    }

    @Test func endpoints() async {
        await #expect(processExitsWith: .failure) { _ = ServerEndpoints("a.example", groups: []) }
        await #expect(processExitsWith: .failure) { _ = ServerEndpoints("a.example", groups: [["b.example"], []]) }
        await #expect(processExitsWith: .failure) {
            _ = ServerEndpoints("a.example", endpoints: (0...64).map { .init("\($0).example") })
        }
        await #expect(processExitsWith: .failure) {
            _ = ServerEndpoints("a.example", endpoints: ["b.example", "B.example:443"])
        }
        await #expect(processExitsWith: .failure) { _ = ServerEndpoints("", endpoints: ["b.example"]) }
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ServerEndpoints("a.example", endpoints: ["https://emily:secret@b.example"])
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("is not the authority of a server"))
        #expect(!message.contains("secret"))
    }

    @Test func deadlineOfAPresetMustNotBeShorterThanAnAttempt() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockTransport().standard(.app.replacing(.deadline) { $0.deadline(.seconds(9)) })
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("deadline must not be shorter than the time limit of an attempt (is 9.0 seconds"))
        #expect(message.contains("and the timeout is 10.0 seconds)"))
    }

    @Test func windowOfAPresetMustBeTwiceAnAttempt() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockTransport().standard(.app.replacing(.timeout) { $0.timeout(.seconds(16)) })
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("must be at least twice the time limit of an attempt (is 30.0 seconds"))
        #expect(message.contains("and the timeout is 16.0 seconds)"))
    }

    @Test func layerOfAPresetMustUseItsComponent() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockTransport().standard(.app.replacing(.retry) { _ in MockTransport() })
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("a layer at retry must send through the component that it receives"))
    }

    @Test func rateLimits() async {
        await #expect(processExitsWith: .failure) { _ = RateLimiter(0, per: .seconds(1)) }
        await #expect(processExitsWith: .failure) { _ = RateLimiter(1, per: .zero) }
        await #expect(processExitsWith: .failure) { _ = RateLimiter(1, per: .seconds(1), burst: 0) }
        await #expect(processExitsWith: .failure) {
            _ = MockTransport().rateLimited(to: 1, per: .seconds(1), maximumWait: .seconds(-1))
        }
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockTransport().rateLimited(by: ServerRateLimiter(), maximumWait: .seconds(-1))
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("maximumWait must not be negative (is -1.0 seconds)"))
        await #expect(processExitsWith: .failure) {
            _ = MockTransport().rateLimited(by: AdaptiveRateLimiter(), maximumWait: .seconds(-1))
        }
    }

    @Test func circuitBreakers() async {
        var result: ExitTest.Result?
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(failureRatio: 0))
        }
        #expect(result.message.contains("failureRatio must be greater than 0 and at most 1 (is 0.0)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(failureRatio: .nan))
        }
        #expect(result.message.contains("failureRatio must be greater than 0 and at most 1 (is nan)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(failureRatio: .infinity))
        }
        #expect(result.message.contains("failureRatio must be greater than 0 and at most 1 (is inf)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(failureRatio: 1.5))
        }
        #expect(result.message.contains("failureRatio must be greater than 0 and at most 1 (is 1.5)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(minimumCalls: 0))
        }
        #expect(result.message.contains("minimumCalls must be 1 to 1,000,000 (is 0)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(minimumCalls: .max))
        }
        #expect(result.message.contains("minimumCalls must be 1 to 1,000,000 (is \(Int.max))"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(connectionFailures: -1))
        }
        #expect(result.message.contains("connectionFailures must be 1 to 1,000,000 (is -1)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(window: .zero))
        }
        #expect(result.message.contains("window must be 1 ms to 1 day (is 0.0 seconds)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(firstBreak: .seconds(-1)))
        }
        #expect(result.message.contains("firstBreak must be 1 ms to 1 day (is -1.0 seconds)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(firstBreak: .seconds(61)))
        }
        #expect(result.message.contains("maximumBreak must not be shorter than firstBreak (is 60.0 seconds"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(maximumBreak: .seconds(Int64.max)))
        }
        #expect(result.message.contains("maximumBreak must be 1 ms to 1 day"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(probes: 0))
        }
        #expect(result.message.contains("probes must be 1 to 1,000,000 (is 0)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CircuitBreaker(.init(closesAfter: 0))
        }
        #expect(result.message.contains("closesAfter must be 1 to 1,000,000 (is 0)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockTransport().circuitBreaker(.init(slowCalls: .init(after: .seconds(-1))))
        }
        #expect(result.message.contains("the threshold of slowCalls must be 1 ms to 1 day (is -1.0 seconds)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockTransport().circuitBreaker(.init(slowCalls: .init(after: .seconds(1), ratio: .nan)))
        }
        #expect(result.message.contains("the ratio of slowCalls must be greater than 0 and at most 1 (is nan)"))
    }

    @Test func adaptiveThrottles() async {
        var result: ExitTest.Result?
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = AdaptiveThrottle(successRatio: 0)
        }
        #expect(result.message.contains("successRatio must be greater than 0 and at most 1 (is 0.0)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = AdaptiveThrottle(successRatio: .nan)
        }
        #expect(result.message.contains("successRatio must be greater than 0 and at most 1 (is nan)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = AdaptiveThrottle(maximumRejection: 1)
        }
        #expect(result.message.contains("maximumRejection must be from 0 to less than 1 (is 1.0)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = AdaptiveThrottle(maximumRejection: .nan)
        }
        #expect(result.message.contains("maximumRejection must be from 0 to less than 1 (is nan)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = AdaptiveThrottle(maximumRejection: -0.1)
        }
        #expect(result.message.contains("maximumRejection must be from 0 to less than 1 (is -0.1)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockTransport().adaptiveThrottle(window: .zero)
        }
        #expect(result.message.contains("window must be 1 ms to 1 day (is 0.0 seconds)"))
    }

    @Test func adaptiveLimits() async {
        var result: ExitTest.Result?
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = AdaptiveLimiter(in: 0...10)
        }
        #expect(result.message.contains("limits must be within 1 to 100,000 (are 0...10)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = AdaptiveLimiter(in: 1...Int.max)
        }
        #expect(result.message.contains("limits must be within 1 to 100,000 (are 1...\(Int.max))"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = AdaptiveLimiter(in: 10...20)
        }
        #expect(result.message.contains("start must be within the limits 10...20 (is 6)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockTransport().adaptiveLimit(start: 0)
        }
        #expect(result.message.contains("start must be within the limits 1...200 (is 0)"))
        result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = MockTransport().adaptiveLimit(maximumWait: .seconds(-1))
        }
        #expect(result.message.contains("maximumWait must not be negative (is -1.0 seconds)"))
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

extension ExitTest.Result? {
    /// The text that the process has printed before its end.
    fileprivate var message: String {
        String(decoding: self?.standardErrorContent ?? [], as: UTF8.self)
    }
}
#endif
