#if TestServer
import HTTPTypes
import NetworkingTestServer
import Testing
import TestSupport

/// The faults of an upload route, each at its step.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct UploadFaultTests {
    private typealias Wire = UploadWire

    private static let create = Wire.request("POST", "/films", ["Upload-Complete: ?0"])
    private static let state = Wire.request("HEAD", "/films/1")

    /// Runs a closure with an upload of no bytes.
    private static func withUpload(_ body: (TestServer, TestUploads) async throws -> Void) async throws {
        try await withTestServer { server in
            let uploads = server.routeUploads("/films")
            _ = try await response(of: server, to: create)
            try await body(server, uploads)
        }
    }

    /// Sends a request on a new connection and returns what arrives until the server ends it.
    private static func lost(_ server: TestServer, _ request: String) async throws -> (String, isReset: Bool) {
        try await withClient(of: server) { client in
            try await client.send(request)
            return try await client.receiveToTheVeryEnd()
        }
    }

    private static func respond(_ server: TestServer, _ request: String) async throws -> Wire.Response {
        Wire.Response(try await response(of: server, to: request))
    }

    @Test func losesACreationBeforeAndAfterTheUploadExists() async throws {
        try await withTestServer { server async throws in
            let uploads = server.routeUploads("/films")
            uploads.enqueue(.disconnect(.reset, after: .head), .disconnect(.close, after: .processing), at: .creation)
            #expect(try await Self.lost(server, Self.create).0.isEmpty)
            #expect(uploads.all.isEmpty)
            #expect(try await Self.lost(server, Self.create).0.isEmpty)
            #expect(uploads.all.count == 1)
            #expect(try await Self.respond(server, Self.create).status == 201)
        }
    }

    @Test func resetsAnAppendAfterItsFirstBytes() async throws {
        try await Self.withUpload { server, uploads in
            uploads.enqueue(.disconnect(.reset, after: .bytes(4)), at: .append)
            let (rest, isReset) = try await Self.lost(server, Wire.append("hello world", at: 0))
            #expect(rest.isEmpty && isReset)
            #expect(try await Self.respond(server, Self.state)["Upload-Offset"] == "4")
            #expect(try await Self.respond(server, Wire.append("o world", at: 4, completes: true)).status == 201)
            #expect(uploads.queuedFaults(at: .append).isEmpty)
        }
    }

    @Test func keepsAShorterBodyAndDoesNotCompleteTheUpload() async throws {
        try await Self.withUpload { server, uploads in
            uploads.enqueue(.disconnect(.close, after: .bytes(100)), at: .completion)
            _ = try await Self.lost(server, Wire.append("hello", at: 0, completes: true))
            #expect(uploads.all.map(\.isComplete) == [false])
            #expect(try await Self.respond(server, Self.state)["Upload-Offset"] == "5")
        }
    }

    @Test func losesTheResponseToTheLastRequest() async throws {
        try await Self.withUpload { server, uploads in
            uploads.enqueue(.disconnect(.reset, after: .processing), at: .completion)
            _ = try await Self.lost(server, Wire.append("hello", at: 0, completes: true))
            let state = try await Self.respond(server, Self.state)
            #expect(state["Upload-Complete"] == "?1" && state["Upload-Offset"] == "5")
        }
    }

    @Test func respondsWithAnErrorAtEachMoment() async throws {
        try await Self.withUpload { server, uploads in
            let fields: HTTPFields = [.retryAfter: "2"]
            uploads.enqueue(
                .none,
                .status(.serviceUnavailable, headerFields: fields),
                .status(.badGateway, after: .bytes(2)),
                .status(.internalServerError, after: .processing),
                at: .append
            )
            #expect(try await Self.respond(server, Wire.append("h", at: 0)).status == 204)
            let unavailable = try await Self.respond(server, Wire.append("ello", at: 1))
            #expect(unavailable.status == 503 && unavailable["Retry-After"] == "2")
            #expect(uploads.all.map(\.offset) == [1])
            #expect(try await Self.respond(server, Wire.append("ello", at: 1)).status == 502)
            #expect(uploads.all.map(\.offset) == [3])
            #expect(try await Self.respond(server, Wire.append("lo", at: 3)).status == 500)
            #expect(uploads.all.map(\.offset) == [5])
        }
    }

    @Test func reportsAWrongOffset() async throws {
        try await Self.withUpload { server, uploads in
            _ = try await Self.respond(server, Wire.append("hello", at: 0))
            let invalid = TestUploads.Fault.field(HTTPField.Name("Upload-Offset")!, "x")
            uploads.enqueue(.offset(adding: -5), .offset(adding: 100), invalid, at: .offset)
            #expect(try await Self.respond(server, Self.state)["Upload-Offset"] == "0")
            #expect(try await Self.respond(server, Self.state)["Upload-Offset"] == "105")
            #expect(try await Self.respond(server, Self.state)["Upload-Offset"] == "x")
            #expect(try await Self.respond(server, Self.state)["Upload-Offset"] == "5")
        }
    }

    @Test func sendsAnotherLocationInEachResponse() async throws {
        try await withTestServer { server in
            let uploads = server.routeUploads("/films")
            uploads.enqueue(.location("http://other.example/"), at: .creation)
            let fields = ["Upload-Complete: ?0", "Upload-Draft-Interop-Version: 8"]
            try await withClient(of: server) { client in
                let interim = try await client.response(to: Wire.request("POST", "/films", fields))
                #expect(interim.status == 104 && interim["Location"] == "http://other.example/")
                let created = Wire.Response(try await client.receiveResponse())
                #expect(created.status == 201 && created["Location"] == "http://other.example/")
            }
        }
    }

    @Test func forgetsAnUpload() async throws {
        try await Self.withUpload { server, uploads in
            uploads.enqueue(.forget(.notFound), at: .append)
            #expect(try await Self.respond(server, Wire.append("hello", at: 0)).status == 404)
            #expect(try await Self.respond(server, Self.state).status == 404)
            _ = try await Self.respond(server, Self.create)
            uploads.forgetAll(status: .gone)
            #expect(try await Self.respond(server, Wire.request("HEAD", "/films/2")).status == 410)
        }
    }

    @Test func cancellationCanFail() async throws {
        try await Self.withUpload { server, uploads async throws in
            uploads.enqueue(.status(.serviceUnavailable), .disconnect(.close, after: .processing), at: .cancellation)
            let delete = Wire.request("DELETE", "/films/1")
            #expect(try await Self.respond(server, delete).status == 503)
            #expect(try await Self.respond(server, Self.state).status == 204)
            #expect(try await Self.lost(server, delete).0.isEmpty)
            #expect(try await Self.respond(server, Self.state).status == 410)
        }
    }

    @Test func receivesABodySlowly() async throws {
        let clock = RecordingClock()
        try await withTestServer(clock: clock) { server in
            let uploads = server.routeUploads("/films")
            _ = try await response(of: server, to: Self.create)
            uploads.enqueue(.slow(4, every: .seconds(3)), at: .append)
            uploads.enqueue(.slow(1, every: .seconds(5)), at: .offset)
            #expect(try await Self.respond(server, Wire.append("hello world", at: 0)).status == 204)
            #expect(clock.sleeps == [.seconds(3), .seconds(3)])
            #expect(try await Self.respond(server, Self.state)["Upload-Offset"] == "11")
            #expect(clock.sleeps == [.seconds(3), .seconds(3), .seconds(5)])
        }
    }

    @Test func discoveryCanFail() async throws {
        try await withTestServer { server async throws in
            let uploads = server.routeUploads("/films")
            uploads.enqueue(.status(.methodNotAllowed), at: .discovery)
            let options = Wire.request("OPTIONS", "/films")
            #expect(try await Self.respond(server, options).status == 405)
            #expect(try await Self.respond(server, options)["Tus-Version"] == "1.0.0")
        }
    }

    @Test func aRefusedBodyLeavesTheConnectionUsable() async throws {
        try await Self.withUpload { server, _ in
            try await withClient(of: server) { client async throws in
                let body = String(repeating: "a", count: 300_000)
                #expect(try await client.response(to: Wire.append(body, at: 7)).status == 409)
                #expect(try await client.response(to: Self.state)["Upload-Offset"] == "0")
            }
        }
    }
}
#endif
