import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Bodies that go to sinks when they are recorded and when they are replayed.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CassetteSinkTests {
    /// A transport that delivers a body in chunks.
    private struct Chunks: NetworkingTransport {
        var chunks: [String]
        var type = "application/octet-stream"
        var status = HTTPResponse.Status.ok
        var failure: (any Error)?
        /// Whether the body never ends unless the request is cancelled.
        var isEndless = false
        /// Resumed at the end of the body.
        ///
        /// The transport then waits.
        var hangsAfterTheEnd: Suspension<Void>?
        /// Ends the wait after the body.
        ///
        /// Without it, only cancellation does.
        var continues: Suspension<Void>?

        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            let head = HTTPResponse(status: status, headerFields: [.contentType: type])
            var isAccepted = false
            let response = try await request.deliver(head) { delivery in
                for chunk in chunks { try await delivery.receive(Data(chunk.utf8)) }
                isAccepted = delivery.limit == nil
                guard isAccepted else { return }
                if isEndless { try await Suspension<Void>().value() }
                if let failure { throw failure }
            }
            if isAccepted, let hangsAfterTheEnd {
                hangsAfterTheEnd.resume()
                try await (continues ?? Suspension<Void>()).value()
            }
            return response
        }
    }

    private func request(to sink: some ResponseSink) -> HTTPRequestData {
        var request = HTTPRequestData(path: "a")
        request.sink = sink
        return request
    }

    @Test func sinkReceivesTheBodyWhenRecordedAndReplayed() async throws {
        try await withCassetteFolder { folder in
            let (first, second) = (CollectingSink(), CollectingSink())
            try await folder.record(from: Chunks(chunks: ["one", "two"])) { network in
                let response = try await network.data(request(to: first))
                #expect(response.body == .delivered(byteCount: 6))
                #expect(response.sentRequest.sink is CollectingSink)
            }
            #expect(first.chunks == [Data("one".utf8), Data("two".utf8)])

            try await folder.replay { network in
                let response = try await network.data(request(to: second))
                #expect(response.body == .delivered(byteCount: 6))
                // A request without a sink gets the same response.
            }
            #expect(second.data == first.data)
            #expect(second.finished == 1)
            #expect(second.heads == first.heads)
        }
    }

    @Test func recordsAndReplaysForASinkThatRefusesTheBody() async throws {
        try await withCassetteFolder { folder in
            let sink = CollectingSink { _ in .refuse }
            try await folder.record(from: Chunks(chunks: ["one"])) { _ = try await $0.data(request(to: sink)) }
            try await folder.replay { _ = try await $0.data(request(to: sink)) }
            #expect(sink.heads.count == 2)

            let reason = await CassetteFolder.reason {
                try await folder.replay { _ = try await $0.data(request(to: CollectingSink())) }
            }
            #expect(reason?.contains("not kept: the request's sink refused it") == true)
        }
    }

    @Test func recordsAndReplaysForASinkThatCollects() async throws {
        try await withCassetteFolder { folder in
            let transport = Chunks(chunks: ["not here"], status: .notFound)
            for (isReplay, sink) in [(false, CollectingSink()), (true, CollectingSink())] {
                let send = { (network: AnyNetworkingComponent) in
                    let response = try await network.data(request(to: sink))
                    #expect(response.data == Data("not here".utf8))
                }
                if isReplay {
                    try await folder.replay { try await send($0) }
                } else {
                    try await folder.record(from: transport) { try await send($0) }
                }
                #expect(sink.heads.map(\.status) == [.notFound])
                #expect(sink.chunks.isEmpty)
            }
        }
    }

    @Test func replaysLargeBodiesInChunks() async throws {
        try await withCassetteFolder { folder in
            let text = String(repeating: "0123456789", count: 20_000)
            let sink = CollectingSink()
            try await folder.record(from: Chunks(chunks: [text])) { try await $0.get("a", expecting: text) }
            try await folder.replay { _ = try await $0.data(request(to: sink)) }
            #expect(sink.chunks.map(\.count) == [65_536, 65_536, 65_536, 3_392])
            #expect(sink.data == Data(text.utf8))
        }
    }

    /// Returns the data of the events of a stream.
    private static func events(of network: AnyNetworkingComponent) async throws -> [String] {
        var texts: [String] = []
        let stream = try await network.events(HTTPRequestData(path: "a"), until: "[DONE]")
        for try await event in stream { texts.append(event.data) }
        return texts
    }

    @Test func replaysEvents() async throws {
        try await withCassetteFolder { folder in
            let chunks = ["id: 1\nda", "ta: one\n\ndata: t", "wo\n\ndata: [DONE]\n\n"]
            try await folder.record(from: Chunks(chunks: chunks, type: "text/event-stream")) { network in
                let texts = try await Self.events(of: network)
                #expect(texts == ["one", "two"])
            }
            try await folder.replay { network in
                let texts = try await Self.events(of: network)
                #expect(texts == ["one", "two"])
            }
        }
    }

    /// A reader of a language model's stream can stop early, although the server would send more.
    @Test func recordsAStreamUpToTheLastEventRead() async throws {
        try await withCassetteFolder { folder in
            let chunks = ["data: one\n\n", "data: two\n\n"]
            let endless = Chunks(chunks: chunks, type: "text/event-stream", isEndless: true)
            try await folder.record(from: endless) { network in
                var events = try await network.events(HTTPRequestData(path: "a")).makeAsyncIterator()
                #expect(try await events.next()?.data == "one")
                #expect(try await events.next()?.data == "two")
            }
            let reason = await CassetteFolder.reason {
                try await folder.replay { network in
                    var events = try await network.events(HTTPRequestData(path: "a")).makeAsyncIterator()
                    #expect(try await events.next()?.data == "one")
                    #expect(try await events.next()?.data == "two")
                    // The first two events were recorded, but the third was not.
                    _ = try await events.next()
                }
            }
            #expect(
                reason == """
                    The cassette \(folder.cassette.path) (mode .none, 1 interaction) cannot replay interaction 1 beyond the place where \
                    its reader stopped when it was recorded. Record it again with mode .all.
                    """
            )
            #expect(folder.text.contains("\"isPartial\" : true"))
        }
    }

    /// The start of the next event is not an event, and can be half of a secret.
    @Test(arguments: [
        ("text/event-stream", "data: one\n\n", "data: {\"access_token\":\"s3cr3t-ab"),
        ("text/event-stream; charset=utf-8", "data: one\r\n\r\n", "data: {\"access_token\":\r\ndata: \"s3cr3t-ab"),
        ("Text/Event-Stream", "data: one\r\r", "id: s3cr3t"),
    ])
    func doesNotRecordAnIncompleteEvent(_ type: String, _ whole: String, _ half: String) async throws {
        try await withCassetteFolder { folder in
            let endless = Chunks(chunks: [whole + half], type: type, isEndless: true)
            try await folder.record(from: endless) { network in
                var events = try await network.events(HTTPRequestData(path: "a")).makeAsyncIterator()
                #expect(try await events.next()?.data == "one")
            }
            #expect(!folder.text.contains("s3cr3t"))
            #expect(
                try Cassette(at: folder.cassette, mode: .none).interactions.map(\.response.body) == [Data(whole.utf8)]
            )
        }
    }

    /// A request without a sink does not get half a body either.
    @Test func doesNotReplayAPartialStreamAsABody() async throws {
        try await withCassetteFolder { folder in
            let endless = Chunks(chunks: ["data: one\n\n"], type: "text/event-stream", isEndless: true)
            try await folder.record(from: endless) { network in
                var events = try await network.events(HTTPRequestData(path: "a")).makeAsyncIterator()
                #expect(try await events.next()?.data == "one")
            }
            let reason = await CassetteFolder.reason { try await folder.replay { try await $0.get("a") } }
            #expect(
                reason?
                    .hasSuffix(
                        "cannot replay interaction 1 beyond the place where its reader stopped when it was recorded. "
                            + "Record it again with mode .all."
                    ) == true
            )
        }
    }

    /// A sink with a reader that determines the pace.
    private struct PacedSink: ResponseSink {
        var isReaderPaced: Bool { true }
        func receive(_ chunk: Data) async throws {}
    }

    /// The transport returns while finish() still saves the interaction.
    @Test func hookRunsOnceForAStream() async throws {
        try await withCassetteFolder { folder in
            let (ended, continues) = (Suspension<Void>(), Suspension<Void>())
            let seen = Mutex(0)
            let transport = Chunks(chunks: ["one"], hangsAfterTheEnd: ended, continues: continues)
            let options = Cassette.Options.with { options in
                options.afterCapture = { _ in
                    seen.withLock { $0 += 1 }
                    continues.resume()
                    // The transport usually returns within this time.
                    for _ in 0..<200 { sched_yield() }
                }
            }
            let cassette = try Cassette(at: folder.cassette, mode: .once, options: options)
            let network = transport.cassette(cassette).server(authority: "api.example")
            let call = Task { try await network.data(request(to: PacedSink())) }
            try await ended.value()
            try cassette.finish()
            #expect(try await call.value.status == .ok)
            #expect(seen.withLock { $0 } == 1)
            #expect(try Cassette(at: folder.cassette, mode: .none).interactions.count == 1)
        }
    }

    /// The reader receives the last event before the transport returns.
    @Test func recordsAStreamThatHasJustEndedInFull() async throws {
        try await withCassetteFolder { folder in
            let ended = Suspension<Void>()
            let transport = Chunks(
                chunks: ["data: one\n\ndata: [DONE]\n\n"],
                type: "text/event-stream",
                hangsAfterTheEnd: ended
            )
            try await folder.record(from: transport) { network in
                let texts = try await Self.events(of: network)
                #expect(texts == ["one"])
                try await ended.value()
            }
            try await folder.replay { network in
                let texts = try await Self.events(of: network)
                #expect(texts == ["one"])
            }
            #expect(!folder.text.contains("isPartial"))
        }
    }

    @Test func replaysDownloads() async throws {
        try await withCassetteFolder { folder in
            let file = folder.url.appending(path: "file.txt")
            for isReplay in [false, true] {
                let send = { (network: AnyNetworkingComponent) in
                    _ = try await network.download(HTTPRequestData(path: "a"), to: file)
                }
                if isReplay {
                    try await folder.replay { try await send($0) }
                } else {
                    try await folder.record(from: Chunks(chunks: ["a ", "file"])) { try await send($0) }
                }
                #expect(try String(contentsOf: file, encoding: .utf8) == "a file")
                try FileManager.default.removeItem(at: file)
            }
        }
    }

    @Test func refusesToRecordABodyAboveTheLimit() async throws {
        let options = Cassette.Options.with { $0.maximumBodyBytes = 5 }
        try await withCassetteFolder { folder in
            let sink = CollectingSink()
            let reason = await CassetteFolder.reason {
                try await folder.record(from: Chunks(chunks: ["one", "two"]), options) { network in
                    _ = try await network.data(request(to: sink))
                    try await network.get("b", expecting: "onetwo")
                }
            }
            #expect(
                reason == """
                    GET https://api.example/a was not recorded: its body of 6 bytes is longer than maximumBodyBytes, 5, allows.
                    GET https://api.example/b was not recorded: its body of 6 bytes is longer than maximumBodyBytes, 5, allows.
                    """
            )
            #expect(sink.data == Data("onetwo".utf8))
            #expect(folder.names.isEmpty)
        }
    }

    @Test func doesNotRecordAFailedRequest() async throws {
        struct Failure: Error {}
        try await withCassetteFolder { folder in
            let sink = CollectingSink()
            try await folder.record(from: Chunks(chunks: ["one"], failure: Failure())) { network in
                await #expect(throws: Failure.self) { try await network.data(request(to: sink)) }
            }
            #expect(sink.failures.count == 1)
            #expect(folder.names.isEmpty)
        }
    }

    @Test func failingSinkEndsTheReplay() async throws {
        struct Full: Error {}
        final class FullSink: ResponseSink {
            let failures = Mutex(0)
            func receive(_ chunk: Data) async throws { throw Full() }
            func fail(_ error: any Error) { failures.withLock { $0 += 1 } }
        }
        try await withCassetteFolder { folder in
            try await folder.record(from: Chunks(chunks: ["one"])) { try await $0.get("a") }
            let sink = FullSink()
            try await folder.replay { network in
                await #expect(throws: Full.self) { try await network.data(request(to: sink)) }
            }
            #expect(sink.failures.withLock { $0 } == 1)
        }
    }

    @Test func replayHonoursTheMemoryLimitAndReportsProgress() async throws {
        try await withCassetteFolder { folder in
            try await folder.record(from: Chunks(chunks: ["onetwo"])) { network in
                for _ in 0..<2 { try await network.get("a") }
            }
            let counts = Mutex<[Int64]>([])
            try await folder.replay { network in
                var request = HTTPRequestData(path: "a")
                request.progressHandler = { progress in counts.withLock { $0.append(progress.received.count) } }
                _ = try await network.data(request)
                request.maximumResponseBytes = 5
                let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
                #expect(error?.kind == .tooLarge)
            }
            #expect(counts.withLock { $0 }.prefix(2) == [0, 6])
        }
    }
}
