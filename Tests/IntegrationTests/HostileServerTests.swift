#if TestServer
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import Testing

/// Answers that break rules, over URLSession: the right kind of error or the right response, never a hang or a crash, and
/// the next request is answered as if nothing had happened.
@Suite(.timeLimit(.minutes(3)))
struct HostileServerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [TestResponse.RawStep]
        let outcome: Outcome

        init(_ testDescription: String, _ steps: TestResponse.RawStep..., gives outcome: Outcome) {
            self.testDescription = testDescription
            self.steps = steps
            self.outcome = outcome
        }

        /// A head with this line in it, and a body of two bytes.
        init(field: String, gives outcome: Outcome) {
            self.init(
                "field \(field.prefix(40))",
                .text("HTTP/1.1 200 OK\r\n\(field)\r\nContent-Length: 2\r\n\r\nok"),
                gives: outcome
            )
        }

        var answer: TestResponse {
            var response = TestResponse.raw()
            response.body = .raw(steps)
            return response
        }
    }

    enum Outcome: Sendable {
        case failure(NetworkingError.Kind)
        case response(Int, String, HTTPFields = [:])
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    // MARK: Connections that break

    private static let broken: [Case] = [
        Case("an empty reply", gives: .failure(.connectionLost)),
        Case("a reset before the head", .reset, gives: .failure(.connectionLost)),
        Case(
            "a reset within the body",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
            .delay(.milliseconds(20)),
            .reset,
            gives: .failure(.connectionLost)
        ),
        Case(
            "a reset within a body without length",
            "HTTP/1.1 200 OK\r\n\r\nhalf",
            .delay(.milliseconds(20)),
            .reset,
            gives: .failure(.connectionLost)
        ),
        Case(
            "an end within the body",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
            gives: .failure(.truncated)
        ),
        Case(
            "an end between chunks",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            gives: .failure(.truncated)
        ),
        Case(
            "an end within a chunk",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf",
            gives: .failure(.truncated)
        ),
        Case(
            "an end within the body of a 401",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 20\r\n\r\nhalf",
            gives: .failure(.truncated)
        ),
    ]

    // MARK: Heads that break rules

    private static let heads: [Case] = [
        Case("garbage", "garbage\r\n\r\n", gives: .failure(.invalidResponse)),
        Case("an answer in TLS", .bytes(Data([21, 3, 1, 0, 2, 2, 40])), gives: .failure(.invalidResponse)),
        Case("a status line in disorder", "HTTP/1.1 OK 200\r\n\r\n", gives: .failure(.invalidResponse)),
        Case("a version of the future", "HTTP/9.9 200 OK\r\n\r\n", gives: .failure(.invalidResponse)),
        Case("status 99", "HTTP/1.1 099 Odd\r\n\r\n", gives: .failure(.invalidResponse)),
        Case("status 2000", "HTTP/1.1 2000 Odd\r\n\r\n", gives: .failure(.invalidResponse)),
        Case("status 999", "HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok", gives: .response(999, "ok")),
        Case("an empty reason", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", gives: emptyReason),
        Case("line ends without a return", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", gives: strict),
        Case("a head of 1 MiB", .text(headOf1MiB), gives: .failure(.invalidResponse)),
        Case(field: "X-A:without a space", gives: strict),
        Case(field: "X-A:", gives: .response(200, "ok", [.xA: ""])),
        Case(field: "X-A: b\r\n folded", gives: .response(200, "ok", [.xA: "b folded"])),
        Case(field: "X-A: b\r\nX-A: c", gives: .response(200, "ok", [.xA: "b, c"])),
        Case(field: "X-A without a colon", gives: .failure(.invalidResponse)),
        Case(field: ": without a name", gives: .failure(.invalidResponse)),
        Case(field: "X-A : with a space before the colon", gives: .failure(.invalidResponse)),
        Case(field: "X-A: a\0b", gives: .failure(.invalidResponse)),
    ]

    // URLSession on Linux refuses what others read (RFC 9112 allows to read the latter two).
    #if canImport(FoundationNetworking)
    private static let strict = Outcome.failure(.invalidResponse)
    private static let emptyReason = Outcome.response(200, "ok")
    #else
    private static let strict = Outcome.response(200, "ok")
    private static let emptyReason = Outcome.response(200, "ok")
    #endif

    private static let headOf1MiB =
        "HTTP/1.1 200 OK\r\n" + String(repeating: "X-A: \(String(repeating: "a", count: 1_000))\r\n", count: 1_048)
        + "\r\n"

    // MARK: Lengths that are wrong

    private static let lengths: [Case] = [
        Case(field: "Content-Length: 4", gives: .failure(.invalidResponse)),
        Case(field: "Content-Length: 2", gives: .response(200, "ok")),
        Case(
            "a list of lengths",
            "HTTP/1.1 200 OK\r\nContent-Length: 2, 4\r\n\r\nokok",
            gives: .failure(.invalidResponse)
        ),
        Case(
            "a length below zero",
            "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
            gives: .failure(.invalidResponse)
        ),
        Case(
            "a length in words",
            "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok",
            gives: .failure(.invalidResponse)
        ),
        Case(
            "a length without end",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok",
            gives: .failure(.invalidResponse)
        ),
        Case(
            "a length beside chunks",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            gives: .response(200, "ok")
        ),
        Case(
            "a chunk size that is none",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n",
            gives: .failure(.invalidResponse)
        ),
        Case(
            "garbage after the end",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\(ok)",
            gives: .response(200, "ok")
        ),
        Case("a body behind 204", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok", gives: .response(204, "")),
        Case("a length in 304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 200\r\n\r\n", gives: .response(304, "")),
        Case("no length at all", "HTTP/1.0 200 OK\r\n\r\nto the end", gives: .response(200, "to the end")),
    ]

    // MARK: Odd but right

    private static let odd: [Case] = [
        Case("100 first", .text("HTTP/1.1 100 Continue\r\n\r\n" + ok), gives: .response(200, "ok")),
        Case(
            "103 first",
            .text("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX-A: early\r\n\r\n" + ok),
            gives: .response(200, "ok", [.xA: "none"])
        ),
        Case(
            "a hundred of them",
            .text(String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 100) + ok),
            gives: .response(200, "ok")
        ),
        Case("one byte at a time", .drip(ok), gives: .response(200, "ok")),
        Case(
            "chunks, one byte at a time",
            .drip("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\no\r\n01\r\nk\r\n0\r\n\r\n"),
            gives: .response(200, "ok")
        ),
        Case(
            "407 from no proxy",
            "HTTP/1.1 407 Proxy Auth\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 2\r\n\r\nok",
            gives: .response(407, "ok")
        ),
        Case(
            "401 without a length",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\r\nto the end",
            gives: .response(401, "to the end")
        ),
        Case(
            "401 in chunks",
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            gives: .response(401, "ok")
        ),
        Case(
            "401 with challenges in two fields",
            .text(
                "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"x\"\r\nWWW-Authenticate: Basic realm=\"x\"\r\n"
                    + "Content-Length: 2\r\n\r\nok"
            ),
            gives: .response(401, "ok", [.wwwAuthenticate: "Digest realm=\"x\", Basic realm=\"x\""])
        ),
    ]

    @Test(arguments: broken + heads + lengths + odd)
    func survives(_ hostile: Case) async throws {
        try await withTestServer { server in
            server.enqueue(hostile.answer)
            server.route("/") { _ in .text("next") }
            let network = URLSessionTransport(configuration: .ephemeral).timeout(.seconds(60))
                .server(baseURL: server.url)
            switch hostile.outcome {
            case .failure(let kind):
                let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
                #expect(error?.kind == kind, "\(error?.reason ?? "")")
                #expect(error?.request.url == server.url.appending(path: "/"))
            case .response(let code, let body, let fields):
                let response = try await network.data(HTTPRequestData())
                #expect(response.status.code == code)
                #expect(String(decoding: response.data, as: UTF8.self) == body)
                for field in fields {
                    #expect((response.headerFields[field.name] ?? "none") == field.value)
                }
            }
            let next = try await network.data(HTTPRequestData())
            #expect(next.data == Data("next".utf8))
        }
    }

    @Test func cookiesAreFieldsOfTheirOwn() async throws {
        try await withTestServer { server in
            let cookies = [
                "a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT; Path=/", "b=x,y=z; Path=/", "c", "d=4; Max-Age=60",
            ]
            server.enqueue(
                .raw(
                    .text("HTTP/1.1 200 OK\r\n" + cookies.map { "Set-Cookie: \($0)\r\n" }.joined()),
                    "Content-Length: 0\r\n\r\n"
                )
            )
            let network = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
            let response = try await network.data(HTTPRequestData())
            // A comma within a value cannot be told from one between two cookies, once URLSession has joined them.
            #expect(
                response.headerFields[values: .setCookie] == [
                    cookies[0], "b=x", "y=z; Path=/, c", cookies[3],
                ]
            )
        }
    }

    // MARK: Time

    @Test(
        arguments: [
            [.stall], ["HTTP/1.1 200 OK\r\nContent-", .stall],
            ["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .stall],
        ] as [[TestResponse.RawStep]]
    )
    func aStallEndsWithTheTimeout(steps: [TestResponse.RawStep]) async throws {
        try await withTestServer { server in
            var stall = TestResponse.raw()
            stall.body = .raw(steps)
            server.enqueue(stall)
            let clock = ManualClock()
            let network = URLSessionTransport(configuration: .ephemeral).timeout(.milliseconds(80))
                .server(baseURL: server.url).environment(\.clock, .manual(clock))
            let call = Task { try await network.data(HTTPRequestData()) }
            try await server.waitForRequests(1)
            clock.advance(by: .milliseconds(80))
            let result = await call.result
            let error = #expect(throws: NetworkingError.self) { try result.get() }
            #expect(error?.kind == .timeout)
            try await server.waitForOpenConnections(0)
        }
    }

    /// More seconds than fit into what URLSession counts in.
    @Test func aTimeoutForEverIsOne() async throws {
        try await withTestServer { server in
            server.route("/") { _ in .ok }
            let transport = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
            let response = try await transport.timeout(.seconds(Int64.max)).data(HTTPRequestData())
            #expect(response.status == .ok)
        }
    }

    /// Where a name has two addresses and the first refuses, libcurl keeps that error for what happens to the second.
    @Test func whatBreaksAtASecondAddressHasBeenConnected() async throws {
        try await withTestServer { server in
            let network = URLSessionTransport(configuration: .ephemeral).server(authority: "localhost:\(server.port)")
            let request = HTTPRequestData(method: .post, scheme: "http", path: "/", body: .data(Data("order".utf8)))
            server.enqueue(TestResponse(body: .hangUp), .raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))
            for kind in [NetworkingError.Kind.connectionLost, .truncated] {
                let error = await #expect(throws: NetworkingError.self) { try await network.retry().data(request) }
                #expect(error?.kind == kind)
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test func limitsInMillisecondsHoldOnTheSystemsClock() async throws {
        try await withTestServer { server in
            server.route("/head") { _ in .raw(.stall) }
            server.route("/body") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .stall) }
            let transport = URLSessionTransport(configuration: .ephemeral).server(baseURL: server.url)
            let clock = ContinuousClock()
            let start = clock.now
            for (path, network) in [
                ("head", AnyNetworkingComponent(transport.timeout(.milliseconds(50)))),
                ("head", AnyNetworkingComponent(transport.timeout(head: .milliseconds(50)))),
                ("body", AnyNetworkingComponent(transport.timeout(idle: .milliseconds(50)))),
            ] {
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.data(HTTPRequestData(path: path))
                }
                #expect(error?.kind == .timeout)
                #expect(error?.reason.contains("0.05 seconds") == true)
            }
            let elapsed = start.duration(to: clock.now)
            #expect(elapsed >= .milliseconds(150))
            // URLSession's own timeout would be 60 s; a busy machine may take long for three times 50 ms.
            #expect(elapsed < .seconds(45))
        }
    }

    @Test func aConnectionThatNeverComesAboutEndsWithItsLimit() async throws {
        try await withUnresponsiveServer { url in
            let clock = ManualClock()
            let network = URLSessionTransport(configuration: .ephemeral).timeout(connect: .milliseconds(400))
                .server(baseURL: url).environment(\.clock, .manual(clock))
            let upload = HTTPRequestData(method: .post, body: .data(Data("x".utf8)))
            for request in [HTTPRequestData(), upload] {
                let call = Task { try await network.data(request) }
                try await clock.waitForSleepers()
                clock.advance(by: .milliseconds(400))
                let result = await call.result
                let error = #expect(throws: NetworkingError.self) { try result.get() }
                #expect(error?.kind == .timeout)
                #expect(error?.reason.contains("No connection within 0.4 seconds") == true)
            }
        }
    }
}

extension HTTPField.Name {
    // A valid name, so there is a value.
    fileprivate static let xA = HTTPField.Name("X-A")!
}
#endif
