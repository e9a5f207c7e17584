import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Tests the limits of `timeout` for connecting, the head and idle time with the events of a scripted transport.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TimeoutPhasesTests {
    private let clock = ManualClock()
    private let arrivals = Arrivals()

    // MARK: The head

    @Test func lateHeadEndsTheAttempt() async throws {
        let transport = self.transport { call in try await call.wait() }
        let error = try await failure(of: transport.timeout(head: .milliseconds(250)), after: [.milliseconds(250)])
        #expect(error.kind == .timeout)
        #expect(error.reason.contains("No response started within 0.25 seconds"))
        #expect(error.reason.contains("request.headTimeout"))
    }

    @Test func headLimitDoesNotIncludeTheBody() async throws {
        let transport = self.transport { call in
            call.emit(ExchangeEvent.headReceived(HTTPResponse(status: .ok)))
            try await call.wait(.seconds(60))
        }
        let response = try await self.response(of: transport.timeout(head: .seconds(1)), after: [.seconds(60)])
        #expect(response.status == .ok)
    }

    @Test func interimHeadIsNotTheHead() async throws {
        let network = transport { call in
            call.emit(ExchangeEvent.headReceived(HTTPResponse(status: .earlyHints)))
            try await call.wait()
        }
        let error = try await failure(of: network.timeout(head: .seconds(1)), after: [.seconds(1)])
        #expect(error.reason.contains("No response started within 1.0 seconds"))
    }

    // MARK: Connecting

    @Test func connectAndHeadLimitsAddUpWithoutConnectionEvents() async throws {
        let network = transport { call in try await call.wait() }.timeout(connect: .seconds(2), head: .seconds(3))
        let error = try await failure(of: network, after: [.seconds(5)])
        #expect(error.reason.contains("within 5.0 seconds"))
    }

    @Test func connectLimitCoversTheHeadWithoutConnectionEvents() async throws {
        let network = transport { call in try await call.wait() }.timeout(connect: .seconds(2))
        let error = try await failure(of: network, after: [.seconds(2)])
        #expect(error.reason.contains("No connection within 2.0 seconds"))
    }

    @Test func connectAndHeadLimitsAreSeparateWithConnectionEvents() async throws {
        let network = transport { call in
            call.emit(ExchangeEvent.connecting)
            try await call.wait(.milliseconds(1_900))
            call.emit(ExchangeEvent.connected)
            try await call.wait()
        }
        .timeout(connect: .seconds(2), head: .seconds(3))
        let error = try await failure(of: network, after: [.milliseconds(1_900), .seconds(3)])
        #expect(error.reason.contains("No response started within 3.0 seconds"))
    }

    @Test func lateConnectionEndsTheAttempt() async throws {
        let network = transport { call in
            call.emit(ExchangeEvent.connecting)
            try await call.wait()
        }
        .timeout(.seconds(60), connect: .seconds(2), head: .seconds(3))
        let error = try await failure(of: network, after: [.seconds(2)])
        #expect(error.reason.contains("No connection within 2.0 seconds"))
    }

    @Test func headLimitStartsAtTheLastByteSent() async throws {
        let network = transport { call in
            call.emit(ExchangeEvent.connecting)
            try await call.wait(.seconds(1))
            call.sent(5, of: 10)
            try await call.wait(.seconds(2))
            call.sent(10, of: 10)
            try await call.wait()
        }
        .timeout(connect: .seconds(2), head: .seconds(3))
        _ = try await failure(of: network, after: [.seconds(1), .seconds(2), .seconds(3)])
    }

    // MARK: Idle time

    @Test func eachChunkRestartsTheIdleLimit() async throws {
        let network = transport { call in
            call.emit(ExchangeEvent.headReceived(HTTPResponse(status: .ok)))
            for count in 1...3 {
                try await call.wait(.milliseconds(900))
                call.received(Int64(count))
            }
            try await call.wait()
        }
        .timeout(idle: .seconds(1))
        let error = try await failure(
            of: network,
            after: [.milliseconds(900), .milliseconds(900), .milliseconds(900), .seconds(1)]
        )
        #expect(error.reason.contains("No data was transferred for 1.0 seconds"))
    }

    @Test func idleLimitCoversAStalledUpload() async throws {
        let network = transport { call in
            call.sent(5, of: 10)
            try await call.wait()
        }
        .timeout(idle: .seconds(1))
        let error = try await failure(of: network, after: [.seconds(1)])
        #expect(error.reason.contains("No data was transferred"))
    }

    @Test func connectLimitExcludesReadingTheRequestBody() async throws {
        let network = transport { call in
            call.emit(ExchangeEvent.readingBody)
            try await call.wait(.seconds(30))
            call.emit(ExchangeEvent.bodyRead)
            try await call.wait(.milliseconds(900))
            call.emit(ExchangeEvent.headReceived(HTTPResponse(status: .ok)))
        }
        .timeout(connect: .milliseconds(500), head: .milliseconds(500))
        let response = try await self.response(of: network, after: [.seconds(30), .milliseconds(900)])
        #expect(response.status == .ok)
    }

    @Test func idleLimitExcludesTheWaitForTheHead() async throws {
        let network = transport { call in
            call.sent(10, of: 10)
            try await call.wait(.seconds(30))
            call.emit(ExchangeEvent.headReceived(HTTPResponse(status: .ok)))
        }
        .timeout(idle: .seconds(1))
        let response = try await self.response(of: network, after: [.seconds(30)])
        #expect(response.status == .ok)
    }

    @Test func idleLimitExcludesTheTimeOfTheSink() async throws {
        let sink = SlowSink(clock: clock, arrivals: arrivals, time: .seconds(30))
        let network = transport { call in try await call.deliver(["one", "two"]) }.timeout(idle: .seconds(1))
        let response = try await self.response(of: network, with: sink, after: [.seconds(30), .seconds(30)])
        #expect(response.body == .delivered(byteCount: 6))
    }

    /// A transport without back-pressure continues to report received bytes.
    @Test func bytesReceivedWhileTheSinkIsBusyDoNotStartTheIdleLimit() async throws {
        let lateAction = LateAction()
        var sink = SlowSink(clock: clock, arrivals: arrivals, time: .seconds(30))
        sink.whileBusy = { lateAction.perform() }
        let network = transport { call in
            lateAction.setAction { call.received(100) }
            try await call.deliver(["one", "two"])
        }
        .timeout(idle: .seconds(1))
        let response = try await self.response(of: network, with: sink, after: [.seconds(30), .seconds(30)])
        #expect(response.body == .delivered(byteCount: 6))
    }

    // MARK: Combined limits

    @Test func overallLimitCoversAllPhases() async throws {
        let network = transport { call in
            call.emit(ExchangeEvent.headReceived(HTTPResponse(status: .ok)))
            for count in 1...9 {
                try await call.wait(.milliseconds(900))
                call.received(Int64(count))
            }
        }
        .timeout(.seconds(2), idle: .seconds(1))
        let error = try await failure(
            of: network,
            after: [.milliseconds(900), .milliseconds(900), .milliseconds(200)]
        )
        #expect(error.reason.contains("No complete response within 2.0 seconds"))
    }

    @Test func phaseLimitsExcludeTheTimeBetweenAttempts() async throws {
        let network = transport { call in
            try await call.wait(.milliseconds(900))
        }
        .modified(Pausing(clock: clock, arrivals: arrivals, pause: .seconds(30))).timeout(head: .seconds(1))
        let response = try await self.response(
            of: network,
            after: [.milliseconds(900), .seconds(30), .milliseconds(900)]
        )
        #expect(response.status == .ok)
    }

    @Test func limitsOfTheRequestReplaceThoseOfTheStack() async throws {
        let network = transport { call in try await call.wait() }
            .timeout(connect: .seconds(1), head: .seconds(1), idle: .seconds(1))
        let error = try await failure(of: network, after: [.seconds(9)]) { request in
            request.connectTimeout = .seconds(4)
            request.headTimeout = .seconds(5)
            request.idleTimeout = .seconds(6)
        }
        #expect(error.reason.contains("9.0 seconds"))
    }

    @Test(arguments: 0...3)
    func limitOfZeroFailsAtOnce(limit: Int) async {
        let transport = MockTransport()
        let request = HTTPRequestData.lawful.with {
            switch limit {
            case 0: $0.timeout = .zero
            case 1: $0.connectTimeout = .zero
            case 2: $0.headTimeout = .zero
            default: $0.idleTimeout = .zero
            }
        }
        let network = transport.timeout(.seconds(1)).environment(\.clock, .manual(clock))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.kind == .timeout)
        #expect(transport.requests.isEmpty)
    }

    @Test func responseInTimeLeavesNoAlarm() async throws {
        let network = MockTransport { _ in .text("hello") }
            .timeout(.seconds(4), connect: .seconds(1), head: .seconds(2), idle: .seconds(3))
            .environment(\.clock, .manual(clock))
        let response = try await network.data(.lawful)
        #expect(response.data == Data("hello".utf8))
        #expect(clock.sleepers == 0)
    }

    @Test func cancelledCallerGetsCancellationError() async throws {
        let network = transport { call in try await call.wait() }.timeout(head: .seconds(1))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.sleepers == 0)
    }

    /// The transport takes a while to notice the cancellation, and the limit passes meanwhile.
    @Test func cancelledCallerGetsCancellationErrorAlsoAfterTheLimit() async throws {
        let ends = Suspension<Void>()
        let network = Sending { _, _ in
            // A task of its own is not aware of the cancellation.
            await Task { try? await ends.value() }.value
            throw CancellationError()
        }
        let stack = MockTransport { _ in .ok() }.modified(network).timeout(.seconds(1), head: .seconds(1))
            .environment(\.clock, .manual(clock))
        let call = Task { try await stack.data(.lawful) }
        try await clock.waitForSleepers()
        call.cancel()
        clock.advance(by: .seconds(1))
        ends.resume()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    /// The second exchange of an attempt sends the body again.
    @Test func sentBytesOfAnEarlierExchangeDoNotCount() async throws {
        let network = transport { call in
            call.sent(10, of: 20)
            call.emit(ExchangeEvent.ended(sent: 10, received: 0))
            call.emit(ExchangeEvent.started)
            // Fewer bytes than in the first exchange, but progress in this one.
            try await call.wait(.seconds(2))
            call.sent(5, of: 20)
            try await call.wait(.milliseconds(2_500))
            call.sent(6, of: 20)
            try await call.wait(.milliseconds(2_500))
        }
        .timeout(head: .seconds(4), idle: .seconds(3))
        let response = try await response(
            of: network,
            after: [.seconds(2), .milliseconds(2_500), .milliseconds(2_500)]
        )
        #expect(response.status == .ok)
    }

    /// An alarm that is set while the watch ends is cancelled.
    @Test func reportsAfterTheEndSetNoAlarm() async throws {
        let requests = Mutex<[HTTPRequestData]>([])
        let transport = Sending { request, _ in
            requests.withLock { $0.append(request) }
            return HTTPResponseData(request: request)
        }
        let network = MockTransport { _ in .ok() }.modified(transport).timeout(head: .seconds(4), idle: .seconds(3))
            .environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        let late = try #require(requests.withLock { $0.first })
        late.progressHandler?(TransferProgress(received: BytesReceived(count: 1)))
        late.emit(ExchangeEvent.started)
        #expect(clock.sleepers == 0)
    }

    @Test func progressHandlerOfTheAppIsStillCalled() async throws {
        let receivedCounts = Journal()
        let network = MockTransport { _ in .text("hello") }.timeout(idle: .seconds(1))
        try await network.data(.lawful) { receivedCounts.note("\($0.received.count)") }
        #expect(receivedCounts.entries.last == "5")
    }

    // MARK: Reader-paced bodies

    @Test func readerPacedBodyMayExceedTheLimit() async throws {
        let sink = SlowSink(clock: clock, arrivals: arrivals, time: .seconds(600), isReaderPaced: true)
        let network = transport { call in try await call.deliver(["one", "two"]) }.timeout(.seconds(10))
        let response = try await self.response(of: network, with: sink, after: [.seconds(600), .seconds(600)])
        #expect(response.body == .delivered(byteCount: 6))
    }

    @Test func readerPacedBodyHasALimitBetweenChunks() async throws {
        let sink = SlowSink(clock: clock, arrivals: arrivals, time: .seconds(600), isReaderPaced: true)
        let network = transport { call in
            try await call.deliver(["one"], thenWaits: true)
        }
        .timeout(.seconds(10))
        let error = try await failure(of: network, with: sink, after: [.seconds(600), .seconds(10)])
        #expect(error.reason.contains("No data was transferred for 10.0 seconds"))
    }

    @Test func readerPacedBodyHasALimitForTheHead() async throws {
        let sink = SlowSink(clock: clock, arrivals: arrivals, time: .zero, isReaderPaced: true)
        let network = transport { call in try await call.wait() }.timeout(.seconds(10))
        let error = try await failure(of: network, with: sink, after: [.seconds(10)])
        #expect(error.reason.contains("No complete response within 10.0 seconds"))
    }

    @Test func overallLimitIncludesABodyThatIsNotReaderPaced() async throws {
        let sink = SlowSink(clock: clock, arrivals: arrivals, time: .seconds(600))
        let network = transport { call in try await call.deliver(["one"]) }.timeout(.seconds(10))
        _ = try await failure(of: network, with: sink, after: [.seconds(10)])
    }

    // MARK: In the outline

    @Test func outlineListsTheLimits() {
        let network = MockTransport().timeout(.seconds(10), connect: .seconds(1), idle: .milliseconds(500))
        #expect(network.outline.hasPrefix("timeout(10.0 seconds, connect: 1.0 seconds, idle: 0.5 seconds)\n"))
    }
}

