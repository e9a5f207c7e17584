#if TestServer
import FoundationForNetworking
import NetworkingTestServer
import Testing
import TestSupport

/// tus 1.0.0, with raw requests.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TusUploadTests {
    private typealias Wire = UploadWire

    /// Runs a closure with a client of a server that has an upload route for tus.
    private static func withUploads(
        _ limits: TestUploads.Limits = TestUploads.Limits(),
        clock: any Clock<Duration> = ContinuousClock(),
        _ body: (inout RawClient, TestUploads, TestServer) async throws -> Void
    ) async throws {
        try await withTestServer(clock: clock) { server in
            let options = TestUploads.Options(protocols: [.tus], limits: limits)
            let uploads = server.routeUploads("/films", options: options)
            try await withClient(of: server) { client in try await body(&client, uploads, server) }
        }
    }

    private static func create(_ length: Int, _ fields: [String] = []) -> String {
        Wire.tus("POST", "/films", ["Upload-Length: \(length)"] + fields)
    }

    @Test func receivesAnUpload() async throws {
        try await Self.withUploads { client, uploads, server in
            let metadata = "Upload-Metadata: filename ZmlsbS5tcDQ=,private"
            let created = try await client.response(to: Self.create(11, [metadata]))
            #expect(created.status == 201 && created["Tus-Resumable"] == "1.0.0")
            #expect(created["Location"] == "http://127.0.0.1:\(server.port)/films/1")
            let first = try await client.response(to: Wire.tusAppend("hello", at: 0))
            #expect(first.status == 204 && first["Upload-Offset"] == "5")
            let state = try await client.response(to: Wire.tus("HEAD"))
            #expect(state.status == 200 && state["Upload-Offset"] == "5" && state["Upload-Length"] == "11")
            #expect(state["Cache-Control"] == "no-store")
            #expect(state["Upload-Metadata"] == "filename ZmlsbS5tcDQ=,private")
            #expect(try await client.response(to: Wire.tusAppend(" world", at: 5))["Upload-Offset"] == "11")
            let upload = try #require(uploads.all.first)
            #expect(upload.isComplete && upload.uploadProtocol == .tus)
            #expect(upload.metadata == ["filename": Data("film.mp4".utf8), "private": Data()])
        }
    }

    @Test func createsAnUploadWithTheFirstBytes() async throws {
        try await Self.withUploads { client, uploads, _ in
            let fields = ["Upload-Length: 5", "Content-Type: application/offset+octet-stream"]
            let created = try await client.response(to: Wire.tus("POST", "/films", fields, body: "hello"))
            #expect(created.status == 201 && created["Upload-Offset"] == "5")
            #expect(uploads.all.map(\.isComplete) == [true])
            let untyped = Wire.tus("POST", "/films", ["Upload-Length: 5"], body: "hello")
            #expect(try await client.response(to: untyped).status == 415)
        }
    }

    @Test func describesItselfInTheResponseToOptions() async throws {
        try await Self.withUploads(TestUploads.Limits(maximumSize: 100)) { client, _, _ in
            let response = try await client.response(to: Wire.request("OPTIONS", "/films"))
            #expect(response.status == 204)
            #expect(response["Tus-Version"] == "1.0.0" && response["Tus-Max-Size"] == "100")
            let extensions = response["Tus-Extension"]?.split(separator: ",") ?? []
            #expect(Set(extensions).isSuperset(of: ["creation", "creation-with-upload", "expiration", "termination"]))
            #expect(response["Accept-Patch"] == nil)
        }
    }

    @Test(arguments: [[], ["Tus-Resumable: 0.2.2"]])
    func rejectsAnotherVersion(version: [String]) async throws {
        try await Self.withUploads { client, uploads, _ in
            let request = Wire.request("POST", "/films", version + ["Upload-Length: 5"])
            let response = try await client.response(to: request)
            #expect(response.status == 412 && response["Tus-Version"] == "1.0.0")
            #expect(uploads.all.isEmpty)
        }
    }

    @Test(
        arguments: [
            ([], 400), (["Upload-Length: -1"], 400), (["Upload-Length: 1.5"], 400), (["Upload-Length: 101"], 413),
            (["Upload-Defer-Length: 1"], 400), (["Upload-Length: 5", "Upload-Metadata: a b c"], 400),
            (["Upload-Length: 5", "Upload-Metadata: a *"], 400),
            (["Upload-Length: 5", "Upload-Metadata: a YQ==,a YQ=="], 400),
        ] as [([String], Int)]
    )
    func rejectsAnInvalidCreation(fields: [String], status: Int) async throws {
        try await Self.withUploads(TestUploads.Limits(maximumSize: 100)) { client, uploads, _ async throws in
            #expect(try await client.response(to: Wire.tus("POST", "/films", fields)).status == status)
            #expect(uploads.all.isEmpty)
        }
    }

    @Test func rejectsAnInvalidAppend() async throws {
        try await Self.withUploads { client, uploads, _ in
            _ = try await client.response(to: Self.create(5))
            let offset = "Upload-Offset: 0"
            #expect(try await client.response(to: Wire.tus("PATCH", "/films/1", [offset], body: "a")).status == 415)
            let type = "Content-Type: application/offset+octet-stream"
            #expect(try await client.response(to: Wire.tus("PATCH", "/films/1", [type], body: "a")).status == 400)
            let conflict = try await client.response(to: Wire.tusAppend("a", at: 1))
            #expect(conflict.status == 409 && conflict["Upload-Offset"] == "0")
            #expect(try await client.response(to: Wire.tusAppend("hello!", at: 0)).status == 413)
            #expect(uploads.all.map(\.offset) == [0])
            #expect(uploads.all.map(\.rejectedRequestCount) == [2])
        }
    }

    @Test func rejectsAnAppendOfAnyLength() async throws {
        try await Self.withUploads { client, uploads, _ in
            _ = try await client.response(to: Self.create(5))
            _ = try await client.response(to: Wire.tusAppend("he", at: 0))
            let fields = ["Content-Type: application/offset+octet-stream", "Upload-Offset: 2"]
            let append = Wire.tus("PATCH", "/films/1", fields, announcing: .max)
            #expect(try await client.response(to: append).status == 413)
            #expect(uploads.all.map(\.offset) == [2])
        }
    }

    @Test func anUploadExpiresOnTheClockOfTheServer() async throws {
        let clock = RecordingClock()
        try await Self.withUploads(TestUploads.Limits(maximumAge: .seconds(60)), clock: clock) { client, _, _ in
            let created = try await client.response(to: Self.create(5))
            #expect(created["Upload-Expires"]?.hasSuffix(" GMT") == true)
            #expect(try await client.response(to: Wire.tus("HEAD"))["Upload-Expires"] == created["Upload-Expires"])
            try await clock.sleep(for: .seconds(60))
            let expired = try await client.response(to: Wire.tus("HEAD"))
            #expect(expired.status == 410 && expired["Upload-Offset"] == nil)
        }
    }

    @Test func aTerminatedUploadIsGone() async throws {
        try await Self.withUploads { client, _, _ in
            _ = try await client.response(to: Self.create(5))
            #expect(try await client.response(to: Wire.tus("DELETE")).status == 204)
            #expect(try await client.response(to: Wire.tus("HEAD")).status == 410)
        }
    }

    @Test func aRequestOfTheOtherProtocolIsRejected() async throws {
        try await withTestServer { server in
            server.routeUploads("/films")
            try await withClient(of: server) { client in
                _ = try await client.response(to: Self.create(5))
                #expect(try await client.response(to: Wire.append("hello", at: 0)).status == 400)
            }
        }
    }

    #if Crypto
    @Test func storesNothingOfABodyWithAnotherChecksum() async throws {
        try await Self.withUploads { client, uploads, _ in
            _ = try await client.response(to: Self.create(5))
            for (checksum, status) in [
                ("sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA=", 460), ("crc32 AAAA", 400), ("sha1", 400), ("sha1 *", 400),
            ] {
                let request = Wire.tusAppend("hello", at: 0, ["Upload-Checksum: \(checksum)"])
                #expect(try await client.response(to: request).status == status)
            }
            #expect(uploads.all.map(\.offset) == [0])
            let right = "Upload-Checksum: sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00="
            #expect(try await client.response(to: Wire.tusAppend("hello", at: 0, [right])).status == 204)
            #expect(uploads.all.map(\.isComplete) == [true])
            #expect(uploads.all.first?.sha256?.hasPrefix("2cf24dba") == true)
        }
    }

    /// A checksum cannot be checked without the whole body.
    @Test func storesNothingOfABodyWithAChecksumThatBreaksOff() async throws {
        try await withTestServer { server in
            let uploads = server.routeUploads("/films")
            try await withClient(of: server) { client in
                _ = try await client.response(to: Self.create(10))
                let fields = [
                    "Content-Type: application/offset+octet-stream", "Upload-Offset: 0",
                    "Upload-Checksum: sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00=",
                ]
                try await client.send(Wire.tus("PATCH", "/films/1", fields, body: "hello", announcing: 10))
                try await eventually("the bytes arrive") { uploads.all.first?.receivedByteCount == 5 }
            }
            try await server.waitForOpenConnections(0)
            #expect(uploads.all.map(\.offset) == [0])
        }
    }
    #endif
}
#endif
