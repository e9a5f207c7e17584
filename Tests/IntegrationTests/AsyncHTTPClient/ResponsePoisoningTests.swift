#if AsyncHTTPClient && TestServer
import AsyncHTTPClient
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import TestSupport
import Testing

extension Loopback {
    /// Servers that send surplus bytes after a response.
    ///
    /// None of them may reach the next request of the connection.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct ResponsePoisoningTests {
        private static let poison = "HTTP/1.1 200 OK\r\nX-Evil: 1\r\nX-Swallowed: "

        private let transport: AsyncHTTPClientTransport = {
            var configuration = HTTPClient.Configuration.networking
            // Each request reuses the previous connection if that was kept.
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
            return AsyncHTTPClientTransport(configuration: configuration)
        }()

        struct WireResponse: Sendable, CustomTestStringConvertible {
            let name: String
            var method = HTTPRequest.Method.get
            let wire: String
            let body: String

            var testDescription: String { name }
        }

        private static let wireResponses = [
            WireResponse(name: "length", wire: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok"),
            WireResponse(
                name: "chunks",
                wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
                body: "ok"
            ),
            WireResponse(name: "204", wire: "HTTP/1.1 204 No Content\r\n\r\n", body: ""),
            WireResponse(name: "304", wire: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", body: ""),
            WireResponse(name: "HEAD", method: .head, wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", body: ""),
        ]

        private func serveNext(_ server: TestServer) {
            server.route("/next") { _ in
                .raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Own: 1\r\n\r\nnext", .keepAlive)
            }
        }

        /// Runs a closure with a server and a stack that reuses its connection to it.
        private func withNetwork(
            _ body: nonisolated(nonsending) (TestServer, AnyNetworkingComponent) async throws -> Void
        ) async throws {
            try await withTestServer { server in
                serveNext(server)
                let network = transport.timeout(.seconds(60)).server(baseURL: server.url)
                try await body(server, AnyNetworkingComponent(network))
            }
        }

        private func checkNext(_ network: some NetworkingComponent, _ request: HTTPRequestData? = nil) async throws {
            let next = try await network.data(request ?? HTTPRequestData(path: "next"))
            #expect(next.data == Data("next".utf8))
            #expect(next.headerFields.map(\.name.canonicalName).sorted() == ["content-length", "x-own"])
        }

        @Test(arguments: wireResponses)
        func bytesInTheSamePacketDoNotReachTheNextResponse(wireResponse: WireResponse) async throws {
            try await withNetwork { server, network in
                for _ in 1...100 {
                    server.enqueue(.raw(.text(wireResponse.wire + Self.poison), .keepAlive))
                    let response = try await network.data(HTTPRequestData(method: wireResponse.method))
                    #expect(response.data == Data(wireResponse.body.utf8))
                    try await checkNext(network)
                }
            }
        }

        /// A request that must not be repeated may use such a connection, too.
        @Test func bytesInTheSamePacketDoNotFailAPost() async throws {
            try await withNetwork { server, network in
                for _ in 1...100 {
                    server.enqueue(.raw(.text(Self.wireResponses[0].wire + Self.poison), .keepAlive))
                    try await network.data(HTTPRequestData())
                    let post = HTTPRequestData(method: .post, path: "next", body: .data(Data("order".utf8)))
                    try await checkNext(network, post)
                }
                #expect(server.requests.filter { $0.method == .post }.count == 100)
            }
        }

        @Test(arguments: wireResponses)
        func bytesOnAnIdleConnectionCloseIt(wireResponse: WireResponse) async throws {
            try await withNetwork { server, network in
                for _ in 1...20 {
                    let gate = Gate()
                    server.enqueue(.raw(.text(wireResponse.wire), .gate(gate), .text(Self.poison), .keepAlive))
                    let response = try await network.data(HTTPRequestData(method: wireResponse.method))
                    #expect(response.data == Data(wireResponse.body.utf8))
                    gate.open()
                    try await server.waitForOpenConnections(0)
                    try await checkNext(network)
                    server.enqueue(.raw(.text(Self.wireResponses[0].wire), .close))
                    try await network.data(HTTPRequestData())
                    try await server.waitForOpenConnections(0)
                }
            }
        }

        /// The bytes arrive before the next request, during it, or together with the response.
        @Test(arguments: [0, 100, 1_000])
        func bytesBeyondTheLengthDoNotFailTheNextRequest(microseconds: Int) async throws {
            try await withNetwork { server, network in
                // A route instead of a queue of responses, because a request may be repeated when its kept connection
                // is closed.
                server.route("/") { _ in
                    .raw(
                        .text(Self.wireResponses[0].wire),
                        .delay(.microseconds(microseconds)),
                        "ay, and more than that",
                        .keepAlive
                    )
                }
                for _ in 1...300 {
                    let response = try await network.data(HTTPRequestData())
                    #expect(response.data == Data("ok".utf8))
                    try await checkNext(network)
                }
            }
        }

        @Test func bytesAfterAResponseInATunnelDoNotReachTheNextOne() async throws {
            try await withTestServer { proxy in
                serveNext(proxy)
                var configuration = HTTPClient.Configuration.networking
                configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
                configuration.proxy = .server(host: "127.0.0.1", port: try #require(proxy.url.port))
                let network = AsyncHTTPClientTransport(configuration: configuration).timeout(.seconds(60))
                    .server(scheme: "http").server(authority: "api.example:8080")
                let tunnel = TestResponse.raw("HTTP/1.1 200 OK\r\n\r\n", .keepAlive)
                for _ in 1...20 {
                    proxy.enqueue(tunnel, .raw(.text(Self.wireResponses[0].wire + Self.poison), .keepAlive), tunnel)
                    try await network.data(HTTPRequestData())
                    try await checkNext(network)
                    proxy.enqueue(.raw(.text(Self.wireResponses[0].wire), .close))
                    try await network.data(HTTPRequestData())
                    try await proxy.waitForOpenConnections(0)
                }
            }
        }
    }
}
#endif
