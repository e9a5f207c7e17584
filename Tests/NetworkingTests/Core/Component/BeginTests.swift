import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct BeginTests {
    private func request(_ sink: any ResponseSink) -> HTTPRequestData {
        var request = HTTPRequestData(authority: "example.com")
        request.sink = sink
        return request
    }

    @Test func passesABodyToTheSinkOnce() async throws {
        let sink = CollectingSink()
        let response = try await MockTransport { _ in .text("12345") }.timeout(.seconds(1)).logged()
            .data(request(sink))
        #expect(sink.heads.map(\.status) == [.ok])
        #expect(sink.data == Data("12345".utf8))
        #expect(sink.finished == 1)
        #expect(sink.failures.isEmpty)
        #expect(response.body == .delivered(byteCount: 5))
        #expect(response.data.isEmpty)
    }

    @Test func passesABodyOfAPlainComponentToTheSink() async throws {
        struct Echo: NetworkingComponent {
            func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                HTTPResponseData(request: request, data: Data("12345".utf8))
            }
        }
        let sink = CollectingSink()
        #expect(try await Echo().data(request(sink)).body == .delivered(byteCount: 5))
        #expect(sink.data == Data("12345".utf8))
        let other = CollectingSink()
        try await Echo().checkedStatusCode().data(request(other))
        #expect(other.finished == 1)
    }

    @Test func passesABodyToTheSinkOnceDespiteANestedCall() async throws {
        struct Nested: NetworkingModifier {
            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                try await upstream.data(request)
            }
        }
        let sink = CollectingSink()
        try await MockTransport { _ in .text("12345") }.modified(Nested()).data(request(sink))
        #expect(sink.data == Data("12345".utf8))
        #expect(sink.heads.count == 1)
        #expect(sink.finished == 1)
    }

    @Test func doesNotPassABodyThatTheTransportDelivered() async throws {
        struct Streaming: NetworkingTransport {
            func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                let head = HTTPResponse(status: .ok)
                let sink = try #require(request.sink)
                #expect(try await sink.offer(head) == .take)
                try await sink.receive(Data("12345".utf8))
                try await sink.finish()
                return HTTPResponseData(request: request, http: head, body: .delivered(byteCount: 5))
            }
        }
        let sink = CollectingSink()
        #expect(try await Streaming().logged().data(request(sink)).body == .delivered(byteCount: 5))
        #expect(sink.chunks == [Data("12345".utf8)])
        #expect(sink.heads.count == 1)
        #expect(sink.finished == 1)
    }

    @Test func emptyBodyFinishesTheSink() async throws {
        let sink = CollectingSink()
        #expect(try await MockTransport { _ in .ok() }.data(request(sink)).body == .delivered(byteCount: 0))
        #expect(sink.chunks.isEmpty)
        #expect(sink.finished == 1)
    }

    @Test(arguments: [300, 304, 400, 401, 404, 500, 503])
    func passesNoPageOfAFailureToTheSink(code: Int) async throws {
        let sink = DefaultSink()
        let transport = MockTransport { _ in MockResponse(status: .init(code: code), data: Data("page".utf8)) }
        let response = try await transport.data(request(sink))
        #expect(response.body == .collected(Data("page".utf8)))
        #expect(response.status.code == code)
    }

    @Test func collectsAtMostOneMebibyteOfAFailure() async throws {
        let transport = MockTransport { request in
            MockResponse(status: .notFound, data: Data(count: (1 << 20) + (request.path == "/more" ? 1 : 0)))
        }
        var request = request(DefaultSink())
        #expect(try await transport.data(request).data.count == 1 << 20)
        request.path = "more"
        let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        #expect(error?.kind == .tooLarge)
        #expect(error?.response?.status == .notFound)
    }

    @Test(arguments: [(4, true), (5, false), (6, false), (0, true)])
    func collectsUpToTheLimitOfTheSink(limit: Int64, isTooLarge: Bool) async throws {
        let sink = CollectingSink { _ in .collect(upTo: limit) }
        let transport = MockTransport { _ in .text("12345") }
        if isTooLarge {
            let error = await #expect(throws: NetworkingError.self) { try await transport.data(request(sink)) }
            #expect(error?.kind == .tooLarge)
            #expect(error?.reason.contains("\(limit) bytes") == true)
        } else {
            #expect(try await transport.data(request(sink)).body == .collected(Data("12345".utf8)))
        }
        #expect(sink.chunks.isEmpty)
        #expect(sink.finished == 0)
    }

    @Test func discardsABodyThatTheSinkRefuses() async throws {
        let sink = CollectingSink { _ in .refuse }
        let response = try await MockTransport { _ in .text("12345") }.data(request(sink))
        #expect(response.body == .delivered(byteCount: 0))
        #expect(response.status == .ok)
        #expect(sink.chunks.isEmpty)
        #expect(sink.finished == 0)
    }

    @Test func passesAFailureToASinkThatAcceptsIt() async throws {
        let sink = CollectingSink { _ in .take }
        let transport = MockTransport { _ in MockResponse(status: .notFound, data: Data("page".utf8)) }
        #expect(try await transport.data(request(sink)).body == .delivered(byteCount: 4))
        #expect(sink.data == Data("page".utf8))
    }

    @Test func memoryLimitDoesNotApplyToASink() async throws {
        let sink = CollectingSink()
        var request = request(sink)
        request.maximumResponseBytes = 1
        try await MockTransport { _ in .text("12345") }.data(request)
        #expect(sink.data.count == 5)
    }

    @Test(arguments: [CollectingSink.Step.offer, .receive, .finish])
    func errorOfASinkFailsTheCall(step: CollectingSink.Step) async {
        let sink = CollectingSink(failingAt: step)
        await #expect(throws: CollectingSink.Failure.self) {
            try await MockTransport { _ in .text("12345") }.data(request(sink))
        }
        #expect(sink.failures.count == (step == .offer ? 0 : 1))
    }

    @Test func sinkIsNotNotifiedOfAFailureBeforeTheHead() async {
        let sink = CollectingSink()
        await #expect(throws: URLError.self) {
            try await MockTransport([.failure(URLError(.timedOut))]).data(request(sink))
        }
        #expect(sink.heads.isEmpty)
        #expect(sink.failures.isEmpty)
    }
}

/// A sink with the default decisions, which receives only successes.
private struct DefaultSink: ResponseSink {
    func receive(_ chunk: Data) async throws {
        Issue.record("The sink received \(chunk.count) bytes.")
    }
}
