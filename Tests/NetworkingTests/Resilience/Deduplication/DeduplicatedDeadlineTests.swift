import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Tests for the deadlines of callers that share an exchange.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DeduplicatedDeadlineTests {
    private let clock = ManualClock()
    private let inFlightRequests = InFlightRequests()
    /// A server that reports after 100 ms that it is busy for one second.
    private let transport = MockTransport([
        .status(.serviceUnavailable, headerFields: [.retryAfter: "1"]).delayed(by: .milliseconds(100)), .ok(),
    ])

    private func network(deadline: Duration?) -> some NetworkingComponent {
        var policy = RetryPolicy.immediate()
        policy.retryAfterJitter = 0
        return transport.retry(policy).deduplicated(sharing: inFlightRequests)
            .modified(deadline.map { Deadline(limit: $0) })
            .environment(\.clock, .manual(clock))
    }

    /// Sends requests one after another, each when the previous one has joined the shared exchange.
    private func calls(deadlines: [Duration?]) async throws -> [Task<HTTPResponseData, any Error>] {
        var calls: [Task<HTTPResponseData, any Error>] = []
        for deadline in deadlines {
            let network = network(deadline: deadline)
            calls.append(Task { try await network.data(.lawful) })
            try await eventually("inFlightRequests.waiting >= calls.count") { inFlightRequests.waiting >= calls.count }
        }
        return calls
    }

    /// Waits for the deadline alarms, advances past the server's delay and waits until the exchange has ended.
    private func advanceToTheEndOfTheExchange(deadlines: Int) async throws {
        try await clock.waitForSleepers(deadlines + 1)
        clock.advance(by: .milliseconds(100))
        try await eventually("inFlightRequests.count == 0") { inFlightRequests.count == 0 }
    }

    @Test func singleCallerDoesNotWaitForARetryBeyondItsDeadline() async throws {
        let call = try await calls(deadlines: [.milliseconds(500)])[0]
        try await advanceToTheEndOfTheExchange(deadlines: 1)
        let response = try await call.value
        #expect(response.status == .serviceUnavailable)
        #expect(response.retryRefusal == .deadline)
        #expect(clock.now.offset == .milliseconds(100))
    }

    @Test func severalCallersDoNotWaitForARetryBeyondTheirDeadlines() async throws {
        let calls = try await calls(deadlines: [.milliseconds(500), .milliseconds(700), .seconds(1)])
        try await advanceToTheEndOfTheExchange(deadlines: 3)
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
    func exchangeContinuesUntilTheLatestDeadlineOfItsCallers(deadlines: [Duration?]) async throws {
        let calls = try await calls(deadlines: deadlines)
        // The clock has the alarms of the deadlines and of the server's delay, and later of the retry's delay.
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

    @Test func deadlineOfACancelledCallerIsIgnored() async throws {
        let calls = try await calls(deadlines: [.milliseconds(500), .seconds(5)])
        calls[1].cancel()
        await #expect(throws: CancellationError.self) { try await calls[1].value }
        try await advanceToTheEndOfTheExchange(deadlines: 1)
        #expect(try await calls[0].value.retryRefusal == .deadline)
    }

    @Test func rateLimitInASharedExchangeRejectsAWaitBeyondTheDeadline() async throws {
        let network = MockTransport { _ in .ok() }.rateLimited(to: 1, per: .seconds(10)).deduplicated()
            .deadline(.seconds(5)).environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .rejected)
        #expect(error?.retryAfter == .seconds(10))
    }

    /// Records the deadline of the exchange when it has its response.
    private struct DeadlineNote: NetworkingModifier {
        let journal: Journal

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            let response = try await upstream.send(request)
            journal.note("\(NetworkEnvironment.current.deadline, default: "none")")
            return response
        }
    }

    @Test func deadlineOfACallerWithAnotherClockIsConvertedToTheClockOfTheExchange() async throws {
        let (held, journal, otherClock) = (HeldResponse(), Journal(), ManualClock())
        otherClock.advance(by: .seconds(100))
        let shared = MockTransport { _ in .held(by: held) }.modified(DeadlineNote(journal: journal))
            .deduplicated(sharing: inFlightRequests)
        let first = shared.deadline(.seconds(1)).environment(\.clock, .manual(clock))
        let firstCall = Task { try await first.data(.lawful) }
        try await eventually("inFlightRequests.waiting >= 1") { inFlightRequests.waiting >= 1 }
        let second = shared.deadline(.seconds(3)).environment(\.clock, .manual(otherClock))
        let secondCall = Task { try await second.data(.lawful) }
        try await eventually("inFlightRequests.waiting >= 2") { inFlightRequests.waiting >= 2 }
        try await held.waitForRequests(1)
        held.respond()
        _ = try await (firstCall.value, secondCall.value)
        #expect(journal.entries == ["\(NetworkClock.manual(clock).now + .seconds(3))"])
    }

    // MARK: The shared deadline

    private final class Source: DeadlineSource {
        let value = Mutex<Duration?>(nil)

        var latestDeadline: Duration? {
            value.withLock { $0 }
        }

        func leave(_ record: (any Sendable)?) {}
    }

    @Test func sharedDeadlineChangesWithinItsLimit() {
        let source = Source()
        var deadline = CallDeadline(of: source)
        #expect(deadline.current == nil)
        source.value.withLock { $0 = .seconds(3) }
        #expect(deadline.current == .seconds(3))
        deadline = deadline.limited(to: .seconds(5))
        #expect(deadline.current == .seconds(3))
        source.value.withLock { $0 = .seconds(9) }
        #expect(deadline.current == .seconds(5))
        source.value.withLock { $0 = nil }
        #expect(deadline.current == .seconds(5))
        deadline = deadline.limited(to: .seconds(4))
        #expect(deadline.current == .seconds(4))
        source.value.withLock { $0 = .seconds(2) }
        #expect(deadline.shifted(by: .seconds(100)).current == .seconds(102))
    }
}
