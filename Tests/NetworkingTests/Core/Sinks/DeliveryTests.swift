import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct DeliveryTests {
    private func request(_ sink: (any ResponseSink)? = nil) -> HTTPRequestData {
        var request = HTTPRequestData(authority: "example.com")
        request.sink = sink
        return request
    }

    private func destination(of head: HTTPResponse, for request: HTTPRequestData) async throws -> String {
        var destination = "nowhere"
        _ = try await request.deliver(head) { delivery in
            destination = delivery.limit.map { "memory \($0)" } ?? "sink"
        }
        return destination
    }

    private func deliver(_ chunks: [String], for request: HTTPRequestData) async throws -> HTTPResponseData {
        try await Chunked(chunks: chunks).data(request)
    }

    // MARK: The destination

    @Test func bodyWithoutSinkIsCollected() async throws {
        var request = request()
        request.maximumResponseBytes = 7
        #expect(try await destination(of: HTTPResponse(status: .found), for: request) == "memory 7")
    }

    @Test(
        arguments: [
            (.ok, "sink"), (.notFound, "memory 1048576"), (.serviceUnavailable, "memory 1048576"),
            (.found, "memory 67108864"), (.permanentRedirect, "memory 67108864"), (.notModified, "memory 1048576"),
        ] as [(HTTPResponse.Status, String)]
    )
    func sinkDecidesByStatus(status: HTTPResponse.Status, expected: String) async throws {
        let head = HTTPResponse(status: status, headerFields: [.location: "/b"])
        #expect(try await destination(of: head, for: request(UnfilledSink())) == expected)
    }

    @Test func sinkIsOfferedRedirectsThatAreNotFollowed() async throws {
        let head = HTTPResponse(status: .found, headerFields: [.location: "/b"])
        let sink = CollectingSink { _ in .take }
        var request = request(sink)
        request.redirects = .never
        #expect(try await destination(of: head, for: request) == "sink")
        request.redirects = .follow
        #expect(try await destination(of: HTTPResponse(status: .found), for: request) == "sink")
        #expect(sink.heads.count == 2)
    }

    @Test func responseInMemoryIsDeliveredToASinkOnce() async throws {
        let sink = CollectingSink()
        let request = request(sink)
        var response = HTTPResponseData(request: request, data: Data("body".utf8))
        #expect(!response.wasOfferedToSink)
        try await response.deliver(to: sink, for: request)
        #expect(response.wasOfferedToSink)
        #expect(response.body == .delivered(byteCount: 4))
        try await response.deliver(to: sink, for: request)
        #expect(sink.heads.count == 1)
        #expect(sink.data == Data("body".utf8))
    }

    @Test func sinkThatStoresItsErrorDoesNotRetainItself() async throws {
        weak var part: CollectingSink?
        do {
            let sink = CollectingSink()
            part = sink
            let transport = MockTransport { request in
                .chunks([.text("half"), .failure(NetworkingError(.connectionLost, request: request))])
            }
            let result = await Result { try await transport.data(request(sink)) }
            #expect(throws: NetworkingError.self) { try result.get() }
            #expect((sink.failures.first as? NetworkingError)?.kind == .connectionLost)
        }
        try await eventually("the sink is released") { part == nil }
    }

    @Test func refusedBodyIsNotRead() async throws {
        let request = request(CollectingSink { _ in .refuse })
        #expect(try await destination(of: HTTPResponse(status: .ok), for: request) == "nowhere")
        #expect(try await deliver(["one"], for: request).body == .delivered(byteCount: 0))
    }

    // MARK: The sink

    @Test(arguments: [SinkDecision.take, .collect(upTo: 6), .refuse])
    func sinkIsOfferedTheHeadOnce(decision: SinkDecision) async throws {
        let sink = CollectingSink { _ in decision }
        let response = try await deliver(["one", "", "two"], for: request(sink))
        #expect(sink.heads.map(\.status) == [.ok])
        #expect(sink.chunks == (decision == .take ? [Data("one".utf8), Data("two".utf8)] : []))
        #expect(sink.finished == (decision == .take ? 1 : 0))
        #expect(sink.failures.isEmpty)
        #expect(response.data == (decision == .collect(upTo: 6) ? Data("onetwo".utf8) : Data()))
    }

    /// A redirect to plain http is not followed although the policy would follow it.
    @Test func sinkIsOfferedARefusedRedirectOnce() async throws {
        let sink = CollectingSink()
        let head = HTTPResponse(status: .found, headerFields: [.location: "http://example.com/b"])
        let response = try await Chunked(head: head, chunks: ["moved"]).data(request(sink))
        #expect(response.text() == "moved")
        #expect(sink.heads.map(\.status) == [.found])
    }

    @Test(arguments: [CollectingSink.Step.offer, .receive, .finish])
    func failingSinkEndsTheDelivery(step: CollectingSink.Step) async throws {
        let sink = CollectingSink(failingAt: step)
        let failure = await #expect(throws: CollectingSink.Failure.self) {
            try await deliver(["one", "two"], for: request(sink))
        }
        #expect(failure?.step == step)
        #expect(sink.heads.count == 1)
        // A sink that took no body is not notified.
        #expect(sink.failures.count == (step == .offer ? 0 : 1))
        #expect(sink.finished == 0)
    }

    @Test func sinkIsNotifiedOnceOfATruncatedBody() async throws {
        struct BrokenOff: Error {}
        let sink = CollectingSink()
        await #expect(throws: BrokenOff.self) {
            try await request(sink)
                .deliver(HTTPResponse(status: .ok)) { delivery in
                    try await delivery.receive(Data("half".utf8))
                    #expect(delivery.byteCount == 4)
                    throw BrokenOff()
                }
        }
        #expect(sink.failures.count == 1)
        #expect(sink.finished == 0)
    }

    // MARK: The limit

    @Test(arguments: [5, 6])
    func collectedBodyHasALimit(limit: Int64) async throws {
        var limited = request()
        limited.maximumResponseBytes = limit
        for request in [limited, request(CollectingSink { _ in .collect(upTo: limit) })] {
            let result = await Result(catching: { try await deliver(["one", "two"], for: request) })
            if limit == 6 {
                #expect(try result.get().data == Data("onetwo".utf8))
            } else {
                let error = #expect(throws: NetworkingError.self) { try result.get() }
                #expect(error?.kind == .tooLarge)
                #expect(error?.response?.status == .ok)
            }
        }
    }

    @Test func announcedLengthIsCheckedBeforeTheBody() async throws {
        var request = request()
        request.maximumResponseBytes = 10
        let error = await #expect(throws: NetworkingError.self) {
            try await request.deliver(HTTPResponse(status: .ok)) { delivery in
                try delivery.checkLength(10)
                try delivery.checkLength(11)
            }
        }
        #expect(error?.kind == .tooLarge)
        request.sink = CollectingSink()
        _ = try await request.deliver(HTTPResponse(status: .ok)) { delivery in try delivery.checkLength(11) }
    }

    @Test func indicesOfACollectedSliceStartAtZero() async throws {
        let response = try await request()
            .deliver(HTTPResponse(status: .ok)) { delivery in
                try await delivery.receive(Data("onetwo".utf8).dropFirst(3))
            }
        #expect(response.data == Data("two".utf8))
        #expect(response.data.startIndex == 0)
    }

    // MARK: The time limits of the stack

    @Test func transportGetsTheTimeLimitsOfTheStack() async throws {
        let seen = Journal()
        let transport = TimeLimitRecorder(seen: seen)
        try await transport.data(.lawful)
        try await transport.timeout(head: .seconds(90)).data(.lawful)
        try await transport.timeout(.seconds(10)).data(.lawful)
        try await transport.timeout(head: .seconds(5), idle: .seconds(70)).data(.lawful)
        #expect(
            seen.entries == [
                "60.0 seconds false", "90.0 seconds false", "60.0 seconds true", "70.0 seconds true",
            ]
        )
    }
}

/// A transport that records the time limits of its requests.
private struct TimeLimitRecorder: NetworkingTransport {
    let seen: Journal

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        seen.note("\(request.allowedSilence) \(request.isSilenceLimited)")
        return HTTPResponseData(request: request)
    }
}

/// A transport that sends bodies in chunks.
private struct Chunked: NetworkingTransport {
    var head = HTTPResponse(status: .ok)
    let chunks: [String]

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        try await request.deliver(head) { delivery in
            for chunk in chunks {
                try await delivery.receive(Data(chunk.utf8))
            }
        }
    }
}

/// A sink with the default decisions that records an issue if it receives a chunk.
private struct UnfilledSink: ResponseSink {
    func receive(_ chunk: Data) async throws {
        Issue.record("The sink received \(chunk.count) bytes.")
    }
}

extension HTTPResponseData {
    fileprivate func text() -> String {
        String(decoding: data, as: UTF8.self)
    }
}
