#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

/// Informational responses, the 100 response to an expectation, and trailers.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct InformationalTests {
    private static let expectingHead = "PUT /file HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    private static let continueResponse = "HTTP/1.1 100 Continue\r\n\r\n"

    @Test func sendsInformationalResponsesFirst() async throws {
        try await withTestServer { server in
            let hints = TestResponse.Informational.earlyHints("</a.css>; rel=preload", "</b.js>; rel=preload")
            server.enqueue(.text("page").preceded(by: .continue, .processing).preceded(by: hints), .text("next"))
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                let expected = """
                    HTTP/1.1 100 Continue\r
                    \r
                    HTTP/1.1 102 Processing\r
                    \r
                    HTTP/1.1 103 Early Hints\r
                    Link: </a.css>; rel=preload\r
                    Link: </b.js>; rel=preload\r
                    \r
                    HTTP/1.1 200 OK\r
                    Content-Type: text/plain; charset=utf-8\r
                    Content-Length: 4\r
                    \r
                    page
                    """
                #expect(try await client.receive(expected.utf8.count) == expected)
                // The connection stays usable.
                try await client.send(get("/"))
                let next = try await client.receiveResponse()
                #expect(next.hasSuffix("next"))
            }
        }
    }

    @Test func gateDelaysALaterInformationalResponse() async throws {
        try await withTestServer { server in
            let gate = Gate()
            server.enqueue(.ok.preceded(by: .processing, .init(.earlyHints, gate: gate)))
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                #expect(try await client.receive(through: "\r\n\r\n") == "HTTP/1.1 102 Processing\r\n\r\n")
                #expect(server.activeRequests == 1)
                gate.open()
                #expect(try await client.receive(through: "\r\n\r\n") == "HTTP/1.1 103 Early Hints\r\n\r\n")
                _ = try await client.receiveResponse()
            }
        }
    }

    @Test func refusedExpectationGetsTheFinalResponse() async throws {
        try await withTestServer { server in
            server.enqueue(.status(.contentTooLarge).onExpectation(.refused))
            try await withClient(of: server) { client in
                try await client.send(Self.expectingHead)
                let expected = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                #expect(try await client.receiveToEnd() == expected)
                // A client that sends its body anyway does not get a reset.
                try await client.send("body")
            }
            try await server.waitForOpenConnections(0)
            let request = try #require(server.requests.first)
            #expect(request.expectsContinue)
            #expect(!request.isComplete)
            #expect(request.bodyByteCount == 0)
            #expect(server.activeRequests == 0)
        }
    }

    @Test func acceptsABodySentWithoutExpectation() async throws {
        try await withTestServer { server in
            server.enqueue(.text("taken").onExpectation(.refused))
            let received = try await response(of: server, to: "PUT / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody")
            #expect(received.hasSuffix("taken"))
            #expect(server.requests.map(\.text) == ["body"])
            #expect(server.requests.map(\.expectsContinue) == [false])
        }
    }

    @Test func ignoredExpectationGetsNoContinue() async throws {
        try await withTestServer { server in
            server.route(.put, "/file", responses: .text("taken").onExpectation(.ignored))
            server.route("/other") { _ in .ok }
            try await withClient(of: server) { client in
                try await client.send(Self.expectingHead)
                // The responses to other requests give the server time to send a 100 response, which it must not do.
                for _ in 0..<5 { _ = try await response(of: server, to: get("/other")) }
                try await client.send("body")
                let received = try await client.receiveResponse()
                #expect(received.hasPrefix("HTTP/1.1 200 OK\r\n"))
            }
            #expect(server.requests(for: .put, path: "/file").map(\.text) == ["body"])
        }
    }

    /// A client would take a late 100 response for the response to its next request.
    @Test func responseAtTheHeadIsNotFollowedByContinue() async throws {
        try await withTestServer { server in
            server.routeAtHead(.put, "/file") { _ in .status(.expectationFailed) }
            try await withClient(of: server) { client in
                try await client.send(Self.expectingHead)
                let expected = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                #expect(try await client.receiveToEnd() == expected)
            }
        }
    }

    @Test func echoSendsContinueFirst() async throws {
        try await withTestServer { server in
            server.routeAtHead(.put, "/file") { _ in TestResponse(body: .echo).trailers([.eTag: "\"1\""]) }
            try await withClient(of: server) { client in
                try await client.send(Self.expectingHead)
                #expect(try await client.receive(through: "\r\n\r\n") == Self.continueResponse)
                let head = try await client.receive(through: "\r\n\r\n")
                #expect(head == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                try await client.send("body")
                #expect(try await client.receive(through: "\r\n\r\n") == "4\r\nbody\r\n0\r\nETag: \"1\"\r\n\r\n")
            }
        }
    }

    @Test(arguments: [
        (TestResponse.text("ab").body, "2\r\nab\r\n"),
        (.empty, ""),
        (.sized(["a", "b"]), "1\r\na\r\n1\r\nb\r\n"),
        (.chunks(["ab"]), "2\r\nab\r\n"),
    ])
    func sendsTrailersAfterTheBody(body: TestResponse.Body, coded: String) async throws {
        try await withTestServer { server in
            server.enqueue(TestResponse(body: body).trailers([.eTag: "\"1\"", .age: "2"]), .text("next"))
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                let head = try await client.receive(through: "\r\n\r\n")
                #expect(head == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                let expected = coded + "0\r\nETag: \"1\"\r\nAge: 2\r\n\r\n"
                #expect(try await client.receive(expected.utf8.count) == expected)
                try await client.send(get("/"))
                let next = try await client.receiveResponse()
                #expect(next.hasSuffix("next"))
            }
        }
    }

    @Test func responseToHeadHasNoTrailers() async throws {
        try await withTestServer { server in
            server.enqueue(.text("ab").trailers([.age: "2"]), .ok)
            try await withClient(of: server) { client in
                try await client.send("HEAD / HTTP/1.1\r\n\r\n" + get("/"))
                let first = try await client.receive(through: "\r\n\r\n")
                #expect(first.hasSuffix("Transfer-Encoding: chunked\r\n\r\n"))
                #expect(try await client.receiveResponse() == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }
}
#endif
