import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RetryTests {
    private let clock = ManualClock()

    /// Creates a stack with delays that take no time.
    private func network(
        _ transport: some NetworkingComponent,
        _ policy: RetryPolicy = .exponential(),
        budget: RetryBudget = RetryBudget()
    ) -> some NetworkingComponent {
        transport.retry(policy, budget: budget)
            .environment(\.clock, .immediate())
            .environment(\.random, .seeded(1))
    }

    // MARK: Retried failures

    @Test(arguments: [408, 429, 500, 502, 503, 504, 421, 425])
    func transientStatusesAreRetried(code: Int) async throws {
        let transport = MockTransport([.status(.init(code: code)), .text("there")])
        let response = try await network(transport).data(.lawful)
        #expect(response.data == Data("there".utf8))
        #expect(response.attempts.map { $0.response?.status.code } == [code])
        #expect(response.retryRefusal == nil)
        #expect(transport.requests.map(\.attempt) == [1, 2])
    }

    @Test(arguments: [200, 201, 204, 206, 301, 304, 400, 401, 403, 404, 409, 410, 413, 422, 501, 505, 511])
    func otherStatusesAreNotRetried(code: Int) async throws {
        let transport = MockTransport([.status(.init(code: code))])
        let response = try await network(transport).data(.lawful)
        #expect(response.status.code == code)
        #expect(response.attempts.isEmpty)
        #expect(response.retryRefusal == nil)
    }

    // MARK: Policies without retries

    @Test func failedResponseIsThrownWithoutRetriesToo() async throws {
        var policy = RetryPolicy.never
        policy.throwsOnExhaustion = true
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let error = await #expect(throws: NetworkingError.self) {
            try await network(transport, policy).data(.lawful)
        }
        #expect(error?.kind == .status)
        #expect(error?.retryRefusal == .exhausted)
        #expect(transport.requests.count == 1)
        let accepted = MockTransport { _ in .status(.notFound) }
        #expect(try await network(accepted, policy).data(.lawful).status == .notFound)
    }

    @Test func strategyAndKeysApplyWithoutRetriesToo() async throws {
        struct Refused: Error {}
        var policy = RetryPolicy.immediate(maximumRetries: 0).deciding { _ in throw Refused() }
        policy.addsIdempotencyKeys = true
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        await #expect(throws: Refused.self) {
            try await network(transport, policy).data(.lawful.with { $0.method = .post })
        }
        #expect(transport.requests.first?.headerFields[.idempotencyKey] != nil)
    }

    // MARK: The budget

    @Test(arguments: [501, 505])
    func serverErrorThatIsNotRetriedDoesNotRefillTheBudget(code: Int) async throws {
        let budget = RetryBudget(.throttle(tokens: 3, ratio: 1))
        let transport = MockTransport([
            .status(.serviceUnavailable), .status(.init(code: code)), .status(.serviceUnavailable), .ok(),
        ])
        let network = network(transport, budget: budget)
        #expect(try await network.data(.lawful).status.code == code)
        #expect(try await network.data(.lawful).retryRefusal == .budget)
    }

    @Test func successRefillsTheBudget() async throws {
        let busy = MockResponse.status(.serviceUnavailable)
        let network = network(
            MockTransport([busy, .ok(), .ok(), busy, .ok()]),
            budget: RetryBudget(.throttle(tokens: 3, ratio: 1))
        )
        #expect(try await network.data(.lawful).attempts.count == 1)
        #expect(try await network.data(.lawful).status == .ok)
        #expect(try await network.data(.lawful).attempts.count == 1)
    }

    // MARK: The sink

    @Test func sinkPreparesEachAttempt() async throws {
        let sink = PreparingSink()
        let transport = MockTransport([.status(.serviceUnavailable), .status(.serviceUnavailable), .ok()])
        try await network(transport).data(.lawful.with { $0.sink = sink })
        #expect(transport.requests.map { $0.headerFields[.range] } == ["bytes=1-", "bytes=2-", "bytes=3-"])
    }

    /// A sink that asks for another range each time.
    private final class PreparingSink: ResponseSink {
        private let count = Mutex(0)
        let canRestart = true

        func prepare(_ request: inout HTTPRequestData) {
            let number = count.withLock { count in
                count += 1
                return count
            }
            request.headerFields[.range] = "bytes=\(number)-"
        }

        func offer(_ head: HTTPResponse) async throws -> SinkDecision {
            head.status == .ok ? .take : .collect(upTo: 1_024)
        }

        func receive(_ chunk: Data) async throws {}
    }

    @Test(arguments: [421, 425])
    func someStatusesAreRetriedOnce(code: Int) async throws {
        let transport = MockTransport([.status(.init(code: code)), .status(.init(code: code)), .ok()])
        let response = try await network(transport).data(.lawful)
        #expect(response.status.code == code)
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [true, false])
    func postThatWasNotProcessedIsRetried(wasNotProcessed: Bool) async throws {
        let post = HTTPRequestData(method: .post, authority: "api.example.com", body: .data(Data("a".utf8)))
        var error = NetworkingError(.invalidResponse, request: post)
        error.wasNotProcessed = wasNotProcessed
        let transport = MockTransport([.failure(error), .ok()])
        let response = try? await network(transport).data(post)
        #expect(response?.status == (wasNotProcessed ? .ok : nil))
        #expect(transport.requests.count == (wasNotProcessed ? 2 : 1))
    }

    @Test(
        arguments: [.nameResolution, .connection, .offline, .timeout, .connectionLost, .truncated]
            as [NetworkingError.Kind]
    )
    func networkFailuresAreRetried(kind: NetworkingError.Kind) async throws {
        let transport = MockTransport([.failure(NetworkingError(kind, request: .lawful)), .ok()])
        let response = try await network(transport).data(.lawful)
        #expect(response.status == .ok)
        #expect((response.attempts.first?.error as? NetworkingError)?.kind == kind)
    }

    /// The server has accepted the order.
    ///
    /// Only the request for its receipt failed to connect.
    @Test(arguments: [.nameResolution, .connection, .offline] as [NetworkingError.Kind])
    func failureAfterARedirectDoesNotRepeatAPost(kind: NetworkingError.Kind) async {
        let transport = MockTransport([
            .redirect(to: "/receipt", status: .seeOther), .failure(NetworkingError(kind, request: .lawful)), .ok(),
        ])
        await #expect(throws: NetworkingError.self) {
            try await network(transport).data(.lawful.with { $0.method = .post })
        }
        #expect(transport.requests.map(\.method) == [.post, .get])
    }

    @Test func bodiesOfAttemptsAreTruncated() async throws {
        let transport = MockTransport([
            MockResponse(status: .serviceUnavailable, data: Data(count: 100_000)), .ok(),
        ])
        let response = try await network(transport).data(.lawful)
        #expect(response.attempts.map { $0.response?.data.count } == [4_096])
    }

    @Test(
        arguments: NetworkingError.Kind.allCases.filter { kind in
            ![.nameResolution, .connection, .offline, .timeout, .connectionLost, .truncated].contains(kind)
        }
    )
    func otherFailuresAreNotRetried(kind: NetworkingError.Kind) async {
        let transport = MockTransport([.failure(NetworkingError(kind, request: .lawful)), .ok()])
        let error = await #expect(throws: NetworkingError.self) { try await network(transport).data(.lawful) }
        #expect(error?.kind == kind)
        #expect(error?.retryRefusal == nil)
        #expect(transport.unusedResponses == 1)
    }

    @Test func foreignErrorsAreThrownUnchanged() async {
        struct Foreign: Error {}
        let transport = MockTransport([.failure(Foreign()), .ok()])
        await #expect(throws: Foreign.self) { try await network(transport).data(.lawful) }
        #expect(transport.unusedResponses == 1)
    }

    @Test func statusInAnErrorOfAnInnerModifierIsRetried() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .status(.notFound)])
        let network = network(transport.checkedStatusCode())
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.response?.status == .notFound)
        #expect(error?.attempts.map { $0.response?.status } == [.serviceUnavailable])
        #expect(transport.requests.count == 2)
    }

    @Test(
        arguments: [
            .immediate(statuses: [404]), .constant(.seconds(1), statuses: [404]), .exponential(statuses: [404]),
        ] as [RetryPolicy]
    )
    func statusesOfThePolicyReplaceTheStandardOnes(policy: RetryPolicy) async throws {
        let transport = MockTransport([.status(.notFound), .ok(), .status(.serviceUnavailable), .ok()])
        let network = network(transport, policy)
        #expect(try await network.data(.lawful).status == .ok)
        let response = try await network.data(.lawful)
        #expect(response.status == .serviceUnavailable)
        #expect(response.attempts.isEmpty)
        #expect(transport.requests.count == 3)
    }

    @Test func statusesOfTheStackReplaceThoseOfItsPolicy() async throws {
        let transport = MockTransport([.status(.notFound), .ok(), .status(.serviceUnavailable), .ok()])
        let network = transport.retry(.exponential(statuses: [503]), statuses: [404], budget: .unlimited)
            .environment(\.clock, .immediate())
        #expect(try await network.data(.lawful).status == .ok)
        #expect(try await network.data(.lawful).status == .serviceUnavailable)
    }

    @Test func policyOfTheRequestReplacesTheStatusesOfTheStack() async throws {
        let transport = MockTransport([.status(.notFound), .status(.serviceUnavailable), .ok()])
        let network = transport.retry(statuses: [404]).environment(\.clock, .immediate())
        let request = HTTPRequestData.lawful.with { $0.retryPolicy = .immediate() }
        #expect(try await network.data(request).status == .notFound)
        #expect(try await network.data(request).status == .ok)
    }

    @Test(
        arguments: [.nameResolution, .connection, .offline, .timeout, .connectionLost, .truncated]
            as [NetworkingError.Kind]
    )
    func policyCanExcludeNetworkFailures(kind: NetworkingError.Kind) async throws {
        let transport = MockTransport([
            .failure(NetworkingError(kind, request: .lawful)), .status(.serviceUnavailable), .ok(),
        ])
        var policy = RetryPolicy.immediate()
        policy.retriesNetworkFailures = false
        let network = network(transport, policy)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == kind)
        #expect(error?.retryRefusal == nil)
        #expect(try await network.data(.lawful).status == .ok)
        #expect(transport.requests.count == 3)
    }

    // MARK: Methods

    @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"])
    func idempotentMethodsAreRetried(method: String) async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let request = HTTPRequestData.lawful.with { $0.method = HTTPRequest.Method(method)! }
        #expect(try await network(transport).data(request).status == .ok)
    }

    @Test(arguments: ["POST", "PATCH", "CONNECT", "LOCK", "get"])
    func otherMethodsAreNotRetried(method: String) async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let request = HTTPRequestData.lawful.with { $0.method = HTTPRequest.Method(method)! }
        let response = try await network(transport).data(request)
        #expect(response.status == .serviceUnavailable)
        #expect(response.retryRefusal == .notIdempotent)
    }

    @Test func postWithAnIdempotencyKeyIsRetried() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        let request = HTTPRequestData.lawful.with {
            $0.method = .post
            $0.headerFields[.idempotencyKey] = "\"order-7\""
        }
        #expect(try await network(transport).data(request).status == .ok)
        #expect(transport.requests.map { $0.headerFields[.idempotencyKey] } == ["\"order-7\"", "\"order-7\""])
    }

    @Test func idempotenceOfTheRequestOverridesItsMethod() async throws {
        let twice = MockTransport([.status(.serviceUnavailable), .ok()])
        let post = HTTPRequestData.lawful.with {
            $0.method = .post
            $0.isIdempotent = true
        }
        #expect(try await network(twice).data(post).status == .ok)
        let once = MockTransport([.status(.serviceUnavailable), .ok()])
        let get = HTTPRequestData.lawful.with { $0.isIdempotent = false }
        #expect(try await network(once).data(get).retryRefusal == .notIdempotent)
    }

    @Test(arguments: [.nameResolution, .connection, .offline] as [NetworkingError.Kind])
    func postThatWasNeverSentIsRetried(kind: NetworkingError.Kind) async throws {
        let transport = MockTransport([.failure(NetworkingError(kind, request: .lawful)), .ok()])
        let request = HTTPRequestData.lawful.with { $0.method = .post }
        #expect(try await network(transport).data(request).status == .ok)
    }

    @Test(arguments: [.timeout, .connectionLost, .truncated] as [NetworkingError.Kind])
    func postThatMayHaveArrivedIsNotRetried(kind: NetworkingError.Kind) async {
        let transport = MockTransport([.failure(NetworkingError(kind, request: .lawful)), .ok()])
        let request = HTTPRequestData.lawful.with { $0.method = .post }
        let error = await #expect(throws: NetworkingError.self) { try await network(transport).data(request) }
        #expect(error?.kind == kind)
        #expect(error?.retryRefusal == .notIdempotent)
    }

    @Test func policyCanAddIdempotencyKeys() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .ok(), .ok(), .ok()])
        var policy = RetryPolicy.immediate()
        policy.addsIdempotencyKeys = true
        let post = HTTPRequestData.lawful.with { $0.method = .post }
        let network = network(transport, policy)
        try await network.data(post)
        try await network.data(post)
        try await network.data(.lawful)
        let keys = transport.requests.map { $0.headerFields[.idempotencyKey] }
        #expect(keys[0]?.count == 34)
        #expect(keys[0] == keys[1])
        #expect(keys[2] != nil && keys[2] != keys[0])
        #expect(keys[3] == nil)
    }

    // MARK: Outcomes of the key

    private let keyed = HTTPRequestData.lawful.with {
        $0.method = .post
        $0.headerFields[.idempotencyKey] = "\"order-7\""
    }

    @Test func requestInProgressIsRepeatedWithTheSameKey() async throws {
        let transport = MockTransport([.status(.conflict), .status(.conflict), .text("done")])
        let response = try await network(transport).data(keyed)
        #expect(response.text == "done")
        #expect(response.attempts.map { $0.response?.idempotencyKeyOutcome } == [.inProgress, .inProgress])
        #expect(transport.requests.allSatisfy { $0.headerFields[.idempotencyKey] == "\"order-7\"" })
    }

    @Test func requestInProgressWaitsAsLongAsTheServerAsks() async throws {
        let transport = MockTransport([.status(.conflict, headerFields: [.retryAfter: "7"]), .ok()])
        var policy = RetryPolicy.exponential()
        policy.retryAfterJitter = 0
        let response = try await network(transport, policy).data(keyed)
        #expect(response.status == .ok)
        #expect(response.attempts.first?.backoff == .seconds(7))
    }

    @Test func conflictIsReturnedAfterTheLastRetry() async throws {
        let transport = MockTransport { _ in .status(.conflict) }
        let response = try await network(transport, .immediate(maximumRetries: 2)).data(keyed)
        #expect(response.status == .conflict && response.retryRefusal == .exhausted)
        #expect(transport.requests.count == 3)
        let checked = network(transport.checkedStatusCode(), .immediate(maximumRetries: 2))
        let error = await #expect(throws: NetworkingError.self) { try await checked.data(keyed) }
        #expect(error?.attempts.count == 2)
    }

    @Test func reusedKeyIsNeverRepeated() async throws {
        for statuses in [RetryPolicy.transientStatuses, [422]] as [StatusSet] {
            let transport = MockTransport { _ in .status(.unprocessableContent) }
            let response = try await network(transport, .immediate(statuses: statuses)).data(keyed)
            #expect(response.idempotencyKeyOutcome == .reused)
            #expect(transport.requests.count == 1)
        }
        // Without a key, the policy decides.
        let transport = MockTransport([.status(.unprocessableContent), .ok()])
        #expect(try await network(transport, .immediate(statuses: [422])).data(.lawful).status == .ok)
    }

    /// A new key was never sent before, so this is a conflict of another kind.
    @Test func firstConflictOfANewKeyIsReturned() async throws {
        var policy = RetryPolicy.immediate()
        policy.addsIdempotencyKeys = true
        let post = HTTPRequestData.lawful.with { $0.method = .post }
        let first = MockTransport([.status(.conflict), .ok()])
        #expect(try await network(first, policy).data(post).status == .conflict)
        #expect(first.requests.count == 1)
        let lost = MockTransport([
            .failure(NetworkingError(.connectionLost, request: .lawful)), .status(.conflict), .text("done"),
        ])
        #expect(try await network(lost, policy).data(post).text == "done")
        #expect(Set(lost.requests.map { $0.headerFields[.idempotencyKey] }).count == 1)
        // The app may have sent its own key before.
        let known = MockTransport([.status(.conflict), .ok()])
        #expect(try await network(known, policy).data(keyed).status == .ok)
    }

    @Test func statusesAreNoOutcomesWithoutAKey() async throws {
        for status in [HTTPResponse.Status.conflict, .unprocessableContent] {
            let transport = MockTransport { _ in .status(status) }
            let response = try await network(transport).data(.lawful)
            #expect(response.idempotencyKeyOutcome == nil && transport.requests.count == 1)
        }
        let response = HTTPResponseData(request: keyed, status: .badRequest)
        #expect(response.idempotencyKeyOutcome == nil)
    }

    // MARK: Number of attempts

    @Test(arguments: [(0, 1), (1, 2), (3, 4), (7, 8)])
    func policyLimitsTheNumberOfRetries(retries: Int, sent: Int) async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let response = try await network(transport, .immediate(maximumRetries: retries)).data(.lawful)
        #expect(response.status == .serviceUnavailable)
        #expect(transport.requests.count == sent)
        #expect(response.attempts.count == retries)
        #expect(response.retryRefusal == (retries == 0 ? nil : .exhausted))
    }

    @Test func errorHasThePreviousAttempts() async {
        let transport = MockTransport([
            .status(.serviceUnavailable), .failure(NetworkingError(.connectionLost, request: .lawful)),
            .failure(NetworkingError(.timeout, request: .lawful)),
        ])
        let network = network(transport, .immediate(maximumRetries: 2))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .timeout)
        #expect(error?.retryRefusal == .exhausted)
        #expect(error?.attempts.map(\.number) == [1, 2])
        #expect(error?.attempts.first?.response?.status == .serviceUnavailable)
        #expect((error?.attempts.last?.error as? NetworkingError)?.kind == .connectionLost)
    }

    @Test func exhaustedRetriesCanThrow() async throws {
        var policy = RetryPolicy.immediate(maximumRetries: 1)
        policy.throwsOnExhaustion = true
        let transport = MockTransport([.status(.serviceUnavailable), .status(.badGateway), .status(.notFound)])
        let network = network(transport, policy)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .status)
        #expect(error?.response?.status == .badGateway)
        #expect(error?.attempts.count == 1)
        #expect(error?.retryRefusal == .exhausted)
        #expect(try await network.data(.lawful).status == .notFound)
    }

    @Test func policyOfTheRequestReplacesThatOfTheStack() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = network(transport)
        try await network.data(.lawful.with { $0.retryPolicy = .never })
        #expect(transport.requests.count == 1)
        try await network.data(.lawful.with { $0.retryPolicy = .immediate(maximumRetries: 5) })
        #expect(transport.requests.count == 7)
    }

    @Test func outerRetryDoesNotMultiplyTheAttempts() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let response = try await network(transport.retry(.immediate())).data(.lawful)
        #expect(transport.requests.count == 4)
        #expect(response.attempts.count == 3)
        #expect(response.retryRefusal == .exhausted)
    }

    @Test(arguments: [(RetryMode.off, 1, 0), (.withoutWaiting, 4, 0), (.enabled, 4, 3)])
    func environmentCanDisableRetries(mode: RetryMode, sent: Int, waits: Int) async throws {
        let events = EventRecorder()
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = network(transport, .constant(.seconds(1))).environment(\.retries, mode)
        try await network.data(.lawful.with { $0.addObserver(events) })
        #expect(transport.requests.count == sent)
        #expect(events.names.count { $0 == "waiting" } == waits)
    }

    @Test func attemptHasItsNumberInAHeaderField() async throws {
        var policy = RetryPolicy.immediate(maximumRetries: 2)
        let name = try #require(HTTPField.Name("X-Attempt"))
        policy.attemptHeaderField = name
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        try await network(transport, policy).data(.lawful)
        #expect(transport.requests.map { $0.headerFields[name] } == [nil, "attempt=2; max=3", "attempt=3; max=3"])
    }

    @Test func attemptHeaderFieldStatesTheGreatestNumberWithoutALimit() async throws {
        var policy = RetryPolicy.immediate(maximumRetries: .max)
        let name = try #require(HTTPField.Name("X-Attempt"))
        policy.attemptHeaderField = name
        let transport = MockTransport([.status(.serviceUnavailable), .ok()])
        try await network(transport, policy).data(.lawful)
        #expect(transport.requests.map { $0.headerFields[name] } == [nil, "attempt=2; max=\(Int.max)"])
    }

    // MARK: Delays

    @Test func delaysAreThoseOfTheBackoff() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .status(.serviceUnavailable), .ok()])
        let network = transport.retry(.exponential(base: .seconds(1), jitter: .none))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == .seconds(1))
        #expect(transport.requests.count == 1)
        clock.advance(by: .milliseconds(999))
        #expect(clock.sleepers == 1)
        clock.advance(by: .milliseconds(1))
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == .seconds(3))
        clock.advanceToNextDeadline()
        let response = try await call.value
        #expect(response.attempts.map(\.backoff) == [.seconds(1), .seconds(2)])
    }

    @Test func cancellationDuringTheDelayEndsTheCall() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = transport.retry(.constant(.seconds(60))).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.sleepers == 0)
        #expect(transport.requests.count == 1)
    }

    @Test func cancellationBetweenAttemptsWithoutADelayEndsTheCall() async {
        let transport = MockTransport { _ in
            withUnsafeCurrentTask { $0?.cancel() }
            return .status(.serviceUnavailable)
        }
        let call = Task { try await transport.retry(.immediate()).data(.lawful) }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.count == 1)
    }

    @Test func cancelledAttemptIsNotRetried() async throws {
        let transport = MockTransport { _ in .never }
        let call = Task { try await transport.retry().data(.lawful) }
        try await transport.waitForRequests()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect((transport.requests.count, transport.cancelled) == (1, 1))
    }

    // MARK: Retry-After

    @Test(arguments: [
        ("3", 3), ("0", 1), ("-5", 1), ("  7 ", 7), ("60", 60), ("garbage", 1), ("", 1), ("3 days", 1),
        ("1.5", 2), ("2.5", 3), ("0.2", 1), ("7.000", 7), ("-2.5", 1), ("2.x", 1), ("2.", 1), ("1.5.1", 1),
        ("Tue, 14 Nov 2023 22:13:30 GMT", 10), ("Tuesday, 14-Nov-23 22:13:30 GMT", 10),
        ("Tue Nov 14 22:13:30 2023", 10),
        ("Mon, 13 Nov 2023 22:13:20 GMT", 1),
    ])
    func retryAfterSetsTheDelay(value: String, seconds: Int) async throws {
        let transport = MockTransport([
            .status(.serviceUnavailable, headerFields: [.retryAfter: value]), .ok(),
        ])
        // The clock starts at Tue, 14 Nov 2023 22:13:20 GMT.
        let network = transport.retry(.constant(.seconds(1))).environment(\.clock, .manual(clock))
            .environment(\.random, RandomSource { 0 })
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == .seconds(seconds))
        clock.advanceToNextDeadline()
        #expect(try await call.value.status == .ok)
    }

    @Test func retryAfterDateIsRelativeToTheDateOfTheResponse() async throws {
        let transport = MockTransport([
            .status(
                .tooManyRequests,
                headerFields: [
                    .retryAfter: "Fri, 01 Jan 2100 00:00:05 GMT", .date: "Fri, 01 Jan 2100 00:00:00 GMT",
                ]
            ), .ok(),
        ])
        var policy = RetryPolicy.immediate()
        policy.retryAfterJitter = 0
        let response = try await network(transport, policy).data(.lawful)
        #expect(response.attempts.map(\.backoff) == [.seconds(5)])
    }

    @Test(arguments: ["61", "31536000", "99999999999999999999999999", "Fri, 01 Jan 2100 00:00:00 GMT"])
    func retryAfterBeyondTheMaximumPreventsTheRetry(value: String) async throws {
        let transport = MockTransport([.status(.serviceUnavailable, headerFields: [.retryAfter: value]), .ok()])
        let network = transport.retry().environment(\.clock, .manual(clock))
        let response = try await network.data(.lawful)
        #expect(response.status == .serviceUnavailable)
        #expect(response.retryRefusal == .retryAfter)
        #expect(clock.sleepers == 0)
    }

    @Test func delayBeyondTheDeadlinePreventsTheRetry() async throws {
        let transport = MockTransport([.status(.serviceUnavailable, headerFields: [.retryAfter: "10"]), .ok()])
        let network = transport.retry().deadline(.seconds(10)).environment(\.clock, .manual(clock))
        let response = try await network.data(.lawful)
        #expect(response.status == .serviceUnavailable)
        #expect(response.retryRefusal == .deadline)
        #expect(clock.now.offset == .zero)
    }

    @Test func backoffRestartsAfterARetryAfter() async throws {
        let slow = MockResponse.status(.serviceUnavailable, headerFields: [.retryAfter: "30"])
        let busy = MockResponse.status(.serviceUnavailable)
        let transport = MockTransport([busy, busy, slow, busy, .ok()])
        var policy = RetryPolicy.exponential(base: .seconds(1), jitter: .none, maximumRetries: 9)
        policy.retryAfterJitter = 0
        let response = try await network(transport, policy).data(.lawful)
        #expect(response.attempts.map(\.backoff) == [.seconds(1), .seconds(2), .seconds(30), .seconds(1)])
    }

    private static let inTenSeconds = MockResponse.status(.serviceUnavailable, headerFields: [.retryAfter: "10"])

    @Test(arguments: [.exponential(), .constant(.seconds(10))] as [RetryPolicy])
    func retryAfterHasJitter(policy: RetryPolicy) async throws {
        var waits: [Duration] = []
        for seed in 1...50 as ClosedRange<UInt64> {
            let network = MockTransport([Self.inTenSeconds, .ok()]).retry(policy)
                .environment(\.clock, .immediate()).environment(\.random, .seeded(seed))
            let response = try await network.data(.lawful)
            waits += response.attempts.compactMap(\.backoff)
        }
        #expect(waits.allSatisfy { (.seconds(10)...(.seconds(11))).contains($0) })
        #expect(Set(waits).count > 40)
    }

    @Test func jitterEndsBeforeTheDeadline() async throws {
        // The full jitter would be one second.
        let network = MockTransport([Self.inTenSeconds, .ok()]).retry().deadline(.milliseconds(10_500))
            .environment(\.random, RandomSource { .max }).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(10))
        let response = try await call.value
        #expect(response.status == .ok)
        #expect(response.attempts.map(\.backoff) == [.seconds(10)])
    }

    // MARK: Recorded attempts

    @Test func bodyInTheErrorOfAnAttemptIsTruncated() async throws {
        let long = Data(count: 100_000)
        let inner = NetworkingError(
            .status,
            request: .lawful,
            response: HTTPResponseData(request: .lawful, status: .serviceUnavailable, data: long)
        )
        let outer = NetworkingError(.timeout, request: .lawful, response: inner.response, underlying: inner)
        let transport = MockTransport([.failure(outer), .ok()])
        let response = try await network(transport).data(.lawful)
        let error = try #require(response.attempts.first?.error as? NetworkingError)
        #expect(error.kind == .timeout)
        #expect(error.response?.data.count == 4_096)
        #expect((error.underlying as? NetworkingError)?.response?.data.count == 4_096)
        #expect((error.underlying as? NetworkingError)?.response?.status == .serviceUnavailable)
    }

    @Test func manyAttemptsKeepTheFirstAndTheLast() async throws {
        let responses = Array(repeating: MockResponse.status(.serviceUnavailable), count: 1_000)
        let journal = Mutex(0)
        let policy = RetryPolicy.immediate(maximumRetries: 2_000)
            .deciding { attempts in
                journal.withLock { $0 = max($0, attempts.count) }
                return .standard
            }
        let network = network(MockTransport(responses + [.ok()]), policy, budget: .unlimited)
        let response = try await network.data(.lawful)
        #expect(response.status == .ok)
        #expect(response.attempts.map(\.number) == Array(1...10) + Array(911...1_000))
        #expect(response.attempts.allSatisfy { $0.backoff == .zero })
        #expect(journal.withLock { $0 } <= 101)
    }

    /// The final attempt is not one of the attempts before it, so it takes the place of none.
    @Test(
        arguments: [
            (101, Array(1...100)), (102, Array(1...10) + Array(12...101)), (200, Array(1...10) + Array(110...199)),
        ]
    )
    func failedCallKeepsTheFirstAndTheLastAttempts(sent: Int, kept: [Int]) async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = network(transport, .immediate(maximumRetries: sent - 1), budget: .unlimited)
        let response = try await network.data(.lawful)
        #expect(transport.requests.count == sent)
        #expect(response.retryRefusal == .exhausted)
        #expect(response.attempts.map(\.number) == kept)
    }

    @Test func attemptThatIsTakenBackRestoresItsPredecessor() {
        var history = AttemptHistory()
        for number in 1...101 {
            history.append(Attempt(number: number, result: .failure(CancellationError()), elapsed: .zero))
        }
        #expect(history.count == 101)
        history.removeLast()
        #expect(history.count == 100)
        #expect(history.attempts.map(\.number) == Array(1...100))
    }

    @Test func statusWithOneRetryIsRetriedOnceAmongManyAttempts() async throws {
        let busy = MockResponse.status(.serviceUnavailable)
        let misdirected = MockResponse.status(.init(code: 421))
        var responses = Array(repeating: busy, count: 200)
        (responses[20], responses[170], responses[171]) = (misdirected, misdirected, .ok())
        let network = network(MockTransport(responses), .immediate(maximumRetries: 500), budget: .unlimited)
        #expect(try await network.data(.lawful).status.code == 421)
    }

    // MARK: Time limits

    @Test func timeoutIsRetriedAndADeadlineIsNot() async throws {
        let transport = MockTransport { _ in .never }
        let network = transport.timeout(.seconds(10)).retry(.immediate(maximumRetries: 9)).deadline(.seconds(25))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        for attempt in 1...2 {
            try await transport.waitForRequests(attempt)
            clock.advance(by: .seconds(10))
        }
        try await transport.waitForRequests(3)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(transport.requests.count == 3)
    }

    // MARK: Bodies, sinks and progress

    /// A truncated body: four of eight announced bytes.
    private static let cutOff = MockResponse.chunks(["half"], headerFields: [.contentLength: "8"])

    @Test func sinkWithBytesPreventsARetry() async {
        let sink = CollectingSink { _ in .take }
        let transport = MockTransport { _ in Self.cutOff }
        let request = HTTPRequestData.lawful.with { $0.sink = sink }
        let error = await #expect(throws: NetworkingError.self) { try await network(transport).data(request) }
        #expect(error?.kind == .truncated)
        #expect(error?.retryRefusal == .sinkNotRestartable)
        #expect(sink.data == Data("half".utf8))
    }

    @Test func sinkThatCanRestartAllowsARetry() async throws {
        let sink = RestartingSink()
        let transport = MockTransport([Self.cutOff, Self.cutOff, .chunks(["whole"])])
        let request = HTTPRequestData.lawful.with { $0.sink = sink }
        let response = try await network(transport).data(request)
        #expect(response.body == .delivered(byteCount: 5))
        #expect(sink.bodies == ["half", "half", "whole"])
    }

    @Test func sinkWithoutBytesAllowsARetry() async throws {
        let sink = CollectingSink()
        let transport = MockTransport([.status(.serviceUnavailable), .text("there")])
        let response = try await network(transport).data(.lawful.with { $0.sink = sink })
        #expect(response.body == .delivered(byteCount: 5))
        #expect(sink.data == Data("there".utf8))
    }

    @Test func progressStartsAtZeroWithEachAttempt() async throws {
        let receivedCounts = Mutex<[Int64]>([])
        let transport = MockTransport([
            MockResponse(status: .serviceUnavailable, data: Data(count: 7), headerFields: [:]),
            MockResponse(status: .ok, data: Data(count: 5), headerFields: [:]),
        ])
        try await network(transport)
            .data(.lawful) { progress in receivedCounts.withLock { $0.append(progress.received.count) } }
        #expect(receivedCounts.withLock { $0 } == [0, 7, 0, 0, 5])
    }

    // MARK: Strategies

    @Test func strategyGetsTheRequestAndAllAttempts() async throws {
        struct Strategy: RetryStrategy {
            let journal: Journal

            func decide(about request: HTTPRequestData, after attempts: [Attempt]) async -> RetryDecision {
                journal.note("\(request): \(attempts.compactMap { $0.response?.status.code })")
                return attempts.count < 3 ? .retry(after: .seconds(attempts.count)) : .giveUp
            }
        }
        let journal = Journal()
        let transport = MockTransport([.status(.notFound), .status(.conflict), .status(.gone), .ok()])
        let policy = RetryPolicy.exponential().deciding(by: Strategy(journal: journal))
        let response = try await network(transport, policy).data(.lawful)
        #expect(response.status == .gone)
        #expect(response.attempts.map(\.backoff) == [.seconds(1), .seconds(2)])
        #expect(
            journal.entries == [
                "\(HTTPRequestData.lawful): [404]", "\(HTTPRequestData.lawful): [404, 409]",
                "\(HTTPRequestData.lawful): [404, 409, 410]",
            ]
        )
    }

    @Test func closureMayDeferToTheStandardRules() async throws {
        let transport = MockTransport([.status(.notFound), .status(.serviceUnavailable), .ok()])
        let network = network(transport, .immediate().deciding { _ in .standard })
        #expect(try await network.data(.lawful).status == .notFound)
        #expect(try await network.data(.lawful).status == .ok)
    }

    @Test func closureMayRetryOtherFailures() async throws {
        struct Foreign: Error {}
        let transport = MockTransport([.failure(Foreign()), .ok()])
        let network = network(transport, .immediate().deciding { $0.last?.error is Foreign ? .retry : .standard })
        let response = try await network.data(.lawful.with { $0.method = .post })
        #expect(response.status == .ok)
    }

    @Test func errorOfAStrategyFailsTheCall() async {
        struct Undecided: Error {}
        let transport = MockTransport([.status(.serviceUnavailable), .status(.serviceUnavailable), .ok()])
        let policy = RetryPolicy.immediate()
            .deciding { attempts in
                guard attempts.count < 2 else { throw Undecided() }
                return .standard
            }
        await #expect(throws: Undecided.self) { try await network(transport, policy).data(.lawful) }
        #expect(transport.requests.count == 2)
    }

    @Test func limitAppliesToClosuresToo() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let response = try await network(transport, .immediate().deciding { _ in .retry }).data(.lawful)
        #expect(transport.requests.count == 4)
        #expect(response.retryRefusal == .exhausted)
    }

    // MARK: Load

    @Test func thousandCallsToAFailingServerSendAtMost1300Requests() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        // All calls run at one moment of the clock.
        let network = network(transport).environment(\.retries, .withoutWaiting)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    for _ in 0..<100 {
                        let response = try await network.data(.lawful)
                        #expect(response.status == .serviceUnavailable)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect((1_200...1_300).contains(transport.requests.count))
    }

    @Test func thousandCallsWithoutABudgetSend4000Requests() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = network(transport, budget: .unlimited)
        for _ in 0..<1_000 {
            try await network.data(.lawful)
        }
        #expect(transport.requests.count == 4_000)
    }

    @Test func exhaustedBudgetReturnsTheFailure() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = network(transport, budget: RetryBudget(.ratio(0, reserve: 1)))
        #expect(try await network.data(.lawful).retryRefusal == .budget)
        #expect(transport.requests.count == 2)
        let elsewhere = HTTPRequestData.lawful.with { $0.authority = "other.example" }
        try await network.data(elsewhere)
        #expect(transport.requests.count == 4)
    }

    // MARK: Reporting

    @Test func retriesAndRefusalsAreReported() async throws {
        let events = EventRecorder()
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        try await network(transport, .immediate(maximumRetries: 1)).data(.lawful.with { $0.addObserver(events) })
        let retryEvents = events.names.filter { $0.hasPrefix("retr") }
        #expect(retryEvents == ["retrying", "retryRefused"])
    }

    @Test func outlineListsThePolicy() {
        let network = MockTransport().retry(.immediate(maximumRetries: 2), budget: .unlimited)
        #expect(network.outline.hasPrefix("retry(up to 2 times, backoff: none, budget: unlimited)\n"))
    }

    @Test func attemptPrintsNoSecret() {
        let request = HTTPRequestData.lawful.with { $0.headerFields[.authorization] = "Bearer hunter2" }
        let attempt = Attempt(
            number: 1,
            result: .failure(NetworkingError(.timeout, request: request)),
            elapsed: .seconds(1)
        )
        #expect("\(attempt)" == "1: timeout after 1000.0 ms")
        var dumped = ""
        dump(attempt, to: &dumped)
        #expect(!dumped.contains("hunter2"))
    }
}

// MARK: - Transports

private final class RestartingSink: ResponseSink {
    let canRestart = true
    private let state = Mutex<[String]>([])

    var bodies: [String] {
        state.withLock { $0 }
    }

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        state.withLock { $0.append("") }
        return .take
    }

    func receive(_ chunk: Data) async throws {
        state.withLock { $0[$0.count - 1] += String(decoding: chunk, as: UTF8.self) }
    }
}