// MARK: - Support

extension TimeoutPhasesTests {
    /// Sends a request and advances the clock by one step each time the transport, the sink or a modifier waits.
    private func result(
        of network: some NetworkingComponent,
        with sink: (any ResponseSink)? = nil,
        after steps: [Duration],
        _ change: (inout HTTPRequestData) -> Void = { _ in }
    ) async throws -> Result<HTTPResponseData, any Error> {
        var request = HTTPRequestData.lawful
        request.sink = sink
        change(&request)
        let timed = network.environment(\.clock, .manual(clock))
        let call = Task { [request] in try await timed.data(request) }
        for (index, step) in steps.enumerated() {
            try await arrivals.wait(for: index + 1)
            clock.advance(by: step)
        }
        return await withTaskCancellationHandler {
            await call.result
        } onCancel: {
            call.cancel()
        }
    }

    private func transport(_ script: @escaping @Sendable (ScriptedCall) async throws -> Void) -> ScriptedTransport {
        ScriptedTransport(clock: clock, arrivals: arrivals, script: script)
    }

    private func failure(
        of network: some NetworkingComponent,
        with sink: (any ResponseSink)? = nil,
        after steps: [Duration],
        _ change: (inout HTTPRequestData) -> Void = { _ in }
    ) async throws -> NetworkingError {
        let result = try await result(of: network, with: sink, after: steps, change)
        return try #require(#expect(throws: NetworkingError.self) { try result.get() })
    }

