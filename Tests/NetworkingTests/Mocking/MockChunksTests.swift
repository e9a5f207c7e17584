import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Mock responses that arrive in chunks, end early, are held, or never arrive.
@Suite(.timeLimit(.minutes(20)))
struct MockChunksTests {
    private struct Failure: Error {}

    private let clock = ManualClock()

    private func send(
        _ response: MockResponse,
        to sink: CollectingSink? = nil,
        limit: Int64? = nil
    ) -> (MockTransport, Task<HTTPResponseData, any Error>) {
        let transport = MockTransport([response])
        let network = transport.environment(\.clock, .manual(clock))
        var request = HTTPRequestData.lawful
        request.sink = sink
        if let limit { request.maximumResponseBytes = limit }
        return (transport, Task { [request] in try await network.data(request) })
    }

    private func texts(_ sink: CollectingSink) -> [String] {
        sink.chunks.map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Chunks

    @Test func chunksReachTheSinkInTurn() async throws {
        let sink = CollectingSink()
        let gate = MockGate()
        let response = MockResponse.chunks([
            "one", .wait(.seconds(2)), "two", .wait(for: gate), .data(Data("three".utf8)),
        ])
        let (transport, call) = send(response, to: sink)

        try await clock.waitForSleepers()
        #expect(texts(sink) == ["one"])
        #expect(sink.finished == 0)
        clock.advance(by: .seconds(2))
        try await transport.waitForChunks(2)
        #expect(texts(sink) == ["one", "two"])
        #expect(transport.active == 1)
        #expect(!gate.isOpen)
        gate.open()

        #expect(try await call.value.body == .delivered(byteCount: 11))
        #expect(texts(sink) == ["one", "two", "three"])
        #expect(sink.finished == 1)
        #expect(sink.failures.isEmpty)
        #expect(transport.deliveredChunks == 3)
    }

    @Test func chunksAreCollectedWithoutASink() async throws {
        let (_, call) = send(.chunks(["one", "two"], status: .created, headerFields: [.contentType: "text/css"]))
        let response = try await call.value

        #expect(response.status == .created)
        #expect(response.headerFields[.contentType] == "text/css")
        #expect(response.body == .collected(Data("onetwo".utf8)))
    }

    @Test func eventsHaveTheirMediaType() async throws {
        let (_, call) = send(.events("data: 1\n\n"))

        #expect(try await call.value.headerFields[.contentType] == "text/event-stream; charset=utf-8")
    }

    @Test func chunksBeyondTheLimitFail() async {
        let (_, call) = send(.chunks(["0123", "4567"]), limit: 6)

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .tooLarge)
    }

    @Test(
        arguments: [
            (.take, .delivered(byteCount: 6), 1, 6),
            (.collect(upTo: 6), .collected(Data("onetwo".utf8)), 1, 0),
            (.refuse, .delivered(byteCount: 0), 1, 0),
        ] as [(SinkDecision, ResponseBody, Int, Int)]
    )
    func sinkDecidesOnceAboutChunks(decision: SinkDecision, body: ResponseBody, offers: Int, received: Int) async throws
    {
        let sink = CollectingSink { _ in decision }
        let (_, call) = send(.chunks(["one", "two"]), to: sink)

        #expect(try await call.value.body == body)
        #expect(sink.heads.count == offers)
        #expect(sink.data.count == received)
        #expect(sink.finished == (decision == .take ? 1 : 0))
    }

    @Test func slowSinkDelaysTheTransport() async throws {
        let gate = MockGate()
        let transport = MockTransport([.chunks(["one", "two", "three"])])
        let sink = SlowSink(gate: gate)
        let call = Task { try await transport.data(.lawful.with { $0.sink = sink }) }

        try await sink.isBusy.value()
        #expect(transport.deliveredChunks == 0)
        gate.open()

        #expect(try await call.value.body.count == 11)
        #expect(transport.deliveredChunks == 3)
    }

