#if TestServer
import Foundation
import NetworkingTestServer
import TestSupport
import Testing

/// Responses in bytes that the test chooses.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RawResponseTests {
    private func play(_ steps: TestResponse.RawStep...) async throws -> (String, isReset: Bool) {
        var response = TestResponse.raw()
        response.body = .raw(steps)
        return try await withTestServer { [response] server in
            server.enqueue(response)
            var client = try await RawClient(to: server)
            try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            let result = try await client.receiveToTheVeryEnd()
            await client.close()
            return result
        }
    }

    @Test func sendsBytesUnchanged() async throws {
        let head = "HTTP/9.9 teapot\r\nX:y\r\n\r\n"
        let (text, isReset) = try await play("\(head)", .bytes(Data([0x68, 0x69])), .text("!\n"))
        #expect(text == "\(head)hi!\n")
        #expect(!isReset)
    }

    @Test func sendsAnEmptyRawResponse() async throws {
        let (text, isReset) = try await play()
        #expect(text.isEmpty)
        #expect(!isReset)
    }

    @Test func resetsTheConnection() async throws {
        let (text, isReset) = try await play(.reset)
        #expect(text.isEmpty)
        #expect(isReset)
    }

    @Test func resetsWithinTheBody() async throws {
        try await withTestServer { server in
            let gate = Gate()
            server.enqueue(.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .gate(gate), .reset))
            var client = try await RawClient(to: server)
            try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            let half = try await client.receive(through: "half")
            #expect(half.hasSuffix("half"))
            gate.open()
            let (rest, isReset) = try await client.receiveToTheVeryEnd()
            #expect(rest.isEmpty)
            #expect(isReset)
            await client.close()
        }
    }

    @Test func dripSendsAllBytes() async throws {
        let (text, _) = try await play(.drip("HTTP/1.1 200 OK\r\n\r\n", by: 3), .drip(Data("abc".utf8)))
        #expect(text == "HTTP/1.1 200 OK\r\n\r\nabc")
    }

    @Test func stallLastsUntilTheClientDisconnects() async throws {
        try await withTestServer { server in
            server.enqueue(.raw("HTTP/1.1 200 OK\r\n", .stall))
            var client = try await RawClient(to: server)
            try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try await client.receive(through: "OK\r\n")
            #expect(server.openConnections == 1)
            await client.close()
            try await server.waitForOpenConnections(0)
            #expect(server.acceptedConnections == 1)
        }
    }

    @Test func stopEndsAStall() async throws {
        let server = try await TestServer.start()
        server.enqueue(.raw(.stall))
        let client = try await RawClient(to: server)
        try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try await server.waitForRequests(1)
        await server.stop()
        #expect(server.openConnections == 0)
        await client.close()
    }

    @Test func halfCloseKeepsTheClientsSideOpen() async throws {
        try await withTestServer { server in
            server.enqueue(.raw("bye", .halfClose))
            var client = try await RawClient(to: server)
            try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            let (text, isReset) = try await client.receiveToTheVeryEnd()
            #expect(text == "bye")
            #expect(!isReset)
            #expect(server.openConnections == 1)
            await client.close()
            try await server.waitForOpenConnections(0)
        }
    }

    @Test func keepAliveLeavesTheConnectionOpen() async throws {
        try await withTestServer { server in
            server.enqueue(.raw("HTTP/1.1 204 No Content\r\n\r\n", .keepAlive), .text("second"))
            var client = try await RawClient(to: server)
            for response in ["HTTP/1.1 204 No Content\r\n\r\n", "second"] {
                try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                _ = try await client.receive(through: response)
            }
            #expect(server.requests.map(\.connection) == [1, 1])
            await client.close()
        }
    }

    @Test func countsConnections() async throws {
        try await withTestServer { server in
            server.route("/") { _ in .ok }
            let clients = [try await RawClient(to: server), try await RawClient(to: server)]
            for var client in clients {
                try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                _ = try await client.receiveResponse()
            }
            #expect(server.openConnections == 2)
            try await server.waitForOpenConnections(2)
            await clients[0].close()
            try await server.waitForOpenConnections(1)
            await clients[1].close()
            try await server.waitForOpenConnections()
            #expect(server.acceptedConnections == 2)
        }
    }

    @Test func connectingToAnUnresponsiveServerBlocks() async throws {
        try await withUnresponsiveServer { url in
            let port = UInt16(try #require(url.port))
            let isConnected = try await RawClient.connects(toPort: port, within: .milliseconds(200))
            #expect(!isConnected)
        }
    }
}
#endif
