#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTestServer
import NetworkingCore

extension TransportCheck {
    /// Compressed bodies from a server that only uses the requested codings (RFC 9110, section 12.5.3).
    static let coding: [TransportCheck] =
        [
            coded("gzip", as: ["gzip", "GZip", "x-gzip"]),
            coded("deflate", as: ["deflate"]),
            // RFC 9110 section 8.4.1.2 requires the wrapper of zlib, but some servers leave it out.
            coded("deflate", as: ["deflate"], name: "raw deflate"),
            coded("br", as: ["br"]),
            coded("zstd", as: ["zstd"]),
            TransportCheck("identity") { bench in
                bench.server.enqueue(TestResponse(body: .data(Data(CodedBody.text.utf8))))
                let response = try await bench.fetch()
                try expect(response.text, is: CodedBody.text, in: "the body")
                try expect(response.headerFields[.contentLength], is: "256", in: "the length")
            },
            TransportCheck("only known codings are requested") { bench in
                let known = ["gzip", "x-gzip", "deflate", "br", "zstd", "identity"]
                let unknown = try await bench.askedCodings().filter { !known.contains($0) }
                try expect(unknown, is: [], in: "the codings that the suite has no body for")
            },
            TransportCheck("codings of the caller") { bench in
                bench.server.route("/") { _ in .ok }
                for asked in ["gzip;q=0", "gzip", "identity"] {
                    try await bench.fetch(HTTPRequestData(headerFields: [.acceptEncoding: asked]))
                    try expect(
                        bench.server.arrived(.acceptEncoding),
                        is: [asked],
                        in: "the Accept-Encoding that arrives"
                    )
                }
            },
            TransportCheck("range requests no coding") { bench in
                bench.server.route("/") { _ in .ok }
                try await bench.fetch(HTTPRequestData(headerFields: [.range: "bytes=0-9"]))
                let arrived = bench.server.arrived(.acceptEncoding)
                try expect(arrived == [] || arrived == ["identity"], "no coding of a part, not \(arrived)")
            },
            TransportCheck("HEAD and 304 with a coding") { bench in
                bench.server.route(.head, "/") { _ in
                    TestResponse(
                        headerFields: [.contentEncoding: "gzip", .contentLength: "45"],
                        body: .data(.pattern(45))
                    )
                }
                bench.server.route(.get, "/") { _ in
                    TestResponse(status: .notModified, headerFields: [.contentEncoding: "gzip", .eTag: "\"1\""])
                }
                let head = try await bench.fetch(HTTPRequestData(method: .head))
                try expect(
                    head.headerFields[.contentEncoding],
                    is: "gzip",
                    in: "the Content-Encoding of the HEAD response"
                )
                try expect(head.headerFields[.contentLength], is: "45", in: "the Content-Length of the HEAD response")
                let notModified = try await bench.fetch()
                try expect(
                    notModified.headerFields[.contentEncoding],
                    is: "gzip",
                    in: "the Content-Encoding of the 304 response"
                )
            },
        ] + lists + damage

    /// Content-Encoding as a list, with members that change nothing, and codings that nobody requested.
    private static let lists: [TransportCheck] = [
        TransportCheck("codings in lists") { bench in
            for lines in [
                ["identity, gzip"], ["gzip, identity"], [", gzip"], ["gzip,"], ["identity", "gzip"], ["GZIP", ""],
                ["identity, x-gzip ,identity"],
            ] {
                try await bench.reads(CodedBody.text(in: "gzip") ?? Data(), lines)
            }
        },
        TransportCheck("several codings") { bench in
            for coding in ["gzip, gzip", "deflate, gzip"] {
                let body = CodedBody.text(in: coding) ?? Data()
                try await bench.reads(body, [coding])
                try await bench.reads(body, coding.split(separator: ", ").map { String($0) })
            }
        },
        TransportCheck("empty Content-Encoding") { bench in
            let body = Data(CodedBody.text.utf8)
            for lines in [[""], [","], ["identity"], ["Identity, "]] {
                bench.server.enqueue(.coded(body, lines))
                let response = try await bench.fetch()
                try expect(response.text, is: CodedBody.text, in: "the body")
                try expect(response.headerFields[.contentLength], is: "256", in: "the length")
            }
        },
        TransportCheck("unknown codings") { bench in
            for lines in [["x-unknown"], ["gzip, x-unknown"], ["x-unknown, gzip"], ["none", "x-unknown"]] {
                let body = CodedBody.text(in: "gzip") ?? Data()
                bench.server.enqueue(.coded(body, lines))
                try await bench.refuses(body, in: lines)
            }
        },
        // A client that does not send TE need not decode them (RFC 9112, section 7.4).
        TransportCheck("transfer codings") { bench in
            let body = CodedBody.text(in: "gzip") ?? Data()
            for coding in ["gzip, chunked", "x-unknown, chunked", "chunked, gzip", "gzip"] {
                let isChunked = coding.contains("chunked")
                bench.server.enqueue(
                    .raw(
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n",
                        .text(isChunked ? "\(String(body.count, radix: 16))\r\n" : ""),
                        .bytes(body),
                        .text(isChunked ? "\r\n0\r\n\r\n" : ""),
                        .close
                    )
                )
                do {
                    try expect(try await bench.fetch().text, is: CodedBody.text, in: "the body in \(coding)")
                } catch let error as NetworkingError where error.kind == .invalidResponse {
                }
            }
        },
        TransportCheck("part of a coded body") { bench in
            let part = (CodedBody.text(in: "gzip") ?? Data()).prefix(30)
            bench.server.enqueue(
                TestResponse(
                    status: .partialContent,
                    headerFields: [.contentEncoding: "gzip", .contentRange: "bytes 0-29/45"],
                    body: .data(part)
                )
            )
            try await bench.refuses(part, in: ["gzip"], sending: HTTPRequestData(headerFields: [.range: "bytes=0-29"]))
        },
    ]

