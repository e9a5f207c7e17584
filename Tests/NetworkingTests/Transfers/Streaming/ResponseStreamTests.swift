import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ResponseStreamTests {
    private func text(_ stream: some AsyncSequence<Data, any Error>) async throws -> String {
        var text = Data()
        for try await chunk in stream {
            text.append(chunk)
        }
        return String(decoding: text, as: UTF8.self)
    }

    @Test func returnsTheHeadFirst() async throws {
        let transport = MockTransport([.chunks([.hang], headerFields: [.contentType: "text/plain"])])
        let stream = try await transport.stream(.lawful)
        #expect(stream.response.status == .ok)
        #expect(stream.response.headerFields[.contentType] == "text/plain")
        #expect(stream.response.request == .lawful)
        #expect(transport.ended == 0)
    }

    @Test func returnsChunksAsTheyArrive() async throws {
        let transport = MockTransport([.chunks([.text("one "), .text("two "), .text("three")])])
        var chunks: [String] = []
        for try await chunk in try await transport.stream(.lawful) {
            chunks.append(String(decoding: chunk, as: UTF8.self))
        }
        #expect(chunks == ["one ", "two ", "three"])
        #expect(transport.ended == 1)
    }

    @Test func returnsABodyThatAComponentHasCollected() async throws {
        let network = MockTransport { _ in .text("hello") }.retry().timeout(.seconds(10)).throttled(max: 1)
        #expect(try await text(network.stream(.lawful)) == "hello")
        #expect(try await text(MockTransport { _ in .ok() }.stream(.lawful)) == "")
    }

    /// One chunk waits for the reader, and the transport holds another one.
    @Test func slowReaderDelaysTheServer() async throws {
        let transport = MockTransport([.chunks((0..<100).map { .text("\($0)") })])
        var chunks = try await transport.stream(.lawful).makeAsyncIterator()
        for _ in 0..<1_000 {
            await Task.yield()
        }
        #expect(transport.deliveredChunks <= 1)
        for number in 0..<100 {
            #expect(try await chunks.next() == Data("\(number)".utf8))
            #expect(transport.deliveredChunks <= number + 2)
        }
        #expect(try await chunks.next() == nil)
        #expect(try await chunks.next() == nil)
    }

    @Test(arguments: [(HTTPResponse.Status.notFound, NetworkingError.Kind.status), (.unauthorized, .unauthorized)])
    func unacceptedStatusIsAnErrorWithItsBody(status: HTTPResponse.Status, kind: NetworkingError.Kind) async {
        let transport = MockTransport([.chunks([.text("why")], status: status)])
        let error = await #expect(throws: NetworkingError.self) { try await transport.stream(.lawful) }
        #expect(error?.kind == kind)
        #expect(error?.bodyText == "why")
    }

    @Test func acceptedStatusIsStreamed() async throws {
        let transport = MockTransport([.chunks([.text("page")], status: .notFound)])
        let stream = try await transport.stream(.lawful.with { $0.acceptedStatuses = [404] })
        #expect(try await text(stream) == "page")
    }

    @Test func errorOfATruncatedBodyIsThrownByTheIteration() async throws {
        let lost = NetworkingError(.connectionLost, request: .lawful)
        let transport = MockTransport([.chunks([.text("half"), .failure(lost)])])
        var chunks = try await transport.retry().stream(.lawful).makeAsyncIterator()
        #expect(try await chunks.next() == Data("half".utf8))
        let result = await Result { try await chunks.next() }
        #expect(throws: NetworkingError.self) { try result.get() }
        // The request was not retried, because bytes had arrived.
        #expect(transport.requests.count == 1)
    }

    @Test func isRetriedUntilBytesArrive() async throws {
        let transport = MockTransport([
            .chunks([.text("busy")], status: .serviceUnavailable), .chunks([.text("there")]),
        ])
        #expect(try await text(transport.retry(.immediate()).stream(.lawful)) == "there")
    }

    @Test func canBeReadOnce() async throws {
        let transport = MockTransport([.chunks([.text("one"), .text("two")])])
        let stream = try await transport.stream(.lawful)
        var first = stream.makeAsyncIterator()
        var second = stream.makeAsyncIterator()
        let result = await Result { try await second.next() }
        #expect(throws: NetworkingError.self) { try result.get() }
        #expect(try await first.next() == Data("one".utf8))
        #expect(try await first.next() == Data("two".utf8))
    }

    /// Ends of a stream whose error or response has the request, and so the channel of the stream as its sink.
    private static let failures: [@Sendable (HTTPRequestData) -> MockResponse] = [
        { .chunks([.text("half"), .failure(NetworkingError(.connectionLost, request: $0))]) },
        { .failure(NetworkingError(.connection, request: $0)) },
        { _ in .status(.notFound) },
    ]

    @Test(arguments: failures.indices)
    func failedStreamReleasesItsRequest(index: Int) async throws {
        weak var part: CollectingSink?
        do {
            let kept = CollectingSink()
            part = kept
            let request = HTTPRequestData.lawful.with { $0.progressHandler = { _ in withExtendedLifetime(kept) {} } }
            let result = await Result { try await text(MockTransport { Self.failures[index]($0) }.stream(request)) }
            #expect(throws: NetworkingError.self) { try result.get() }
        }
        try await eventually("the request is released") { part == nil }
    }

    // MARK: Early ends

    @Test func leavingTheLoopEndsTheTransfer() async throws {
        let transport = MockTransport([.chunks([.text("one"), .hang])])
        let stream = try await transport.stream(.lawful)
        for try await _ in stream { break }
        try await transport.waitForEnds()
        #expect(stream.response.status == .ok)
    }

    @Test func releasingAnUnreadStreamEndsTheTransfer() async throws {
        let transport = MockTransport([.chunks([.hang])])
        _ = try await transport.stream(.lawful)
        try await transport.waitForEnds()
    }

    @Test(arguments: [0, 1, 2, 3])
    func cancelledReaderEndsTheTransfer(chunks: Int) async throws {
        let transport = MockTransport([.chunks((0..<chunks).map { .text("\($0)") } + [.hang])])
        let (reading, read) = AsyncStream.makeStream(of: Void.self)
        let call = Task {
            let stream = try await transport.stream(.lawful)
            read.yield()
            for try await _ in stream {
                read.yield()
            }
        }
        var count = 0
        for await _ in reading {
            count += 1
            if count == chunks + 1 { break }
        }
        call.cancel()
        let result = await call.result
        #expect(throws: CancellationError.self) { try result.get() }
        try await transport.waitForEnds()
    }

    @Test func callerCancelledBeforeTheHeadEndsTheTransfer() async throws {
        let network = MockTransport { _ in
            try await Suspension<Void>().value()
            return .ok()
        }
        let recorder = RequestRecorder()
        let call = Task { try await network.recorded(by: recorder).stream(.lawful) }
        try await recorder.waitForRequests(1)
        call.cancel()
        let result = await call.result
        #expect(throws: CancellationError.self) { try result.get() }
        try await eventually("recorder.active == 0") { recorder.active == 0 }
    }

    // MARK: Scopes

    @Test func endOfTheScopeEndsTheTransfer() async throws {
        let transport = MockTransport([.chunks([.text("one"), .hang]), .chunks([.hang]), .chunks([.text("all")])])
        let first = try await transport.stream(.lawful) { response, bytes in
            #expect(response.status == .ok)
            var chunks = bytes.makeAsyncIterator()
            return try await chunks.next()
        }
        #expect(first == Data("one".utf8))
        #expect(transport.ended == 1)

        struct Enough: Error {}
        await #expect(throws: Enough.self) {
            try await transport.stream(.lawful) { _, _ in throw Enough() }
        }
        #expect(transport.ended == 2)
        let all = try await transport.stream(.lawful) { _, bytes in try await text(bytes) }
        #expect(all == "all")
    }

    // MARK: In a stack

    @Test func openStreamsHoldNoPermits() async throws {
        let transport = MockTransport(Array(repeating: .chunks(["x", .hang]), count: 6) + [.text("nested")])
        let network = transport.throttled(max: 6)
        var streams: [ResponseStream] = []
        for _ in 0..<6 {
            streams.append(try await network.stream(.lawful))
        }
        // This request needs one permit, and none would be left.
        let nested = try await network.data(.lawful)
        #expect(nested.data == Data("nested".utf8))
        #expect(streams.count == 6)
    }

    @Test func modifierMayWatchTheStream() async throws {
        let journal = Journal()
        let watched = Sending { request, upstream in
            var request = request
            request.sink = request.sink.map { sink in
                WatchedSink(sink) { chunk in
                    journal.note(String(decoding: chunk, as: UTF8.self))
                } onEnd: { error in
                    journal.note(error == nil ? "end" : "failure")
                }
            }
            return try await upstream.send(request)
        }
        let transport = MockTransport([.chunks([.text("one"), .text("two")])])
        #expect(try await text(transport.modified(watched).stream(.lawful)) == "onetwo")
        #expect(journal.entries == ["one", "two", "end"])
    }
}
