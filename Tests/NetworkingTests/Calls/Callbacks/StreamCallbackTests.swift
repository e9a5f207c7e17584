import Dispatch
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct StreamCallbackTests {
    private struct Token: Codable, Equatable, Sendable {
        var text: String
    }

    @MainActor
    private final class Label {
        var text = ""
    }

    private let queue = DispatchQueue(label: "StreamCallbackTests")

    private static func tokens(_ texts: String...) -> MockResponse {
        .events(MockResponse.Chunk.text(texts.map { "data: {\"text\":\"\($0)\"}\n\n" }.joined() + "data: [DONE]\n\n"))
    }

    /// Starts a stream, and returns a text of each element and the outcome.
    private func received<Elements: AsyncSequence & Sendable>(
        _ text: any KeyPath<Elements.Element, String> & Sendable,
        from transport: MockTransport,
        _ open: @escaping @Sendable (MockTransport) async throws -> Elements
    ) async throws -> (texts: [String], outcome: Result<Elements, any Error>) where Elements.Element: Sendable {
        let texts = Locked<[String]>([])
        let outcomes = Outcomes<Elements>()
        transport.callback(queue: queue, open) { element in
            texts.withLock { $0.append(element[keyPath: text]) }
        } completion: { result in
            outcomes.add(result)
        }
        let outcome = try await outcomes.first()
        return (texts.value, outcome)
    }

    @Test func passesEachLineAndThenTheResponse() async throws {
        let transport = MockTransport([.chunks(["one\ntw", "o\nthree"], headerFields: [.contentType: "text/plain"])])
        let received = try await received(\String.self, from: transport) { try await $0.lines(.lawful) }
        #expect(try received.outcome.get().response.headerFields[.contentType] == "text/plain")
        #expect(received.texts == ["one", "two", "three"])
    }

    @Test func refusedStatusIsAnErrorWithoutLines() async throws {
        let transport = MockTransport([MockResponse(status: .notFound, data: Data("one\n".utf8))])
        let received = try await received(\String.self, from: transport) { try await $0.lines(.lawful) }
        #expect(received.outcome.networkingError?.kind == .status)
        #expect(received.texts.isEmpty)
    }

    @Test func lostConnectionEndsTheStreamWithItsError() async throws {
        let failure = NetworkingError(.connectionLost, request: .lawful)
        let transport = MockTransport([.chunks(["one\n", .failure(failure)])])
        let received = try await received(\String.self, from: transport) { try await $0.lines(.lawful) }
        #expect(received.outcome.networkingError?.kind == .connectionLost)
        #expect(received.texts == ["one"])
    }

    @Test func closureThatCancelsItsStreamGetsNoFurtherElement() async throws {
        let gate = MockGate()
        let transport = MockTransport([.chunks([.wait(for: gate), "one\ntwo\nthree\n", .hang])])
        let lines = Locked<[String]>([])
        let call = Locked<CallHandle?>(nil)
        let outcomes = Outcomes<ResponseLines>()
        let handle = transport.callback(queue: queue) {
            try await $0.lines(.lawful)
        } onElement: { line in
            lines.withLock { $0.append(line) }
            call.value?.cancel()
        } completion: { result in
            outcomes.add(result)
        }
        call.withLock { $0 = handle }
        gate.open()
        #expect(try await outcomes.first().error is CancellationError)
        try await eventually("the transfer has ended") { transport.active == 0 }
        await queue.drain()
        #expect(lines.value == ["one"])
        #expect(outcomes.count == 1)
    }

    @Test func cancelEndsTheTransferWhileTheQueueIsBlocked() async throws {
        let transport = MockTransport([.chunks(["one\n", .hang])])
        let outcomes = Outcomes<ResponseLines>()
        let lines = Locked<[String]>([])
        queue.suspend()
        let call = transport.callback(queue: queue) {
            try await $0.lines(.lawful)
        } onElement: { line in
            lines.withLock { $0.append(line) }
        } completion: { result in
            outcomes.add(result)
        }
        try await transport.waitForChunks(1)
        call.cancel()
        try await eventually("the transfer has ended") { transport.active == 0 }
        #expect(outcomes.count == 0)
        queue.resume()
        #expect(try await outcomes.first().error is CancellationError)
        #expect(lines.value.isEmpty)
    }

    @Test func nextElementIsReadAfterTheClosureHasReturned() async throws {
        let chunks = (0..<10).map { MockResponse.Chunk.text("\($0)\n") }
        let transport = MockTransport([.chunks(chunks)])
        let outcomes = Outcomes<ResponseLines>()
        queue.suspend()
        transport.callback(queue: queue) {
            try await $0.lines(.lawful)
        } onElement: { _ in
        } completion: {
            outcomes.add($0)
        }
        try await transport.waitForChunks(1)
        #expect(transport.deliveredChunks < 10)
        #expect(transport.ended == 0)
        queue.resume()
        #expect(try await outcomes.first().error == nil)
    }

    @Test func passesEventsUpToTheTerminator() async throws {
        let transport = MockTransport { _ in .events("id: 1\ndata: a\n\n", "data: b\n\ndata: [DONE]\n\n") }
        let received = try await received(\ServerSentEvent.data, from: transport) {
            try await $0.events(.lawful, until: "[DONE]")
        }
        #expect(received.outcome.error == nil)
        #expect(received.texts == ["a", "b"])
    }

    @Test func decodesEvents() async throws {
        let transport = MockTransport { _ in Self.tokens("a", "b") }
        let received = try await received(\Token.text, from: transport) { try await $0.events(.lawful, as: Token.self) }
        #expect(received.outcome.error == nil)
        #expect(received.texts == ["a", "b"])
    }

    @Test func eventThatCannotBeDecodedEndsTheStreamUnlessItIsSkipped() async throws {
        let transport = MockTransport { _ in .events("data: x\n\ndata: {\"text\":\"a\"}\n\ndata: [DONE]\n\n") }
        let failed = Outcomes<DecodedEvents<Token>>()
        transport.callback(queue: queue) {
            try await $0.events(.lawful, as: Token.self)
        } onElement: { _ in
        } completion: {
            failed.add($0)
        }
        #expect(try await failed.first().networkingError?.kind == .decoding)
        let received = try await received(\Token.text, from: transport) {
            try await $0.events(.lawful, as: Token.self, onDecodingFailure: .skip)
        }
        #expect(received.outcome.error == nil)
        #expect(received.texts == ["a"])
    }

    @Test func decodesTheDocumentsOfABody() async throws {
        let transport = MockTransport { _ in .chunks([#"{"text":"a"}{"te"#, #"xt":"b"}"#]) }
        let received = try await received(\Token.text, from: transport) { try await $0.values(.lawful, as: Token.self) }
        #expect(received.outcome.error == nil)
        #expect(received.texts == ["a", "b"])
    }

    @Test @MainActor func streamsHaveAFormForTheMainActor() async throws {
        let label = Label()
        let lines = Outcomes<ResponseLines>()
        MockTransport { _ in .text("1\n2\n") }
            .callback(on: .main) {
                try await $0.lines(.lawful)
            } onElement: { line in
                label.text += line
            } completion: { result in
                lines.add(result)
            }
        _ = try await lines.first().get()
        let events = Outcomes<EventStream>()
        let stream = MockTransport { _ in Self.tokens("3") }
        stream.callback(on: .main) {
            try await $0.events(.lawful, until: "[DONE]")
        } onElement: { event in
            label.text += "\(event.data.count)"
        } completion: { result in
            events.add(result)
        }
        _ = try await events.first().get()
        let decoded = Outcomes<DecodedEvents<Token>>()
        stream.callback(on: .main) {
            try await $0.events(.lawful, as: Token.self)
        } onElement: { token in
            label.text += token.text
        } completion: { result in
            decoded.add(result)
        }
        _ = try await decoded.first().get()
        let values = Outcomes<JSONStream<Token>>()
        MockTransport { _ in .json(Token(text: "4")) }
            .callback(on: .main) {
                try await $0.values(.lawful, as: Token.self)
            } onElement: { token in
                label.text += token.text
            } completion: { result in
                values.add(result)
            }
        _ = try await values.first().get()
        #expect(label.text == "121234")
    }

    @Test func anySequenceIsPassedElementByElement() async throws {
        let transport = MockTransport { request in .json([request.path ?? ""]) }
        let pages = Locked<[[String]]>([])
        let outcomes = Outcomes<PageSequence<[String]>>()
        transport.server(authority: "a.example")
            .callback(queue: queue) { network in
                network.pages(Request<[String]>.get("names"), next: .link)
            } onElement: { page in
                pages.withLock { $0.append(page) }
            } completion: { result in
                outcomes.add(result)
            }
        #expect(try await outcomes.first().error == nil)
        #expect(pages.value == [["/names"]])
    }

    @Test func passesEachChunkAndThenTheResponse() async throws {
        let transport = MockTransport([.chunks(["one", "two"], headerFields: [.contentType: "audio/aac"])])
        let chunks = Locked<[Data]>([])
        let outcomes = Outcomes<ResponseStream>()
        transport.callback(queue: queue) {
            try await $0.stream(.lawful)
        } onElement: { chunk in
            chunks.withLock { $0.append(chunk) }
        } completion: { result in
            outcomes.add(result)
        }
        #expect(try await outcomes.first().get().response.headerFields[.contentType] == "audio/aac")
        #expect(chunks.value == [Data("one".utf8), Data("two".utf8)])
    }

    @Test func cancelledStreamPassesNoFurtherChunk() async throws {
        let transport = MockTransport([.chunks(["one", .hang])])
        let chunks = Locked(0)
        let outcomes = Outcomes<ResponseStream>()
        let call = transport.callback(queue: queue) {
            try await $0.stream(.lawful)
        } onElement: { _ in
            chunks.withLock { $0 += 1 }
        } completion: { result in
            outcomes.add(result)
        }
        try await eventually("the chunk is passed") { chunks.value == 1 }
        call.cancel()
        #expect(try await outcomes.first().error is CancellationError)
        try await eventually("the transfer has ended") { transport.active == 0 }
        #expect(chunks.value == 1)
    }

    @Test @MainActor func chunksReachTheMainActor() async throws {
        let label = Label()
        let outcomes = Outcomes<ResponseStream>()
        MockTransport { _ in .text("Hello") }
            .callback(on: .main) {
                try await $0.stream(.lawful)
            } onElement: { chunk in
                label.text += String(decoding: chunk, as: UTF8.self)
            } completion: { result in
                outcomes.add(result)
            }
        _ = try await outcomes.first().get()
        #expect(label.text == "Hello")
    }
}
