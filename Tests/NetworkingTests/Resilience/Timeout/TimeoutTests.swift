import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TimeoutTests {
    private let clock = ManualClock()
    private let held = HeldResponse()
    private let transport: MockTransport

    init() {
        transport = MockTransport { [held] _ in .held(by: held) }
    }

    @Test func timeoutFailsTheAttemptAndCancelsIt() async throws {
        let network = transport.timeout(.seconds(10)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()

        try await clock.advance(by: .seconds(10), afterSleepers: 1)

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(error?.isTimeout == true)
        #expect(error?.request == .lawful)
        #expect(error?.underlying == nil)
        #expect(error?.reason.contains("10.0 seconds") == true)
        #expect((transport.requests.count, transport.cancelled) == (1, 1))
    }

    @Test func attemptDoesNotFailBeforeItsTimeout() async throws {
        let network = transport.timeout(.seconds(10)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()

        try await clock.advance(by: .milliseconds(9_999), afterSleepers: 1)
        #expect(clock.sleepers == 1)
        held.respond()

        #expect(try await call.value.status == .ok)
        #expect((transport.requests.count, transport.cancelled) == (1, 0))
    }

    @Test func responseInTimeCancelsTheAlarm() async throws {
        let network = MockTransport { _ in .ok() }.timeout(.seconds(10)).environment(\.clock, .manual(clock))

        try await network.data(.lawful)

        #expect(clock.sleepers == 0)
    }

    @Test func errorInTimeIsThrownUnchanged() async {
        struct Foreign: Error {}
        let network = MockTransport([.failure(Foreign())]).timeout(.seconds(10)).environment(\.clock, .manual(clock))

        await #expect(throws: Foreign.self) { try await network.data(.lawful) }
        #expect(clock.sleepers == 0)
    }

    @Test(
        arguments: [
            (nil, .seconds(10)),
            (.seconds(2), .seconds(2)),
            (.seconds(60), .seconds(60)),
        ] as [(Duration?, Duration)]
    )
    func timeoutOfTheRequestReplacesThatOfTheStack(own: Duration?, expected: Duration) async throws {
        let network = transport.timeout(.seconds(10)).environment(\.clock, .manual(clock))
        let request = HTTPRequestData.lawful.with { $0.timeout = own }
        let call = Task { try await network.data(request) }

        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == expected)
        clock.advanceToNextDeadline()

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.reason.contains("\(expected)") == true)
    }

    @Test func responseInSpiteOfTheCancellationIsReturned() async throws {
        let suspension = Suspension<Void>()
        let network = MockTransport([]).modified(CancellationIgnoring(suspension: suspension)).timeout(.seconds(10))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }

        try await clock.advance(by: .seconds(10), afterSleepers: 1)
        suspension.resume()

        #expect(try await call.value.status == .ok)
    }

    @Test func errorOfTheTransportAfterTheTimeoutIsTheUnderlyingError() async throws {
        struct Reset: Error {}
        let network = MockTransport { _ in
            do {
                try await Suspension<Void>().value()
            } catch {
                throw Reset()
            }
            return .ok()
        }
        .timeout(.seconds(10))
        .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }

        try await clock.advance(by: .seconds(10), afterSleepers: 1)

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(error?.underlying is Reset)
    }

    @Test func upstreamIsAwaited() async throws {
        let journal = Journal()
        let network = transport.modified(WindingDown(journal: journal)).timeout(.seconds(10))
            .environment(\.clock, .manual(clock))
        let call = Task {
            defer { journal.note("caller resumed") }
            try await network.data(.lawful)
        }
        try await transport.waitForRequests()

        try await clock.advance(by: .seconds(10), afterSleepers: 1)

        await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(journal.entries == ["wound down", "caller resumed"])
    }

    @Test func cancelledCallerGetsCancellationErrorAndCancelsTheAttempt() async throws {
        let network = transport.timeout(.seconds(10)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()

        call.cancel()
        clock.advance(by: .seconds(10))

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect((transport.requests.count, transport.cancelled) == (1, 1))
        #expect(clock.sleepers == 0)
    }

    @Test func timeoutIncludesABodyThatIsStillArriving() async throws {
        let events = EventRecorder()
        let request = HTTPRequestData.lawful.with { $0.addObserver(events) }
        let trickling = MockTransport([.chunks([.wait(.seconds(3_600)), "a byte"])])
        let network = trickling.timeout(.seconds(10)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(request) }

        // The head has arrived. The clock has the alarm of the timeout and that of the next byte.
        try await clock.advance(by: .seconds(9), afterSleepers: 2)
        #expect(events.names == ["exchangeStarted", "headReceived"])
        try await clock.advance(by: .seconds(1), afterSleepers: 2)

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(events.names == ["exchangeStarted", "headReceived", "exchangeFailed", "timedOut"])
    }

    @Test func eachAttemptHasItsOwnTimeout() async throws {
        let network = MockTransport { _ in .ok() }
            .delayed(by: .seconds(6))
            .timeout(.seconds(10))
            .resent(times: 2)
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }

        for _ in 1...2 {
            try await clock.waitForSleepers(2)
            clock.advance(by: .seconds(6))
        }

        #expect(try await call.value.status == .ok)
        #expect(clock.now.offset == .seconds(12))
    }

    @Test func worksWithTheSystemsClockAndTimesOfAnySize() async throws {
        let network = MockTransport { _ in .ok() }.timeout(.seconds(Int64.max)).deadline(.seconds(Int64.max))

        #expect(try await network.data(.lawful).status == .ok)
    }

    /// A clock of the standard library keeps all alarms in one heap.
    @Test func hundredsOfTimeoutsShareAClock() async throws {
        let recorder = RequestRecorder()
        let network = MockTransport { _ in
            try await Suspension<Void>().value()
            return .ok()
        }
        .recorded(by: recorder)
        .timeout(.seconds(10))
        .environment(\.clock, NetworkClock(clock))

        try await withThrowingTaskGroup { group in
            for _ in 0..<200 {
                group.addTask {
                    let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
                    #expect(error?.kind == .timeout)
                }
            }
            // A request that has reached the transport has read the clock, so its alarm is due even if it is set after
            // the advance.
            try await recorder.waitForRequests(200)
            clock.advance(by: .seconds(10))
            try await group.waitForAll()
        }

        #expect(recorder.active == 0)
        #expect(clock.sleepers == 0)
    }
}

// MARK: - Parts

/// Returns a response when the test sets it, even if its caller is cancelled.
private struct CancellationIgnoring: NetworkingModifier {
    let suspension: Suspension<Void>

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        await Task.detached { [suspension] in try? await suspension.value() }.value
        return HTTPResponseData(request: request)
    }
}

private struct WindingDown: NetworkingModifier {
    let journal: Journal

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        defer { journal.note("wound down") }
        return try await upstream.send(request)
    }
}