    private static let damage: [TransportCheck] = [
        TransportCheck("broken gzip") { bench in
            var damaged = CodedBody.text(in: "gzip") ?? Data()
            damaged[damaged.count - 6] ^= 1
            try await bench.refusesGzip(Data("this is no compressed text at all".utf8), with: .invalidResponse)
            try await bench.refusesGzip(damaged, with: .invalidResponse)
        },
        TransportCheck("gzip that ends early") { bench in
            let whole = CodedBody.text(in: "gzip") ?? Data()
            try await bench.refusesGzip(whole.dropLast(20), length: whole.count, with: .truncated, .invalidResponse)
        },
        halfOfGzip("gzip that ends early with the right length") { half, coding in
            TestResponse(headerFields: [.contentEncoding: coding], body: .data(half))
        },
        halfOfGzip("gzip that ends early between chunks") { half, coding in
            TestResponse(headerFields: [.contentEncoding: coding], body: .chunks([TestResponse.Chunk(half)]))
        },
        halfOfGzip("gzip that ends early with the connection") { half, coding in
            .raw("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\n\r\n", .bytes(half), .close)
        },
        TransportCheck("gzip of the caller that ends early") { bench in
            let half = (CodedBody.text(in: "gzip") ?? Data()).dropLast(20)
            bench.server.enqueue(TestResponse(headerFields: [.contentEncoding: "gzip"], body: .data(half)))
            try await bench.refuses(
                half,
                in: ["gzip"],
                sending: HTTPRequestData(headerFields: [.acceptEncoding: "gzip"])
            )
        },
        TransportCheck("decompression limits") { bench in
            try await bench.refusesGzip(CodedBody.gzipBomb, with: .tooLarge)
            for coding in ["identity, gzip", "gzip, identity", "gzip, "] {
                bench.server.enqueue(.coded(CodedBody.gzipBomb, [coding]))
                try await bench.fail(with: .tooLarge, .invalidResponse)
            }
            let text = CodedBody.text(in: "gzip") ?? Data()
            let limit = DecompressionLimit(ratio: nil, size: 255)
            try await bench.refusesGzip(text, with: .tooLarge) { $0.decompressionLimit = limit }
            bench.server.enqueue(TestResponse(body: .data(.pattern(1_000))))
            let plain = try await bench.fetch(.with { $0.decompressionLimit = limit })
            try expect(plain.data, is: .pattern(1_000), in: "a body that was not compressed")
        },
        TransportCheck("sink gets decoded bytes") { bench in
            guard try await bench.askedCodings().contains("gzip") else { return }
            bench.server.enqueue(
                TestResponse(
                    headerFields: [.contentEncoding: "gzip"],
                    body: .data(CodedBody.text(in: "gzip") ?? Data())
                )
            )
            let sink = CollectingSink()
            let response = try await bench.fetch(.with { $0.sink = sink })
            try expect(sink.data, is: Data(CodedBody.text.utf8), in: "the bytes that the sink receives")
            try expect(response.body, is: .delivered(byteCount: 256), in: "the body of the response")
        },
    ]

    /// Sends a truncated gzip body with correct framing, even if the transport does not request gzip.
    private static func halfOfGzip(
        _ name: String,
        as response: @escaping @Sendable (Data, _ coding: String) -> TestResponse
    ) -> TransportCheck {
        TransportCheck(name) { bench in
            // Cut within the compressed stream, within the checksum, and within the trailing length.
            for (cut, name) in [(20, "gzip"), (6, "gzip"), (2, "gzip"), (20, "identity, gzip"), (6, "gzip, identity")] {
                let half = (CodedBody.text(in: "gzip") ?? Data()).dropLast(cut)
                bench.server.enqueue(response(half, name))
                try await bench.refuses(half, in: [name])
            }
        }
    }

