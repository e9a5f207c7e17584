import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct DeadlineTests {
    private let clock = ManualClock()
    private let transport = MockTransport { _ in .never }

    @Test func deadlineFailsTheCallAndCancelsIt() async throws {
        let network = transport.deadline(.seconds(30)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()

        try await clock.advance(by: .seconds(30), afterSleepers: 1)

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(error?.isTimeout == true)
        #expect(error?.request == .lawful)
        #expect((transport.requests.count, transport.cancelled) == (1, 1))
    }

    @Test func deadlineIncludesWaitsAndAttempts() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.delayed(by: .seconds(12)).resent(times: 3).deadline(.seconds(30))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }

        for _ in 1...2 {
            try await clock.waitForSleepers(2)
            clock.advance(by: .seconds(12))
        }
        try await clock.waitForSleepers(2)
        #expect(clock.nextDeadline?.offset == .seconds(30))
        clock.advanceToNextDeadline()

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(transport.requests.count == 2)
    }

    @Test func responseInTimeCancelsTheAlarm() async throws {
        let network = MockTransport { _ in .ok() }.deadline(.seconds(30)).environment(\.clock, .manual(clock))

        try await network.data(.lawful)

        #expect(clock.sleepers == 0)
    }

    @Test func deadlineIsInTheEnvironment() async throws {
        clock.advance(by: .seconds(100))
        let seen = Journal()
        let network = MockTransport { _ in
            seen.note("\(NetworkEnvironment.current.deadline ?? .zero)")
            return .ok()
        }

        try await network.deadline(.seconds(30)).environment(\.clock, .manual(clock)).data(.lawful)

        #expect(seen.entries == ["130.0 seconds"])
        #expect(NetworkEnvironment.current.deadline == nil)
    }

    @Test(
        arguments: [
            (inner: .seconds(5), outer: .seconds(30), expected: .seconds(5)),
            (inner: .seconds(30), outer: .seconds(5), expected: .seconds(5)),
            (inner: .seconds(5), outer: .seconds(5), expected: .seconds(5)),
        ] as [(inner: Duration, outer: Duration, expected: Duration)]
    )
    func earliestOfNestedDeadlinesIsInTheEnvironment(inner: Duration, outer: Duration, expected: Duration) async throws
    {
        let seen = Journal()
        let network = MockTransport { _ in
            seen.note("\(NetworkEnvironment.current.deadline ?? .zero)")
            return .ok()
        }

        try await network.deadline(inner).deadline(outer).environment(\.clock, .manual(clock)).data(.lawful)

        #expect(seen.entries == ["\(expected)"])
    }

    @Test(
        arguments: [
            (inner: .seconds(5), outer: .seconds(30)),
            (inner: .seconds(30), outer: .seconds(5)),
        ] as [(inner: Duration, outer: Duration)]
    )
    func earliestOfNestedDeadlinesEndsTheCall(inner: Duration, outer: Duration) async throws {
        let network = transport.deadline(inner).deadline(outer).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        // The request has the earlier limit alone.
        try await clock.waitForSleepers(1)

        clock.advanceToNextDeadline()

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(clock.now.offset == .seconds(5))
        #expect(clock.sleepers == 0)
    }

    // MARK: Tasks that outlive the call

    /// Returns a transport that starts a task for each request and does not await it.
    private func leaking<Value: Sendable>(
        _ tasks: Locked<[Task<Value, any Error>]>,
        _ work: @escaping @Sendable () async throws -> Value
    ) -> MockTransport {
        MockTransport { _ in
            tasks.withLock { $0.append(Task { try await work() }) }
            return .ok()
        }
    }

    @Test func taskHasTheDeadlineUntilTheCallReturns() async throws {
        let (gate, tasks) = (MockGate(), Locked<[Task<[Duration?], any Error>]>([]))
        let transport = MockTransport { _ in
            let isRead = Suspension<Void>()
            let task = Task {
                let before = NetworkEnvironment.current.deadline
                isRead.resume()
                try await gate.wait()
                return [before, NetworkEnvironment.current.deadline]
            }
            try await isRead.value()
            tasks.withLock { $0.append(task) }
            return .ok()
        }
        let network = transport.environment(\.retries, .off).deadline(.seconds(20)).deadline(.seconds(30))
            .environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        gate.open()
        let task = try #require(tasks.value.first)
        #expect(try await task.value == [.seconds(20), nil])
    }

    /// The task sends requests of its own, over stacks that set values of the environment.
    @Test func requestsOfATaskThatOutlivesTheCallHaveTheirOwnDeadline() async throws {
        let (gate, tasks, seen) = (MockGate(), Locked<[Task<Void, any Error>]>([]), Journal())
        let own = MockTransport { _ in
            seen.note(NetworkEnvironment.current.deadline.map { "\($0)" } ?? "none")
            return .ok()
        }
        let otherClock = ManualClock()
        otherClock.advance(by: .seconds(1_000))
        let transport = leaking(tasks) {
            try await gate.wait()
            try await own.data(.lawful)
            try await own.environment(\.retries, .off).data(.lawful)
            try await own.environment(\.clock, .manual(otherClock)).data(.lawful)
            try await own.deadline(.seconds(50)).data(.lawful)
            try await own.data(.lawful)
        }
        try await transport.deadline(.seconds(30)).environment(\.clock, .manual(clock)).data(.lawful)
        gate.open()
        for task in tasks.value { try await task.value }
        #expect(seen.entries == ["none", "none", "none", "50.0 seconds", "none"])
    }

    @Test func environmentOfSeveralOperationsHasItsDeadlineInEach() async {
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        environment.limit(to: .seconds(9))
        for _ in 1...2 {
            await withEnvironment(environment) {
                await withEnvironment(NetworkEnvironment.current) {}
                #expect(NetworkEnvironment.current.deadline == .seconds(9))
            }
        }
        #expect(environment.deadline == nil)
    }

    // MARK: Limits of a request

    @Test func unlimitedRequestHasNoDeadlineOfTheStack() async throws {
        let (seen, clock) = (Journal(), clock)
        let transport = MockTransport { _ in
            seen.note("\(clock.sleepers), \(NetworkEnvironment.current.deadline.map { "\($0)" } ?? "none")")
            return .ok()
        }
        let request = HTTPRequestData.lawful.with(\.deadline, .unlimited)
        let network = transport.deadline(.seconds(30)).environment(\.clock, .manual(clock))
        try await network.data(request)
        #expect(seen.entries == ["0, none"])
        // A limit outside of the stack stays in force.
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        environment.limit(to: .seconds(9))
        try await withEnvironment(environment) { _ = try await network.data(request) }
        #expect(seen.entries == ["0, none", "0, 9.0 seconds"])
    }

    @Test func unlimitedTimeoutReplacesThatOfTheStack() async throws {
        let network = transport.timeout(.seconds(10)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(HTTPRequestData.lawful.with(\.timeout, .unlimited)) }
        try await transport.waitForRequests()
        clock.advance(by: .seconds(1_000_000))
        #expect(transport.cancelled == 0)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test(arguments: [.seconds(2), .seconds(60)] as [Duration])
    func deadlineOfTheRequestReplacesThatOfTheStack(own: Duration) async throws {
        let network = transport.deadline(.seconds(30)).environment(\.clock, .manual(clock))
        let request = HTTPRequestData.lawful.with { $0.deadline = own }
        let call = Task { try await network.data(request) }

        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == own)
        clock.advanceToNextDeadline()

        await #expect(throws: NetworkingError.self) { try await call.value }
    }

    /// Returns the error of a call over a stack with two time limits, of which one is ten seconds.
    private func failureAfterTenSeconds(
        of network: some NetworkingComponent,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> NetworkingError? {
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers(1)

        clock.advance(by: .seconds(10))

        return await #expect(throws: NetworkingError.self, sourceLocation: sourceLocation) { try await call.value }
    }

    @Test func shorterTimeoutFailsTheAttemptOnly() async throws {
        let network = transport.timeout(.seconds(10)).deadline(.seconds(30)).environment(\.clock, .manual(clock))
        let error = try await failureAfterTenSeconds(of: network)
        #expect(error?.kind == .timeout)
        #expect(clock.sleepers == 0)
    }

    @Test func deadlineBeforeTheTimeoutFailsTheCall() async throws {
        let network = transport.timeout(.seconds(30)).deadline(.seconds(10)).environment(\.clock, .manual(clock))
        let error = try await failureAfterTenSeconds(of: network)
        #expect(error?.kind == .deadline)
        #expect(error?.underlying == nil)
        #expect(clock.sleepers == 0)
    }

    @Test func cancelledCallerGetsCancellationError() async throws {
        let network = transport.deadline(.seconds(30)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect((transport.requests.count, transport.cancelled) == (1, 1))
        #expect(clock.sleepers == 0)
    }

    @Test func expiryIsAnEvent() async throws {
        let events = EventRecorder()
        let request = HTTPRequestData.lawful.with { $0.addObserver(events) }
        let network = transport.deadline(.seconds(30)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(request) }

        try await clock.advance(by: .seconds(30), afterSleepers: 1)

        await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(events.names == ["exchangeStarted", "exchangeFailed", "deadlineExceeded"])
    }

    @Test func timeoutOfTheCallCoversTheWholeStack() async throws {
        let network = transport.delayed(by: .seconds(3)).environment(\.clock, .manual(clock))
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        let call = Task { [environment] in
            try await withEnvironment(environment) { try await network.data(.lawful, timeout: .seconds(2)) }
        }

        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(transport.requests.isEmpty)
    }

    @Test func timeoutOfTheCallEndsOnTheClockOfTheStack() async throws {
        let network = transport.logged().environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful, timeout: .seconds(2)) }
        try await clock.advance(by: .seconds(2), afterSleepers: 1)
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
    }

    // MARK: Attempts

    /// The places of `deadline` relative to the shared exchange.
    private func failing(shares: Bool) -> AnyNetworkingComponent {
        let transport = MockTransport([.status(.serviceUnavailable), .status(.badGateway), .never])
        let retried = transport.retry(.constant(.seconds(1)))
        let network = shares ? AnyNetworkingComponent(retried.deduplicated()) : AnyNetworkingComponent(retried)
        return AnyNetworkingComponent(network.deadline(.seconds(30)).environment(\.clock, .manual(clock)))
    }

    @Test(arguments: [false, true])
    func errorHasTheAttemptsBeforeTheDeadline(shares: Bool) async throws {
        let network = failing(shares: shares)
        let call = Task { try await network.data(.lawful) }
        for _ in 1...2 {
            try await eventually("the retry waits") { clock.nextDeadline.map { $0.offset < .seconds(30) } ?? false }
            clock.advanceToNextDeadline()
        }
        try await eventually("the last attempt is under way") { clock.sleepers == 1 }
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(error?.attempts.map { $0.response?.status.code } == [503, 502])
    }

    @Test func attemptsOfAnotherRequestAreNotReported() async throws {
        let inner = MockTransport([.status(.serviceUnavailable), .never]).retry(.constant(.seconds(1)))
            .deduplicated()
        let network =
            transport.modified(
                Sending { _, _ in try await inner.data(HTTPRequestData(authority: "other.example", path: "token")) }
            )
            .deadline(.seconds(30)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers(2)
        clock.advanceToNextDeadline()
        try await eventually("the second attempt is under way") { clock.sleepers == 1 }
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(error?.attempts.isEmpty == true)
    }

    /// The stack sets its clock inside the deadline that `data(_:timeout:)` adds.
    @Test func timeoutOfTheCallUsesTheClockOfTheStack() async throws {
        let seen = Journal()
        let network = MockTransport { _ in
            let environment = NetworkEnvironment.current
            let left = (environment.deadline ?? .zero) - environment.clock.now
            seen.note("\(left > .seconds(1) && left <= .seconds(2))")
            return .ok()
        }
        .environment(\.clock, .manual(clock))

        try await network.data(.lawful, timeout: .seconds(2))

        #expect(seen.entries == ["true"])
    }

    // MARK: Transfers

    /// An attempt that starts before the deadline has it until its head arrives.
    @Test func deadlineAppliesToEachExchangeUntilItsHead() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .never])
        let network = transport.retry(.immediate()).deadline(.seconds(30), exemptsTransfers: true)
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await transport.waitForRequests(2)

        try await clock.advance(by: .seconds(30), afterSleepers: 1)

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(error?.attempts.count == 1)
    }

    @Test func noAttemptStartsAfterABodyThatOutlivesTheDeadline() async throws {
        let transport = SteppedTransport(clock: clock, status: .serviceUnavailable, body: [.seconds(31)])
        let network = transport.retry(.immediate()).deadline(.seconds(30), exemptsTransfers: true)
            .environment(\.clock, .manual(clock))

        let response = try await network.data(.lawful)

        #expect(response.retryRefusal == .deadline)
        #expect(transport.requests.count == 1)
    }

    /// The deadline of a request is that of the whole call.
    @Test func deadlineOfARequestIncludesTheBody() async throws {
        let transport = SteppedTransport(clock: clock, body: [.seconds(31)])
        let network = transport.deadline(.seconds(60), exemptsTransfers: true).environment(\.clock, .manual(clock))

        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(.lawful.with(\.deadline, .seconds(30)))
        }

        #expect(error?.kind == .deadline)
    }

    /// Without the exemption, the body is part of the call.
    @Test func deadlineIncludesTheBody() async throws {
        let transport = SteppedTransport(clock: clock, body: [.seconds(31)])
        let network = transport.deadline(.seconds(30)).environment(\.clock, .manual(clock))

        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }

        #expect(error?.kind == .deadline)
    }

    @Test func earlierDeadlineFurtherOutIncludesTheBody() async throws {
        let transport = SteppedTransport(clock: clock, alarms: 2, body: [.seconds(31)])
        let network = transport.deadline(.seconds(40), exemptsTransfers: true).deadline(.seconds(30))
            .environment(\.clock, .manual(clock))

        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }

        #expect(error?.kind == .deadline)
        #expect(error?.reason.contains("30.0 seconds") == true)
    }

    @Test func cancelledCallGetsItsCancellationAfterTheHead() async throws {
        let gate = MockGate()
        let transport = MockTransport { _ in .chunks(["a", .wait(for: gate), "b"]) }
        let network = transport.deadline(.seconds(30), exemptsTransfers: true).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.sleepers == 0)
    }
}
