#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TestServerScriptTests {
    @Test(
        arguments: [
            ("/", "/", [:]),
            ("/", "/users", nil),
            ("/users", "/users", [:]),
            ("/users", "/users?page=2", [:]),
            ("/users", "/users/", nil),
            ("/users", "/Users", nil),
            ("/users/", "/users/", [:]),
            ("/users/:id", "/users/7", ["id": "7"]),
            ("/users/:id", "/users", nil),
            ("/users/:id", "/users/7/posts", nil),
            ("/users/:id", "/users/a%2Fb%20c", ["id": "a/b c"]),
            ("/users/:id", "/users/100%", ["id": "100%"]),
            ("/users/:id", "/users/%+1", ["id": "%+1"]),
            ("/users/:id/posts/:post", "/users/7/posts/8", ["id": "7", "post": "8"]),
            ("/caf\u{e9}", "/caf%C3%A9", [:]),
            ("/files/*", "/files/a/b%20c", ["*": "a/b c"]),
            ("/files/*", "/files/", ["*": ""]),
            ("/files/*", "/files", ["*": ""]),
            ("/files/*", "/file", nil),
            ("/*", "/", ["*": ""]),
        ] as [(String, String, [String: String]?)]
    )
    func matchesPaths(pattern: String, target: String, parameters: [String: String]?) async throws {
        try await withTestServer { server in
            server.route(.get, pattern) { try .json($0.parameters) }
            let isMatched = try await response(of: server, to: get(target)).hasPrefix("HTTP/1.1 200")
            #expect(isMatched == (parameters != nil))
            #expect(server.requests.map(\.parameters) == [parameters ?? [:]])
            #expect(server.requests(for: .get, path: pattern).count == (parameters == nil ? 0 : 1))
            #expect(server.requests(for: .post, path: pattern).isEmpty)
        }
    }

    @Test(
        arguments: [
            (.get, "GET", true), (.get, "HEAD", false), (.get, "get", false), (.post, "POST", true),
            (.purge, "PURGE", true), (nil, "DELETE", true),
        ] as [(HTTPRequest.Method?, String, Bool)]
    )
    func matchesMethods(method: HTTPRequest.Method?, sent: String, isMatched: Bool) async throws {
        try await withTestServer { server in
            if let method { server.route(method, "/") { _ in .ok } } else { server.route("/") { _ in .ok } }
            let status = isMatched ? "200 OK" : "501 Not Implemented"
            try await withClient(of: server) { client in
                try await client.send("\(sent) / HTTP/1.1\r\n\r\n")
                #expect(try await client.receive(through: "\r\n") == "HTTP/1.1 \(status)\r\n")
            }
        }
    }

    @Test func newestRouteTakesPrecedence() async throws {
        try await withTestServer { server in
            server.route("/*") { _ in .text("fixture") }
            server.route(.get, "/a") { _ in .text("test") }
            let replaced = try await response(of: server, to: get("/a"))
            #expect(replaced.hasSuffix("\r\ntest"))
            let kept = try await response(of: server, to: get("/b"))
            #expect(kept.hasSuffix("\r\nfixture"))
        }
    }

    @Test func queuedResponsesPrecedeRoutes() async throws {
        try await withTestServer { server in
            server.route(.get, "/a") { _ in .text("route") }
            server.enqueue(.text("one"), .text("two"))
            server.enqueue(.text("three"))
            for expected in ["one", "two", "three", "route"] {
                let received = try await response(of: server, to: get("/a"))
                #expect(received.hasSuffix("\r\n\(expected)"))
            }
        }
    }

    @Test func unscriptedRequestGets501() async throws {
        try await withTestServer { server in
            let response = try await response(of: server, to: "PUT /users/1?x=1 HTTP/1.1\r\n\r\n")
            #expect(response.hasPrefix("HTTP/1.1 501 Not Implemented\r\nContent-Type: text/plain; charset=utf-8\r\n"))
            #expect(
                response.hasSuffix(
                    "\r\n\r\nNo response is scripted for PUT /users/1: add a route or enqueue a response."
                )
            )
            #expect(server.requests.count == 1)
        }
    }

    @Test func errorOfAHandlerIsA500Response() async throws {
        struct Broken: Error {}
        try await withTestServer { server in
            server.route(.get, "/a") { _ in throw Broken() }
            let response = try await response(of: server, to: get("/a"))
            #expect(response.hasPrefix("HTTP/1.1 500 Internal Server Error\r\n"))
            #expect(response.hasSuffix("\r\n\r\nThe handler of GET /a threw Broken()."))
        }
    }

    @Test func passesTheRequestToTheHandler() async throws {
        try await withTestServer { server in
            server.route(.post, "/echo") { TestResponse(body: .data($0.body)) }
            let request = "POST /echo HTTP/1.1\r\nContent-Length: 4\r\n\r\nping"
            let received = try await response(of: server, to: request)
            #expect(received.hasSuffix("\r\n\r\nping"))
        }
    }
}

extension HTTPRequest.Method {
    fileprivate static let purge = HTTPRequest.Method("PURGE")!
}
#endif
