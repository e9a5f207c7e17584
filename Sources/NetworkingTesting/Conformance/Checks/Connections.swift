#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingResilience
import NetworkingCore
import NetworkingTestServer

extension TransportCheck {
    /// Connections that fail, break, are kept open, or are numerous.
    static let connections: [TransportCheck] = [
        TransportCheck("refused connection") { bench in
            // Port 1 is reserved and has no server.
            let refusing = bench.transport.timeout(.seconds(60)).server(scheme: "http").server(authority: "127.0.0.1:1")
            let error = try await bench.fail(with: .connection, over: refusing)
            try expect(error.request.url?.absoluteString, is: "http://127.0.0.1:1/", in: "the URL of the failure")
        },
        TransportCheck("unknown host") { bench in
            // Names below .invalid never exist (RFC 6761, section 6.4).
            let nowhere = bench.transport.timeout(.seconds(60)).server(scheme: "http")
                .server(authority: "nonexistent.invalid")
            try await bench.fail(with: .nameResolution, over: nowhere)
        },
        TransportCheck("no TLS") { bench in
            let secure = bench.transport.timeout(.seconds(60)).server(scheme: "https")
                .server(authority: bench.server.authority)
            try await bench.fail(with: .tls, over: secure)
        },
        .raw("empty reply", [[], [.reset]], gives: .fails(.connectionLost)),
        .raw(
            "reset within the body",
            [
                ["HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", .delay(.milliseconds(20)), .reset],
                ["HTTP/1.1 200 OK\r\n\r\nhalf", .delay(.milliseconds(20)), .reset],
                [
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", .delay(.milliseconds(20)),
                    .reset,
                ],
            ],
            gives: .fails(.connectionLost)
        ),
        TransportCheck("kept connection that is closed") { bench in
            bench.server.route("/close") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", .close) }
            for _ in 1...20 {
                // Whether the client notices the end before it sends again is a race, but a repeatable request always
                // arrives.
                try expect(try await bench.fetch(HTTPRequestData(path: "/close")).text, is: "ok", in: "the body")
            }
        },
        // A client must not treat bytes after a response as the next response (RFC 9112, section 6.3).
        TransportCheck("bytes after a response") { bench in
            bench.serveNext()
            for _ in 1...10 {
                for (method, response) in CheckBench.completeResponses {
                    bench.server.enqueue(.raw(.text(response + CheckBench.startOfAnother), .keepAlive))
                    try await bench.fetch(HTTPRequestData(method: method))
                    try await bench.checkNext()
                }
            }
        },
        TransportCheck("bytes on an idle connection") { bench in
            bench.serveNext()
            for (method, response) in CheckBench.completeResponses {
                let gate = Gate()
                bench.server.enqueue(.raw(.text(response), .gate(gate), .text(CheckBench.startOfAnother), .keepAlive))
                try await bench.fetch(HTTPRequestData(method: method))
                gate.open()
                // Most clients close the connection at once; for all others, the bytes have arrived by the end of this
                // time.
                try await bench.waitForHangUp(atMost: .seconds(1))
                try await bench.checkNext()
            }
        },
        TransportCheck("connection reuse") { bench in
            bench.server.route("/sized") { _ in .text("sized") }
            bench.server.route("/chunked") { _ in TestResponse(body: .chunks(["chunked"])) }
            bench.server.route("/echo") { _ in TestResponse(body: .echo) }
            bench.server.route("/none") { _ in TestResponse(status: .noContent) }
            for _ in 1...3 {
                try await bench.fetch(HTTPRequestData(path: "/sized"))
                try await bench.fetch(HTTPRequestData(path: "/chunked"))
                try await bench.fetch(HTTPRequestData(method: .post, path: "/echo", body: .data(.pattern(10))))
                try await bench.fetch(HTTPRequestData(path: "/none"))
            }
            try expect(bench.server.acceptedConnections, is: 1, in: "the number of connections for requests in a row")
        },
        TransportCheck("Connection: close") { bench in
            bench.server.route("/") { _ in TestResponse(headerFields: [.connection: "close"], body: .data(.pattern(9)))
            }
            for _ in 1...3 {
                try expect(try await bench.fetch().data, is: .pattern(9))
            }
            try await bench.server.waitForOpenConnections(0)
            try expect(bench.server.acceptedConnections, is: 3, in: "the number of connections that are not kept")
        },
        TransportCheck("concurrency", needsSockets: false) { bench in
            bench.server.route("/users/:id") { request in .text(request.parameters["id"] ?? "") }
            try await bench.fetch(500, at: 500) { id in
                (HTTPRequestData(path: "/users/\(id)"), Data("\(id)".utf8))
            }
            try expect(bench.server.requests.count, is: 500, in: "the number of requests")
        },
        TransportCheck("stress", needsSockets: false) { bench in
            bench.server.route(.post, "/echo") { _ in TestResponse(body: .echo) }
            bench.server.route(.get, "/pattern/:count") { request in
                TestResponse(body: .data(.pattern(Int(request.parameters["count"] ?? "") ?? 0)))
            }
            try await bench.fetch(2_000, at: 16) { number in
                let size = number * 37 % 20_000
                return number.isMultiple(of: 2)
                    ? (HTTPRequestData(path: "/pattern/\(size)"), .pattern(size))
                    : (HTTPRequestData(method: .post, path: "/echo", body: .data(.pattern(size))), .pattern(size))
            }
        },
    ]
}

extension CheckBench {
    /// Complete responses, with the methods of their requests.
    fileprivate static let completeResponses: [(method: HTTPRequest.Method, response: String)] = [
        (.get, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        (.get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
        (.get, "HTTP/1.1 204 No Content\r\n\r\n"),
        (.head, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
    ]

    /// The start of a response that would swallow the first line of the next one.
    fileprivate static let startOfAnother = "HTTP/1.1 200 OK\r\nX-A: not mine\r\nX-Swallowed: "

    fileprivate func serveNext() {
        // The connection is not kept, so that each round starts on a new one.
        server.route("/next") { _ in
            TestResponse(headerFields: [.connection: "close"], body: .data(Data("next".utf8)))
        }
    }

    /// Sends a request, which must get its own response.
    fileprivate func checkNext() async throws {
        let next = try await fetch(HTTPRequestData(path: "/next"))
        try expect(next.text, is: "next", in: "the next response")
        try expect(next.headerFields[.xA] ?? "(none)", is: "(none)", in: "the field X-A of the next response")
    }

    /// Waits a limited time until the client has closed its connections.
    fileprivate func waitForHangUp(atMost limit: Duration) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.waitForOpenConnections(0) }
            group.addTask { try await ContinuousClock().sleep(for: limit) }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Sends many requests, with a limit on concurrency; each must get its own body.
    fileprivate func fetch(
        _ count: Int,
        at width: Int,
        _ exchange: @escaping @Sendable (Int) -> (HTTPRequestData, Data)
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= width { try await group.next() }
                group.addTask {
                    let (request, body) = exchange(number)
                    try expect(try await fetch(request).data, is: body, in: "the body of request \(number)")
                }
            }
            try await group.waitForAll()
        }
    }
}
#endif
