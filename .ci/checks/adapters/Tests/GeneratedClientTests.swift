import Foundation
import HTTPTypes
import Networking
import NetworkingOpenAPI
import NetworkingTesting
@_spi(Generated) import OpenAPIRuntime
import Testing

/// A client as swift-openapi-generator writes it: an input and an output for each operation, over `UniversalClient`.
private struct Client: Sendable {
    private let client: UniversalClient

    init(serverURL: URL, transport: any ClientTransport, middlewares: [any ClientMiddleware] = []) {
        client = UniversalClient(serverURL: serverURL, transport: transport, middlewares: middlewares)
    }

    struct User: Codable, Equatable {
        let name: String
    }

    enum Output: Sendable, Equatable {
        case ok(User)
        case notFound
        case undocumented(statusCode: Int)
    }

    func getUser(_ id: String) async throws -> Output {
        try await client.send(input: id, forOperation: "getUser") { id in
            (HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/users/\(id)"), nil)
        } deserializer: { response, body in
            try await Self.output(of: response, body)
        }
    }

    func putUser(_ body: HTTPBody) async throws -> Output {
        try await client.send(input: body, forOperation: "putUser") { body in
            var request = HTTPRequest(method: .put, scheme: nil, authority: nil, path: "/users/42")
            request.headerFields[.contentType] = "application/json; charset=utf-8"
            return (request, body)
        } deserializer: { response, body in
            try await Self.output(of: response, body)
        }
    }

    func film() async throws -> HTTPBody? {
        try await client.send(input: "film", forOperation: "film") { _ in
            (HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/film"), nil)
        } deserializer: { _, body in
            body
        }
    }

    private static func output(of response: HTTPResponse, _ body: HTTPBody?) async throws -> Output {
        switch response.status.code {
        case 200:
            let body = try #require(body)
            return .ok(try JSONDecoder().decode(User.self, from: await Data(collecting: body, upTo: 1 << 20)))
        case 404: return .notFound
        default: return .undocumented(statusCode: response.status.code)
        }
    }
}

@Suite struct GeneratedClientTests {
    private let server = URL(string: "https://api.example.com/v1")!

    private func client(over network: some NetworkingComponent) -> Client {
        Client(serverURL: server, transport: StackTransport(over: network))
    }

    @Test func callsAnOperation() async throws {
        let transport = MockTransport { _ in .json(["name": "Emily"]) }
        #expect(try await client(over: transport).getUser("42") == .ok(Client.User(name: "Emily")))
        #expect(transport.requests.first?.url?.absoluteString == "https://api.example.com/v1/users/42")
        #expect(transport.requests.first?.route == "getUser")
    }

    @Test func decodesADocumentedFailureAndReturnsAnUndocumentedOne() async throws {
        #expect(try await client(over: MockTransport { _ in .status(.notFound) }).getUser("42") == .notFound)
        let teapot = MockTransport { _ in .status(HTTPResponse.Status(code: 418)) }
        #expect(try await client(over: teapot).getUser("42") == .undocumented(statusCode: 418))
    }

    @Test func streamsABodyInBothDirections() async throws {
        let transport = MockTransport { _ in .json(["name": "Emily"]) }
        let chunks = AsyncStream<ArraySlice<UInt8>> { continuation in
            continuation.yield(ArraySlice(#"{"name":"#.utf8))
            continuation.yield(ArraySlice(#""Emily"}"#.utf8))
            continuation.finish()
        }
        let body = HTTPBody(chunks, length: .unknown, iterationBehavior: .single)
        #expect(try await client(over: transport).putUser(body) == .ok(Client.User(name: "Emily")))
        #expect(transport.requests.first?.body?.data == Data(#"{"name":"Emily"}"#.utf8))

        let film = MockTransport([.chunks((0..<10).map { .text("\($0)") })])
        var iterator = try #require(try await client(over: film).film()).makeAsyncIterator()
        #expect(film.deliveredChunks <= 1)
        for number in 0..<10 {
            #expect(try await iterator.next() == ArraySlice("\(number)".utf8))
        }
        #expect(try await iterator.next() == nil)
    }

    @Test func bodyThatCanBeReadOnceIsNotRetried() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .json(["name": "Emily"])])
        let network = transport.retry().environment(\.clock, .immediate())
        let once = HTTPBody(
            AsyncStream { $0.finish() } as AsyncStream<ArraySlice<UInt8>>,
            length: .known(0),
            iterationBehavior: .single
        )
        #expect(try await client(over: network).putUser(once) == .undocumented(statusCode: 503))
        #expect(transport.requests.count == 1)
    }

    @Test func bodyInMemoryIsRetried() async throws {
        let transport = MockTransport([.status(.serviceUnavailable), .json(["name": "Emily"])])
        let network = transport.retry().environment(\.clock, .immediate())
        let output = try await client(over: network).putUser(HTTPBody(Array("{}".utf8)))
        #expect(output == .ok(Client.User(name: "Emily")))
        #expect(transport.requests.map { $0.body?.data } == [Data("{}".utf8), Data("{}".utf8)])
    }

    @Test func errorOfTheStackIsReadThroughTheErrorOfTheClient() async throws {
        let network = MockTransport { _ in .failure(.offline) }
        let error = await #expect(throws: ClientError.self) { try await client(over: network).getUser("42") }
        #expect(error?.operationID == "getUser")
        #expect((error as (any Error)?)?.networkingError?.kind == .offline)
    }

    @Test func cancelledClientHasACancelledError() async throws {
        let network = MockTransport([.chunks([.hang])])
        let body = try #require(try await client(over: network).film())
        let task = Task { try await Data(collecting: body, upTo: 1 << 20) }
        task.cancel()
        let error = await #expect(throws: (any Error).self) { try await task.value }
        #expect(error?.isCancelled == true)
    }

    // MARK: Middlewares

    @Test func middlewareOfModifiersWrapsAnotherTransport() async throws {
        struct Vendor: ClientTransport {
            let network: MockTransport

            func send(
                _ request: HTTPRequest,
                body: HTTPBody?,
                baseURL: URL,
                operationID: String
            ) async throws -> (HTTPResponse, HTTPBody?) {
                #expect(baseURL.absoluteString == "https://api.example.com/v1")
                #expect(request.path == "/users/42")
                let response = try await network.data(HTTPRequestData(request, baseURL: baseURL))
                return (response.http, HTTPBody(Array(response.data)))
            }
        }
        let lost = MockTransport([.failure(.connectionLost), .status(.serviceUnavailable), .json(["name": "Emily"])])
        let client = Client(
            serverURL: server,
            transport: Vendor(network: lost),
            middlewares: [
                StackMiddleware { $0.retry().environment(\.clock, .immediate()) },
                StackMiddleware { $0.modified("Named") { try await $1.send($0) } },
            ]
        )
        #expect(try await client.getUser("42") == .ok(Client.User(name: "Emily")))
        #expect(lost.requests.count == 3)
    }

    @Test func secondNextWithABodyThatCanBeReadOnceIsAnError() async throws {
        let client = Client(
            serverURL: server,
            transport: StackTransport(over: MockTransport([.status(.serviceUnavailable), .ok()])),
            middlewares: [
                StackMiddleware { upstream in
                    upstream.modified { request, upstream in
                        _ = try await upstream.send(request)
                        return try await upstream.send(request)
                    }
                }
            ]
        )
        let once = HTTPBody(
            AsyncStream { $0.finish() } as AsyncStream<ArraySlice<UInt8>>,
            length: .unknown,
            iterationBehavior: .single
        )
        let error = await #expect(throws: ClientError.self) { try await client.putUser(once) }
        #expect((error as (any Error)?)?.networkingError?.kind == .bodyNotReplayable)
    }
}
