import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ForwardingSinkTests {
    private struct Plain: ForwardingSink {
        let sink: any ResponseSink
    }

    /// A sink that returns other values than the defaults.
    private struct Customized: ResponseSink {
        let journal: Journal
        let canRestart = true
        let isReaderPaced = true

        func prepare(_ request: inout HTTPRequestData) {
            request.headerFields[.range] = "bytes=5-"
        }

        func offer(_ head: HTTPResponse) async throws -> SinkDecision {
            journal.note("\(head.status.code)")
            return .refuse
        }

        func receive(_ chunk: Data) async throws {
            journal.note(String(decoding: chunk, as: UTF8.self))
        }

        func finish() async throws {
            journal.note("finished")
        }

        func fail(_ error: any Error) {
            journal.note("failed: \(type(of: error))")
        }
    }

    @Test func allCallsAreForwarded() async throws {
        let journal = Journal()
        let sink: any ResponseSink = Plain(sink: Plain(sink: Customized(journal: journal)))

        #expect(sink.canRestart)
        #expect(sink.isReaderPaced)
        var request = HTTPRequestData.lawful
        sink.prepare(&request)
        #expect(request.headerFields[.range] == "bytes=5-")
        #expect(try await sink.offer(HTTPResponse(status: .ok)) == .refuse)
        try await sink.receive(Data("abc".utf8))
        try await sink.finish()
        sink.fail(CancellationError())
        #expect(journal.entries == ["200", "abc", "finished", "failed: CancellationError"])
    }

    @Test func watchedSinkShowsEachChunkBeforeTheSinkReceivesIt() async throws {
        let journal = Journal()
        let sink = WatchedSink(Customized(journal: journal)) { chunk in
            journal.note("seen \(String(decoding: chunk, as: UTF8.self))")
        } onEnd: { error in
            journal.note("end \(error.map { "\(type(of: $0))" } ?? "complete")")
        }
        try await sink.receive(Data("a".utf8))
        try await sink.receive(Data("b".utf8))
        try await sink.finish()
        sink.fail(CancellationError())
        #expect(
            journal.entries == [
                "seen a", "a", "seen b", "b", "finished", "end complete", "end CancellationError",
                "failed: CancellationError",
            ]
        )
    }

    @Test func modifierThatWrapsSinksKeepsTheLaws() async throws {
        try await checkLaws(
            of: Sending { request, upstream in
                var request = request
                request.sink = request.sink.map { Plain(sink: $0) }
                return try await upstream.send(request)
            }
        )
    }

    @Test func overriddenMethodChangesNothingElse() async throws {
        struct UnmaskingSink: ForwardingSink {
            let sink: any ResponseSink
            let mask: UInt8

            func receive(_ chunk: Data) async throws {
                try await sink.receive(Data(chunk.map { $0 ^ mask }))
            }
        }
        let collected = CollectingSink()
        var request = HTTPRequestData.lawful
        request.sink = UnmaskingSink(sink: collected, mask: 32)

        try await MockTransport([.text("hello")]).data(request)

        #expect(collected.data == Data("HELLO".utf8))
        #expect(collected.finished == 1)
    }
}
