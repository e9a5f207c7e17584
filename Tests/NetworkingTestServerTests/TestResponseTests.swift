#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTestServer
import Testing
import TestSupport

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TestResponseTests {
    static let responses: [(TestResponse, String)] = [
        (.ok, "200 OK\r\nContent-Length: 0\r\n\r\n"),
        (.status(.notFound), "404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        (.text("hello"), "200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello"),
        (
            .text("gone", status: .gone),
            "410 Gone\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 4\r\n\r\ngone"
        ),
        (
            .redirect(to: "/there?a=/b"),
            "302 Found\r\nLocation: /there?a=/b\r\nContent-Length: 0\r\n\r\n"
        ),
        (
            .redirect(to: "http://h/", status: .permanentRedirect),
            "308 Permanent Redirect\r\nLocation: http://h/\r\nContent-Length: 0\r\n\r\n"
        ),
        (
            TestResponse(body: .chunks(["first", "", "the second"])),
            "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\na\r\nthe second\r\n0\r\n\r\n"
        ),
        (TestResponse(body: .chunks([])), "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        (TestResponse(body: .sized(["first", "second"])), "200 OK\r\nContent-Length: 11\r\n\r\nfirstsecond"),
        (TestResponse(status: .noContent, body: .data(Data("not sent".utf8))), "204 No Content\r\n\r\n"),
        (
            TestResponse(status: .notModified, headerFields: [.eTag: "\"1\""], body: .chunks(["not sent"])),
            "304 Not Modified\r\nETag: \"1\"\r\n\r\n"
        ),
        (
            TestResponse(headerFields: [.contentLength: "2", .server: "mine"], body: .data(Data("ab".utf8))),
            "200 OK\r\nContent-Length: 2\r\nServer: mine\r\n\r\nab"
        ),
    ]

    /// All responses share one connection, so a response of the wrong length would corrupt the next one.
    @Test func sendsExactlyTheseBytes() async throws {
        try await withTestServer { server in
            try await withClient(of: server) { client in
                for (response, expected) in Self.responses + Self.responses {
                    server.enqueue(response)
                    try await client.send(get("/"))
                    #expect(try await client.receive("HTTP/1.1 \(expected)".utf8.count) == "HTTP/1.1 \(expected)")
                }
            }
        }
    }

    /// The response to HEAD has the framing fields of the body, but no body.
    @Test func sendsOnlyTheHeadForHeadRequests() async throws {
        try await withTestServer { server in
            try await withClient(of: server) { client in
                for (response, expected) in Self.responses {
                    server.enqueue(response)
                    try await client.send("HEAD / HTTP/1.1\r\n\r\n")
                    let head = try await client.receive(through: "\r\n\r\n")
                    #expect(head == "HTTP/1.1 \(expected)".prefix(head.count))
                }
            }
        }
    }

    @Test func encodesJSONWithSortedKeys() async throws {
        try await withTestServer { server in
            server.enqueue(try .json(["b": 1, "a": 2], status: .created))
            let received = try await response(of: server, to: get("/"))
            #expect(
                received == """
                    HTTP/1.1 201 Created\r
                    Content-Type: application/json\r
                    Content-Length: 13\r
                    \r
                    {"a":2,"b":1}
                    """
            )
        }
    }

    @Test func encodesJSONWithAGivenEncoder() async throws {
        struct User: Encodable {
            let firstName: String
        }
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        try await withTestServer { server in
            server.enqueue(try .json(User(firstName: "Zoë"), encoder: encoder))
            let received = try await response(of: server, to: get("/"))
            #expect(received.hasSuffix(#"{"first_name":"Zoë"}"#))
        }
    }

    @Test func keepsOrderSpellingAndRepetitionOfFields() async throws {
        try await withTestServer { server in
            var fields = HTTPFields()
            fields.append(HTTPField(name: .setCookie, value: "b=1"))
            fields.append(HTTPField(name: HTTPField.Name("x-ODD")!, value: "1"))
            fields.append(HTTPField(name: .setCookie, value: "a=2"))
            fields.append(HTTPField(name: .wwwAuthenticate, value: "Basic"))
            fields.append(HTTPField(name: .wwwAuthenticate, value: "Bearer"))
            server.enqueue(TestResponse(headerFields: fields))
            let received = try await response(of: server, to: get("/"))
            #expect(
                received == """
                    HTTP/1.1 200 OK\r
                    Set-Cookie: b=1\r
                    x-ODD: 1\r
                    Set-Cookie: a=2\r
                    WWW-Authenticate: Basic\r
                    WWW-Authenticate: Bearer\r
                    Content-Length: 0\r
                    \r

                    """
            )
        }
    }

    @Test(arguments: [
        (
            TestResponse(headerFields: [.contentLength: "100"], body: .data(Data("these".utf8))),
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nthese"
        ),
        (
            TestResponse(headerFields: [.contentLength: "1"], body: .sized(["th", "ese"])),
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nthese"
        ),
        (
            TestResponse(headerFields: [.connection: "Keep-Alive, Close"]),
            "HTTP/1.1 200 OK\r\nConnection: Keep-Alive, Close\r\nContent-Length: 0\r\n\r\n"
        ),
        (
            TestResponse(
                headerFields: [.transferEncoding: "chunked", .connection: "close"],
                body: .data(Data("zz".utf8))
            ),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz"
        ),
        (.hangUp, ""),
    ])
    func closesTheConnectionAfterTheResponse(response: TestResponse, expected: String) async throws {
        try await withTestServer { server in
            server.enqueue(response)
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                #expect(try await client.receiveToEnd() == expected)
            }
            #expect(server.activeRequests == 0)
        }
    }

    @Test func closesTheConnectionIfTheRequestAsksForIt() async throws {
        try await withTestServer { server in
            server.enqueue(.ok)
            try await withClient(of: server) { client in
                try await client.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
                #expect(
                    try await client.receiveToEnd()
                        == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
            }
        }
    }

    /// The second chunk cannot arrive before the test opens the gate, but the first one can.
    @Test(
        arguments: [
            (TestResponse.Body.chunks, "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "1\r\nb\r\n0\r\n\r\n"),
            (TestResponse.Body.sized, "Content-Length: 2\r\n\r\na", "b"),
        ] as [(@Sendable ([TestResponse.Chunk]) -> TestResponse.Body, String, String)]
    )
    func holdsAChunkUntilItsGateOpens(
        body: @Sendable ([TestResponse.Chunk]) -> TestResponse.Body,
        start: String,
        end: String
    ) async throws {
        try await withTestServer { server in
            let gate = Gate()
            server.enqueue(TestResponse(body: body(["a", TestResponse.Chunk("b", gate: gate)])))
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                let head = "HTTP/1.1 200 OK\r\n\(start)"
                #expect(try await client.receive(head.utf8.count) == head)
                #expect(server.activeRequests == 1)
                gate.open()
                #expect(try await client.receive(end.utf8.count) == end)
                #expect(server.activeRequests == 0)
            }
        }
    }

    /// A busy machine can only make a response later, so the fastest of several must still show the delay.
    @Test(arguments: [
        TestResponse(delay: .milliseconds(20)),
        TestResponse(body: .chunks(["a", TestResponse.Chunk("b", delay: .milliseconds(20))])),
        TestResponse(body: .sized([.init("a", delay: .milliseconds(10)), .init("b", delay: .milliseconds(10))])),
        TestResponse(body: .hangUp, delay: .milliseconds(20)),
    ])
    func delaysResponsesAndChunks(response: TestResponse) async throws {
        try await withTestServer { server in
            server.route("/") { _ in response }
            var fastest = Duration.seconds(60)
            for _ in 0..<5 {
                try await withClient(of: server) { client in
                    let start = ContinuousClock.now
                    try await client.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
                    _ = try await client.receiveToEnd()
                    fastest = min(fastest, ContinuousClock.now - start)
                }
            }
            #expect(fastest >= .milliseconds(20))
        }
    }

    @Test func sendsALargeBody() async throws {
        try await withTestServer { server in
            let text = String(repeating: "0123456789", count: 300_000)
            server.enqueue(.text(text))
            let received = try await response(of: server, to: get("/"))
            #expect(received.hasSuffix("\r\n\r\n\(text)"))
        }
    }
}
#endif
