#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

/// The properties of a recorded request, and its checks.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RequestChecksTests {
    private struct User: Decodable, Equatable {
        var id: Int
        var name: String?
    }

    private struct Picky: Decodable {
        init(from decoder: any Decoder) throws {
            throw UnusableValue(value: try decoder.singleValueContainer().decode(String.self))
        }
    }

    private struct UnusableValue: Error {
        var value: String
    }

    /// Returns the record of one request.
    private func record(_ request: String) async throws -> RecordedRequest {
        try await withTestServer { server in
            server.enqueue(.ok)
            _ = try await response(of: server, to: request)
            return try await server.takeRequest()
        }
    }

    private func post(_ body: String) async throws -> RecordedRequest {
        try await record("POST /users HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    @Test func numbersRequestsOnTheirConnection() async throws {
        try await withTestServer { server in
            server.route("/") { _ in .ok }
            try await withClient(of: server) { client in
                for _ in 0..<2 {
                    try await client.send(get("/"))
                    _ = try await client.receiveResponse()
                }
            }
            _ = try await response(of: server, to: get("/"))
            #expect(server.requests.map(\.connection) == [1, 1, 2])
            #expect(server.requests.map(\.numberOnConnection) == [1, 2, 1])
            #expect(server.requests.map(\.isOnReusedConnection) == [false, true, false])
            #expect(server.requests.map(\.isComplete) == [true, true, true])
        }
    }

    @Test func recordsChunkSizesAndTrailers() async throws {
        let request = try await record(
            "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\nX-Sum: 1\r\nx-sum:  2\r\n\r\n"
        )
        #expect(request.text == "abc0123456789")
        #expect(request.chunkSizes == [3, 10])
        #expect(request.trailerFields.map(\.value) == ["1", "2"])
        #expect(request.trailerFields.map(\.name.rawName) == ["X-Sum", "x-sum"])
    }

    @Test func recordsChunksOfEachRequestSeparately() async throws {
        try await withTestServer { server in
            server.route("/") { _ in .ok }
            try await withClient(of: server) { client in
                let chunked = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"
                try await client.send(chunked + get("/"))
                for _ in 0..<2 { _ = try await client.receiveResponse() }
            }
            #expect(server.requests.map(\.chunkSizes) == [[3], []])
            #expect(server.requests.map(\.trailerFields.count) == [1, 0])
        }
    }

    @Test func responseAtTheHeadLeavesTheRequestIncomplete() async throws {
        try await withTestServer { server in
            server.routeAtHead(.post, "/") { _ in .ok }
            server.routeAtHead(.get, "/") { _ in .ok }
            _ = try await response(of: server, to: "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx")
            _ = try await response(of: server, to: get("/"))
            #expect(server.requests.map(\.isComplete) == [false, true])
        }
    }

    @Test func decodesJSON() async throws {
        #expect(try await post(#"{"id":7,"name":"Ada"}"#).json(as: User.self) == User(id: 7, name: "Ada"))
        let numbers: [Int] = try await post("[1,2]").json()
        #expect(numbers == [1, 2])
    }

    @Test(arguments: [
        (#"{"name":"secret"}"#, "id is missing at the top level"),
        (#"{"id":"secret"}"#, "expected Int at id"),
        (#"{"id":null}"#, "expected Int at id, found null"),
        ("secret", "the value at the top level cannot be read"),
        ("", "the value at the top level cannot be read"),
    ])
    func errorSaysWhereJSONDoesNotDecode(body: String, reason: String) async throws {
        let request = try await post(body)
        let error = #expect(throws: TestServerError.self) { try request.json(as: User.self) }
        #expect(error?.kind == .unexpectedRequest)
        #expect(error?.description == "The body of \(request) does not decode to User: \(reason).")
        #expect(error?.description.contains("secret") == false)
    }

    /// An error thrown by the app's decoder can contain the value, so only its type is reported.
    @Test func errorNamesOnlyTheTypeOfADecoderError() async throws {
        let request = try await post(#""secret""#)
        let error = #expect(throws: TestServerError.self) { try request.json(as: Picky.self) }
        #expect(
            error?.description
                == "The body of \(request) does not decode to Picky: decoding it threw UnusableValue."
        )
    }

    @Test func expectAcceptsAMatchingRequest() async throws {
        let request = try await post("body")
        try request.expect(.post, "/:any", headerFields: [.contentLength: "4"], text: "body").expect()
    }

    @Test func expectReportsEveryDifference() async throws {
        let request = try await record(
            "GET /a HTTP/1.1\r\nAccept: text/html\r\nAuthorization: Bearer secret\r\nContent-Length: 3\r\n\r\nabc"
        )
        let error = #expect(throws: TestServerError.self) {
            try request.expect(
                .post,
                "/b",
                headerFields: [
                    .accept: "text/plain", .authorization: "Bearer other", .range: "bytes=0-", .cookie: "a=secret",
                ],
                text: "other"
            )
        }
        #expect(
            error?.description == """
                GET /a, 3 bytes (connection 1, request 1) is not as expected:
                  1. the method is not POST
                  2. the path is not /b
                  3. the field Accept is "text/html" and not "text/plain"
                  4. the field Authorization has another value
                  5. the field Range is missing; expected is "bytes=0-"
                  6. the field Cookie is missing
                  7. the body of 3 bytes is not the expected text
                """
        )
    }

    @Test func descriptionsRedactSecrets() async throws {
        let request = try await record(
            """
            POST /a?page=2&access_token=hidden&flag&sig=hidden HTTP/1.1\r
            Accept: */*\r
            Authorization: Bearer hidden\r
            Proxy-Authorization: Basic hidden\r
            Cookie: a=hidden\r
            X-Api-Key: hidden\r
            Content-Length: 1\r
            \r
            x
            """
        )
        let line = "POST /a?page=2&access_token=<redacted>&flag&sig=<redacted>, 1 bytes (connection 1, request 1)"
        #expect(request.description == line)
        #expect(
            request.debugDescription == """
                \(line)
                Accept: */*
                Authorization: <redacted>
                Proxy-Authorization: <redacted>
                Cookie: <redacted>
                X-Api-Key: <redacted>
                Content-Length: 1
                """
        )
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!dumped.contains("hidden"))
    }
}
#endif
