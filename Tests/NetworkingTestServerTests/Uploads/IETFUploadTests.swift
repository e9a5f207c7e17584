#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTestServer
import Testing
import TestSupport

/// Resumable Uploads for HTTP, with raw requests: draft-ietf-httpbis-resumable-upload.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct IETFUploadTests {
    private typealias Wire = UploadWire

    private static let problems = "https://iana.org/assignments/http-problem-types#"

    /// Runs a closure with a client of a server that has an upload route.
    private static func withUploads(
        _ options: TestUploads.Options = TestUploads.Options(),
        clock: any Clock<Duration> = ContinuousClock(),
        _ body: (inout RawClient, TestUploads, TestServer) async throws -> Void
    ) async throws {
        try await withTestServer(clock: clock) { server in
            let uploads = server.routeUploads(
                "/films",
                options: options,
                completion: { .text("\($0.offset) bytes", status: .created) }
            )
            try await withClient(of: server) { client in try await body(&client, uploads, server) }
        }
    }

    private static func create(_ body: String = "", _ fields: [String] = [], completes: Bool = false) -> String {
        Wire.request("POST", "/films", ["Upload-Complete: ?\(completes ? 1 : 0)"] + fields, body: body)
    }

    // MARK: Creation

    @Test func createsAnUploadWithTheFirstBytes() async throws {
        try await Self.withUploads { client, uploads, server in
            let created = try await client.response(to: Self.create("hello", ["Upload-Length: 11"]))
            #expect(created.status == 201)
            #expect(created["Location"] == "http://127.0.0.1:\(server.port)/films/1")
            #expect(created["Upload-Complete"] == "?0")
            #expect(created["Upload-Offset"] == "5")
            let upload = try #require(uploads.all.first)
            #expect(upload.uploadProtocol == .ietf && upload.offset == 5 && upload.length == 11)
            #expect(!upload.isComplete && upload.isAvailable)
        }
    }

    @Test func receivesAWholeUploadInOneRequest() async throws {
        try await Self.withUploads { client, uploads, _ in
            let created = try await client.response(to: Self.create("hello", completes: true))
            #expect(created.status == 201)
            #expect(created["Upload-Complete"] == "?1")
            #expect(created.body == "5 bytes")
            #expect(uploads.all.map(\.isComplete) == [true])
            #if Crypto
            let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
            #expect(uploads.all.first?.sha256 == digest)
            #endif
        }
    }

    @Test func sendsTheLocationBeforeTheBodyToAClientOfTheSameVersion() async throws {
        var options = TestUploads.Options(limits: TestUploads.Limits(maximumSize: 100))
        options.progressInterval = 4
        try await Self.withUploads(options) { client, _, server in
            let fields = ["Upload-Complete: ?1", "Upload-Draft-Interop-Version: 8"]
            let head = Wire.request("POST", "/films", fields, announcing: 8)
            let interim = try await client.response(to: head)
            #expect(interim.status == 104)
            #expect(interim["Location"] == "http://127.0.0.1:\(server.port)/films/1")
            #expect(interim["Upload-Limit"] == "max-size=100")
            #expect(interim["Upload-Draft-Interop-Version"] == "8")
            let progress = try await client.response(to: "12345")
            #expect(progress.status == 104 && progress["Upload-Offset"] == "5" && progress["Location"] == nil)
            #expect(try await client.response(to: "678").status == 201)
        }
    }

    @Test(arguments: [[], ["Upload-Draft-Interop-Version: 7"]])
    func sendsNoInterimResponseToAnotherVersion(version: [String]) async throws {
        try await Self.withUploads { client, _, _ async throws in
            #expect(try await client.response(to: Self.create("hello", version)).status == 201)
        }
    }

    @Test func sendsNoInterimResponseIfItMustNot() async throws {
        var options = TestUploads.Options()
        options.sendsInterimResponses = false
        try await Self.withUploads(options) { client, _, _ async throws in
            let version = ["Upload-Draft-Interop-Version: 8"]
            #expect(try await client.response(to: Self.create("hello", version)).status == 201)
        }
    }

    @Test func locationMayBeAPath() async throws {
        var options = TestUploads.Options()
        options.usesRelativeLocations = true
        try await Self.withUploads(options) { client, _, _ async throws in
            #expect(try await client.response(to: Self.create("hello"))["Location"] == "/films/1")
        }
    }

    @Test func aRequestWithoutTheFieldIsAnOrdinaryOne() async throws {
        try await Self.withUploads { client, uploads, _ in
            let response = try await client.response(to: Wire.request("PUT", "/films", body: "hello"))
            #expect(response.status == 201 && response.body == "5 bytes")
            #expect(response["Upload-Complete"] == nil)
            #expect(uploads.all.map(\.uploadProtocol) == [nil])
            // It is no resource of its own.
            #expect(try await client.response(to: Wire.request("HEAD", "/films/1")).status == 404)
        }
    }

    @Test func rejectsInconsistentLengthsInOneRequest() async throws {
        try await Self.withUploads { client, uploads, _ in
            for request in [
                Self.create("hello", ["Upload-Length: 6"], completes: true), Self.create("hello", ["Upload-Length: 4"]),
            ] {
                let response = try await client.response(to: request)
                #expect(response.status == 400)
                #expect(response.body.contains("\(Self.problems)inconsistent-upload-length"))
            }
            #expect(uploads.all.isEmpty)
        }
    }

    // MARK: Offset

    @Test func returnsTheStateWithoutCaching() async throws {
        let limits = TestUploads.Limits(maximumSize: 100, maximumAppendSize: 50, maximumAge: .seconds(60))
        let clock = RecordingClock()
        try await Self.withUploads(TestUploads.Options(limits: limits), clock: clock) { client, _, _ in
            _ = try await client.response(to: Self.create("hello", ["Upload-Length: 11"]))
            try await clock.sleep(for: .seconds(20))
            let state = try await client.response(to: Wire.request("HEAD", "/films/1"))
            #expect(state.status == 204)
            #expect(state["Upload-Offset"] == "5")
            #expect(state["Upload-Complete"] == "?0")
            #expect(state["Upload-Length"] == "11")
            #expect(state["Upload-Limit"] == "max-size=100, max-append-size=50, max-age=40")
            #expect(state["Cache-Control"] == "no-store")
        }
    }

    @Test func anUnknownUploadIsNotFoundAndAnExpiredOneIsGone() async throws {
        let clock = RecordingClock()
        let limits = TestUploads.Limits(maximumAge: .seconds(60))
        try await Self.withUploads(TestUploads.Options(limits: limits), clock: clock) { client, uploads, _ in
            #expect(try await client.response(to: Wire.request("HEAD", "/films/1")).status == 404)
            _ = try await client.response(to: Self.create("hello"))
            try await clock.sleep(for: .seconds(59))
            #expect(try await client.response(to: Wire.request("HEAD", "/films/1")).status == 204)
            try await clock.sleep(for: .seconds(1))
            #expect(try await client.response(to: Wire.request("HEAD", "/films/1")).status == 410)
            #expect(try await client.response(to: Wire.append("you", at: 5)).status == 410)
            #expect(uploads.all.map(\.isAvailable) == [false])
        }
    }

    // MARK: Append

    @Test func appendsUntilTheLastRequestCompletesTheUpload() async throws {
        try await Self.withUploads { client, uploads, _ in
            _ = try await client.response(to: Self.create("", ["Upload-Length: 11"]))
            let first = try await client.response(to: Wire.append("hello", at: 0))
            #expect(first.status == 204 && first["Upload-Complete"] == "?0" && first["Upload-Offset"] == "5")
            let last = try await client.response(to: Wire.append(" world", at: 5, completes: true))
            #expect(last.status == 201 && last["Upload-Complete"] == "?1" && last.body == "11 bytes")
            let state = try await client.response(to: Wire.request("HEAD", "/films/1"))
            #expect(state["Upload-Complete"] == "?1" && state["Upload-Offset"] == "11")
            let upload = try #require(uploads.all.first)
            #expect(upload.receivedByteCount == 11 && upload.repeatedByteCount == 0)
        }
    }

    @Test func anEmptyRequestCompletesTheUpload() async throws {
        try await Self.withUploads { client, uploads, _ in
            _ = try await client.response(to: Self.create("hello"))
            #expect(try await client.response(to: Wire.append("", at: 5, completes: true)).status == 201)
            #expect(uploads.all.map(\.isComplete) == [true])
        }
    }

    @Test func rejectsAnotherOffsetWithTheRightOne() async throws {
        try await Self.withUploads { client, uploads, _ in
            _ = try await client.response(to: Self.create("hello"))
            for offset in [0, 4, 6] {
                let response = try await client.response(to: Wire.append("you", at: offset))
                #expect(response.status == 409)
                #expect(response["Upload-Offset"] == "5")
                #expect(response["Content-Type"] == "application/problem+json")
                #expect(response.body.contains("\(Self.problems)mismatching-upload-offset"))
                #expect(response.body.contains(#""expected-offset":5,"provided-offset":\#(offset)"#))
            }
            #expect(uploads.all.map(\.rejectedRequestCount) == [3])
            #expect(uploads.all.map(\.offset) == [5])
        }
    }

    @Test func rejectsARequestToACompleteUpload() async throws {
        try await Self.withUploads { client, uploads, _ in
            _ = try await client.response(to: Self.create("hello", completes: true))
            let empty = try await client.response(to: Wire.append("", at: 5, completes: true))
            #expect(empty.status == 400 && empty.body.contains("\(Self.problems)completed-upload"))
            let more = try await client.response(to: Wire.append("you", at: 5))
            #expect(more.status == 400 && more.body.contains("\(Self.problems)inconsistent-upload-length"))
            #expect(uploads.all.map(\.offset) == [5])
        }
    }

    @Test(
        arguments: [
            ("", 415), ("Content-Type: text/plain", 415), ("Content-Type: application/partial-upload", 400),
            ("Content-Type: application/partial-upload\r\nUpload-Offset: 0", 400),
            ("Content-Type: application/partial-upload\r\nUpload-Complete: ?0", 400),
            ("Content-Type: application/partial-upload\r\nUpload-Offset: -1\r\nUpload-Complete: ?0", 400),
            ("Content-Type: application/partial-upload\r\nUpload-Offset: 0.0\r\nUpload-Complete: ?0", 400),
            ("Content-Type: application/partial-upload\r\nUpload-Offset: 0, 0\r\nUpload-Complete: ?0", 400),
            ("Content-Type: application/partial-upload\r\nUpload-Offset: 0\r\nUpload-Complete: 1", 400),
            ("Content-Type: Application/Partial-Upload;a=b\r\nUpload-Offset: 0\r\nUpload-Complete: ?0", 204),
        ]
    )
    func requiresTheFieldsOfAnAppend(fields: String, status: Int) async throws {
        try await Self.withUploads { client, _, _ in
            _ = try await client.response(to: Self.create())
            let request = Wire.request("PATCH", "/films/1", fields.isEmpty ? [] : [fields], body: "hello")
            #expect(try await client.response(to: request).status == status)
        }
    }

    @Test func rejectsAnInconsistentLengthAndBytesBeyondIt() async throws {
        try await Self.withUploads { client, uploads, _ in
            _ = try await client.response(to: Self.create("hello", ["Upload-Length: 11"]))
            for request in [
                Wire.append("you", at: 5, completes: true), Wire.append("you", at: 5, ["Upload-Length: 12"]),
            ] {
                let response = try await client.response(to: request)
                #expect(response.status == 400 && response.body.contains("inconsistent-upload-length"))
            }
            #expect(try await client.response(to: Wire.request("HEAD", "/films/1"))["Upload-Offset"] == "5")
            // More bytes than the length make the upload invalid.
            #expect(try await client.response(to: Wire.append("1234567", at: 5)).status == 400)
            #expect(try await client.response(to: Wire.request("HEAD", "/films/1")).status == 410)
            #expect(uploads.all.map(\.offset) == [5])
        }
    }

    @Test func keepsTheBytesOfARequestThatBreaksOff() async throws {
        try await withTestServer { server in
            let uploads = server.routeUploads("/films", options: TestUploads.Options(blockSize: 4))
            try await withClient(of: server) { client in
                _ = try await client.response(to: Self.create())
                try await client.send(Wire.append("0123456789", at: 0, announcing: 20))
                try await eventually("the bytes arrive") { uploads.all.first?.receivedByteCount == 10 }
            }
            try await server.waitForOpenConnections(0)
            #expect(uploads.all.map(\.offset) == [8])
            #expect(uploads.all.map(\.repeatedByteCount) == [2])
            try await withClient(of: server) { client in
                let state = try await client.response(to: Wire.request("HEAD", "/films/1"))
                #expect(state["Upload-Offset"] == "8")
                #expect(try await client.response(to: Wire.append("89", at: 8, completes: true)).status == 201)
            }
            #expect(uploads.all.map(\.offset) == [10])
        }
    }

    @Test func aNewerRequestEndsAnOlderOne() async throws {
        try await withTestServer { server in
            let uploads = server.routeUploads("/films")
            try await withClient(of: server) { older in
                _ = try await older.response(to: Self.create())
                try await older.send(Wire.append("hello", at: 0, announcing: 20))
                try await eventually("the bytes arrive") { uploads.all.first?.offset == 5 }
                try await withClient(of: server) { newer in
                    let state = try await newer.response(to: Wire.request("HEAD", "/films/1"))
                    #expect(state["Upload-Offset"] == "5")
                }
                // These bytes arrive after the offset was reported, so they must not be stored.
                try await older.send(" late")
                let (rest, _) = try await older.receiveToTheVeryEnd()
                #expect(rest.isEmpty)
            }
            #expect(uploads.all.map(\.offset) == [5])
        }
    }

    // MARK: Limits

    @Test func enforcesTheLimits() async throws {
        let limits = TestUploads.Limits(
            maximumSize: 10,
            minimumSize: 2,
            maximumAppendSize: 5,
            minimumAppendSize: 2
        )
        let field = "max-size=10, min-size=2, max-append-size=5, min-append-size=2"
        try await Self.withUploads(TestUploads.Options(limits: limits)) { client, uploads, _ in
            for (request, status) in [
                (Self.create("", ["Upload-Length: 11"]), 413), (Self.create("", ["Upload-Length: 1"]), 400),
                (Self.create(), 400), (Self.create("123456", ["Upload-Length: 8"]), 413),
                (Self.create("1", ["Upload-Length: 8"]), 400),
            ] {
                let response = try await client.response(to: request)
                #expect(response.status == status)
                #expect(response["Upload-Limit"] == field)
            }
            #expect(uploads.all.isEmpty)
            #expect(try await client.response(to: Self.create("", ["Upload-Length: 8"]))["Upload-Limit"] == field)
            #expect(try await client.response(to: Wire.append("123456", at: 0)).status == 413)
            #expect(try await client.response(to: Wire.append("1", at: 0)).status == 400)
            #expect(try await client.response(to: Wire.append("12345", at: 0)).status == 204)
            #expect(try await client.response(to: Wire.append("67", at: 5)).status == 204)
            // The last request may be smaller.
            #expect(try await client.response(to: Wire.append("8", at: 7, completes: true)).status == 201)
        }
    }

    @Test func describesItselfInTheResponseToOptions() async throws {
        let limits = TestUploads.Limits(maximumSize: 10)
        try await Self.withUploads(TestUploads.Options(protocols: [.ietf], limits: limits)) { client, _, _ in
            let response = try await client.response(to: Wire.request("OPTIONS", "/films"))
            #expect(response.status == 204)
            #expect(response["Accept-Patch"] == "application/partial-upload")
            #expect(response["Upload-Limit"] == "max-size=10")
            #expect(response["Tus-Resumable"] == nil)
        }
    }

    @Test func withoutAProtocolEveryRequestIsOrdinary() async throws {
        try await Self.withUploads(TestUploads.Options(protocols: [])) { client, uploads, _ in
            let options = try await client.response(to: Wire.request("OPTIONS", "/films"))
            #expect(options["Accept-Patch"] == nil && options["Tus-Version"] == nil)
            #expect(try await client.response(to: Self.create("hello", completes: true))["Upload-Complete"] == nil)
            #expect(uploads.all.map(\.isComplete) == [true])
        }
    }

    // MARK: Cancellation

    @Test func aCancelledUploadIsGone() async throws {
        try await Self.withUploads { client, uploads, _ in
            _ = try await client.response(to: Self.create("hello"))
            #expect(try await client.response(to: Wire.request("DELETE", "/films/1")).status == 204)
            #expect(try await client.response(to: Wire.request("HEAD", "/films/1")).status == 410)
            #expect(try await client.response(to: Wire.request("GET", "/films/2")).status == 404)
            #expect(uploads.all.map(\.isAvailable) == [false])
        }
    }

    @Test func storesTheBytesInAFile() async throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "uploads-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await Self.withUploads(TestUploads.Options(directory: directory)) { client, uploads, _ in
            _ = try await client.response(to: Self.create("hello"))
            _ = try await client.response(to: Wire.append(" world", at: 5, completes: true))
            let file = try #require(uploads.all.first?.file)
            #expect(try Data(contentsOf: file) == Data("hello world".utf8))
        }
    }

    // MARK: Digests

    #if Crypto
    private static let helloDigest = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="

    @Test func checksTheDigestOfTheRepresentation() async throws {
        try await Self.withUploads { client, uploads, _ in
            let right = ["Repr-Digest: sha-256=:\(Self.helloDigest):"]
            #expect(try await client.response(to: Self.create("hello", right, completes: true)).status == 201)
            _ = try await client.response(to: Self.create("hel", right))
            let append = Wire.append("LO", at: 3, completes: true)
            let wrong = try await client.response(to: append.replacing("/films/1", with: "/films/2"))
            #expect(wrong.status == 400 && wrong["Upload-Complete"] == "?1")
            #expect(wrong.body.contains("digest-mismatching-values"))
            #expect(uploads.all.map(\.isComplete) == [true, false])
            #expect(uploads.all.map(\.isAvailable) == [true, false])
        }
    }

    @Test func storesNothingOfARequestWithAnotherDigest() async throws {
        try await Self.withUploads { client, uploads, _ in
            _ = try await client.response(to: Self.create())
            let digest = ["Content-Digest: sha-256=:\(Self.helloDigest):"]
            #expect(try await client.response(to: Wire.append("HELLO", at: 0, digest)).status == 400)
            #expect(uploads.all.map(\.offset) == [0])
            #expect(try await client.response(to: Wire.append("hello", at: 0, digest)).status == 204)
            _ = try await client.response(to: Wire.append("", at: 5, completes: true))
            #expect(uploads.all.first?.sha256?.hasPrefix("2cf24dba") == true)
        }
    }

    @Test func returnsTheDigestThatTheClientWants() async throws {
        try await Self.withUploads { client, _, _ in
            let wanted = ["Want-Repr-Digest: sha-256=3, sha-512=0, md5=10"]
            let created = try await client.response(to: Self.create("hel", wanted))
            #expect(created["Repr-Digest"]?.hasPrefix("sha-256=:") == true)
            let last = try await client.response(to: Wire.append("lo", at: 3, completes: true))
            #expect(last["Repr-Digest"] == "sha-256=:\(Self.helloDigest):")
        }
    }
    #endif
}
#endif
