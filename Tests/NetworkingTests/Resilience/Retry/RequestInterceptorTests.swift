import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct RequestInterceptorTests {
    private struct Stamp: RequestInterceptor {
        let text: String

        func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData {
            var request = request
            request.headerFields[.accept] = (request.headerFields[.accept] ?? "") + text
            return request
        }
    }

    private struct Credentials: RequestInterceptor {
        var stackPart: StackPart { StackPart(roles: [.authorizationField]) }
    }

    private struct RefreshFailed: Error {}

    private struct Deciding: RequestInterceptor {
        let name: String
        let journal: Journal
        let decide: @Sendable (Attempt) -> RetryDecision

        func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async -> RetryDecision {
            journal.note("\(name) \(attempt.number)")
            return decide(attempt)
        }
    }

    private let journal = Journal()

    @Test func interceptorsAdaptTheRequestInOrder() async throws {
        let transport = MockTransport([.ok()])
        try await transport.intercepted(by: Stamp(text: "a"), Stamp(text: "b")).data(.lawful)
        #expect(transport.requests.map { $0.headerFields[.accept] } == ["ab"])
    }

    @Test func rolesOfInterceptorsCount() {
        let network = MockTransport().intercepted(by: Stamp(text: "a"), Credentials())
        #expect(network.modifiers.contains { $0.stackPart.roles == [.adaptation, .authorizationField] })
        #expect(network.cached().diagnostics.contains { $0.message.contains("stores no response") })
    }

    @Test func eachAttemptIsAdaptedOnce() async throws {
        let transport = MockTransport([.status(.unauthorized), .ok()])
        let retrying = Deciding(name: "x", journal: journal) { _ in .retry }
        try await transport.intercepted(by: Stamp(text: "a"), retrying).data(.lawful)
        #expect(transport.requests.map { $0.headerFields[.accept] } == ["a", "a"])
    }

    @Test func firstDecisionApplies() async throws {
        let transport = MockTransport([.status(.unauthorized), .status(.notFound), .ok()])
        let first = Deciding(name: "first", journal: journal) { $0.response?.status == .notFound ? .giveUp : .standard }
        let second = Deciding(name: "second", journal: journal) { _ in .retry(after: .seconds(2)) }
        let network = transport.intercepted(by: first, second).environment(\.clock, .immediate())
        let response = try await network.data(.lawful)
        #expect(response.status == .notFound)
        #expect(response.attempts.map(\.backoff) == [.seconds(2)])
        #expect(journal.entries == ["first 1", "second 1", "first 2"])
    }

    @Test func retryAfterOfTheServerOverridesTheBackoff() async throws {
        let transport = MockTransport([
            .status(.tooManyRequests, headerFields: [.retryAfter: "9"]),
            .status(.tooManyRequests, headerFields: [.retryAfter: "3600"]), .ok(),
        ])
        let deciding = Deciding(name: "x", journal: journal) { _ in .retryWithBackoff }
        var policy = RetryPolicy.exponential()
        policy.retryAfterJitter = 0
        let network = transport.intercepted(by: deciding, policy: policy).environment(\.clock, .immediate())
        let response = try await network.data(.lawful)
        #expect(response.status == .tooManyRequests)
        #expect(response.attempts.map(\.backoff) == [.seconds(9)])
        #expect(response.retryRefusal == .retryAfter)
    }

    @Test func requestIsNotRetriedWithoutADecision() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let response = try await transport.intercepted(by: Stamp(text: "a")).data(.lawful)
        #expect(response.status == .serviceUnavailable)
        #expect(transport.requests.count == 1)
    }

    @Test func interceptorsDecideAboutErrors() async throws {
        struct Foreign: Error {}
        let transport = MockTransport([.failure(Foreign()), .ok()])
        let retrying = Deciding(name: "x", journal: journal) { $0.error is Foreign ? .retry : .standard }
        #expect(try await transport.intercepted(by: retrying).data(.lawful).status == .ok)
    }

    @Test func interceptorsAreNotConsultedAboutACancellation() async throws {
        let transport = MockTransport { _ in .never }
        let network = transport.intercepted(by: Deciding(name: "x", journal: journal) { _ in .retry })
        let call = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(journal.entries.isEmpty)
    }

    @Test func retriesOfInterceptorsAreLimited() async throws {
        let transport = MockTransport { _ in .status(.unauthorized) }
        let network = transport.intercepted(
            by: Deciding(name: "x", journal: journal) { _ in .retry },
            policy: .immediate(maximumRetries: 2)
        )
        #expect(try await network.data(.lawful).status == .unauthorized)
        #expect(transport.requests.count == 3)
    }

    @Test func errorOfARetryFailsTheCall() async {
        struct Failing: RequestInterceptor {
            func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async throws -> RetryDecision {
                throw RefreshFailed()
            }
        }
        let transport = MockTransport([.status(.unauthorized), .ok()])
        let network = transport.intercepted(
            by: Failing(),
            Deciding(name: "next", journal: journal) { _ in .retry }
        )
        await #expect(throws: RefreshFailed.self) { try await network.data(.lawful) }
        #expect(transport.requests.count == 1)
        #expect(journal.entries.isEmpty)
    }

    @Test func cancelledCallerGetsCancellationErrorWhenTheRetryFails() async throws {
        struct Waiting: RequestInterceptor {
            func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async throws -> RetryDecision {
                do {
                    try await NetworkEnvironment.current.clock.sleep(for: .seconds(60))
                } catch {
                    throw RefreshFailed()
                }
                return .retry
            }
        }
        let clock = ManualClock()
        let transport = MockTransport([.status(.unauthorized), .ok()])
        let network = transport.intercepted(by: Waiting()).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.count == 1)
    }

    @Test func interceptorsOfAnArrayAdaptInOrder() async throws {
        let transport = MockTransport([.ok()])
        let interceptors: [any RequestInterceptor] = [Stamp(text: "a"), Stamp(text: "b")]
        try await transport.intercepted(by: interceptors).data(.lawful)
        #expect(transport.requests.map { $0.headerFields[.accept] } == ["ab"])
    }

    @Test func emptyArrayOfInterceptorsChangesAndRetriesNothing() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let response = try await transport.intercepted(by: []).data(.lawful)
        #expect(response.status == .serviceUnavailable)
        #expect(transport.requests.map { $0.headerFields[.accept] } == [nil])
    }

    @Test func errorOfAnInterceptorFailsTheCall() async {
        struct NoToken: Error {}
        struct Failing: RequestInterceptor {
            func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData {
                throw NoToken()
            }
        }
        let transport = MockTransport()
        await #expect(throws: NoToken.self) { try await transport.intercepted(by: Failing()).data(.lawful) }
        #expect(transport.requests.isEmpty)
    }
}
