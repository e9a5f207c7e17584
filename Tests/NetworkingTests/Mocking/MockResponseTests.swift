import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct MockResponseTests {
    private struct User: Codable, Equatable {
        let name: String
    }

    private func play(_ mock: MockResponse, to request: HTTPRequestData = .lawful) async throws -> HTTPResponseData {
        try await MockTransport([mock]).data(request)
    }

    @Test(
        arguments: [
            (.ok(), 200, nil, ""),
            (.ok(Data("body".utf8), headerFields: [.contentType: "text/css"]), 200, "text/css", "body"),
            (.text("ü"), 200, "text/plain; charset=utf-8", "ü"),
            (.json(["a": 1]), 200, "application/json", #"{"a":1}"#),
            (.json(["a": 1], status: .created), 201, "application/json", #"{"a":1}"#),
            (.status(.noContent), 204, nil, ""),
            (MockResponse(status: .gone, data: Data("x".utf8)), 410, nil, "x"),
        ] as [(MockResponse, Int, String?, String)]
    )
    func responsesHaveTheirStatusTypeAndBody(
        mock: MockResponse,
        code: Int,
        contentType: String?,
        body: String
    ) async throws {
        let response = try await play(mock)

        #expect(response.status.code == code)
        #expect(response.headerFields[.contentType] == contentType)
        #expect(response.data == Data(body.utf8))
    }

    @Test func failureOfAKindIsATransportError() async throws {
        let transport = MockTransport([.failure(.connectionLost), .ok()])
        let request = HTTPRequestData(authority: "api.example.com")
        let response = try await transport.retry().environment(\.clock, .immediate()).data(request)
        #expect(response.status == .ok)
        #expect(transport.requests.count == 2)
        #expect("\(MockResponse.failure(.offline))" == "a failure, offline")
    }

    @Test func headerFieldsReplaceThoseOfTheSameName() async throws {
        let fields: HTTPFields = [.eTag: "\"1\"", .contentType: "application/problem+json"]
        let transport = MockTransport([.json([1]).headerFields(fields)])
        let response = try await transport.data(HTTPRequestData(authority: "api.example.com"))
        #expect(response.headerFields == [.contentType: "application/problem+json", .eTag: "\"1\""])
        #expect(response.data == Data("[1]".utf8))
    }

    @Test func valueThatCannotBeEncodedFailsTheRequest() async {
        await #expect(throws: EncodingError.self) { try await play(.json(Double.infinity)) }
    }

    @Test func redirectIsReturnedIfItIsNotFollowed() async throws {
        let request = HTTPRequestData.lawful.with { $0.redirects = .never }

        let response = try await play(.redirect(to: "/next", status: .permanentRedirect), to: request)

        #expect(response.status == .permanentRedirect)
        #expect(response.headerFields[.location] == "/next")
    }

    @Test func headResponseHasNoBody() async throws {
        let request = HTTPRequestData(method: .head, authority: "a.example")

        #expect(try await play(.text("body"), to: request).data.isEmpty)
    }

    @Test func delayUsesTheClockOfTheEnvironment() async throws {
        let clock = ManualClock()
        let network = MockTransport([.ok().delayed(by: .seconds(3))]).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }

        try await clock.waitForSleepers()
        #expect(clock.nextDeadline?.offset == .seconds(3))
        clock.advance(by: .seconds(3))

        #expect(try await call.value.status == .ok)
    }

    @Test func failureMayBeDelayedToo() async throws {
        struct Failure: Error {}
        let clock = ManualClock()
        let network = MockTransport([.failure(Failure()).delayed(by: .seconds(3))])
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }

        try await clock.advance(by: .seconds(3), afterSleepers: 1)

        await #expect(throws: Failure.self) { try await call.value }
    }

    @Test(
        arguments: [
            (1, [11]), (2, [5, 11]), (5, [2, 4, 6, 8, 11]), (11, Array(1...11)),
        ] as [(Int, [Int64])]
    )
    func progressIsReportedInSteps(steps: Int, expected: [Int64]) async throws {
        let seen = Mutex<[TransferProgress]>([])
        let body = Data("hello world".utf8)

        try await MockTransport([.ok(body).inSteps(steps)])
            .data(.lawful) { progress in
                seen.withLock { $0.append(progress) }
            }

        let received = seen.withLock { $0 }.dropFirst().map(\.received)
        #expect(received.map(\.count) == expected)
        #expect(received.allSatisfy { $0.expected == 11 })
        #expect(received.last?.fractionCompleted == 1)
    }

    @Test func progressOfTheSentBodyIsReportedFirst() async throws {
        let seen = Mutex<[TransferProgress]>([])
        let request = HTTPRequestData(method: .post, authority: "a.example", body: .data(Data("12345".utf8)))

        try await MockTransport([.ok()]).data(request) { progress in seen.withLock { $0.append(progress) } }

        let first = seen.withLock { $0.prefix(2) }
        #expect(first.map(\.sent) == [BytesSent(count: 0, expected: 5), BytesSent(count: 5, expected: 5)])
        #expect(first.allSatisfy { $0.received == BytesReceived() })
    }

    @Test(arguments: [(10, false), (11, false), (9, true), (0, true)] as [(Int64, Bool)])
    func bodyBeyondTheLimitFails(limit: Int64, isTooLarge: Bool) async throws {
        let request = HTTPRequestData.lawful.with { $0.maximumResponseBytes = limit }

        if isTooLarge {
            let error = await #expect(throws: NetworkingError.self) { try await play(.text("0123456789"), to: request) }
            #expect(error?.kind == .tooLarge)
            #expect(error?.response?.status == .ok)
        } else {
            #expect(try await play(.text("0123456789"), to: request).data.count == 10)
        }
    }

    @Test func limitDoesNotApplyToASink() async throws {
        let sink = CollectingSink()
        let request = HTTPRequestData.lawful.with {
            $0.maximumResponseBytes = 1
            $0.sink = sink
        }

        #expect(try await play(.text("0123456789"), to: request).body == .delivered(byteCount: 10))
        #expect(sink.data.count == 10)
    }

    @Test(
        arguments: [
            (.take, .delivered(byteCount: 4), 4),
            (.collect(upTo: 4), .collected(Data("body".utf8)), 0),
            (.refuse, .delivered(byteCount: 0), 0),
        ] as [(SinkDecision, ResponseBody, Int)]
    )
    func sinkDecidesAboutTheBody(decision: SinkDecision, body: ResponseBody, received: Int) async throws {
        let sink = CollectingSink { _ in decision }

        let response = try await play(.text("body"), to: .lawful.with { $0.sink = sink })

        #expect(response.body == body)
        #expect(sink.data.count == received)
        #expect(sink.finished == (decision == .take ? 1 : 0))
        #expect(sink.heads.map(\.status) == [.ok])
    }

    @Test func bodyBeyondTheSinksLimitFails() async {
        let sink = CollectingSink { _ in .collect(upTo: 3) }

        let error = await #expect(throws: NetworkingError.self) {
            try await play(.text("body"), to: .lawful.with { $0.sink = sink })
        }

        #expect(error?.kind == .tooLarge)
    }

    @Test func redirectIsNotOfferedToTheSink() async throws {
        let sink = CollectingSink()
        let transport = MockTransport([.redirect(to: "/next"), .text("there")])

        try await transport.data(.lawful.with { $0.sink = sink })

        #expect(sink.heads.map(\.status) == [.ok])
        #expect(sink.data == Data("there".utf8))
    }
}
