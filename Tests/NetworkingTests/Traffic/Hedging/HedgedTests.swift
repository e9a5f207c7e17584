import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingResilience
@testable import NetworkingTraffic

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct HedgedTests {
    private let clock = ManualClock()
    private let events = EventRecorder()
    /// A policy with an extra attempt after 100 ms for each call.
    private let eager = HedgingPolicy.after(.milliseconds(100), extraLoad: 1)

    private func network(
        over server: PacedServer,
        _ policy: HedgingPolicy,
        budget: RetryBudget = .unlimited
    ) -> some NetworkingComponent {
        server.hedged(policy, budget: budget).observed(by: events).environment(\.clock, .manual(clock))
    }

    private func start(
        _ network: some NetworkingComponent,
        _ request: HTTPRequestData = .lawful
    ) -> Task<HTTPResponseData, any Error> {
        Task { try await network.data(request) }
    }

    private func sent(_ count: Int, by server: PacedServer) async throws {
        try await eventually("\(count) requests are sent") { server.count == count }
    }

    // MARK: The race

    /// The server processes one attempt, and refuses the other one because it has the same key.
    @Test(arguments: [1, 2]) func attemptWithTheSameKeyInProgressNeitherWinsNorStartsAnother(refused: Int) async throws
    {
        let server = PacedServer { number in
            let start = number == 1 ? Duration.zero : .milliseconds(100)
            return number == refused
                ? .init(head: .milliseconds(150) - start, status: .conflict)
                : .init(head: .milliseconds(190) - start)
        }
        let post = HTTPRequestData.lawful.with {
            $0.method = .post
            $0.headerFields[.idempotencyKey] = "\"order-7\""
            $0.isHedged = true
        }
        var policy = eager
        policy.maximumHedges = 2
        let call = start(network(over: server, policy), post)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        clock.advance(by: .milliseconds(50))
        try await eventually("the refusal has arrived") { server.ended == 1 }
        clock.advance(by: .milliseconds(40))
        let response = try await call.value
        #expect(response.status == .ok && response.bodyText == "\(3 - refused)")
        #expect(server.count == 2)
    }

    @Test func firstHeadWinsAndTheOtherAttemptIsCancelled() async throws {
        let server = PacedServer([.init(head: .seconds(10)), .init(head: .milliseconds(50))])
        let call = start(network(over: server, eager))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(99))
        #expect(server.count == 1)
        clock.advance(by: .milliseconds(1))
        try await sent(2, by: server)
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(50))
        let response = try await call.value
        #expect(response.bodyText == "2")
        #expect(server.cancelled == [1])
        #expect(clock.now.offset == .milliseconds(150))
        #expect(response.attempts.map(\.number) == [1])
        #expect(response.attempts.first?.error is CancellationError)
        #expect(events.names.filter { $0.hasPrefix("hedg") } == ["hedging", "hedgeWon"])
        let started = zip(events.events, events.requests)
            .filter { if case ExchangeEvent.started = $0.0 { true } else { false } }
        #expect(Set(started.map(\.1.exchangeNumber)).count == 2)
        #expect(started.map(\.1.attempt) == [1, 2])
        try await eventually("no alarm is left") { clock.sleepers == 0 }
    }

    @Test func firstAttemptMayWin() async throws {
        let server = PacedServer([.init(head: .milliseconds(150)), .init(head: .seconds(10))])
        let call = start(network(over: server, eager))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        clock.advance(by: .milliseconds(50))
        #expect(try await call.value.bodyText == "1")
        try await eventually("the hedge is cancelled") { server.cancelled == [2] }
    }

    @Test func nextAttemptIsMadeIfTheClockMovesWhileOneStarts() async throws {
        let clock = MovingClock()
        let server = PacedServer { .init(head: $0 <= 4 ? .zero : .seconds(10)) }
        var policy = eager
        policy.maximumHedges = 2
        let network = server.hedged(policy, budget: .unlimited).observed(by: events)
            .environment(\.clock, NetworkClock(clock))
        // Each of them allows one more hedge.
        for _ in 1...4 { try await network.data(.lawful) }
        let call = start(network)
        defer { call.cancel() }
        try await sent(5, by: server)
        clock.move(by: .milliseconds(100)) { false }
        clock.moveNow()
        clock.move(by: .milliseconds(100)) { [events] in events.names.contains("hedging") }
        try await eventually("a hedge is sent") { server.count >= 6 }
        clock.moveNow()
        try await sent(7, by: server)
    }

    @Test func headDecidesAndNotTheBody() async throws {
        let server = PacedServer([
            .init(head: .milliseconds(90), body: .seconds(5)), .init(head: .milliseconds(1)),
        ])
        let call = start(network(over: server, eager))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(90))
        try await eventually("no hedge is planned") { clock.nextDeadline?.offset == .milliseconds(5_090) }
        clock.advance(by: .milliseconds(10))
        #expect(server.count == 1)
        clock.advance(by: .seconds(5))
        #expect(try await call.value.bodyText == "1")
        #expect(server.count == 1)
    }

    @Test func callReturnsWithoutWaitingForALoserThatIgnoresItsCancellation() async throws {
        let server = PacedServer(ignoringCancellation: true) {
            PacedServer.Answer(head: $0 == 1 ? .seconds(5) : .milliseconds(50))
        }
        let hedged = Hedged(policy: eager, budget: .unlimited)
        let call = start(server.modified(hedged).environment(\.clock, .manual(clock)))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(50))
        #expect(try await call.value.bodyText == "2")
        #expect(server.ended == 1)
        #expect(hedged.losers.count == 1)
        clock.advance(by: .seconds(5))
        try await eventually("the loser has ended") { hedged.losers.count == 0 }
    }

    @Test func noTaskStartsBeforeAnExtraAttemptIsDue() async throws {
        let server = PacedServer([.init(head: .milliseconds(50))])
        let network = network(over: server, eager)
        let own = Task { () -> Int in
            _ = try await network.data(.lawful)
            return withUnsafeCurrentTask { $0.hashValue }
        }
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(50))
        #expect(server.tasks == [try await own.value])
    }

    @Test func aTimeoutFurtherInNeedsNoTaskEither() async throws {
        let server = PacedServer([.init(head: .milliseconds(50)), .init(head: .seconds(10))])
        let network = server.timeout(.seconds(1)).hedged(eager).environment(\.clock, .manual(clock))
        let own = Task { () -> Int in
            _ = try await network.data(.lawful)
            return withUnsafeCurrentTask { $0.hashValue }
        }
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(50))
        #expect(server.tasks == [try await own.value])
    }

    @Test func eachAttemptHasItsOwnTimeout() async throws {
        let server = PacedServer([.init(head: .seconds(10))])
        let network = server.timeout(.seconds(1)).hedged(eager).environment(\.clock, .manual(clock))
        let call = start(network)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        try await clock.waitForSleepers(4)
        clock.advance(by: .milliseconds(900))
        try await eventually("the first attempt has timed out") { server.cancelled == [1] }
        clock.advance(by: .milliseconds(100))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(error?.attempts.map(\.number) == [2])
    }

    @Test func deadlineEndsAllAttempts() async throws {
        let server = PacedServer([.init(head: .seconds(10))])
        let network = server.hedged(eager).deadline(.seconds(1)).environment(\.clock, .manual(clock))
        let call = start(network)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        clock.advance(by: .milliseconds(900))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        try await eventually("both are cancelled") { server.cancelled.sorted() == [1, 2] }
        try await eventually("no alarm is left") { clock.sleepers == 0 }
    }

    @Test func cancelledCallerCancelsAllAttempts() async throws {
        let server = PacedServer([.init(head: .seconds(10))])
        let call = start(network(over: server, eager))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await eventually("both are cancelled") { server.cancelled.sorted() == [1, 2] }
        try await eventually("no alarm is left") { clock.sleepers == 0 }
    }

    // MARK: Failures

    /// A transport that cancels its caller and then fails.
    private struct CancellingTransport: NetworkingTransport {
        func enforcesLimit(of request: HTTPRequestData) -> Bool { true }

        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            withUnsafeCurrentTask { $0?.cancel() }
            throw NetworkingError(.connectionLost, request: request)
        }
    }

    @Test func failureStartsNoAttemptOfACancelledCaller() async throws {
        let call = start(CancellingTransport().hedged(eager).observed(by: events).environment(\.clock, .manual(clock)))
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(events.names == ["callStarted", "exchangeStarted", "exchangeFailed", "callFailed"])
    }

    @Test func transientFailureStartsTheNextAttemptAtOnce() async throws {
        let server = PacedServer([
            .init(head: .milliseconds(10), status: .serviceUnavailable), .init(head: .milliseconds(10)),
        ])
        let call = start(network(over: server, eager))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(10))
        try await sent(2, by: server)
        try await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(10))
        let response = try await call.value
        #expect(response.status == .ok)
        #expect(response.attempts.map { $0.response?.status } == [.serviceUnavailable])
    }

    @Test func finalFailureEndsTheRace() async throws {
        let server = PacedServer([.init(head: .seconds(10)), .init(head: .milliseconds(10), error: .tls)])
        let call = start(network(over: server, eager))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .tls)
        #expect(server.cancelled == [1])
    }

    @Test func outcomeOfTheFirstAttemptCountsIfAllFail() async throws {
        let server = PacedServer([
            .init(head: .milliseconds(200), status: .badGateway),
            .init(head: .milliseconds(10), status: .serviceUnavailable),
        ])
        let call = start(network(over: server, eager))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        try await eventually("the hedge has failed") { server.ended == 1 }
        clock.advance(by: .milliseconds(90))
        let response = try await call.value
        #expect(response.status == .badGateway)
        #expect(response.attempts.map { $0.response?.status } == [.serviceUnavailable])
        #expect(response.attempts.map(\.number) == [2])
    }

    @Test(arguments: ["-1", "soon", "61"]) func retryAfterMayRefuseFurtherAttempts(value: String) async throws {
        let server = PacedServer([
            .init(head: .milliseconds(10), status: .serviceUnavailable, headerFields: [.retryAfter: value])
        ])
        let call = start(network(over: server, eager))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(10))
        #expect(try await call.value.status == .serviceUnavailable)
        #expect(server.count == 1)
    }

    @Test func retryAfterUntilTheDeadlineRefusesFurtherAttempts() async throws {
        let server = PacedServer([.init(head: .zero, status: .serviceUnavailable, headerFields: [.retryAfter: "2"])])
        let network = server.hedged(eager).deadline(.seconds(2)).environment(\.clock, .manual(clock))
        #expect(try await network.data(.lawful).status == .serviceUnavailable)
        #expect(server.count == 1)
    }

    @Test func retryAfterDelaysTheNextAttempt() async throws {
        let server = PacedServer([
            .init(head: .milliseconds(10), status: .serviceUnavailable, headerFields: [.retryAfter: "2"]),
            .init(head: .milliseconds(10)),
        ])
        let call = start(network(over: server, eager))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(10))
        try await eventually("the next attempt is scheduled") { clock.nextDeadline?.offset == .milliseconds(2_010) }
        clock.advance(by: .milliseconds(1_999))
        #expect(server.count == 1)
        clock.advance(by: .milliseconds(1))
        try await sent(2, by: server)
        try await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(10))
        #expect(try await call.value.status == .ok)
    }

    @Test func cancelledCallerDoesNotWaitForTheNextAttempt() async throws {
        let server = PacedServer([
            .init(head: .milliseconds(10), status: .serviceUnavailable, headerFields: [.retryAfter: "2"])
        ])
        let call = start(network(over: server, eager))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(10))
        try await eventually("the next attempt is scheduled") { clock.nextDeadline?.offset == .milliseconds(2_010) }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await eventually("no alarm is left") { clock.sleepers == 0 }
        #expect(server.count == 1)
    }

    @Test func extraAttemptsCountAsRetries() async throws {
        let server = PacedServer([.init(head: .zero, status: .serviceUnavailable)])
        let network = server.hedged(.after(.seconds(1), extraLoad: 1)).retry(.immediate(maximumRetries: 2))
            .environment(\.clock, .manual(clock))
        let response = try await network.data(.lawful)
        #expect(response.retryRefusal == .exhausted)
        #expect(server.count == 3)
    }

    /// An attempt at its time limit would have taken longer.
    ///
    /// The second attempt starts after the failure of the first one, or fails before that one.
    @Test(arguments: [Duration.zero, .milliseconds(200)]) func timeoutsCountAsLatencies(head: Duration) async throws {
        let seen = Locked<HedgingPolicy.Latencies?>(nil)
        let policy = HedgingPolicy.after(extraLoad: 1) { _, latencies in
            seen.withLock { $0 = latencies }
            return .milliseconds(100)
        }
        let server = PacedServer { number in
            .init(head: number.isMultiple(of: 2) ? head / 4 : head, error: .timeout)
        }
        let network = network(over: server, policy)
        for number in 1...26 {
            let call = start(network)
            if head > .zero {
                try await sent(2 * number - 1, by: server)
                clock.advance(by: .milliseconds(100))
                try await sent(2 * number, by: server)
                clock.advance(by: .milliseconds(50))
                try await eventually("the second attempt has failed") { server.ended == 2 * number - 1 }
                clock.advance(by: .milliseconds(50))
            }
            await #expect(throws: NetworkingError.self) { try await call.value }
        }
        // Fifty latencies have percentiles.
        #expect(seen.value != nil)
    }

    @Test func metricsContainAllAttempts() async throws {
        let server = PacedServer([.init(head: .seconds(1)), .init(head: .milliseconds(50))])
        let call = start(network(over: server, eager).instrument().environment(\.clock, .manual(clock)))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        clock.advance(by: .milliseconds(50))
        let metrics = try await call.value.metrics
        #expect(metrics?.attempts == 2)
        #expect(metrics?.duration == .milliseconds(150))
    }

    /// The end of the loser does not end the measurement of the winner.
    @Test func metricsOfTheWinnerGoOnAfterTheLoser() async throws {
        let server = PacedServer([.init(head: .seconds(10)), .init(head: .milliseconds(50), body: .seconds(1))])
        let call = start(network(over: server, eager).instrument().environment(\.clock, .manual(clock)))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        clock.advance(by: .milliseconds(50))
        try await eventually("the loser has ended") { events.names.contains("exchangeFailed") }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        let breakdown = try await call.value.metrics?.breakdown
        #expect(breakdown?.first { $0.kind == .firstByte }?.duration == .milliseconds(150))
        #expect(breakdown?.first { $0.kind == .body }?.duration == .seconds(1))
    }

    // MARK: Budgets and permits

    @Test func extraAttemptNeedsAPlaceInBothBudgets() async throws {
        let hedged = Hedged(policy: eager, budget: RetryBudget(.ratio(0, reserve: 0)))
        let server = PacedServer([.init(head: .seconds(1))])
        let call = start(server.modified(hedged).observed(by: events).environment(\.clock, .manual(clock)))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        clock.advance(by: .milliseconds(900))
        #expect(try await call.value.status == .ok)
        #expect(server.count == 1)
        #expect(events.events.map { "\($0)" }.contains("hedgeRefused(budget)"))
        // The place in the own budget was given back.
        #expect(hedged.routes.route(of: server.requests[0]).withdraw())
    }

    @Test(arguments: [nil, "2"]) func refusedExtraAttemptLeavesTheOutcomeOfTheFirst(retryAfter: String?) async throws {
        let fields: HTTPFields = retryAfter.map { [.retryAfter: $0] } ?? [:]
        let server = PacedServer([.init(head: .zero, status: .serviceUnavailable, headerFields: fields)])
        let call = start(network(over: server, eager, budget: RetryBudget(.ratio(0, reserve: 0))))
        if retryAfter != nil {
            try await eventually("the next attempt is scheduled") { clock.nextDeadline?.offset == .seconds(2) }
            clock.advance(by: .seconds(2))
        }
        #expect(try await call.value.status == .serviceUnavailable)
        #expect(server.count == 1)
    }

    @Test func extraAttemptNeedsAPlaceInTheBudgetOfTheRetryOutside() async throws {
        let server = PacedServer([.init(head: .seconds(1))])
        let network = server.hedged(eager).observed(by: events)
            .retry(.immediate(), budget: RetryBudget(.ratio(0, reserve: 0))).environment(\.clock, .manual(clock))
        let call = start(network)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        clock.advance(by: .milliseconds(900))
        #expect(try await call.value.status == .ok)
        #expect(server.count == 1)
        #expect(events.events.map { "\($0)" }.contains("hedgeRefused(budget)"))
    }

    @Test(arguments: [(RetryPolicy.immediate(statuses: [.forbidden]), 2), (.immediate(), 1)])
    func failureThatTheRetryOutsideRepeatsStartsAnExtraAttempt(policy: RetryPolicy, count: Int) async throws {
        let server = PacedServer([.init(head: .zero, status: .forbidden), .init(head: .zero)])
        let network = server.hedged(.after(.seconds(1), extraLoad: 1)).retry(policy)
            .environment(\.clock, .manual(clock))
        let response = try await network.data(.lawful)
        #expect(server.count == count)
        #expect(response.attempts.count == count - 1)
    }

    @Test func ownBudgetHasNoReserve() async throws {
        let server = PacedServer([.init(head: .seconds(1))])
        let network = network(over: server, .after(.milliseconds(100), extraLoad: 0.5))
        for number in 1...4 {
            let call = start(network)
            try await eventually("the call has begun") { server.count == number + (number - 1) / 2 }
            clock.advance(by: .milliseconds(100))
            if number.isMultiple(of: 2) { try await sent(number + number / 2, by: server) }
            clock.advance(by: .milliseconds(900))
            _ = try await call.value
        }
        #expect(server.count == 6)
        #expect(events.names.filter { $0 == "hedgeRefused" }.count == 2)
    }

    @Test func extraAttemptDoesNotWaitForAPermit() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let server = PacedServer([.init(head: .seconds(1))])
        let hedged = Hedged(policy: eager, budget: .unlimited)
        let network = server.throttled(by: limiter).modified(hedged).observed(by: events)
            .environment(\.clock, .manual(clock))
        let call = start(network)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await eventually("the hedge is refused") { events.names.contains("hedgeRefused") }
        #expect(limiter.waiting == 0)
        #expect(events.events.map { "\($0)" }.contains("hedgeRefused(rejected)"))
        #expect(hedged.routes.route(of: server.requests[0]).withdraw())
        clock.advance(by: .milliseconds(900))
        let response = try await call.value
        #expect(response.status == .ok)
        #expect(response.attempts.isEmpty)
    }

    @Test func extraAttemptDoesNotWaitForARate() async throws {
        let server = PacedServer([.init(head: .seconds(1))])
        let network = server.rateLimited(to: 1, per: .seconds(5)).hedged(eager).observed(by: events)
            .environment(\.clock, .manual(clock))
        let call = start(network)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await eventually("the hedge is refused") { events.names.contains("hedgeRefused") }
        clock.advance(by: .milliseconds(900))
        #expect(try await call.value.status == .ok)
        #expect(server.count == 1)
    }

    @Test func extraAttemptTakesAFreePermitAndGivesItBack() async throws {
        let limiter = ConcurrencyLimiter(max: 2)
        let server = PacedServer([.init(head: .seconds(10)), .init(head: .milliseconds(10))])
        let network = server.throttled(by: limiter).hedged(eager).environment(\.clock, .manual(clock))
        let call = start(network)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        #expect(limiter.inFlight == 2)
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        #expect(try await call.value.bodyText == "2")
        #expect(limiter.inFlight == 0)
    }

    @Test func extraAttemptDoesNotJoinTheExchangeOfTheFirst() async throws {
        let server = PacedServer([.init(head: .seconds(10)), .init(head: .milliseconds(10))])
        let network = server.deduplicated().hedged(eager).environment(\.clock, .manual(clock))
        let call = start(network)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        #expect(try await call.value.bodyText == "2")
    }

    // MARK: Requests

    private static let requests: [(name: String, isHedged: Bool, request: HTTPRequestData)] = [
        ("GET", true, .lawful),
        (
            "QUERY, short body", true,
            .lawful.with {
                $0.method = .init("QUERY")!
                $0.body = .data(Data(count: 65_536))
            }
        ),
        (
            "QUERY, long body", false,
            .lawful.with {
                $0.method = .init("QUERY")!
                $0.body = .data(Data(count: 65_537))
            }
        ),
        ("PUT", false, .lawful.with { $0.method = .put }),
        (
            "PUT that may be hedged", true,
            .lawful.with {
                $0.method = .put
                $0.isHedged = true
            }
        ),
        ("GET that may not", false, .lawful.with { $0.isHedged = false }),
        ("sink", false, .lawful.with { $0.sink = CollectingSink() }),
        ("no retries", false, .lawful.with { $0.retryPolicy = .never }),
        (
            "stream", false,
            .lawful.with {
                $0.method = .init("QUERY")!
                $0.body = .stream { AsyncStream<Data> { $0.finish() } }
            }
        ),
    ]

    @Test(arguments: requests.indices) func onlySmallSafeRequestsAreHedged(index: Int) async throws {
        let (_, isHedged, request) = Self.requests[index]
        let server = PacedServer([.init(head: .seconds(1))])
        let call = start(network(over: server, eager), request)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        if isHedged { try await sent(2, by: server) }
        clock.advance(by: .milliseconds(900))
        _ = try await call.value
        #expect(server.count == (isHedged ? 2 : 1))
    }

    @Test func environmentWithoutRetriesHasNoExtraAttempts() async throws {
        let server = PacedServer([.init(head: .seconds(1))])
        let call = start(network(over: server, eager).environment(\.retries, .off))
        try await sent(1, by: server)
        clock.advance(by: .seconds(1))
        _ = try await call.value
        #expect(server.count == 1)
    }

    @Test func listenersSeeTheProgressOfOneAttempt() async throws {
        let server = PacedServer([.init(head: .seconds(10)), .init(head: .milliseconds(10))])
        let reports = Mutex<[TransferProgress]>([])
        let call = start(
            network(over: server, eager),
            .lawful.with { $0.progressHandler = { progress in reports.withLock { $0.append(progress) } } }
        )
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        let (first, second) = (server.requests[0], server.requests[1])
        first.progressHandler?(TransferProgress(sent: .init(count: 1, expected: 2)))
        second.progressHandler?(TransferProgress(sent: .init(count: 2, expected: 2)))
        #expect(reports.withLock { $0.map(\.sent.count) } == [1])
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        _ = try await call.value
    }

    // MARK: Losers that finish

    @Test func losersMayFinish() async throws {
        let server = PacedServer([.init(head: .milliseconds(300)), .init(head: .milliseconds(10))])
        let call = start(network(over: server, eager.losersMayFinish(within: .seconds(1))))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        #expect(try await call.value.bodyText == "2")
        #expect(server.cancelled == [])
        clock.advance(by: .milliseconds(190))
        try await eventually("the loser has finished") { server.ended == 2 }
        #expect(server.cancelled == [])
    }

    @Test func losersThatDoNotFinishInTimeAreCancelled() async throws {
        let server = PacedServer([.init(head: .seconds(10)), .init(head: .milliseconds(10))])
        let call = start(network(over: server, eager.losersMayFinish(within: .seconds(1))))
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        _ = try await call.value
        clock.advance(by: .seconds(1))
        try await eventually("the loser is cancelled") { server.cancelled == [1] }
    }

    // MARK: The stack

    @Test func diagnosticsNameTheRightPlace() {
        func count(_ network: some NetworkingComponent) -> Int { network.diagnostics.count }
        let transport = PacedServer([.init(head: .zero)])
        #expect(count(transport.timeout(.seconds(1)).throttled(max: 6).hedged().retry().deduplicated().cached()) == 0)
        #expect(count(transport.hedged().throttled(max: 6)) == 1)
        #expect(count(transport.hedged().timeout(.seconds(1))) == 1)
        #expect(count(transport.retry().hedged()) == 1)
        #expect(count(transport.cached().hedged()) == 1)
        #expect(count(transport.deduplicated().hedged()) == 1)
        #expect(count(transport.hedged().hedged()) == 1)
        #expect(transport.hedged(extraLoad: 0.05).outline.hasPrefix("hedged(extraLoad: 0.05)\n"))
    }
}
