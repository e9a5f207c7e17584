#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTestServer
import Testing
import TestSupport

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RecordedRequestTests {
    @Test func recordsTheRequestAsSent() async throws {
        let request = """
            POST /a%20b/c?x=1&y=%26 HTTP/1.1\r
            Host: example.com\r
            x-Odd:  one\t\r
            X-ODD: two\r
            Content-Length: 4\r
            \r
            ping
            """
        let recorded = try await #require(record([request]).first)
        #expect(recorded.method == .post)
        #expect(recorded.path == "/a%20b/c")
        #expect(recorded.query == "x=1&y=%26")
        #expect(recorded.body == Data("ping".utf8))
        #expect(recorded.connection == 1)
        #expect(recorded.headerFields.map(\.name.rawName) == ["Host", "x-Odd", "X-ODD", "Content-Length"])
        #expect(recorded.headerFields.map(\.value) == ["example.com", "one", "two", "4"])
        #expect(recorded.headerFields[values: HTTPField.Name("x-odd")!] == ["one", "two"])
    }

    @Test(
        arguments: [
            ("/a", "/a", nil),
            ("/a?", "/a", ""),
            ("/a?b?c", "/a", "b?c"),
            ("http://host:1/a?b", "/a", "b"),
            ("http://host", "/", nil),
            ("http://host?b", "/", "b"),
            ("/http://host/a", "/http://host/a", nil),
            ("*", "*", nil),
        ] as [(String, String, String?)]
    )
    func splitsTheTarget(target: String, path: String, query: String?) async throws {
        let recorded = try await #require(record([get(target)]).first)
        #expect(recorded.path == path)
        #expect(recorded.query == query)
    }

    @Test(arguments: [
        ("", []),
        ("a=1&b=2&a=3", ["a=1", "b=2", "a=3"]),
        ("a&b=", ["a", "b="]),
        ("a+b=%2B%26%3D", ["a+b=+&="]),
        ("a=b=c&&%C3%A9=1", ["a=b=c", "\u{e9}=1"]),
    ])
    func readsQueryItems(query: String, items: [String]) async throws {
        let recorded = try await #require(record([get("/?\(query)")]).first)
        #expect(recorded.queryItems.map { item in item.value.map { "\(item.name)=\($0)" } ?? item.name } == items)
    }

    static let bodies = [
        ("Content-Length: 5\r\n\r\nhello", "hello"),
        ("Content-Length: 0\r\n\r\n", ""),
        ("\r\n", ""),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", "hello"),
        ("Transfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\n00\r\nTrailer: 1\r\n\r\n", "0123456789"),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""),
    ]

    @Test(arguments: bodies)
    func readsTheBody(rest: String, body: String) async throws {
        let recorded = try await #require(record(["PUT / HTTP/1.1\r\n\(rest)"]).first)
        #expect(recorded.body == Data(body.utf8))
    }

    @Test(arguments: bodies)
    func readsARequestByteByByte(rest: String, body: String) async throws {
        try await withTestServer { server in
            server.enqueue(.ok)
            try await withClient(of: server) { client in
                for character in "PUT / HTTP/1.1\r\n\(rest)".unicodeScalars { try await client.send(String(character)) }
                _ = try await client.receiveResponse()
            }
            #expect(server.requests.map(\.body) == [Data(body.utf8)])
        }
    }

    /// The end of one request is the start of the next one, even if both arrive in one read.
    @Test func readsPipelinedRequests() async throws {
        let requests = Self.bodies.enumerated().map { "PUT /\($0) HTTP/1.1\r\n\($1.0)" } + ["\r\n" + get("/last")]
        let recorded = try await record(requests)
        #expect(recorded.map(\.path) == ["/0", "/1", "/2", "/3", "/4", "/5", "/last"])
        #expect(recorded.dropLast().map(\.body) == Self.bodies.map { Data($0.1.utf8) })
        #expect(Set(recorded.map(\.connection)) == [1])
    }

    /// The server reads ahead while it responds, to notice a disconnect.
    ///
    /// It must keep those bytes.
    @Test func readsARequestDuringTheResponseToAnother() async throws {
        try await withTestServer { server in
            let gate = Gate()
            server.route("/*") { .text($0.path) }
            server.route("/held") { _ in
                try await gate.wait()
                return .text("held")
            }
            try await withClient(of: server) { client in
                try await client.send(get("/held"))
                try await server.waitForRequests(1)
                try await client.send(get("/next"))
                // The responses to other requests give the server time to read ahead.
                for _ in 0..<5 { _ = try await response(of: server, to: get("/other")) }
                gate.open()
                let held = try await client.receiveResponse()
                #expect(held.hasSuffix("\r\n\r\nheld"))
                let next = try await client.receiveResponse()
                #expect(next.hasSuffix("\r\n\r\n/next"))
            }
        }
    }

    @Test func readsALargeBody() async throws {
        let body = String(repeating: "0123456789", count: 100_000)
        let recorded = try await record(["PUT / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n\(body)"])
        #expect(recorded.map(\.body) == [Data(body.utf8)])
    }

    @Test func numbersConnections() async throws {
        try await withTestServer { server in
            try await withClient(of: server) { first in
                try await withClient(of: server) { second in
                    for path in ["/1", "/2"] {
                        try await first.send(get(path))
                        _ = try await first.receiveResponse()
                    }
                    try await second.send(get("/3"))
                    _ = try await second.receiveResponse()
                }
            }
            #expect(server.requests.map(\.connection) == [1, 1, 2])
        }
    }

    @Test func sendsContinueToAWaitingClient() async throws {
        try await withTestServer { server in
            server.enqueue(.ok)
            try await withClient(of: server) { client in
                try await client.send("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
                #expect(try await client.receive(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
                #expect(server.requests.isEmpty)
                try await client.send("ping")
                #expect(try await client.receiveResponse() == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
            #expect(server.requests.map(\.body) == [Data("ping".utf8)])
        }
    }

    @Test(arguments: [
        "GET /\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "G@T / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nSpace : 1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: five\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
    ])
    func rejectsInvalidRequests(bytes: String) async throws {
        try await withTestServer { server in
            server.enqueue(.ok)
            try await withClient(of: server) { client in
                try await client.send(bytes)
                let received = try await client.receiveToEnd()
                #expect(received.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
                #expect(received.contains("\r\nConnection: close\r\n"))
                #expect(received.contains("\r\n\r\nThis is not an HTTP/1.1 request: "))
            }
            #expect(server.requests.isEmpty)
        }
    }

    /// Returns the recorded requests of a server after they are sent together on one connection.
    private func record(_ requests: [String]) async throws -> [RecordedRequest] {
        try await withTestServer { server in
            try await withClient(of: server) { client in
                try await client.send(requests.joined())
                for _ in requests { _ = try await client.receiveResponse() }
            }
            return server.requests
        }
    }
}
#endif
