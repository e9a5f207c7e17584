#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

/// Overlapping requests when a response controls how its request is received.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OverlappingRequestsTests {
    private static let expectingHead = "PUT /file HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    private static let continueResponse = "HTTP/1.1 100 Continue\r\n\r\n"
    private static let plain = TestResponse.text("plain")
    private static let refusal = TestResponse.status(.contentTooLarge).onExpectation(.refused)

    /// The ways to script a plain response for the first request and a refusal at the head of the second.
    static let scripts: [@Sendable (TestServer) -> Void] = [
        { server in server.enqueue(plain, refusal) },
        { server in server.route(.put, "/file", responses: plain, refusal) },
        { server in
            server.route(.put, "/file", responses: refusal)
            server.enqueue(plain)
        },
        { server in
            server.routeAtHead(.put, "/file") { _ in refusal }
            server.enqueue(plain)
        },
        { server in
            server.route(.put, "/*", responses: refusal)
            server.route(.put, "/:name", times: 1) { request in .text(request.text == "body" ? "plain" : "no body") }
        },
    ]

    @Test(arguments: scripts)
    func eachRequestTakesItsResponseWhenItsHeadArrives(script: @Sendable (TestServer) -> Void) async throws {
        try await withTestServer { server in
            script(server)
            try await withClient(of: server) { first in
                try await first.send(Self.expectingHead)
                #expect(try await first.receive(Self.continueResponse.utf8.count) == Self.continueResponse)
                try await withClient(of: server) { second in
                    try await second.send(Self.expectingHead)
                    let received = try await second.receive(through: "\r\n\r\n")
                    #expect(received.hasPrefix("HTTP/1.1 413 "))
                }
                try await first.send("body")
                let received = try await first.receiveResponse()
                #expect(received.hasSuffix("\r\n\r\nplain"))
            }
            try server.verifyAllScripted()
            try server.verifyAllUsed()
        }
    }

    /// If no response controls how its request is received, the request that is complete first takes the first
    /// response.
    @Test func plainResponsesAreTakenWhenTheRequestEnds() async throws {
        try await withTestServer { server in
            server.enqueue(.text("1"), .text("2"))
            try await withClient(of: server) { first in
                try await first.send(Self.expectingHead)
                #expect(try await first.receive(Self.continueResponse.utf8.count) == Self.continueResponse)
                let second = try await response(of: server, to: get("/"))
                #expect(second.hasSuffix("\r\n\r\n1"))
                try await first.send("body")
                let received = try await first.receiveResponse()
                #expect(received.hasSuffix("\r\n\r\n2"))
            }
        }
    }

    /// A route can have too few uses to reach the response that controls how the request is received.
    ///
    /// It then takes nothing at the head.
    @Test func ignoresResponsesBeyondTheUsesOfARoute() async throws {
        try await withTestServer { server in
            server.route(.put, "/file", times: 1, responses: Self.plain, Self.refusal)
            try await withClient(of: server) { client in
                try await client.send(Self.expectingHead)
                #expect(try await client.receive(Self.continueResponse.utf8.count) == Self.continueResponse)
            }
            try await server.waitForOpenConnections(0)
            let received = try await response(of: server, to: "PUT /file HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody")
            #expect(received.hasSuffix("\r\n\r\nplain"))
        }
    }

    @Test func responseScriptedTooLateIsAnError() async throws {
        try await withTestServer { server in
            try await withClient(of: server) { client in
                try await client.send(Self.expectingHead)
                #expect(try await client.receive(Self.continueResponse.utf8.count) == Self.continueResponse)
                server.enqueue(Self.refusal)
                try await client.send("body")
                let received = try await client.receiveResponse()
                #expect(received.hasPrefix("HTTP/1.1 500 "))
                #expect(
                    received.hasSuffix(
                        """
                        The response to PUT /file controls how the request is received, but it was scripted after its head \
                        had arrived: script it before the client sends the request.
                        """
                    )
                )
            }
            #expect(throws: TestServerError.self) { try server.verifyAllScripted() }
        }
    }
}
#endif