    @Test func errorOfTheSinkEndsTheExchange() async throws {
        let transport = MockTransport([.chunks(["one", "two"])])

        await #expect(throws: Failure.self) {
            try await transport.data(.lawful.with { $0.sink = BrokenSink(error: Failure()) })
        }
        #expect(transport.deliveredChunks == 0)
    }

    @Test func bodyThatIsShorterThanItsContentLengthIsTruncated() async {
        let sink = CollectingSink()
        let (_, call) = send(.chunks(["one"], headerFields: [.contentLength: "10"]), to: sink)

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .truncated)
        #expect(sink.failures.count == 1)
    }

    // MARK: Steps

    @Test func stepsHaveDelaysAndReportProgress() async throws {
        let seen = Mutex<[BytesReceived]>([])
        let network = MockTransport([.text("hello world").inSteps(4, every: .seconds(2))])
            .environment(\.clock, .manual(clock))
        let call = Task {
            try await network.data(.lawful) { progress in seen.withLock { $0.append(progress.received) } }
        }

        for step in 1...4 {
            try await clock.waitForSleepers()
            #expect(seen.withLock { $0.count } == step)
            clock.advance(by: .seconds(2))
        }

        #expect(try await call.value.data == Data("hello world".utf8))
        #expect(seen.withLock { $0.dropFirst().map(\.count) } == [2, 5, 8, 11])
        #expect(seen.withLock { $0.dropFirst().allSatisfy { $0.expected == 11 } })
        #expect(clock.now.offset == .seconds(8))
    }

    @Test func stepsReachTheSinkAsChunks() async throws {
        let sink = CollectingSink()
        let (_, call) = send(.text("hello world").inSteps(3), to: sink)

        #expect(try await call.value.status == .ok)
        #expect(texts(sink) == ["hel", "lo w", "orld"])
    }

    @Test(arguments: [(0, []), (1, [2]), (3, [2, 5, 8]), (9, [2, 5, 8, 11])] as [(Int, [Int64])])
    func responseFailsAfterItsSteps(steps: Int, progress: [Int64]) async throws {
        let seen = Mutex<[BytesReceived]>([])
        let sink = CollectingSink()
        let transport = MockTransport([.text("hello world").inSteps(4).failing(with: Failure(), afterSteps: steps)])

        await #expect(throws: Failure.self) {
            try await transport.data(.lawful.with { $0.sink = sink }) { progress in
                seen.withLock { $0.append(progress.received) }
            }
        }

        #expect(seen.withLock { $0.dropFirst().map(\.count) } == progress)
        #expect(sink.heads.count == 1)
        #expect(sink.failures.count == 1)
        #expect(sink.finished == 0)
        #expect(sink.data.count == Int(progress.last ?? 0))
    }

    @Test(arguments: [(0, ""), (4, "hell"), (11, "hello world"), (99, "hello world")] as [(Int, String)])
    func responseFailsAfterItsBytes(bytes: Int, received: String) async throws {
        let sink = CollectingSink()
        let (_, call) = send(.text("hello world").failing(with: Failure(), afterBytes: bytes), to: sink)

        await #expect(throws: Failure.self) { try await call.value }
        #expect(sink.data == Data(received.utf8))
        #expect(sink.failures.count == 1)
    }

    @Test func chunksFailAfterANumberOfBytes() async throws {
        let sink = CollectingSink()
        let response = MockResponse.chunks(["one", "two", "three"]).failing(with: Failure(), afterBytes: 4)
        let (_, call) = send(response, to: sink)

        await #expect(throws: Failure.self) { try await call.value }
        #expect(texts(sink) == ["one", "t"])
    }

    @Test func emptyBodyInStepsIsComplete() async throws {
        let sink = CollectingSink()
        let (_, call) = send(MockResponse.ok().inSteps(3, every: .zero), to: sink)

        #expect(try await call.value.body == .delivered(byteCount: 0))
        #expect(sink.finished == 1)
    }

    // MARK: No response

    @Test(arguments: [MockResponse.never, .chunks(["one", .hang]), .chunks([.wait(for: MockGate())])])
    func missingResponseEndsAtTheCancellation(response: MockResponse) async throws {
        let sink = CollectingSink()
        let (transport, call) = send(response, to: sink)
        try await transport.waitForRequests()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.cancelled == 1)
        #expect(sink.finished == 0)
        #expect(sink.failures.count == sink.heads.count)
        #expect(sink.failures.allSatisfy { $0 is CancellationError })
    }

    @Test func missingResponseEndsAtATimeout() async throws {
        let network = MockTransport([.never]).timeout(.seconds(3)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.advance(by: .seconds(3), afterSleepers: 1)

        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.isTimeout == true)
    }

    // MARK: Held responses

    @Test func heldResponseIsReturnedToWaitingAndLaterRequests() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let call = Task { try await transport.data(.lawful) }
        try await held.waitForRequests()
        #expect(held.requests.map(\.path) == ["/check"])

        held.respond(with: .text("now"))
        held.fail(Failure())

        #expect(try await call.value.data == Data("now".utf8))
        #expect(try await transport.data(.lawful).data == Data("now".utf8))
        #expect(held.requests.count == 2)
        #expect(held.cancellations == 0)
    }

    @Test func heldResponseMayFailAndMayHaveChunks() async throws {
        let failure = HeldResponse()
        failure.fail(Failure())
        await #expect(throws: Failure.self) { try await MockTransport([.held(by: failure)]).data(.lawful) }

        let chunked = HeldResponse()
        chunked.respond(with: .chunks(["a", "b"]))
        #expect(try await MockTransport([.held(by: chunked)]).data(.lawful).data == Data("ab".utf8))
    }

    @Test func stepsAndFailuresApplyToAHeldResponse() async throws {
        let held = HeldResponse()
        held.respond(with: .text("hello world"))
        let steps = CollectingSink()
        let (_, inSteps) = send(.held(by: held).inSteps(3), to: steps)
        #expect(try await inSteps.value.status == .ok)
        #expect(texts(steps) == ["hel", "lo w", "orld"])

        let broken = CollectingSink()
        let (_, failing) = send(.held(by: held).failing(with: Failure(), afterBytes: 4), to: broken)
        await #expect(throws: Failure.self) { try await failing.value }
        #expect(texts(broken) == ["hell"])

        let own = HeldResponse()
        own.respond(with: .text("hello world").inSteps(2).failing(with: CancellationError(), afterSteps: 1))
        let ownSteps = CollectingSink()
        let (_, call) = send(.held(by: own).inSteps(3).failing(with: Failure(), afterBytes: 0), to: ownSteps)
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(texts(ownSteps) == ["hello"])
    }

    @Test func heldResponseCountsCancelledCallers() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let call = Task { try await transport.data(.lawful) }
        try await held.waitForRequests()

        call.cancel()

        await #expect(throws: CancellationError.self) { try await call.value }
        try await held.waitForCancellations()
        #expect(held.cancellations == 1)
    }
}

private struct SlowSink: ResponseSink {
    let gate: MockGate
    let isBusy = Suspension<Void>()

    func receive(_ chunk: Data) async throws {
        isBusy.resume()
        try await gate.wait()
    }
}

private struct BrokenSink: ResponseSink {
    let error: any Error

    func receive(_ chunk: Data) async throws {
        throw error
    }
}
