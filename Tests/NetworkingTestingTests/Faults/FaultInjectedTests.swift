import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The effect of each fault on a request, alone and under modifiers that handle it.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct FaultInjectedTests {
    private struct Broken: Error {}

    private let clock = ManualClock()
    private let body = Data((0..<200).map { UInt8($0) })

    private func network(_ script: Fault?...) -> some NetworkingComponent {
        let body = body
        return MockTransport { _ in .ok(body) }.faultInjected(by: FaultInjector(script: script))
    }

    private func request(into sink: any ResponseSink) -> HTTPRequestData {
        var request = HTTPRequestData.lawful
        request.sink = sink
        return request
    }

    // MARK: Errors and statuses

    @Test func errorReplacesTheRequest() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.faultInjected(by: FaultInjector(script: [.error(.connectionLost), .failure(Broken())]))

        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .connectionLost)
        #expect(error?.reason == "The test's FaultInjector made the request fail before it was sent.")
        await #expect(throws: Broken.self) { try await network.data(.lawful) }
        #expect(transport.requests.isEmpty)
    }

    @Test func errorAfterSendingLosesTheResponse() async throws {
        let transport = MockTransport { _ in .ok() }
        let faults = FaultInjector(script: [
            .error(.connectionLost, afterSending: true), .failure(Broken(), afterSending: true),
        ])
        let network = transport.faultInjected(by: faults)

        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .connectionLost)
        await #expect(throws: Broken.self) { try await network.data(.lawful) }
        #expect(transport.requests.count == 2)
    }

    @Test func statusReplacesTheExchange() async throws {
        let network = network(.status(.serviceUnavailable, headerFields: [.retryAfter: "3"]))

        let response = try await network.data(.lawful)

        #expect(response.status == .serviceUnavailable)
        #expect(response.headerFields[.retryAfter] == "3")
    }

    @Test func injectedRedirectIsFollowedOnlyByRedirected() async throws {
        let faults = FaultInjector(script: [.status(.found, headerFields: [.location: "/elsewhere"])])
        let transport = MockTransport { _ in .ok() }
        let moved = FaultInjector(script: [.status(.found, headerFields: [.location: "/elsewhere"])])

        #expect(try await transport.faultInjected(by: moved).data(.lawful).status == .found)
        #expect(try await transport.faultInjected(by: faults).redirected().data(.lawful).status == .ok)
        #expect(transport.requests.map(\.path) == ["/elsewhere"])
    }

    @Test func firstReplacingFaultWinsWithoutWaiting() async throws {
        let faults = FaultInjector(
            seed: 1,
            [
                .latency(.seconds(9)), .status(.badGateway), .error(.timeout), .stalled(after: 0),
            ]
        )
        let network = MockTransport { _ in .ok() }.faultInjected(by: faults).environment(\.clock, .manual(clock))

        #expect(try await network.data(.lawful).status == .badGateway)
        #expect(faults.injected.map { "\($0.fault)" } == ["status(502)"])
    }

    @Test func notifiesObserversOfTheExchange() async throws {
        let events = Events()
        var request = HTTPRequestData.lawful
        request.addObserver(events)

        _ = try? await network(.error(.connectionLost)).data(request)
        #expect(events.names == ["exchangeStarted", "exchangeFailed"])
    }

    // MARK: Latency

    @Test func latencyDelaysTheRequest() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.faultInjected(by: FaultInjector(script: [.latency(.seconds(2))]))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }

        try await clock.advance(by: .milliseconds(1_999), afterSleepers: 1)
        #expect(transport.requests.isEmpty)
        clock.advance(by: .milliseconds(1))

        #expect(try await call.value.status == .ok)
    }

    @Test func jitterStaysWithinItsBounds() async throws {
        let faults = FaultInjector(seed: 5, [.latency(.seconds(20), jitter: .seconds(10))])
        let network = MockTransport { _ in .ok() }.faultInjected(by: faults).environment(\.clock, .manual(clock))
        var waits: [Duration] = []

        for _ in 0..<1_000 {
            let start = clock.now
            try await clock.run { _ = try await network.data(.lawful) }
            waits.append(start.duration(to: clock.now))
        }

        let (least, most) = (try #require(waits.min()), try #require(waits.max()))
        #expect(least >= .seconds(10) && least < .seconds(11))
        #expect(most <= .seconds(30) && most > .seconds(29))
    }

    @Test func cancellationDuringLatencySendsNothing() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.faultInjected(by: FaultInjector(script: [.latency(.seconds(2))]))
            .environment(\.clock, .manual(clock))
        try await expectCancelledWaitSendsNothing(network, over: transport, clock)
    }

    // MARK: Bodies

    @Test func truncatedBodyFailsAfterTheGivenBytes() async throws {
        let error = await #expect(throws: NetworkingError.self) {
            try await network(.truncated(after: 50)).data(.lawful)
        }
        #expect(error?.kind == .truncated)
        #expect(error?.reason == "The test's FaultInjector ended the body after 50 bytes.")
        #expect(error?.response?.status == .ok)

        let sink = CollectingSink()
        let lost = await #expect(throws: NetworkingError.self) {
            try await network(.truncated(after: 50, as: .connectionLost)).data(request(into: sink))
        }
        #expect(lost?.kind == .connectionLost)
        #expect(sink.data == body.prefix(50))
        #expect((sink.failures.first as? NetworkingError)?.kind == .connectionLost)
        #expect(sink.failures.count == 1)
        #expect(sink.finished == 0)
    }

    @Test func cutBodyEndsEarlyWithoutAnError() async throws {
        let sink = CollectingSink()

        #expect(try await network(.cut(after: 50)).data(.lawful).data == body.prefix(50))
        let response = try await network(.cut(after: 50)).data(request(into: sink))

        #expect(response.body == .delivered(byteCount: 50))
        #expect(sink.data == body.prefix(50))
        #expect(sink.finished == 1)
        #expect(sink.heads.count == 1)
    }

    @Test(arguments: [
        Fault.truncated(after: 200), .cut(after: 200), .stalled(after: 200), .sliced(into: 200, every: .seconds(1)),
    ])
    func faultsBeyondTheEndLeaveTheBodyUnchanged(fault: Fault) async throws {
        let sink = CollectingSink()

        #expect(try await network(fault).data(.lawful).data == body)
        try await network(fault).data(request(into: sink))
        #expect(sink.data == body)
    }

    @Test func corruptedBodyDiffersInOneBitPerByte() async throws {
        let body = body
        func corrupted(seed: UInt64, length: String? = "200") async throws -> (Data, Data) {
            let fields: HTTPFields = length.map { [.contentLength: $0] } ?? [:]
            let network = MockTransport { _ in .ok(body, headerFields: fields) }
            let sink = CollectingSink()
            let data = try await network.faultInjected(by: FaultInjector(seed: seed, [.corrupted(bytes: 3)]))
                .data(.lawful).data
            try await network.faultInjected(by: FaultInjector(seed: seed, [.corrupted(bytes: 3)]))
                .data(request(into: sink))
            return (data, sink.data)
        }
        let (collected, streamed) = try await corrupted(seed: 1)

        let changes = zip(collected, body).map { $0 ^ $1 }.filter { $0 != 0 }
        #expect(changes.count == 3)
        #expect(changes.allSatisfy { $0.nonzeroBitCount == 1 })
        #expect(collected == streamed)
        #expect(try await corrupted(seed: 1).0 == collected)
        #expect(try await corrupted(seed: 2).0 != collected)
    }

    @Test func corruptionOfMoreBytesThanTheBodyHasChangesEveryByte() async throws {
        let data = try await network(.corrupted(bytes: 10_000)).data(.lawful).data

        #expect(zip(data, body).allSatisfy { $0 != $1 })
        let empty = MockTransport { _ in .ok() }.faultInjected(by: FaultInjector(script: [.corrupted(bytes: 3)]))
        #expect(try await empty.data(.lawful).data.isEmpty)
    }

    @Test func cancellationEndsAStalledBody() async throws {
        let sink = CollectingSink()
        let recorder = RequestRecorder()
        let network = network(.stalled(after: 100), .stalled(after: 100)).recorded(by: recorder)
        for request in [HTTPRequestData.lawful, request(into: sink)] {
            let count = recorder.requests.count
            let call = Task { try await network.data(request) }
            try await recorder.waitForRequests(count + 1)

            call.cancel()

            await #expect(throws: CancellationError.self) { try await call.value }
        }
    }

    @Test(arguments: [true, false])
    func timeoutEndsAStalledBody(hasSink: Bool) async throws {
        let sink = CollectingSink()
        let network = network(.stalled(after: 100), nil).timeout(.seconds(10)).environment(\.clock, .manual(clock))
        let request = hasSink ? request(into: sink) : .lawful
        let call = Task { try await network.data(request) }

        try await clock.advance(by: .seconds(10), afterSleepers: 1)

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
    }

    /// The sink has received 100 bytes and is idle, so the network is silent.
    @Test func idleTimeoutEndsAStalledStream() async throws {
        let sink = CountingSink(goal: 100)
        let network = network(.stalled(after: 100)).timeout(idle: .seconds(1)).environment(\.clock, .manual(clock))
        let request = request(into: sink)
        let call = Task { try await network.data(request) }
        try await sink.waitForGoal()

        // The sink can still be busy with the last chunk, so the silence starts at the latest one second later.
        let seconds = Task { while true { try await clock.advance(by: .seconds(1), afterSleepers: 1) } }

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        seconds.cancel()
    }

    @Test func slicedBodyArrivesInChunksWithPauses() async throws {
        let sink = CollectingSink()
        let network = network(.sliced(into: 64, every: .seconds(1)), .sliced(into: 64, every: .seconds(1)))
            .environment(\.clock, .manual(clock))

        try await clock.run { _ = try await network.data(request(into: sink)) }
        #expect(sink.chunks.map(\.count) == [64, 64, 64, 8])
        #expect(sink.data == body)
        #expect(clock.now.offset == .seconds(3))

        #expect(try await clock.run { try await network.data(.lawful).data } == body)
        #expect(clock.now.offset == .seconds(6))
    }

    @Test(arguments: [true, false])
    func cancellationEndsASlicedBody(hasSink: Bool) async throws {
        let sink = CollectingSink()
        let network = network(.sliced(into: 64, every: .seconds(1))).environment(\.clock, .manual(clock))
        let request = hasSink ? request(into: sink) : .lawful
        let call = Task { try await network.data(request) }
        try await clock.waitForSleepers()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(clock.sleepers == 0)
        #expect(sink.failures.count == (hasSink ? 1 : 0))
        #expect(sink.failures.allSatisfy { $0 is CancellationError })
    }

    @Test func combinesBodyFaults() async throws {
        let sink = CollectingSink()
        let faults = FaultInjector(
            seed: 1,
            [.sliced(into: 30, every: .zero), .stalled(after: 100), .truncated(after: 70), .corrupted(bytes: 200)]
        )
        let body = body
        let network = MockTransport { _ in .ok(body, headerFields: [.contentLength: "200"]) }.faultInjected(by: faults)

        await #expect(throws: NetworkingError.self) { try await network.data(request(into: sink)) }

        #expect(sink.chunks.map(\.count) == [30, 30, 10])
        #expect(zip(sink.data, body).allSatisfy { $0 != $1 })
    }

    @Test func respectsTheDecisionOfTheSink() async throws {
        let collecting = CollectingSink { _ in .collect(upTo: 10) }
        let refusing = CollectingSink { _ in .refuse }

        let error = await #expect(throws: NetworkingError.self) {
            try await network(.cut(after: 50)).data(request(into: collecting))
        }
        #expect(error?.kind == .tooLarge)
        #expect(try await network(.cut(after: 50)).data(request(into: refusing)).body == .delivered(byteCount: 0))
        #expect(refusing.heads.count == 1)
        #expect(refusing.chunks.isEmpty)
    }

    @Test func doesNotOfferARedirectToTheSink() async throws {
        let sink = CollectingSink()
        let body = body
        let network = MockTransport([.redirect(to: "/elsewhere"), .ok(body)])
            .faultInjected(by: FaultInjector(script: [.cut(after: 50), .cut(after: 60)])).redirected()

        try await network.data(request(into: sink))

        #expect(sink.heads.map(\.status) == [.ok])
        #expect(sink.data == body.prefix(60))
    }

    // MARK: Modifiers that handle faults

    @Test func retryRecoversFromEachFault() async throws {
        let faults: [Fault?] = [
            .error(.connectionLost), .status(.serviceUnavailable), .error(.timeout, afterSending: true),
            .truncated(after: 10), .stalled(after: 10), nil,
        ]
        let recorder = RequestRecorder()
        let body = body
        let network = MockTransport { _ in .ok(body) }.faultInjected(by: FaultInjector(script: faults))
            .timeout(.seconds(5)).recorded(by: recorder)
            .retry(.constant(.seconds(1), maximumRetries: 5))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }

        for attempt in 1...5 {
            if attempt == 5 {
                // The fifth attempt stalls until its timeout.
                try await advance(by: .seconds(5))
            }
            try await advance(by: .seconds(1))
        }

        #expect(try await call.value.data == body)
        #expect(recorder.requests.count == 6)
    }

    /// Advances the clock once the next deadline is exactly that far away.
    ///
    /// Timeouts are set and cancelled meanwhile.
    private func advance(by duration: Duration) async throws {
        let moment = clock.now.advanced(by: duration)
        while clock.nextDeadline != moment {
            try Task.checkCancellation()
            await Task.yield()
        }
        clock.advance(by: duration)
    }

    @Test func deadlineEndsLatency() async throws {
        let network = network(.latency(.seconds(10))).deadline(.seconds(3)).environment(\.clock, .manual(clock))

        let call = Task { try await network.data(.lawful) }

        try await clock.advance(by: .seconds(3), afterSleepers: 2)

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(clock.sleepers == 0)
    }

    @Test func truncatedDownloadFailsAndLeavesNoFile() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("fault-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }

        let error = await #expect(throws: NetworkingError.self) {
            try await network(.truncated(after: 50)).download(.lawful, to: file)
        }
        #expect(error?.kind == .truncated)
        #expect(!FileManager.default.fileExists(atPath: file.path))

        try await network(.sliced(into: 7, every: .zero)).download(.lawful, to: file)
        #expect(try Data(contentsOf: file) == body)
    }

    // MARK: Laws

    @Test func keepsTheLawsWithoutAFault() async throws {
        try await checkLaws {
            AnyNetworkingComponent($0.faultInjected(by: FaultInjector(seed: 1, [.error(.timeout, rate: 0)])))
        }
        try await checkLaws { upstream in
            AnyNetworkingComponent(upstream.faultInjected(by: FaultInjector(script: [.error(.timeout)]) { _ in false }))
        }
    }

    @Test func keepsTheLawsWithLatencyAndSlices() async throws {
        try await checkLaws { upstream in
            let faults = FaultInjector(seed: 1, [.latency(.seconds(1)), .sliced(into: 5, every: .seconds(1))])
            return AnyNetworkingComponent(upstream.faultInjected(by: faults))
        }
    }
}

private final class Events: NetworkEventObserver {
    private let state = Mutex<[String]>([])

    var names: [String] {
        state.withLock { $0 }
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        state.withLock { $0.append(String("\(event)".prefix { $0 != "(" })) }
    }
}

/// A sink that reports when it has received a number of bytes.
private final class CountingSink: ResponseSink {
    private let count = Mutex(0)
    private let goal: Int
    private let reached = Suspension<Void>()

    init(goal: Int) {
        self.goal = goal
    }

    func waitForGoal() async throws {
        try await reached.value()
    }

    func receive(_ chunk: Data) async throws {
        let sum = count.withLock { count in
            count += chunk.count
            return count
        }
        if sum >= goal {
            reached.resume()
        }
    }
}
