#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTransfers
import NetworkingCore
import NetworkingTestServer

extension TransportCheck {
    /// Response bodies, in all forms.
    static let responseBodies: [TransportCheck] = [
        TransportCheck("response bodies", needsSockets: false) { bench in
            for size in [0, 1, 100, 65_535, 65_537, 3_000_000] {
                let body = Data.pattern(size)
                bench.server.enqueue(TestResponse(body: .data(body)), TestResponse(body: .chunks(body.chunks)))
                try expect(try await bench.fetch().data, is: body, in: "a body with a length")
                try expect(try await bench.fetch().data, is: body, in: "a body in chunks")
            }
        },
        TransportCheck("empty chunked body", needsSockets: false) { bench in
            bench.server.enqueue(TestResponse(body: .chunks([])), .text("next"))
            let response = try await bench.fetch()
            try expect(response.status, is: .ok, in: "the status")
            try expect(response.data.count, is: 0, in: "the body")
            try expect(try await bench.fetch().text, is: "next", in: "the next response")
        },
        TransportCheck("body to the end of the connection") { bench in
            let body = Data.pattern(300_000)
            bench.server.enqueue(.raw("HTTP/1.1 200 OK\r\n\r\n", .bytes(body)))
            try expect(try await bench.fetch().data, is: body)
        },
        TransportCheck("drip read") { bench in
            let body = Data.pattern(500)
            bench.server.enqueue(
                .raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", .drip(body), .keepAlive),
                TestResponse(body: .chunks(body.map { TestResponse.Chunk(Data([$0])) }))
            )
            try expect(try await bench.fetch().data, is: body, in: "a body with a length")
            try expect(try await bench.fetch().data, is: body, in: "a body in chunks")
        },
        TransportCheck("under-read") { bench in
            bench.server.route("/") { _ in
                .raw("HTTP/1.1 200 OK\r\n\r\n", .drip(Data(count: 64 << 20), by: 1 << 16), .stall)
            }
            let sink = CollectingSink { _ in .refuse }
            let response = try await bench.fetch(.with { $0.sink = sink })
            try expect(response.status, is: .ok, in: "the status")
            try expect(sink.chunks.count, is: 0, in: "the bytes received by a sink that refuses the body")
            try expect(bench.server.requests.count, is: 1, in: "the number of requests")
            try await bench.server.waitForOpenConnections(0)
        },
        TransportCheck("body in chunks as they arrive") { bench in
            let gate = Gate()
            bench.server.route("/") { _ in
                TestResponse(body: .chunks(["first", TestResponse.Chunk("second", gate: gate)]))
            }
            var chunks = try await bench.network.stream(HTTPRequestData()).makeAsyncIterator()
            try expect(
                try await chunks.next() ?? Data(),
                is: Data("first".utf8),
                in: "the chunk received before the rest was sent"
            )
            gate.open()
            try expect(try await chunks.next() ?? Data(), is: Data("second".utf8), in: "the rest")
            try expect(try await chunks.next() == nil, "the end of the body after the rest")
        },
    ]
}

extension Data {
    /// The bytes in chunks of increasing size.
    fileprivate var chunks: [TestResponse.Chunk] {
        [prefix(1), dropFirst(1).prefix(10), dropFirst(11).prefix(100_000), dropFirst(100_011)]
            .map { TestResponse.Chunk($0) }
    }
}
#endif
