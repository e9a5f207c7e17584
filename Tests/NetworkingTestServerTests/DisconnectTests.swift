#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

/// Disconnects at each stage of an exchange and in each way.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DisconnectTests {
    private static let upload = "POST /upload HTTP/1.1\r\nContent-Length: 10\r\n\r\n"
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 10\r\n\r\n"

    static let stages: [(TestResponse.Stage, String)] = [
        (.responseStart, ""),
        (.responseHead, head),
        (.responseBody(after: 0), head),
        (.responseBody(after: 4), head + "0123"),
        (.responseBody(after: 10), head + "0123456789"),
        (.responseBody(after: 11), head + "0123456789"),
        (.responseEnd, head + "0123456789"),
    ]

    /// Sends a GET request to a server that disconnects within its response of ten bytes.
    private func disconnect(
        _ effect: TestResponse.SocketEffect,
        at stage: TestResponse.Stage,
        gate: Gate? = nil,
        _ body: (TestServer, inout RawClient) async throws -> Void
    ) async throws {
        try await withTestServer { server in
            server.enqueue(.text("0123456789").disconnecting(effect, at: stage, gate: gate))
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                try await body(server, &client)
            }
            try await server.waitForOpenConnections(0)
        }
    }

    @Test(arguments: stages)
    func closesAfterTheStage(stage: TestResponse.Stage, sent: String) async throws {
        try await disconnect(.close, at: stage) { server, client in
            let (text, isReset) = try await client.receiveToTheVeryEnd()
            #expect(text == sent)
            #expect(!isReset)
            #expect(server.requests.map(\.isComplete) == [true])
            #expect(server.activeRequests == 0)
        }
    }

    @Test(arguments: stages)
    func resetsAfterTheStage(stage: TestResponse.Stage, sent: String) async throws {
        let gate = Gate()
        try await disconnect(.reset, at: stage, gate: gate) { _, client in
            let text = try await client.receive(sent.utf8.count)
            #expect(text == sent)
            gate.open()
            let (rest, isReset) = try await client.receiveToTheVeryEnd()
            #expect(rest.isEmpty)
            #expect(isReset)
        }
    }

    @Test(arguments: stages)
    func halfCloseKeepsTheClientsSideOpen(stage: TestResponse.Stage, sent: String) async throws {
        try await disconnect(.halfClose, at: stage) { server, client in
            let text = try await client.receiveToEnd()
            #expect(text == sent)
            #expect(server.openConnections == 1)
        }
    }

    @Test(arguments: stages)
    func stallLastsUntilTheClientDisconnects(stage: TestResponse.Stage, sent: String) async throws {
        try await disconnect(.stall, at: stage) { server, client in
            let text = try await client.receive(sent.utf8.count)
            #expect(text == sent)
            try await server.waitForRequests(1)
            #expect(server.openConnections == 1)
        }
    }

    @Test(arguments: [
        (0, ""), (3, "5\r\nabc"), (5, "5\r\nabcde\r\n"), (6, "5\r\nabcde\r\n3\r\nf"), (8, "5\r\nabcde\r\n3\r\nfgh\r\n"),
        (9, "5\r\nabcde\r\n3\r\nfgh\r\n0\r\n\r\n"),
    ])
    func truncatedChunkAnnouncesItsFullSize(count: Int, sent: String) async throws {
        try await withTestServer { server in
            let response = TestResponse(body: .chunks(["abcde", "fgh"]))
            server.enqueue(response.disconnecting(.close, at: .responseBody(after: count)))
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                let text = try await client.receiveToEnd()
                #expect(text == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + sent)
            }
        }
    }

    @Test func disconnectsWithinAnEcho() async throws {
        try await withTestServer { server in
            server.routeAtHead(.post, "/upload") { _ in
                TestResponse(body: .echo).disconnecting(.halfClose, at: .responseBody(after: 3))
            }
            try await withClient(of: server) { client in
                try await client.send(Self.upload + "01234")
                let text = try await client.receiveToEnd()
                #expect(text == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n012\r\n")
            }
        }
    }

    /// The three ways to script a response before the head of its request arrives.
    static let scripts: [@Sendable (TestServer, TestResponse) -> Void] = [
        { server, response in server.enqueue(response) },
        { server, response in server.route(.post, "/upload", responses: response) },
        { server, response in server.routeAtHead(.post, "/upload") { _ in response } },
    ]

    @Test(arguments: scripts)
    func disconnectsAfterTheRequestHead(script: @Sendable (TestServer, TestResponse) -> Void) async throws {
        try await withTestServer { server in
            script(server, TestResponse.ok.disconnecting(.close, at: .requestHead))
            try await withClient(of: server) { client in
                try await client.send(Self.upload)
                #expect(try await client.receiveToEnd() == "")
            }
            let request = try #require(server.requests.first)
            #expect(!request.isComplete)
            #expect(request.body.isEmpty)
            #expect(server.activeRequests == 0)
        }
    }

    @Test(arguments: scripts)
    func disconnectsWithinTheRequestBody(script: @Sendable (TestServer, TestResponse) -> Void) async throws {
        try await withTestServer { server in
            script(server, TestResponse.ok.disconnecting(.reset, at: .requestBody(after: 4)))
            try await withClient(of: server) { client in
                try await client.send(Self.upload + "012")
                try await client.send("3")
                let (text, isReset) = try await client.receiveToTheVeryEnd()
                #expect(text.isEmpty)
                #expect(isReset)
            }
            try await server.waitForOpenConnections(0)
            #expect(server.requests.map(\.isComplete) == [false])
        }
    }

    @Test(arguments: [
        ("Content-Length: 10\r\n\r\n0123456789", 4, "0123", false),
        ("Content-Length: 3\r\n\r\n012", 4, "012", true),
        ("Content-Length: 4\r\n\r\n0123", 4, "0123", true),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\n012\r\n3\r\n345\r\n", 4, "0123", false),
        ("Transfer-Encoding: chunked\r\n\r\n4\r\n0123", 4, "0123", false),
        ("Transfer-Encoding: chunked\r\n\r\n1\r\n0\r\n0\r\n\r\n", 4, "0", true),
    ])
    func recordsTheBodyReceivedBeforeTheDisconnect(
        rest: String,
        count: Int,
        body: String,
        isComplete: Bool
    ) async throws {
        try await withTestServer { server in
            server.enqueue(TestResponse.ok.disconnecting(.halfClose, at: .requestBody(after: count)))
            try await withClient(of: server) { client in
                try await client.send("POST / HTTP/1.1\r\n" + rest)
                #expect(try await client.receiveToEnd() == "")
            }
            let request = try #require(server.requests.first)
            #expect(request.text == body)
            #expect(request.bodyByteCount == body.utf8.count)
            #expect(request.isComplete == isComplete)
        }
    }

    /// The server neither reads the body nor sends a response, but it can still stop.
    @Test func stopEndsAStalledRequest() async throws {
        let server = try await TestServer.start()
        server.enqueue(TestResponse.ok.disconnecting(.stall, at: .requestBody(after: 2)))
        var client = try await RawClient(to: server)
        try await client.send(Self.upload + "01")
        try await server.waitForRequests(1)
        #expect(server.openConnections == 1)
        await server.stop()
        #expect(try await client.receiveToEnd() == "")
        await client.close()
    }

    @Test func stalledRequestWithoutBodyEndsWhenTheClientDisconnects() async throws {
        try await withTestServer { server in
            server.enqueue(TestResponse.ok.disconnecting(.stall, at: .requestHead))
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                try await server.waitForRequests(1)
            }
            try await server.waitForOpenConnections(0)
        }
    }

    @Test func responseCreatedTooLateToDisconnectIsAnError() async throws {
        try await withTestServer { server in
            server.route(.post, "/upload") { _ in .ok.disconnecting(.close, at: .requestHead) }
            let received = try await response(of: server, to: Self.upload + "0123456789")
            #expect(received.hasPrefix("HTTP/1.1 500 "))
            #expect(
                received.hasSuffix(
                    """
                    The response to POST /upload controls how the request is received, but it was created after its head \
                    had arrived: use routeAtHead(…), enqueue(…) or route(…, responses: …).
                    """
                )
            )
            #expect(throws: TestServerError.self) { try server.verifyAllScripted() }
        }
    }
}
#endif
