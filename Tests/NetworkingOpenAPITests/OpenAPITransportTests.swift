import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingOpenAPI
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OpenAPITransportTests {
    private let url = URL(string: "https://api.example.com/v1")!

    private func send(
        _ method: HTTPRequest.Method = .get,
        _ path: String = "/users",
        body: ClientBody? = nil,
        over network: some NetworkingComponent
    ) async throws -> (HTTPResponse, ClientBody?) {
        let request = HTTPRequest(
            method: method,
            scheme: nil,
            authority: nil,
            path: path,
            headerFields: body == nil ? [:] : [.contentType: "text/plain"]
        )
        return try await OpenAPITransport(over: network)
            .send(request, body: body, baseURL: url, operationID: "operation")
    }

    @Test func sendsTheRequestOfAnOperationThroughTheStack() async throws {
        let transport = MockTransport { _ in .text("Hello") }
        let (head, body) = try await send(
            .put,
            "/users/a%2Fb?page=1",
            body: ClientBody(["Em", "ily"], byteCount: 5),
            over: transport.server(headerField: .userAgent, "app/1")
        )
        #expect(head.status == .ok)
        #expect(try await body?.text == "Hello")
        let sent = try #require(transport.requests.first)
        #expect(sent.method == .put)
        #expect(sent.url?.absoluteString == "https://api.example.com/v1/users/a%2Fb?page=1")
        #expect(sent.headerFields[.userAgent] == "app/1")
        #expect(sent.headerFields[.contentType] == "text/plain")
        #expect(sent.body?.data == Data("Emily".utf8))
        #expect(sent.route == "operation")
    }

    @Test func operationIsTheRouteInLogs() async throws {
        let log = LogRecorder()
        _ = try await send(over: MockTransport { _ in .ok() }.logged(using: log.logger()))
        #expect(log.lines.isEmpty == false)
        #expect(log.lines.allSatisfy { $0.metadata["route"] == "operation" })
    }

    @Test func serverOfTheStackCompletesARelativeURL() async throws {
        let transport = MockTransport { _ in .ok() }
        let stack = OpenAPITransport<ClientBody>(over: transport.server(authority: "stack.example.com"))
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/users")
        let relative = try #require(URL(string: "/"))
        _ = try await stack.send(request, body: nil, baseURL: relative, operationID: "getUsers")
        #expect(transport.requests.first?.url?.absoluteString == "https://stack.example.com/users")
    }

    @Test func repeatedFieldsAreKeptInBothDirections() async throws {
        let name = try #require(HTTPField.Name("X-Tag"))
        var tags = HTTPFields()
        tags.append(HTTPField(name: name, value: "b"))
        tags.append(HTTPField(name: name, value: "a, b"))
        let transport = MockTransport { [tags] _ in .ok(headerFields: tags) }
        var request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/users")
        request.headerFields = tags
        let (head, _) = try await OpenAPITransport<ClientBody>(over: transport)
            .send(request, body: nil, baseURL: url, operationID: "getUsers")
        #expect(transport.requests.first?.headerFields[values: name] == ["b", "a, b"])
        #expect(head.headerFields[values: name] == ["b", "a, b"])
    }

    @Test(arguments: [true, false])
    func redirectRepeatsOnlyABodyThatCanBeReadAgain(isReplayable: Bool) async throws {
        let transport = MockTransport([
            .status(.temporaryRedirect, headerFields: [.location: "/v2/users"]), .text("Hello"),
        ])
        let body = ClientBody(["Emily"], byteCount: nil, isReplayable: isReplayable)
        let (head, _) = try await send(.put, body: body, over: transport.redirected())
        #expect(head.status == (isReplayable ? .ok : .temporaryRedirect))
        #expect(body.timesRead == (isReplayable ? 2 : 1))
    }

    // MARK: Responses

    @Test(arguments: [HTTPResponse.Status.badRequest, .unauthorized, .notFound, .internalServerError])
    func anyStatusIsAResponse(status: HTTPResponse.Status) async throws {
        let network = MockTransport([.chunks([.text("why")], status: status)]).checkedStatusCode()
        let (head, body) = try await send(over: network)
        #expect(head.status == status)
        #expect(try await body?.text == "why")
    }

    @Test func retryRepeatsAFailureBeforeTheClientReceivesIt() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .text("Hello")])
        let network = transport.retry().environment(\.clock, .immediate())
        let (head, body) = try await send(over: network)
        #expect(head.status == .ok)
        #expect(try await body?.text == "Hello")
        #expect(transport.requests.count == 2)
    }

    @Test func bodyOfAFailureHasALimit() async {
        let chunk = MockResponse.Chunk.data(Data(count: 1 << 20))
        let transport = MockTransport([.chunks([chunk, "x"], status: .badRequest)])
        let error = await #expect(throws: NetworkingError.self) { try await send(over: transport) }
        #expect(error?.kind == .tooLarge)
    }

    @Test(
        arguments: [(.head, .ok), (.get, .noContent), (.get, .notModified)]
            as [(HTTPRequest.Method, HTTPResponse.Status)]
    )
    func responseWithoutABodyHasNone(method: HTTPRequest.Method, status: HTTPResponse.Status) async throws {
        let transport = MockTransport { _ in .status(status) }
        let (head, body) = try await send(method, over: transport)
        #expect(head.status == status)
        #expect(body == nil)
        try await eventually("the exchange has ended") { transport.ended == 1 }
    }

    @Test(
        arguments: [
            ([.contentLength: "5"], 5), ([.contentLength: "5", .contentEncoding: "gzip"], nil), ([:], nil),
            ([.contentLength: "-5"], nil), ([.contentLength: "99999999999999999999"], nil),
            ([.contentLength: "5, 5"], 5),
        ] as [(HTTPFields, Int64?)]
    )
    func lengthOfAResponseIsThatOfItsHead(fields: HTTPFields, expected: Int64?) async throws {
        let transport = MockTransport { _ in .ok(Data("Hello".utf8), headerFields: fields) }
        let (_, body) = try await send(over: transport)
        #expect(body?.byteCount == expected)
        #expect(body?.isReplayable == false)
    }

    /// One chunk waits for the reader, and the transport holds another one.
    @Test func slowReaderDelaysTheServer() async throws {
        let transport = MockTransport([.chunks((0..<100).map { .text("\($0)") })])
        let (_, body) = try await send(over: transport)
        let chunks = try #require(body).makeAsyncIterator()
        for _ in 0..<1_000 {
            await Task.yield()
        }
        #expect(transport.deliveredChunks <= 1)
        for number in 0..<100 {
            #expect(try await chunks.next() == ArraySlice("\(number)".utf8))
            #expect(transport.deliveredChunks <= number + 2)
        }
        #expect(try await chunks.next() == nil)
    }

    @Test func truncatedResponseIsAnErrorOfTheReader() async throws {
        let lost = NetworkingError(.connectionLost, request: .lawful)
        let (_, body) = try await send(over: MockTransport([.chunks([.text("half"), .failure(lost)])]))
        let chunks = try #require(body).makeAsyncIterator()
        #expect(try await chunks.next() == ArraySlice("half".utf8))
        let error = await #expect(throws: NetworkingError.self) { try await chunks.next() }
        #expect(error?.kind == .connectionLost)
    }

    @Test func secondReaderOfAResponseGetsAnError() async throws {
        let (_, body) = try await send(over: MockTransport { _ in .text("Hello") })
        #expect(try await body?.text == "Hello")
        let error = await #expect(throws: NetworkingError.self) { try await body?.text }
        #expect(error?.reason.contains("can be read only once") == true)
    }

    // MARK: Request bodies

    @Test func longBodyIsReadWhileItIsSent() async throws {
        let produced = Mutex(0)
        let body = ClientBody(byteCount: nil, isReplayable: true) {
            let count = produced.withLock { count in
                count += 1
                return count
            }
            return count > 100 ? nil : ArraySlice(repeating: 1, count: 1_000)
        }
        let received = Mutex<[Int]>([])
        let transport = ReadingTransport { chunk in
            received.withLock { $0.append(produced.withLock { $0 }) }
            #expect(chunk.count == 1_000)
        }
        _ = try await send(.post, body: body, over: transport)
        // Nothing is produced before the transport asks for it.
        #expect(received.withLock { $0 } == Array(1...100))
    }

    @Test(
        arguments: [(3, "only", true), (7, "at least", true), (3, "only", false), (7, "at least", false)]
            .map { (length: 5, count: $0.0, word: $0.1, isReplayable: $0.2) }
    )
    func wrongLengthIsAnError(length: Int, count: Int, word: String, isReplayable: Bool) async {
        let text = String(repeating: "x", count: count)
        let body = ClientBody([text], byteCount: Int64(length), isReplayable: isReplayable)
        let error = await #expect(throws: NetworkingError.self) {
            try await send(.post, body: body, over: ReadingTransport { _ in })
        }
        #expect(error?.kind == .unencodableBody)
        #expect(error?.request.route == "operation")
    }

    @Test func negativeLengthIsAnErrorAndNothingIsSent() async {
        let transport = MockTransport { _ in .ok() }
        let error = await #expect(throws: NetworkingError.self) {
            try await send(.post, body: ClientBody(["x"], byteCount: -1), over: transport)
        }
        #expect(error?.kind == .unencodableBody)
        #expect(transport.requests.isEmpty)
    }

    @Test func errorOfABodyIsTheUnderlyingError() async {
        struct Broken: Error {}
        let body = ClientBody(byteCount: nil, isReplayable: false) { throw Broken() }
        let error = await #expect(throws: NetworkingError.self) {
            try await send(.post, body: body, over: ReadingTransport { _ in })
        }
        #expect(error?.kind == .unencodableBody)
        #expect(error?.underlying is Broken)
    }

    @Test(arguments: [true, false])
    func retryRepeatsOnlyABodyThatCanBeReadAgain(isReplayable: Bool) async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .text("Hello")])
        let body = ClientBody(["Emily"], byteCount: nil, isReplayable: isReplayable)
        let network = transport.retry().environment(\.clock, .immediate())
        let (head, _) = try await send(.put, body: body, over: network)
        #expect(head.status == (isReplayable ? .ok : .serviceUnavailable))
        #expect(body.timesRead == (isReplayable ? 2 : 1))
    }

    @Test func bodyThatWasReadIsNotReadAgainByASecondSend() async {
        let transport = MockTransport { _ in .ok() }
        let twice = transport.modified { request, upstream in
            _ = try await upstream.send(request)
            return try await upstream.send(request)
        }
        let body = ClientBody(["Emily"], byteCount: 5, isReplayable: false)
        let error = await #expect(throws: NetworkingError.self) { try await send(.post, body: body, over: twice) }
        #expect(error?.kind == .bodyNotReplayable)
        #expect(body.timesRead == 1)
    }

    // MARK: Cancellation

    @Test func cancellationEndsTheWaitForTheHead() async throws {
        let transport = MockTransport([.chunks([.hang])]).delayed(by: .seconds(1_000_000))
        let task = Task { try await send(over: transport) }
        for _ in 0..<20 {
            await Task.yield()
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func cancellationEndsTheReadingOfARequestBody() async throws {
        let (started, signal) = AsyncStream<Void>.makeStream()
        let wasCancelled = Mutex(false)
        let body = ClientBody(byteCount: nil, isReplayable: false) {
            signal.yield()
            do {
                try await Task.sleep(for: .seconds(1_000_000))
            } catch {
                wasCancelled.withLock { $0 = true }
                throw error
            }
            return nil
        }
        let task = Task { try await send(.post, body: body, over: ReadingTransport { _ in }) }
        var starts = started.makeAsyncIterator()
        await starts.next()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await eventually("the body was cancelled") { wasCancelled.withLock { $0 } }
    }

    @Test func cancellationEndsTheReadingOfAResponse() async throws {
        let transport = MockTransport([.chunks([.text("first"), .hang])])
        let (_, body) = try await send(over: transport)
        let task = Task { try await body?.text }
        for _ in 0..<20 {
            await Task.yield()
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await eventually("the exchange has ended") { transport.ended == 1 }
    }

    @Test func releasedResponseEndsTheExchange() async throws {
        let transport = MockTransport([.chunks([.text("first"), .hang])])
        do {
            let (head, _) = try await send(over: transport)
            #expect(head.status == .ok)
        }
        try await eventually("the exchange has ended") { transport.ended == 1 }
    }
}

/// A transport that reads the request body before it responds.
private struct ReadingTransport: NetworkingTransport {
    let onChunk: @Sendable (Data) -> Void

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        if let body = request.body {
            for try await chunk in body.chunks {
                onChunk(chunk)
            }
        }
        return HTTPResponseData(request: request)
    }
}