    private func response(
        of network: some NetworkingComponent,
        with sink: (any ResponseSink)? = nil,
        after steps: [Duration]
    ) async throws -> HTTPResponseData {
        try await result(of: network, with: sink, after: steps).get()
    }
}

/// A transport with a script that emits events and waits before the response is returned.
private struct ScriptedTransport: NetworkingTransport {
    let clock: ManualClock
    let arrivals: Arrivals
    let script: @Sendable (ScriptedCall) async throws -> Void

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        let call = ScriptedCall(request: request, clock: clock, arrivals: arrivals)
        try await script(call)
        guard let delivered = call.delivered.value else { return HTTPResponseData(request: request) }
        return HTTPResponseData(request: request, http: HTTPResponse(status: .ok), body: delivered)
    }
}

private struct ScriptedCall: Sendable {
    let request: HTTPRequestData
    let clock: ManualClock
    let arrivals: Arrivals
    let delivered = Delivered()

    func emit(_ event: any NetworkEvent) {
        request.emit(event)
    }

    func sent(_ count: Int64, of expected: Int64) {
        request.progressHandler?(TransferProgress(sent: BytesSent(count: count, expected: expected)))
    }

    func received(_ count: Int64) {
        request.progressHandler?(TransferProgress(received: BytesReceived(count: count)))
    }

