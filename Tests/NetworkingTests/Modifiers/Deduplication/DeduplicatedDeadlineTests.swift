import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingResilience

/// The deadlines of callers that share an exchange.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct DeduplicatedDeadlineTests {
    private let clock = ManualClock()
    private let flights = InFlightRequests()
    /// Says after 100 ms that the server is busy for a second.
    private let transport = MockTransport([
        .status(.serviceUnavailable, headerFields: [.retryAfter: "1"]).delayed(by: .milliseconds(100)), .ok(),
    ])

    private func network(deadline: Duration?) -> some NetworkingComponent {
        var policy = RetryPolicy.immediate()
        policy.retryAfterJitter = 0
        return transport.retry(policy).deduplicated(sharing: flights)
            .modified(deadline.map { Deadline(limit: $0) })
            .environment(\.clock, .manual(clock))
    }

    /// Sends requests one after the other, each when the one before waits for the shared exchange.
    private func calls(deadlines: [Duration?]) async throws -> [Task<HTTPResponseData, any Error>] {
        var calls: [Task<HTTPResponseData, any Error>] = []
        for deadline in deadlines {
            let network = network(deadline: deadline)
            calls.append(Task { try await network.data(.lawful) })
            try await eventually("flights.waiting >= calls.count") { flights.waiting >= calls.count }
        }
        return calls
    }

    /// Lets the time pass in which the server answers, with so many deadlines set, and waits until the exchange is
    /// over.
    private func passUntilTheExchangeIsOver(deadlines: Int) async throws {
        try await clock.waitForSleepers(deadlines + 1)
        clock.advance(by: .milliseconds(100))
        try await eventually("flights.count == 0") { flights.count == 0 }
    }

    @Test func aLoneCallerIsNotKeptWaitingForARetryBeyondItsDeadline() async throws {
        let call = try await calls(deadlines: [.milliseconds(500)])[0]
        try await passUntilTheExchangeIsOver(deadlines: 1)
        let response = try await call.value
        #expect(response.status == .serviceUnavailable)
        #expect(response.retryRefusal == .deadline)
        #expect(clock.now.offset == .milliseconds(100))
    }

    @Test func severalCallersWithShortDeadlinesAreNotEither() async throws {
        let calls = try await calls(deadlines: [.milliseconds(500), .milliseconds(700), .seconds(1)])
        try await passUntilTheExchangeIsOver(deadlines: 3)
        for call in calls {
            #expect(try await call.value.retryRefusal == .deadline)
        }
    }

    @Test(
        arguments: [
            [.milliseconds(500), .seconds(5)], [.seconds(5), .milliseconds(500)], [nil, .milliseconds(500)],
            [.milliseconds(500), nil],
        ] as [[Duration?]]
    )
    func theExchangeGoesOnForTheCallerThatWaitsLongest(deadlines: [Duration?]) async throws {
        let calls = try await calls(deadlines: deadlines)
        // The deadlines, and the server's delay; then the wait of the retry.
        let sleepers = deadlines.count { $0 != nil } + 1
        try await clock.waitForSleepers(sleepers)
        clock.advance(by: .milliseconds(100))
        try await clock.waitForSleepers(sleepers)
        clock.advance(by: .milliseconds(400))
        let short = deadlines[0] == .milliseconds(500) ? 0 : 1
        let error = await #expect(throws: NetworkingError.self) { try await calls[short].value }
        #expect(error?.kind == .deadline)
        clock.advance(by: .milliseconds(600))
        #expect(try await calls[1 - short].value.status == .ok)
    }

    @Test func aCallerThatHasLeftDoesNotCount() async throws {
        let calls = try await calls(deadlines: [.milliseconds(500), .seconds(5)])
        calls[1].cancel()
        await #expect(throws: CancellationError.self) { try await calls[1].value }
        try await passUntilTheExchangeIsOver(deadlines: 1)
        #expect(try await calls[0].value.retryRefusal == .deadline)
    }

    @Test func aRateLimitInASharedExchangeRefusesWhatWouldWaitBeyondTheDeadline() async throws {
        let network = MockTransport { _ in .ok() }.rateLimited(to: 1, per: .seconds(10)).deduplicated()
            .deadline(.seconds(5)).environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .rejected)
        #expect(error?.retryAfter == .seconds(10))
    }

    /// Notes the deadline of the exchange when it has its response.
    private struct DeadlineNote: NetworkingModifier {
        let journal: Journal

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            let response = try await upstream.send(request)
            journal.note("\(NetworkEnvironment.current.deadline, default: "none")")
            return response
        }
    }

    @Test func deadlineOfACallerWithAnotherClockIsConvertedToTheClockOfTheExchange() async throws {
        let (answer, journal, otherClock) = (HeldAnswer(), Journal(), ManualClock())
        otherClock.advance(by: .seconds(100))
        let shared = MockTransport { _ in .held(by: answer) }.modified(DeadlineNote(journal: journal))
            .deduplicated(sharing: flights)
        let first = shared.deadline(.seconds(1)).environment(\.clock, .manual(clock))
        let firstCall = Task { try await first.data(.lawful) }
        try await eventually("flights.waiting >= 1") { flights.waiting >= 1 }
        let second = shared.deadline(.seconds(3)).environment(\.clock, .manual(otherClock))
        let secondCall = Task { try await second.data(.lawful) }
        try await eventually("flights.waiting >= 2") { flights.waiting >= 2 }
        try await answer.waitForRequests(1)
        answer.answer()
        _ = try await (firstCall.value, secondCall.value)
        #expect(journal.entries == ["\(NetworkClock.manual(clock).now + .seconds(3))"])
    }

    // MARK: The moment

    private final class Source: DeadlineSource {
        let value = Mutex<Duration?>(nil)

        var latestDeadline: Duration? {
            value.withLock { $0 }
        }
    }

    @Test func aSharedDeadlineMovesUnderALimitOfItsOwn() {
        let source = Source()
        var deadline = CallDeadline(of: source)
        #expect(deadline.current == nil)
        source.value.withLock { $0 = .seconds(3) }
        #expect(deadline.current == .seconds(3))
        deadline.limit(to: .seconds(5))
        #expect(deadline.current == .seconds(3))
        source.value.withLock { $0 = .seconds(9) }
        #expect(deadline.current == .seconds(5))
        source.value.withLock { $0 = nil }
        #expect(deadline.current == .seconds(5))
        deadline.limit(to: .seconds(4))
        #expect(deadline.current == .seconds(4))
        source.value.withLock { $0 = .seconds(2) }
        #expect(deadline.shifted(by: .seconds(100)).current == .seconds(102))
    }
}
