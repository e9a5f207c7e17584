import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Time limits that a transport enforces itself, and parts of another package that take part in them.
@Suite(.timeLimit(.minutes(20)))
struct ExchangeLimitTests {
    private struct ClientTimeout: Error {}

    /// A transport with a client that ends every exchange immediately, as if its own time limit were reached.
    private struct ClientTransport: NetworkingTransport {
        let journal: Journal
        var error: any Error = ClientTimeout()

        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            guard let limit = request.exchangeLimit else {
                journal.note("no limit")
                return HTTPResponseData(request: request)
            }
            journal.note("\(limit.deadline - limit.clock.now), \(limit.isReached)")
            limit.reach()
            throw error
        }

        func enforcesLimit(of request: HTTPRequestData) -> Bool {
            request.sink == nil
        }
    }

    private struct Stamped: UpstreamLimited {}

    /// A modifier that limits its upstream to nine seconds, and lets the transport enforce other limits.
    private struct Limited: UpstreamLimited {
        func send(
            _ request: HTTPRequestData,
            upstream: some NetworkingComponent
        ) async throws -> HTTPResponseData {
            let clock = NetworkEnvironment.current.clock
            return try await upstream.send(request, until: clock.now + .seconds(9), on: clock) { _ in
                NetworkingError(.deadline, request: request)
            }
        }
    }

    /// A modifier that leaves limits to the transport, and gives its upstream another clock.
    private struct OnOtherClock: UpstreamLimited {
        let clock = NetworkClock.manual(ManualClock())

        func send(
            _ request: HTTPRequestData,
            upstream: some NetworkingComponent
        ) async throws -> HTTPResponseData {
            var environment = NetworkEnvironment.current
            environment.clock = clock
            return try await withEnvironment(environment) { try await upstream.send(request) }
        }
    }

    /// A modifier of another package that waits for a minute before it sends, and passes the limit on.
    private struct Patient: UpstreamLimited {
        let journal: Journal

        func send(
            _ request: HTTPRequestData,
            upstream: some NetworkingComponent
        ) async throws -> HTTPResponseData {
            guard let limit = request.exchangeLimit else { return try await upstream.send(request) }
            do {
                try await limit.run { try await NetworkEnvironment.current.clock.sleep(for: .seconds(60)) }
            } catch {
                journal.note("\(error is CancellationError), \(limit.isReached)")
                throw error
            }
            try limit.check()
            return try await upstream.send(request)
        }
    }

    /// A transport that is silent, and knows that its connections are occupied.
    private struct OccupiedTransport: NetworkingTransport {
        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            try await NetworkEnvironment.current.clock.sleep(for: .seconds(60))
            return HTTPResponseData(request: request)
        }

        var stackPart: StackPart {
            StackPart(connectionShortage: { "All 3 connections to \($0.authority ?? "") are occupied." })
        }
    }

    private let clock = ManualClock()

    @Test func timeoutCreatesTheErrorOfALimitThatATransportEnforces() async throws {
        let journal = Journal()
        let network = ClientTransport(journal: journal).modified(Stamped()).timeout(.seconds(5))
            .environment(\.clock, .manual(clock))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .timeout)
        #expect(error?.underlying is ClientTimeout)
        #expect(journal.entries == ["5.0 seconds, false"])
    }

    @Test func laterLimitFurtherInDoesNotReplaceAnotherOne() async throws {
        let journal = Journal()
        let network = ClientTransport(journal: journal).modified(Limited())
        #expect(await errorKind(of: network, within: .seconds(5)) == .timeout)
        #expect(journal.entries == ["5.0 seconds, false"])
    }

    @Test func earlierLimitFurtherInReplacesAnotherOne() async throws {
        let journal = Journal()
        let network = ClientTransport(journal: journal).modified(Limited())
        #expect(await errorKind(of: network, within: .seconds(10)) == .deadline)
        #expect(journal.entries == ["9.0 seconds, false"])
    }

    @Test func limitFurtherInOnAnotherClockDoesNotReplaceAnotherOne() async throws {
        let journal = Journal()
        let network = ClientTransport(journal: journal).modified(Limited()).modified(OnOtherClock())
        #expect(await errorKind(of: network, within: .seconds(10)) == .timeout)
        #expect(journal.entries == ["10.0 seconds, false"])
    }

    /// Returns the kind of the error of a call through a network inside a `timeout`.
    private func errorKind(
        of network: some NetworkingComponent,
        within timeout: Duration
    ) async -> NetworkingError.Kind? {
        let network = network.timeout(timeout).environment(\.clock, .manual(clock))
        return await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }?.kind
    }

    @Test func deadlineOutsideOfRetryIsEnforcedByTheTransportAndNotRetried() async throws {
        let journal = Journal()
        let lost = NetworkingError(.connectionLost, request: .lawful)
        let network = ClientTransport(journal: journal, error: lost).throttled(max: 1)
            .rateLimited(to: 9, per: .seconds(1)).retry(.immediate()).logged().deadline(.seconds(5))
            .environment(\.clock, .manual(clock))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .deadline)
        #expect((error?.underlying as? NetworkingError)?.kind == .connectionLost)
        #expect(journal.entries == ["5.0 seconds, false"])
    }

    @Test func noAttemptStartsAfterTheLimit() async throws {
        let journal = Journal()
        let transport = PromptTransport.late(clock, journal) { request in
            HTTPResponseData(request: request, status: .serviceUnavailable)
        }
        let network = transport.retry(.immediate())
        #expect(await errorKind(of: network, within: .seconds(5)) == .timeout)
        #expect(journal.entries == ["sent"])
    }

    /// A part that sends a request after a time in which nothing waits, so that no alarm has ended the limit.
    private struct Busy: UpstreamLimited {
        let clock: ManualClock

        func send(
            _ request: HTTPRequestData,
            upstream: some NetworkingComponent
        ) async throws -> HTTPResponseData {
            clock.advance(by: .seconds(6))
            return try await upstream.send(request)
        }
    }

    @Test func noExchangeStartsAfterALimitThatNoAlarmHasEnded() async throws {
        let journal = Journal()
        let transport = PromptTransport { request in
            journal.note("sent")
            return HTTPResponseData(request: request)
        }
        #expect(await errorKind(of: transport.modified(Busy(clock: clock)), within: .seconds(5)) == .timeout)
        #expect(journal.entries.isEmpty)
    }

    @Test func noHopOfARedirectStartsAfterTheLimit() async throws {
        let journal = Journal()
        let network = PromptTransport.late(clock, journal) { request in
            HTTPResponseData(request: request, status: .found, headerFields: [.location: "/next"])
        }
        #expect(await errorKind(of: network.redirected(), within: .seconds(5)) == .timeout)
        #expect(journal.entries == ["sent"])
        #expect(await errorKind(of: network.cookies(in: CookieJar()), within: .seconds(5)) == .timeout)
        #expect(journal.entries == ["sent", "sent"])
    }

    @Test func waitOfAModifierEndsAtTheLimit() async throws {
        let journal = Journal()
        try await expectTimeout(of: SilentTransport(journal).modified(Patient(journal: journal)), sleepers: 2)
        #expect(journal.entries == ["true, true"])
    }

    @Test func waitOfAModifierEndsWithItsCaller() async throws {
        let journal = Journal()
        let network = SilentTransport(journal).modified(Patient(journal: journal)).timeout(.seconds(5))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers(2)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(journal.entries == ["true, false"])
    }

    @Test func modifierWhoseWaitIsOverWithinTheLimitSends() async throws {
        let journal = Journal()
        let network = PromptTransport().modified(Patient(journal: journal)).timeout(.seconds(90))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.advance(by: .seconds(60), afterSleepers: 2)
        _ = try await call.value
        #expect(journal.entries.isEmpty)
    }

    @Test func limitIsReachedAtItsMoment() async throws {
        let journal = Journal()
        let network = PromptTransport { [clock] request in
            for _ in 0..<3 {
                let isOver = (try? request.exchangeLimit?.check()) == nil
                journal.note("\(isOver), \(request.exchangeLimit?.isReached == true)")
                clock.advance(by: .seconds(1))
            }
            return HTTPResponseData(request: request)
        }
        try await network.timeout(.seconds(2)).environment(\.clock, .manual(clock)).data(.lawful)
        #expect(journal.entries == ["false, false", "false, false", "true, true"])
    }

    @Test func waitBetweenAttemptsEndsAtTheLimit() async throws {
        let network = PromptTransport(status: .serviceUnavailable).retry(.constant(.seconds(60)))
        try await expectTimeout(of: network, sleepers: 2)
    }

    /// With a sink or an idempotency key, the first attempt needs preparations as well.
    @Test func everyAttemptOfAPreparedRequestEndsAtTheLimit() async throws {
        var policy = RetryPolicy.immediate()
        policy.addsIdempotencyKeys = true
        try await expectTimeout(of: SilentTransport().retry(policy), sleepers: 2)
        try await expectTimeout(of: SilentTransport().retry(.immediate()), sending: CollectingSink(), sleepers: 2)
    }

    @Test func waitForAPermitEndsAtTheLimit() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        #expect(limiter.takeIfFree(nil))
        try await expectTimeout(of: PromptTransport().throttled(by: limiter), sleepers: 1)
        #expect(limiter.waiting == 0)
        limiter.giveBack(nil)
        try await PromptTransport().throttled(by: limiter).data(.lawful)
    }

    @Test func waitForTheRateEndsAtTheLimit() async throws {
        let limiter = RateLimiter(1, per: .seconds(60))
        let network = PromptTransport().rateLimited(by: limiter)
        try await network.environment(\.clock, .manual(clock)).data(.lawful)
        try await expectTimeout(of: network, sleepers: 2)
        #expect(limiter.waiting == 0)
    }

    @Test func rateThatArrivesTogetherWithTheLimitIsGivenBack() async throws {
        let limiter = RateLimiter(1, per: .seconds(60))
        let journal = Journal()
        let network = ClientTransport(journal: journal).rateLimited(by: limiter)
        try await PromptTransport().rateLimited(by: limiter).environment(\.clock, .manual(clock)).data(.lawful)
        let limited = network.timeout(.seconds(60)).environment(\.clock, .manual(clock))
        let call = Task { try await limited.data(.lawful) }
        try await clock.advance(by: .seconds(60), afterSleepers: 2)
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(journal.entries.isEmpty)
        try await PromptTransport().rateLimited(by: limiter, maximumWait: .zero)
            .environment(\.clock, .manual(clock)).data(.lawful)
    }

    /// The inner limit, which the transport knows, is over and the attempt is repeated, but the outer one still counts.
    @Test func limitEndsALaterAttempt() async throws {
        let network = SilentTransport().timeout(.seconds(3)).retry(.immediate()).timeout(.seconds(5))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.advance(by: .seconds(3), afterSleepers: 2)
        try await clock.advance(by: .seconds(2), afterSleepers: 3)
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(error?.reason.contains("5.0 seconds") == true)
    }

    /// Expects a `timeout` of five seconds around a network to expire after five seconds.
    private func expectTimeout(
        of network: some NetworkingComponent,
        sending sink: CollectingSink? = nil,
        sleepers: Int
    ) async throws {
        let network = network.timeout(.seconds(5)).environment(\.clock, .manual(clock))
        async let response = network.data(.lawful.with { $0.sink = sink })
        try await clock.advance(by: .seconds(5), afterSleepers: sleepers)
        do {
            _ = try await response
            Issue.record("The call returned a response after its time limit.")
        } catch let error as NetworkingError {
            #expect(error.kind == .timeout)
        }
    }

    @Test func requestWhoseLimitTheTransportCannotEnforceHasNone() async throws {
        let journal = Journal()
        let network = ClientTransport(journal: journal).modified(Stamped()).timeout(.seconds(5))
            .environment(\.clock, .manual(clock))
        try await network.data(.lawful.with { $0.sink = CollectingSink() })
        #expect(journal.entries == ["no limit"])
    }

    /// A component of an app that waits without regard to limits.
    private struct Sleepy: NetworkingComponent {
        let upstream: SilentTransport

        func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            try await NetworkEnvironment.current.clock.sleep(for: .seconds(60))
            return try await upstream.send(request)
        }
    }

    private struct Sleeping: NetworkingModifier {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            try await NetworkEnvironment.current.clock.sleep(for: .seconds(60))
            return try await upstream.send(request)
        }
    }

    /// Whatever does not know the limit is cancelled, however deep it is in the stack, and alone or erased.
    @Test func partThatDoesNotKnowTheLimitIsCancelled() async throws {
        let sleepy = Sleepy(upstream: SilentTransport())
        try await expectTimeout(of: sleepy, sleepers: 2)
        try await expectTimeout(of: sleepy.logged().retry(), sleepers: 2)
        try await expectTimeout(of: AnyNetworkingComponent(sleepy).retry(), sleepers: 2)
        try await expectTimeout(of: OccupiedTransport().retry(), sleepers: 2)
        try await expectTimeout(of: AnyNetworkingComponent(OccupiedTransport()), sleepers: 2)
        try await expectTimeout(of: PromptTransport().modified(Sleeping()).logged().retry(), sleepers: 2)
        try await expectTimeout(of: PromptTransport().modified(Optional(Sleeping())).retry(), sleepers: 2)
        try await expectTimeout(of: PromptTransport().modified(Sleeping()).deduplicated(), sleepers: 2)
        let service = APIService(sleepy, baseURL: try #require(URL(string: "https://api.example.com")))
        try await expectTimeout(of: service.retry(), sleepers: 2)
    }

    private static var taskID: Int? {
        withUnsafeCurrentTask { $0?.hashValue }
    }

    /// The exchange runs in the task of the caller, whatever is limited.
    @Test func limitsNeedNoTaskOverATransportThatEnforcesThem() async throws {
        let caller = Self.taskID
        let journal = Journal()
        let transport = PromptTransport { request in
            journal.note("\(Self.taskID == caller)")
            return HTTPResponseData(request: request)
        }
        let clock = NetworkClock.manual(clock)
        try await transport.timeout(.seconds(5)).deadline(.seconds(9)).environment(\.clock, clock).data(.lawful)
        try await transport.timeout(head: .seconds(1), idle: .seconds(1)).retry().deadline(.seconds(9))
            .environment(\.clock, clock).data(.lawful)
        try await transport.timeout(connect: .seconds(1)).environment(\.clock, clock).data(.lawful)
        try await transport.timeout(.seconds(9)).timeout(head: .seconds(5)).environment(\.clock, clock).data(.lawful)
        #expect(journal.entries == ["true", "true", "true", "true"])
        try await transport.delayed(by: .zero).timeout(idle: .seconds(1)).environment(\.clock, clock).data(.lawful)
        #expect(journal.entries.last == "false", "A modifier that does not know limits runs in a task.")
    }

    @Test func plainLimitInsideOfOneForPhasesEndsTheExchange() async throws {
        let network = SilentTransport().timeout(.seconds(3)).timeout(head: .seconds(5))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.advance(by: .seconds(3), afterSleepers: 3)
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(error?.reason.contains("3.0 seconds") == true)
        #expect(clock.sleepers == 0)
    }

    /// A modifier that makes a call of its own, with a limit of its own.
    private struct Aside: UpstreamLimited {
        let journal: Journal

        func send(
            _ request: HTTPRequestData,
            upstream: some NetworkingComponent
        ) async throws -> HTTPResponseData {
            let clock = NetworkEnvironment.current.clock
            let network = SilentTransport(journal)
            return try await network.send(request.besideStack, until: clock.now + .seconds(3), on: clock) { _ in
                NetworkingError(.deadline, request: request)
            }
        }
    }

    /// It begins a new call, which does not know the limit, so a task is cancelled.
    @Test func requestBesideAStackEndsAtItsLimit() async throws {
        let journal = Journal()
        let network = PromptTransport().modified(Aside(journal: journal)).timeout(.seconds(9))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.advance(by: .seconds(3), afterSleepers: 2)
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(journal.entries == ["no limit"])
        #expect(clock.sleepers == 0)
    }

    @Test func silentPhaseEndsTheExchangeOfATransportThatEnforcesLimits() async throws {
        for network in [
            AnyNetworkingComponent(SilentTransport().timeout(head: .seconds(5))),
            AnyNetworkingComponent(SilentTransport().timeout(connect: .seconds(3), head: .seconds(2))),
            AnyNetworkingComponent(SilentTransport().timeout(.seconds(5), idle: .seconds(2)).logged()),
            // The inner limit is a whole one, inside of one that may end early.
            AnyNetworkingComponent(SilentTransport().timeout(.seconds(9)).timeout(head: .seconds(5))),
        ] {
            let network = network.environment(\.clock, .manual(clock))
            let call = Task { try await network.data(.lawful) }
            try await clock.waitForSleepers(2)
            clock.advance(by: .seconds(5))
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.kind == .timeout)
        }
    }

    /// The client of a transport may end an exchange before the watch of the phases notices the limit.
    @Test func limitThatAClientReachesIsTheOneOfThePhase() async throws {
        let network = ClientTransport(journal: Journal()).timeout(.seconds(10), head: .seconds(3))
        let error = await #expect(throws: NetworkingError.self) {
            try await network.environment(\.clock, .manual(clock)).data(.lawful)
        }
        #expect(error?.kind == .timeout)
        #expect(error?.reason.contains("3.0 seconds") == true)
        let outer = ClientTransport(journal: Journal()).timeout(head: .seconds(3)).deadline(.seconds(2))
        let other = await #expect(throws: NetworkingError.self) {
            try await outer.environment(\.clock, .manual(clock)).data(.lawful)
        }
        #expect(other?.kind == .deadline)
    }

    /// A limit outside of one that may end early still ends the exchange, and creates the error.
    @Test func outerLimitEndsAnExchangeWithPhases() async throws {
        let network = SilentTransport().timeout(head: .seconds(60)).deadline(.seconds(5))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers(3)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
    }

    @Test func timeoutNamesTheShortageOfConnections() async throws {
        let network = OccupiedTransport().timeout(.seconds(5)).environment(\.clock, .manual(clock))
        async let response = network.data(.lawful)
        try await clock.advance(by: .seconds(5), afterSleepers: 2)
        do {
            _ = try await response
            Issue.record("The call returned a response after its time limit.")
        } catch let error as NetworkingError {
            #expect(error.kind == .timeout)
            #expect(error.reason.contains("All 3 connections to"))
        }
    }

    @Test func alarmRunsItsActionUnlessItIsCancelled() throws {
        let journal = Journal()
        let alarms = NetworkClock.manual(clock)
        let first = alarms.alarm(at: alarms.now + .seconds(1)) { journal.note("first") }
        let second = alarms.alarm(at: alarms.now + .seconds(1)) { journal.note("second") }
        second.cancel()
        clock.advance(by: .seconds(1))
        #expect(journal.entries == ["first"])
        first.cancel()
    }
}
