#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

/// Requests of which the second begins before the first has ended, where a response says how its request is received.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct OverlappingRequestsTests {
    private static let asking = "PUT /file HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    private static let goAhead = "HTTP/1.1 100 Continue\r\n\r\n"
    private static let plain = TestResponse.text("plain")
    private static let refusal = TestResponse.status(.contentTooLarge).onExpectation(.refused)

    /// The ways in which the first request gets a plain answer, and the second one is refused at its head.
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
    func eachOfTwoTakesItsAnswerAtItsHead(script: @Sendable (TestServer) -> Void) async throws {
        try await withTestServer { server in
            script(server)
            try await withClient(of: server) { first in
                try await first.send(Self.asking)
                #expect(try await first.receive(Self.goAhead.utf8.count) == Self.goAhead)
                try await withClient(of: server) { second in
                    try await second.send(Self.asking)
                    let answer = try await second.receive(through: "\r\n\r\n")
                    #expect(answer.hasPrefix("HTTP/1.1 413 "))
                }
                try await first.send("body")
                let answer = try await first.receiveResponse()
                #expect(answer.hasSuffix("\r\n\r\nplain"))
            }
            try server.verifyAllScripted()
            try server.verifyAllUsed()
        }
    }

    /// Where nothing says how a request is received, the one that has arrived first takes the first answer.
    @Test func plainAnswersAreTakenAtTheEnd() async throws {
        try await withTestServer { server in
            server.enqueue(.text("1"), .text("2"))
            try await withClient(of: server) { first in
                try await first.send(Self.asking)
                #expect(try await first.receive(Self.goAhead.utf8.count) == Self.goAhead)
                let second = try await response(of: server, to: get("/"))
                #expect(second.hasSuffix("\r\n\r\n1"))
                try await first.send("body")
                let answer = try await first.receiveResponse()
                #expect(answer.hasSuffix("\r\n\r\n2"))
            }
        }
    }

    /// A route that is used up before its list says how a request is received takes nothing at the head.
    @Test func aListCountsAsFarAsItIsUsed() async throws {
        try await withTestServer { server in
            server.route(.put, "/file", times: 1, responses: Self.plain, Self.refusal)
            try await withClient(of: server) { client in
                try await client.send(Self.asking)
                #expect(try await client.receive(Self.goAhead.utf8.count) == Self.goAhead)
            }
            try await server.waitForOpenConnections(0)
            let answer = try await response(of: server, to: "PUT /file HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody")
            #expect(answer.hasSuffix("\r\n\r\nplain"))
        }
    }

    @Test func aResponseThatIsScriptedTooLateSaysSo() async throws {
        try await withTestServer { server in
            try await withClient(of: server) { client in
                try await client.send(Self.asking)
                #expect(try await client.receive(Self.goAhead.utf8.count) == Self.goAhead)
                server.enqueue(Self.refusal)
                try await client.send("body")
                let answer = try await client.receiveResponse()
                #expect(answer.hasPrefix("HTTP/1.1 500 "))
                #expect(
                    answer.hasSuffix(
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