    /// Sends a text in a requested coding, with a known length and in chunks.
    private static func coded(_ coding: String, as names: [String], name: String? = nil) -> TransportCheck {
        let name = name ?? coding
        return TransportCheck(name) { bench in
            let body = CodedBody.text(in: name) ?? Data()
            guard try await bench.askedCodings().contains(coding) else {
                bench.server.enqueue(.text(CodedBody.text))
                return try expect(try await bench.fetch().text, is: CodedBody.text, in: "the body without a coding")
            }
            for name in names {
                for body in [TestResponse.Body.data(body), .chunks([TestResponse.Chunk(body)])] {
                    bench.server.enqueue(
                        TestResponse(headerFields: [.contentEncoding: name, .eTag: "\"1\""], body: body)
                    )
                    let response = try await bench.fetch()
                    try expect(response.text, is: CodedBody.text, in: "the body in \(name)")
                    try expect(
                        response.headerFields[.contentEncoding],
                        is: nil,
                        in: "the Content-Encoding of a decoded body"
                    )
                    try expect(
                        response.headerFields[.contentLength],
                        is: nil,
                        in: "the Content-Length of a decoded body"
                    )
                    try expect(response.headerFields[.eTag], is: "\"1\"", in: "the ETag")
                }
            }
        }
    }
}

extension TestResponse {
    /// Creates a response with one Content-Encoding field for each value.
    fileprivate static func coded(_ body: Data, _ codings: [String]) -> TestResponse {
        var response = TestResponse(body: .data(body))
        for coding in codings {
            response.headerFields.append(HTTPField(name: .contentEncoding, value: coding))
        }
        return response
    }
}

extension CheckBench {
    /// The codings that the transport requests if its caller specifies none.
    fileprivate func askedCodings() async throws -> [String] {
        server.enqueue(.ok)
        try await fetch()
        return server.arrived(.acceptEncoding).flatMap { $0.split(separator: ",") }
            .map { item in item.prefix { $0 != ";" }.filter { $0 != " " }.lowercased() }
    }

    fileprivate func refusesGzip(
        _ body: Data,
        length: Int? = nil,
        with kinds: NetworkingError.Kind...,
        change: (inout HTTPRequestData) -> Void = { _ in }
    ) async throws {
        try await refusesGzip(.data(body), length: length, with: kinds, change: change)
    }

    /// Requires a failure for a body that cannot be read; a transport that does not decode may return the bytes
    /// unchanged.
    fileprivate func refuses(
        _ body: Data,
        in codings: [String],
        sending request: HTTPRequestData = HTTPRequestData()
    ) async throws {
        do {
            let response = try await fetch(request)
            guard response.headerFields[.contentEncoding] == codings.joined(separator: ", "), response.data == body
            else {
                throw ConformanceFailure("a failure of kind truncated or invalidResponse", found: describe(response))
            }
        } catch let error as NetworkingError {
            guard [.truncated, .invalidResponse].contains(error.kind) else { throw error }
        }
    }

    /// Requires the text of a coded body, which a transport that did not request the codings may refuse.
    fileprivate func reads(_ body: Data, _ codings: [String]) async throws {
        server.enqueue(.coded(body, codings))
        do {
            let response = try await fetch()
            try expect(response.text, is: CodedBody.text, in: "the body in \(codings)")
            try expect(response.headerFields[.contentEncoding], is: nil, in: "the Content-Encoding of \(codings)")
            try expect(response.headerFields[.contentLength], is: nil, in: "the Content-Length of \(codings)")
        } catch let error as NetworkingError where error.kind == .invalidResponse {
            try expect(!(try await askedCodings()).contains("gzip"), "a body in \(codings), as it was requested")
        }
    }

    /// Requires a failure for a gzip body, if the transport requests gzip.
    fileprivate func refusesGzip(
        _ body: TestResponse.Body,
        length: Int? = nil,
        with kinds: [NetworkingError.Kind],
        change: (inout HTTPRequestData) -> Void = { _ in }
    ) async throws {
        guard try await askedCodings().contains("gzip") else { return }
        var response = TestResponse(headerFields: [.contentEncoding: "gzip"], body: body)
        if let length { response.headerFields[.contentLength] = "\(length)" }
        server.enqueue(response)
        try await fail(with: kinds, sending: .with { change(&$0) }, over: nil)
    }
}
#endif
