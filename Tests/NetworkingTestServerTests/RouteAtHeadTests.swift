#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTestServer
import Testing
import TestSupport

/// Responses that start before the body of their request has arrived.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RouteAtHeadTests {
    private static let chunkedHead = "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test func echoesEachChunkAsItArrives() async throws {
        try await withTestServer { server in
            server.routeAtHead(.post, "/echo") { _ in TestResponse(body: .echo) }
            try await withClient(of: server) { client in
                try await client.send(Self.chunkedHead)
                let head = try await client.receive(through: "\r\n\r\n")
                #expect(head == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                try await client.send("5\r\nhello\r\n")
                #expect(try await client.receive(through: "hello\r\n") == "5\r\nhello\r\n")
                try await client.send("3\r\nyou\r\n0\r\n\r\n")
                #expect(try await client.receive(through: "0\r\n\r\n") == "3\r\nyou\r\n0\r\n\r\n")
                // The connection stays usable.
                try await client.send("POST /echo HTTP/1.1\r\nContent-Length: 2\r\n\r\nok")
                let second = try await client.receiveResponse()
                #expect(second.hasSuffix("2\r\nok\r\n0\r\n\r\n"))
            }
            #expect(server.requests.map(\.path) == ["/echo", "/echo"])
        }
    }

    @Test func echoesTheBodyOnAnOrdinaryRoute() async throws {
        try await withTestServer { server in
            server.route(.post, "/") { _ in TestResponse(body: .echo) }
            let response = try await response(of: server, to: "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nok")
            #expect(response == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        }
    }

    @Test func respondsBeforeTheBodyAndDropsIt() async throws {
        try await withTestServer { server in
            server.routeAtHead(.post, "/files/:name") { request in .text(request.parameters["name"] ?? "") }
            try await withClient(of: server) { client in
                try await client.send("POST /files/a HTTP/1.1\r\nContent-Length: 4\r\n\r\n")
                let first = try await client.receiveResponse()
                #expect(first.hasSuffix("\r\n\r\na"))
                try await client.send("bodyPOST /files/b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
                let second = try await client.receiveResponse()
                #expect(second.hasSuffix("\r\n\r\nb"))
            }
            #expect(server.requests.map(\.body) == [Data(), Data()])
        }
    }

    @Test func queuedResponsePrecedesTheRouteAndWaitsForTheBody() async throws {
        try await withTestServer { server in
            server.routeAtHead(.post, "/echo") { _ in TestResponse(body: .echo) }
            server.enqueue(.text("queued"))
            let request = "POST /echo HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
            let received = try await response(of: server, to: request)
            #expect(received.hasSuffix("queued"))
            #expect(server.requests.map(\.body) == [Data("body".utf8)])
        }
    }

    @Test func clientDisconnectEndsAnEcho() async throws {
        try await withTestServer { server in
            server.routeAtHead(.post, "/echo") { _ in TestResponse(body: .echo) }
            try await withClient(of: server) { client in
                try await client.send(Self.chunkedHead)
                _ = try await client.receive(through: "\r\n\r\n")
            }
            try await server.waitForOpenConnections(0)
            #expect(server.activeRequests == 0)
        }
    }
}
#endif
