import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// The limits on retries in a policy and in the environment.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RetryLimitsTests {
    /// Returns the number of requests and the reason for refusing another one, if a server requests one pause.
    private func attempts(
        after pause: Int,
        allowing longest: Duration? = nil
    ) async throws -> (count: Int, refusal: RetryRefusal?) {
        let transport = MockTransport([.status(.serviceUnavailable, headerFields: [.retryAfter: "\(pause)"]), .ok()])
        var policy = RetryPolicy.exponential()
        if let longest { policy.maximumRetryAfter = longest }
        let response = try await transport.retry(policy).environment(\.clock, .immediate())
            .environment(\.random, .seeded(1)).data(.lawful)
        return (transport.requests.count, response.retryRefusal)
    }

    @Test func retryAfterIsRespectedUpToAMinute() async throws {
        #expect(RetryPolicy.exponential().maximumRetryAfter == .seconds(60))
        #expect(try await attempts(after: 60) == (2, nil))
        #expect(try await attempts(after: 61) == (1, .retryAfter))
    }

    @Test func policySetsTheMaximumRetryAfter() async throws {
        #expect(try await attempts(after: 300, allowing: .seconds(300)) == (2, nil))
        #expect(try await attempts(after: 301, allowing: .seconds(300)) == (1, .retryAfter))
        #expect(try await attempts(after: 1, allowing: .zero) == (1, .retryAfter))
    }

    @Test func transientStatusesAreThoseOfTheStandardPolicy() {
        let codes = (100...599).filter { RetryPolicy.transientStatuses.contains(HTTPResponse.Status(code: $0)) }
        #expect(codes == [408, 429, 500, 502, 503, 504])
        #expect(RetryPolicy.exponential().statuses == RetryPolicy.transientStatuses)
    }

    @Test func policyAddsTransientStatuses() async throws {
        let transport = MockTransport([.status(.notFound), .status(.badGateway), .ok()])
        var policy = RetryPolicy.immediate(maximumRetries: 2)
        policy.statuses = RetryPolicy.transientStatuses.union([404])
        #expect(try await transport.retry(policy).data(.lawful).status == .ok)
    }

    @Test func retriesCanBeSwitchedOff() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let response = try await transport.retry().environment(\.retries, .off).data(.lawful)
        #expect(response.retryRefusal == .switchedOff)
        #expect(transport.requests.count == 1)
    }

    private struct Insisting: RequestInterceptor {
        func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async -> RetryDecision {
            .retry
        }
    }

    @Test func interceptorsRespectTheBudget() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = transport.intercepted(
            by: Insisting(),
            policy: .immediate(maximumRetries: 5),
            budget: RetryBudget(.ratio(0, reserve: 2, over: .seconds(3_600)))
        )
        let response = try await network.data(.lawful)
        #expect(response.retryRefusal == .budget)
        #expect(transport.requests.count == 3)
    }
}