    func wait(_ duration: Duration) async throws {
        try await arrivals.wait(duration, on: clock)
    }

    /// Waits until it is cancelled.
    func wait() async throws {
        arrivals.arrive()
        try await Suspension<Void>().value()
    }

    func deliver(_ chunks: [String], thenWaits: Bool = false) async throws {
        let head = HTTPResponse(status: .ok)
        emit(ExchangeEvent.headReceived(head))
        let response = try await request.deliver(head) { delivery in
            for chunk in chunks {
                try await delivery.receive(Data(chunk.utf8))
            }
            if thenWaits { try await wait() }
        }
        delivered.set(response.body)
    }

    final class Delivered: Sendable {
        private let body = Mutex<ResponseBody?>(nil)

        var value: ResponseBody? {
            body.withLock { $0 }
        }

        func set(_ body: ResponseBody) {
            self.body.withLock { $0 = body }
        }
    }
}

/// A sink that waits before it returns from each chunk.
private struct SlowSink: ResponseSink {
    let clock: ManualClock
    let arrivals: Arrivals
    let time: Duration
    var isReaderPaced = false
    var whileBusy: @Sendable () -> Void = {}

    func receive(_ chunk: Data) async throws {
        whileBusy()
        try await arrivals.wait(time, on: clock)
    }
}

