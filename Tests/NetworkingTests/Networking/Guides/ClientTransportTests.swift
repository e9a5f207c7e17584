import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// The adapter of Documentation/OtherStyles.md, with replacements for the types of swift-openapi-runtime.
@Suite struct ClientTransportTests {
    private protocol ClientTransport: Sendable {
        func send(
            _ request: HTTPRequest,
            body: HTTPBody?,
            baseURL: URL,
            operationID: String
        ) async throws -> (HTTPResponse, HTTPBody?)
    }

    private final class HTTPBody: AsyncSequence, Sendable {
        enum Length: Sendable {
            case unknown
            case known(Int64)
        }

        let length: Length
        private let bytes: [UInt8]

        init(_ bytes: some Sequence<UInt8>, length: Length? = nil) {
            self.bytes = Array(bytes)
            self.length = length ?? .known(Int64(self.bytes.count))
        }

        func makeAsyncIterator() -> Iterator {
            Iterator(bytes: bytes)
        }

        struct Iterator: AsyncIteratorProtocol {
            fileprivate var bytes: [UInt8]

            mutating func next() async throws -> ArraySlice<UInt8>? {
                defer { bytes = [] }
                return bytes.isEmpty ? nil : bytes[...]
            }
        }
    }

    private struct StackTransport: ClientTransport {
        let network: any NetworkingComponent

        func send(
            _ request: HTTPRequest,
            body: HTTPBody?,
            baseURL: URL,
            operationID: String
        ) async throws -> (HTTPResponse, HTTPBody?) {
            var message = HTTPRequestData(request, baseURL: baseURL)
            message.route = operationID
            if let body {
                var length: Int64?
                if case .known(let count) = body.length { length = count }
                let contentType = request.headerFields[.contentType] ?? "application/octet-stream"
                message.body = .stream(body, length: length, contentType: contentType)
            }
            let response = try await network.data(message)
            return (response.http, response.data.isEmpty ? nil : HTTPBody(response.data))
        }
    }

    @Test func sendsTheRequestOfAGeneratedClientThroughTheStack() async throws {
        let transport = MockTransport { _ in .text("Hello") }
        let client = StackTransport(network: transport.server(headerField: .userAgent, "app/1"))
        let request = HTTPRequest(
            method: .put,
            scheme: nil,
            authority: nil,
            path: "/users/a%2Fb?page=1",
            headerFields: [.contentType: "text/plain"]
        )
        let url = try #require(URL(string: "https://api.example.com/v1/"))
        let (head, body) = try await client.send(
            request,
            body: HTTPBody(Data("Emily".utf8)),
            baseURL: url,
            operationID: "putUser"
        )
        #expect(head.status == .ok)
        var received = Data()
        for try await chunk in try #require(body) {
            received.append(contentsOf: chunk)
        }
        #expect(received == Data("Hello".utf8))
        let sent = try #require(transport.requests.first)
        #expect(sent.method == .put)
        #expect(sent.url?.absoluteString == "https://api.example.com/v1/users/a%2Fb?page=1")
        #expect(sent.headerFields[.userAgent] == "app/1")
        #expect(sent.headerFields[.contentType] == "text/plain")
        #expect(sent.body?.data == Data("Emily".utf8))
        #expect(sent.route == "putUser")
    }

    @Test func returnsAnyStatusAndNoBodyIfThereIsNone() async throws {
        let client = StackTransport(network: MockTransport { _ in .status(.notFound) })
        let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/users")
        let url = try #require(URL(string: "https://api.example.com"))
        let (head, body) = try await client.send(request, body: nil, baseURL: url, operationID: "getUsers")
        #expect(head.status == .notFound)
        #expect(body == nil)
    }

    // MARK: Requests of swift-http-types

    @Test(
        arguments: [
            ("https://api.example.com", "/users", "https://api.example.com/users"),
            ("https://api.example.com/", "/users", "https://api.example.com/users"),
            ("https://api.example.com/v1", "users", "https://api.example.com/v1/users"),
            ("https://api.example.com/v1/", "/users/", "https://api.example.com/v1/users/"),
            ("http://localhost:8080/v1?key=1", "?page=2", "http://localhost:8080/v1?page=2"),
            ("https://api.example.com/v1", "", "https://api.example.com/v1"),
        ] as [(String, String, String)]
    )
    func joinsThePathToTheBaseURL(base: String, path: String, expected: String) throws {
        let url = try #require(URL(string: base))
        let request = HTTPRequest(method: .get, scheme: "ftp", authority: "elsewhere.example", path: path)
        #expect(HTTPRequestData(request, baseURL: url).url?.absoluteString == expected)
    }

    @Test func requestWithoutABaseURLKeepsItsServer() {
        let own = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/users")
        #expect(HTTPRequestData(own).url?.absoluteString == "https://example.com/users")
        let open = HTTPRequestData(HTTPRequest(method: .head, scheme: nil, authority: nil, path: nil))
        #expect(open.method == .head)
        #expect(open.authority == nil)
        #expect(open.path == nil)
    }
}
