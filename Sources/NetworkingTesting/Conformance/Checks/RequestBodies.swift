#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTransfers
import NetworkingCore
import NetworkingTestServer

extension TransportCheck {
    /// Request bodies, in all forms.
    static let requestBodies: [TransportCheck] =
        [
            TransportCheck("request without a body", needsSockets: false) { bench in
                for method in [HTTPRequest.Method.get, .post, .delete] {
                    try await bench.sends(nil, Data(), method: method)
                    try expect(bench.server.arrived(.contentType), is: [], in: "the Content-Type that arrives")
                }
            },
            TransportCheck("empty request body", needsSockets: false) { bench in
                try await bench.sends(.data(Data()), Data())
                try await bench.sends(.stream(streamed([])), Data())
            },
            TransportCheck("request body in memory", needsSockets: false) { bench in
                for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
                    try await bench.sends(.json(["name": "Emily"]), Data(#"{"name":"Emily"}"#.utf8), method: method)
                    try expect(
                        bench.server.arrived(.contentType),
                        is: ["application/json"],
                        in: "the Content-Type that arrives"
                    )
                }
            },
            TransportCheck("GET with a body", needsSockets: false) { bench in
                try await bench.sends(.data(.pattern(10)), .pattern(10), method: .get)
            },
            TransportCheck("1 MB echo", needsSockets: false) { bench in
                bench.server.route(.post, "/") { _ in TestResponse(body: .echo) }
                let body = Data.pattern(1 << 20)
                let response = try await bench.fetch(HTTPRequestData(method: .post, body: .data(body)))
                try expect(response.data, is: body)
            },
            TransportCheck("request body from a file", needsSockets: false) { bench in
                let file = FileManager.default.temporaryDirectory.appending(
                    path: "networking-conformance-\(UUID()).txt"
                )
                defer { try? FileManager.default.removeItem(at: file) }
                for size in [0, 10, 300_000] {
                    try Data.pattern(size).write(to: file)
                    try await bench.sends(.file(file), .pattern(size))
                }
            },
            TransportCheck("request body of parts", needsSockets: false) { bench in
                let parts = [
                    MultipartPart.text("Emily", name: "name"), .data(.pattern(1_000), name: "photo", fileName: "a.png"),
                ]
                let body = RequestBody.multipart(parts, boundary: "boundary")
                try await bench.sends(body, try await body.collect())
                let type = bench.server.arrived(.contentType)
                try expect(type, is: ["multipart/form-data; boundary=boundary"], in: "the Content-Type that arrives")
            },
            TransportCheck("stream of known length", needsSockets: false) { bench in
                let chunks = [Data.pattern(1), .pattern(100_000), .pattern(7)]
                try await bench.sends(.stream(streamed(chunks), length: 100_008), chunks[0] + chunks[1] + chunks[2])
            },
            TransportCheck("stream of unknown length", needsSockets: false) { bench in
                let chunks = [Data.pattern(1), .pattern(100_000), .pattern(7)]
                try await bench.sends(.stream(streamed(chunks)), chunks[0] + chunks[1] + chunks[2])
            },
            TransportCheck("request framing") { bench in
                bench.server.route("/") { _ in .ok }
                for body in [
                    RequestBody.data(.pattern(5)), .stream(streamed([.pattern(5)])),
                    .stream(streamed([.pattern(5)]), length: 5),
                ] {
                    try await bench.fetch(HTTPRequestData(method: .post, body: body))
                    let fields = bench.server.arrived(.contentLength) + bench.server.arrived(.transferEncoding)
                    try expect(
                        fields == ["5"] || fields == ["chunked"],
                        "one field for the length of a body, not \(fields)"
                    )
                }
                try await bench.fetch()
                let fields = bench.server.arrived(.contentLength) + bench.server.arrived(.transferEncoding)
                try expect(
                    fields.isEmpty || fields == ["0"],
                    "no length of the body that a GET does not have, not \(fields)"
                )
            },
        ] + duplex

    private static let duplex: [TransportCheck] = [
        TransportCheck("interleaved echo") { bench in
            bench.server.routeAtHead(.post, "/") { _ in TestResponse(body: .echo) }
            let (chunks, source) = AsyncStream.makeStream(of: Data.self)
            defer { source.finish() }
            let request = HTTPRequestData(method: .post, path: "/", body: .stream(chunks))
            source.yield(.pattern(1))
            var echo = try await bench.network.stream(request).makeAsyncIterator()
            for size in [1, 5, 3_000, 70_000] {
                var echoed = Data()
                while echoed.count < size, let chunk = try await echo.next() {
                    echoed += chunk
                }
                try expect(echoed, is: .pattern(size), in: "the echo of a chunk, before the next was sent")
                switch size {
                case 1: source.yield(.pattern(5))
                case 5: source.yield(.pattern(3_000))
                case 3_000: source.yield(.pattern(70_000))
                default: source.finish()
                }
            }
            try expect(try await echo.next() == nil, "the end of the echo after the end of the request body")
        },
        // A client may stop sending or continue (RFC 9110, section 10.1.1 and RFC 9112, section 9.5); in both cases, it
        // gets the response.
        TransportCheck("early response") { bench in
            let gate = Gate()
            bench.server.routeAtHead(.post, "/") { _ in
                TestResponse(
                    status: .contentTooLarge,
                    body: .chunks(["too ", TestResponse.Chunk("large", gate: gate)])
                )
            }
            let sink = CollectingSink { _ in
                gate.open()
                return .collect(upTo: 100)
            }
            let chunk = Data(count: 1 << 20)
            let body = RequestBody.stream(length: 64 << 20) { streamed(Array(repeating: chunk, count: 64)) }
            let response = try await bench.fetch(.with(.post, body: body) { $0.sink = sink })
            try expect(response.status.code, is: 413, in: "the status")
            try expect(response.text, is: "too large", in: "the body")
        },
        TransportCheck("request body that fails") { bench in
            struct Broken: Error {}
            bench.server.route("/") { _ in .ok }
            let (chunks, source) = AsyncThrowingStream.makeStream(of: Data.self)
            source.yield(.pattern(10))
            source.finish(throwing: Broken())
            do {
                try await bench.fetch(HTTPRequestData(method: .post, body: .stream(chunks)))
                throw ConformanceFailure("the error of the body", found: "a response")
            } catch is Broken {
            } catch let error as NetworkingError where error.underlying is Broken {
            }
            try expect(bench.server.requests.isEmpty, "no complete request with a truncated body")
        },
        TransportCheck("stream with a wrong length") { bench in
            bench.server.route("/") { _ in .ok }
            for length in [Int64(5), 20] {
                let body = RequestBody.stream(streamed([.pattern(10)]), length: length)
                try await bench.fail(
                    with: .invalidRequest,
                    .unencodableBody,
                    .storage,
                    sending: HTTPRequestData(method: .post, body: body)
                )
            }
            try expect(bench.server.requests.isEmpty, "no complete request with a body of the wrong length")
        },
    ]

    private static func streamed(_ chunks: [Data]) -> AsyncStream<Data> {
        AsyncStream { source in
            for chunk in chunks {
                source.yield(chunk)
            }
            source.finish()
        }
    }
}

extension CheckBench {
    /// Sends a body, which must arrive unchanged.
    fileprivate func sends(_ body: RequestBody?, _ bytes: Data, method: HTTPRequest.Method = .post) async throws {
        server.route("/") { _ in .ok }
        try await fetch(HTTPRequestData(method: method, body: body))
        let arrived = server.requests.last
        try expect(arrived?.method, is: method, in: "the method that arrives")
        try expect(arrived?.body ?? Data(), is: bytes, in: "the body that arrives")
    }
}
#endif