/// Calls an action that is set after its creation.
private final class LateAction: Sendable {
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    func setAction(to action: @escaping @Sendable () -> Void) {
        self.action.withLock { $0 = action }
    }

    func perform() {
        action.withLock { $0 }?()
    }
}

private struct Pausing: NetworkingModifier {
    let clock: ManualClock
    let arrivals: Arrivals
    let pause: Duration

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        _ = try await upstream.send(request)
        try await arrivals.wait(pause, on: clock)
        return try await upstream.send(request)
    }
}

/// Counts the waits that have started, so that a test advances the clock only after them.
private final class Arrivals: Sendable {
    private let state = Mutex((count: 0, waiters: [(count: Int, wait: Suspension<Void>)]()))

    func arrive() {
        let due = state.withLock { state in
            state.count += 1
            let due = state.waiters.filter { $0.count <= state.count }
            state.waiters.removeAll { $0.count <= state.count }
            return due
        }
        for waiter in due {
            waiter.wait.resume()
        }
    }

    func wait(for count: Int) async throws {
        let wait = Suspension<Void>()
        let isThere = state.withLock { state in
            if state.count >= count { return true }
            state.waiters.append((count, wait))
            return false
        }
        if !isThere {
            try await wait.value()
        }
    }

    /// Counts as waiting, then waits for a time that starts at the same moment.
    func wait(_ duration: Duration, on clock: ManualClock) async throws {
        let end = clock.now.advanced(by: duration)
        arrive()
        try await clock.sleep(until: end)
    }
}
