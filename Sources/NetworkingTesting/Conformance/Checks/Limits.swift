#if TestServer
import FoundationForNetworking
import NetworkingResilience
import NetworkingCore
import NetworkingTestServer

extension TransportCheck {
    /// Messages that exceed a limit.
    static let limits: [TransportCheck] = [
        TransportCheck("maximum response bytes", needsSockets: false) { bench in
            bench.server.route("/sized") { _ in TestResponse(body: .data(.pattern(100_000))) }
            bench.server.route("/chunked") { _ in TestResponse(body: .chunks([TestResponse.Chunk(.pattern(100_000))])) }
            for path in ["/sized", "/chunked"] {
                try await bench.fail(with: .tooLarge, sending: .with(.get, path) { $0.maximumResponseBytes = 99_999 })
                let response = try await bench.fetch(.with(.get, path) { $0.maximumResponseBytes = 100_000 })
                try expect(response.data, is: .pattern(100_000))
            }
        },
        TransportCheck("body without end") { bench in
            let chunk = TestResponse.Chunk(Data(count: 1 << 16))
            // A client without flow control may receive everything that is sent before it closes the connection.
            let never = TestResponse.Chunk("end", gate: Gate())
            bench.server.enqueue(
                .raw("HTTP/1.1 200 OK\r\n\r\n", .drip(Data(count: 64 << 20), by: 1 << 16), .stall),
                TestResponse(body: .chunks(Array(repeating: chunk, count: 1 << 10) + [never])),
                .raw(
                    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
                    .drip(Data(count: 64 << 20), by: 1 << 16),
                    .stall
                )
            )
            for _ in 1...3 {
                try await bench.fail(with: .tooLarge, sending: .with { $0.maximumResponseBytes = 1 << 20 })
                try await bench.server.waitForOpenConnections(0)
            }
        },
        TransportCheck("head of 10 MB") { bench in
            let field = "X-A: \(String(repeating: "a", count: 1_000))\r\n"
            let long = "X-A: \(String(repeating: "a", count: 10_000_000))\r\n"
            for fields in [String(repeating: field, count: 10_000), long] {
                bench.server.enqueue(.raw("HTTP/1.1 200 OK\r\n", .text(fields), "\r\n", .stall))
                try await bench.fail(with: .invalidResponse, .tooLarge)
                try await bench.server.waitForOpenConnections(0)
            }
        },
        .raw(
            "early heads of 10 MB",
            .text(
                String(
                    repeating: "HTTP/1.1 103 Early Hints\r\nX-A: \(String(repeating: "a", count: 1_000))\r\n\r\n",
                    count: 10_000
                )
            ),
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            gives: .returns(200, "ok").orFails(.invalidResponse, .tooLarge)
        ),
    ]

    /// Exchanges that take too long, on a clock that the check advances.
    static let stalls: [TransportCheck] = [
        TransportCheck("stall before the head") { bench in
            try await bench.endsStall(.stall)
        },
        TransportCheck("stall within the head") { bench in
            try await bench.endsStall("HTTP/1.1 200 OK\r\nContent-", .stall)
        },
        TransportCheck("stall within the body") { bench in
            try await bench.endsStall("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .stall)
            try await bench.endsStall("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", .stall)
        },
    ]
}

extension CheckBench {
    /// Requires that the timeout of the stack ends the wait and closes the connection.
    fileprivate func endsStall(_ steps: TestResponse.RawStep...) async throws {
        let arrived = Gate()
        server.route("/") { _ in
            arrived.open()
            return .raw(steps)
        }
        let clock = ManualClock()
        let network = transport.timeout(.milliseconds(80)).server(baseURL: server.url)
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(HTTPRequestData()) }
        try await wait(for: arrived, during: call)
        clock.advance(by: .milliseconds(80))
        switch await call.result {
        case .success(let response):
            throw ConformanceFailure("a failure of kind timeout", found: describe(response))
        case .failure(let error):
            guard (error as? NetworkingError)?.kind == .timeout else {
                throw ConformanceFailure("a failure of kind timeout", found: describe(error))
            }
        }
        try await server.waitForOpenConnections(0)
    }
}
#endif
