import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingTransfers

/// Servers that break the protocols of resumable uploads, or attack the client.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct HostileUploadTests {
    private static let bytes = Data((0..<100).map { UInt8($0) })
    private let request = HTTPRequestData(url: URL(string: "https://files.example/films")!)

    @Test(arguments: [
        "", "http://files.example/uploads/1", "ftp://files.example/1", "file:///etc/passwd", "https://",
        "https://user:secret@files.example/1", "https://files.example/" + String(repeating: "a", count: 20_000),
    ])
    func unusableLocationIsRefused(location: String) async throws {
        let origin = UploadOrigin(.ietf)
        origin.change { $0.location = location }
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        }
        #expect(error?.kind == .invalidResponse && origin.log == ["POST"])
        #expect(error?.description.contains("secret") == false)
    }

    @Test func creationWithoutLocationIsRefused() async throws {
        let origin = UploadOrigin(.none)
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        }
        #expect(error?.kind == .invalidResponse && origin.log == ["POST"])
    }

    @Test(arguments: [("https://files.example:443/uploads/1", true), ("https://other.example/uploads/1", false)])
    func otherOriginReceivesNoCredentials(location: String, isSame: Bool) async throws {
        let origin = UploadOrigin(.ietf)
        origin.change { $0.location = location }
        var request = HTTPRequestData(path: "films")
        request.headerFields[.authorization] = "Bearer own"
        request.headerFields[.cookie] = "a=b"
        request.headerFields[.named("X-Client")] = "app"
        let network =
            origin.server { request in
                request.setCredential("key", for: .named("X-Api-Key"))
            }
            .server(authority: "files.example")
        try await network.upload(.data(Self.bytes), to: request, resumable: .ietf)
        let append = try #require(origin.requests.last)
        #expect(append.method == .patch && append.headerFields[.named("X-Client")] == "app")
        #expect((append.headerFields[.authorization] != nil) == isSame)
        #expect((append.headerFields[.cookie] != nil) == isSame)
        #expect((append.headerFields[.named("X-Api-Key")] != nil) == isSame)
        #expect(append.authority == (isSame ? "files.example" : "other.example"))
    }

    @Test func requestsOfTheUploadHaveNoFieldsOfTheBody() async throws {
        let origin = UploadOrigin(.ietf)
        var request = request
        request.isIdempotent = true
        request.headerFields[.idempotencyKey] = "\"1\""
        request.headerFields[.contentDisposition] = "inline"
        request.headerFields[.ifMatch] = "\"1\""
        origin.add(.patch, .breaks(after: 1))
        try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        for sent in origin.requests.dropFirst() {
            #expect(!sent.headerFields.contains(.idempotencyKey) && !sent.headerFields.contains(.ifMatch))
            #expect(!sent.headerFields.contains(.contentDisposition))
            #expect(sent.mayBeSentTwice == (sent.method == .head))
        }
    }

    @Test func urlOfTheUploadIsRedacted() async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .responds(418))
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        }
        #expect(error?.status?.code == 418 && error?.description.contains("1f0a9b8c7d6e5f40") == false)
    }

    @Test(
        arguments: [
            ([:], "offset"), ([.named("Upload-Offset"): "-1"], "offset"), ([.named("Upload-Offset"): "1.5"], "offset"),
            ([.named("Upload-Offset"): "many"], "offset"), ([.named("Upload-Offset"): "101"], "101"),
            ([.named("Upload-Offset"): "999999999999999"], "999999999999999"),
            ([.named("Upload-Offset"): "5", .named("Upload-Length"): "7"], "7"),
        ] as [(HTTPFields, String)]
    )
    func impossibleOffsetEndsTheUpload(fields: HTTPFields, reason: String) async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .breaks(after: 10))
        origin.add(.head, .responds(204, fields))
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        }
        #expect(error?.kind == .invalidResponse && error?.reason.contains(reason) == true)
    }

    @Test func serverThatNeverCompletesIsGivenUp() async throws {
        let origin = UploadOrigin(.ietf)
        for _ in 0..<20 { origin.add(.patch, .responds(204, [.named("Upload-Complete"): "?0"])) }
        let clock = ManualClock()
        var environment = NetworkEnvironment.current
        environment.clock = .manual(clock)
        let options = UploadOptions(maximumRetries: 1)
        let error = await withEnvironment(environment) {
            await #expect(throws: NetworkingError.self) {
                try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf, options: options)
            }
        }
        #expect(error?.kind == .invalidResponse && origin.log == ["POST", "PATCH 0+100", "HEAD", "PATCH 0+100"])
    }

    // MARK: Interim responses

    @Test func uploadContinuesAtTheURLOfAnInterimResponse() async throws {
        let origin = UploadOrigin(.ietf)
        origin.change { $0.exists = true }
        origin.add(.options, .responds(405))
        origin.add(.post, .breaks(after: 60))
        var request = request
        let network = origin.modified { request, upstream in
            if request.method == .post {
                let head = HTTPResponse(
                    status: .init(code: 104),
                    headerFields: [
                        .location: "/uploads/1f0a9b8c7d6e5f40", .named("Upload-Draft-Interop-Version"): "8",
                    ]
                )
                request.emit(ExchangeEvent.headReceived(head))
            }
            return try await upstream.send(request)
        }
        request.headerFields[.accept] = "application/json"
        try await network.upload(.data(Self.bytes), to: request, resumable: .automatic)
        #expect(origin.log == ["OPTIONS", "POST", "HEAD", "PATCH 60+40"])
        #expect(origin.state.bytes == Self.bytes)
    }

    @Test func lostRequestWithoutAnInterimResponseFails() async throws {
        let origin = UploadOrigin(.none)
        origin.add(.post, .breaks(after: 60))
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .automatic)
        }
        #expect(error?.kind == .connectionLost && origin.log == ["OPTIONS", "POST"])
    }

    // MARK: Fields

    @Test(arguments: [
        ("application/partial-upload", true), ("text/plain, Application/Partial-Upload", true), ("*/*", false),
        ("application/*", false), ("", false),
    ])
    func onlyTheFullMediaTypeAnnouncesTheDraft(field: String, isSupported: Bool) {
        let reply = UploadReply(status: 200, fields: [.named("Accept-Patch"): field])
        #expect(reply.supportsDraft == isSupported)
    }

    @Test(arguments: [
        ("1.0.0", "creation", true), ("0.2.2,1.0.0", "expiration, creation", true), ("0.2.2", "creation", false),
        ("1.0.0", "termination", false), ("1.0.0", "creation-with-upload", false),
    ])
    func tusNeedsItsVersionAndCreation(version: String, extensions: String, isSupported: Bool) {
        let reply = UploadReply(
            status: 204,
            fields: [.named("Tus-Version"): version, .named("Tus-Extension"): extensions]
        )
        #expect(reply.supportsTus == isSupported)
    }

    @Test func problemTypesAreRead() {
        let body = Data(#"{"type":"https://iana.org/assignments/http-problem-types#completed-upload"}"#.utf8)
        let fields: HTTPFields = [.contentType: "application/problem+json"]
        #expect(UploadReply(status: 400, fields: fields, body: body).problem == "completed-upload")
        #expect(UploadReply(status: 400, body: body).problem == nil)
        #expect(UploadReply(status: 400, fields: fields, body: Data("[".utf8)).problem == nil)
        let long = body + Data(repeating: 32, count: 70_000)
        #expect(UploadReply(status: 400, fields: fields, body: long).problem == nil)
    }

    @Test func tinyAppendsAreRefused() {
        var machine = UploadMachine(.ietf, length: 1 << 30, mayRepeat: false, options: UploadOptions())
        let fields: HTTPFields = [.named("Upload-Limit"): "max-append-size=1"]
        let next = machine.receive(
            UploadReply(status: 201, fields: fields),
            to: .create(count: 0),
            hasLocation: true,
            at: Date()
        )
        guard case .fail(let fault) = next else {
            Issue.record("\(next)")
            return
        }
        #expect(fault.kind == .invalidResponse && fault.cancels)
    }

    @Test func stateFileHasAPossibleName() {
        #expect(UploadStore.path(of: "/a/film.mp4") == "/a/film.mp4.upload-state")
        let long = UploadStore.path(of: "/a/" + String(repeating: "ä", count: 127))
        #expect(long.utf8.count <= "/a/".utf8.count + 255 && long.hasSuffix(".upload-state"))
    }

    @Test(arguments: ["film.mp4.upload-state", "film.mp4.upload-lock", "Film.Upload-State.new"])
    func suggestedNameIsNoStateFile(name: String) {
        #expect(FileName.safe(name) == "\(name)_")
    }
}
