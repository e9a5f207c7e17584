import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CollectingSinkTests {
    private struct Failure: Error {}

    @Test func recordsChunksInOrder() async throws {
        let sink = CollectingSink()

        try await sink.receive(Data("one".utf8))
        try await sink.receive(Data("two".utf8))
        try await sink.finish()

        #expect(sink.chunks == [Data("one".utf8), Data("two".utf8)])
        #expect(sink.data == Data("onetwo".utf8))
        #expect(sink.finished == 1)
    }

    @Test func recordsErrors() {
        let sink = CollectingSink()

        sink.fail(Failure())

        #expect(sink.failures.count == 1)
        #expect(sink.failures.first is Failure)
    }

    @Test(
        arguments: [
            (200, .take), (299, .take), (302, .collect(upTo: 1 << 20)), (404, .collect(upTo: 1 << 20)),
        ] as [(Int, SinkDecision)]
    )
    func offersTheDefaultDecision(code: Int, expected: SinkDecision) async throws {
        let sink = CollectingSink()
        let head = HTTPResponse(status: .init(code: code))

        #expect(try await sink.offer(head) == expected)
        #expect(try await Plain().offer(head) == expected)
        #expect(sink.heads == [head])
    }

    @Test(arguments: [CollectingSink.Step.offer, .receive, .finish])
    func failsAtTheGivenStep(step: CollectingSink.Step) async throws {
        let sink = CollectingSink(failingAt: step)
        let request = HTTPRequestData.lawful.with { $0.sink = sink }

        let failure = await #expect(throws: CollectingSink.Failure.self) {
            try await MockTransport { _ in .text("body") }.data(request)
        }

        #expect(failure == CollectingSink.Failure(step: step))
        // Earlier steps still run; later ones do not.
        #expect(sink.heads.count == 1)
        #expect(sink.data == (step == .finish ? Data("body".utf8) : Data()))
        #expect(sink.finished == 0)
    }

    @Test func returnsTheDecisionOfItsClosure() async throws {
        let sink = CollectingSink { head in head.status == .ok ? .refuse : .take }

        #expect(try await sink.offer(HTTPResponse(status: .ok)) == .refuse)
        #expect(try await sink.offer(HTTPResponse(status: .created)) == .take)
    }
}

/// A sink with the default implementations.
private struct Plain: ResponseSink {
    func receive(_ chunk: Data) async throws {}
}
