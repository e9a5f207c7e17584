import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingTransfers

/// Servers that break the protocols of resumable uploads, or attack the client.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct HostileUploadTests {
    private static let bytes = Data((0..<100).map { UInt8($0) })
    private let request = HTTPRequestData(url: URL(string: "https://files.example/films")!)

    private func withFile(_ test: (URL) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "film.mp4")
            try Self.bytes.write(to: file)
            try await test(file)
        }
    }

    /// Uploads 30 bytes of a file, and keeps the state.
    private func interrupt(
        _ origin: UploadOrigin,
        _ file: URL,
        to request: HTTPRequestData,
        _ options: UploadOptions = UploadOptions()
    ) async throws {
        var options = options
        options.maximumRetries = 0
        origin.add(.patch, .breaks(after: 30))
        await #expect(throws: NetworkingError.self) {
            try await origin.upload(.file(file), to: request, resumable: .ietf, options: options)
        }
        _ = try #require(try UploadState(of: file))
    }

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

    @Test(arguments: [
        "/uploads/1f0a9b8c7d6e5f40", "/uploads/1f0a9b8c7d6e5f40/data", "/uploads/1f0a9b8c/data",
        "/uploads/data?part=2&key=1f0a9b8c7d6e5f40", "/uploads/data?1f0a9b8c7d6e5f40",
    ])
    func urlOfTheUploadIsRedacted(location: String) async throws {
        let origin = UploadOrigin(.ietf)
        origin.change { $0.location = location }
        origin.add(.patch, .responds(418))
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        }
        #expect(error?.status?.code == 418)
        #expect(error?.description.contains("/uploads/") == true)
        #expect(error?.description.contains("1f0a9b8c") == false)
    }

    // MARK: Redirects

    @Test func redirectToHTTPIsNotFollowed() async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .responds(307, [.location: "http://files.example/uploads/1"]))
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        }
        #expect(error?.status?.code == 307 && origin.log == ["POST", "PATCH 0+100"])
        #expect(origin.requests.allSatisfy { $0.scheme == "https" })
    }

    @Test func redirectToAnotherOriginReceivesNoCredentials() async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .responds(307, [.location: "https://other.example/uploads/1"]))
        var request = request
        request.headerFields[.authorization] = "Bearer own"
        try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        #expect(origin.log == ["POST", "PATCH 0+100", "PATCH 0+100"])
        #expect(origin.requests.map(\.authority) == ["files.example", "files.example", "other.example"])
        #expect(origin.requests.map { $0.headerFields[.authorization] } == ["Bearer own", "Bearer own", nil])
    }

    // MARK: State files

    @Test func stateOfAnotherOriginReceivesNoCredentials() async throws {
        try await withFile { file in
            let origin = UploadOrigin(.ietf)
            let options = UploadOptions(resumptionKey: "film 42")
            try await interrupt(origin, file, to: request, options)
            var other = HTTPRequestData(url: URL(string: "https://other.example/films")!)
            other.headerFields[.authorization] = "Bearer other"
            try await origin.upload(.file(file), to: other, resumable: .ietf, options: options)
            let resumed = origin.requests.suffix(2)
            #expect(origin.log.suffix(2) == ["HEAD", "PATCH 30+70"])
            #expect(resumed.allSatisfy { $0.authority == "files.example" })
            #expect(resumed.allSatisfy { $0.headerFields[.authorization] == nil })
        }
    }

    @Test(arguments: [
        ("http://files.example/uploads/1", true), ("file:///etc/passwd", true), ("https://", true),
        ("https://user:secret@files.example/1", true), ("https://evil.example/uploads/1", false),
    ])
    func stateFileDoesNotChooseWhereCredentialsGo(url: String, restarts: Bool) async throws {
        try await withFile { file in
            let origin = UploadOrigin(.ietf)
            var request = request
            request.headerFields[.authorization] = "Bearer own"
            try await interrupt(origin, file, to: request)
            let state = URL(filePath: file.path + ".upload-state")
            let json = try JSONSerialization.jsonObject(with: Data(contentsOf: state))
            var record = try #require(json as? [String: Any])
            record["url"] = url
            try JSONSerialization.data(withJSONObject: record).write(to: state)
            try await origin.upload(.file(file), to: request, resumable: .ietf)
            #expect(origin.log.suffix(2) == (restarts ? ["POST", "PATCH 0+100"] : ["HEAD", "PATCH 30+70"]))
            #expect(
                origin.requests.allSatisfy { sent in
                    sent.scheme == "https"
                        && (sent.authority == "files.example") == (sent.headerFields[.authorization] != nil)
                }
            )
        }
    }

    @Test(arguments: ["Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "never"])
    func stateWithAnyExpiryCanBeRead(date: String) async throws {
        try await withFile { file in
            let origin = UploadOrigin(.tus, [.named("Upload-Expires"): date])
            origin.add(.patch, .breaks(after: 30))
            await #expect(throws: NetworkingError.self) {
                let options = UploadOptions(maximumRetries: 0)
                try await origin.upload(.file(file), to: request, resumable: .tus, options: options)
            }
            #expect(try UploadState(of: file)?.expectedByteCount == 100)
            try await origin.upload(.file(file), to: request, resumable: .tus)
            #expect(origin.state.bytes == Self.bytes)
        }
    }

    @Test func changedBytesInMemoryAreRefused() async throws {
        try await withTemporaryDirectory { directory in
            var options = UploadOptions(stateFile: directory.appending(path: "state"), maximumRetries: 0)
            var bytes = Data(repeating: 1, count: 300_000)
            let origin = UploadOrigin(.ietf)
            origin.add(.patch, .breaks(after: 30))
            await #expect(throws: NetworkingError.self) {
                try await origin.upload(.data(bytes), to: request, resumable: .ietf, options: options)
            }
            bytes[150_000] = 2
            options.maximumRetries = 5
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.upload(.data(bytes), to: request, resumable: .ietf, options: options)
            }
            #expect(error?.kind == .representationChanged)
            bytes[150_000] = 1
            try await origin.upload(.data(bytes), to: request, resumable: .ietf, options: options)
            #expect(origin.state.bytes == bytes)
        }
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

    @Test func serverDoesNotCompleteATruncatedUpload() async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .responds(204, [.named("Upload-Complete"): "?1"]))
        let options = UploadOptions(maximumAppendSize: 40)
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf, options: options)
        }
        #expect(error?.kind == .invalidResponse && error?.reason.contains("40 of 100") == true)
        #expect(origin.log == ["POST", "PATCH 0+40", "DELETE"])
        origin.add(.patch, .breaks(after: 10))
        origin.add(.head, .responds(204, [.named("Upload-Complete"): "?1", .named("Upload-Offset"): "10"]))
        let other = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf, options: options)
        }
        #expect(other?.kind == .invalidResponse && other?.reason.contains("10 of 100") == true)
    }

    @Test(arguments: [1, 2])
    func requestThatTheTransportRepeatsIsNotRefused(times: Int) async throws {
        let origin = UploadOrigin(.ietf)
        // The response to the first request is lost, and the transport sends it again by itself.
        let network = origin.modified { request, upstream in
            if request.method == .patch {
                for _ in 1...times { _ = try await upstream.send(request) }
            }
            return try await upstream.send(request)
        }
        let response = try await network.upload(.data(Self.bytes), to: request, resumable: .ietf)
        let patches = [String](repeating: "PATCH 0+100", count: times + 1)
        #expect(response.status == .noContent && origin.log == ["POST"] + patches + ["HEAD"])
        #expect(origin.state.bytes == Self.bytes)
    }

    @Test func secondRefusalEndsTheUpload() async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .responds(400), .responds(400))
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        }
        #expect(error?.status == .badRequest && origin.log == ["POST", "PATCH 0+100", "HEAD", "PATCH 0+100"])
    }

    @Test func limitsThatChangeDoNotKeepTheUploadRunning() {
        var machine = UploadMachine(.ietf, length: 1 << 20, mayRepeat: false, options: UploadOptions())
        let now = Date()
        var next = machine.receive(UploadReply(status: 201), to: .create(count: 0), hasLocation: true, at: now)
        var counts: [Int64] = []
        while case .send(let step) = next, counts.count < 100 {
            if case .append(_, let count, _) = step {
                counts.append(count)
            }
            let reply =
                step == .locate
                ? UploadReply(
                    status: 204,
                    fields: [.named("Upload-Offset"): "0", .named("Upload-Limit"): "min-append-size=1048576"]
                )
                : UploadReply(status: 413, fields: [.named("Upload-Limit"): "min-append-size=1"])
            next = machine.receive(reply, to: step, hasLocation: false, at: now)
        }
        #expect(next == .refuse && counts == [1 << 20, 1 << 19, 1 << 18, 1 << 17, 1 << 16])
    }

    @Test func restartedUploadCountsItsProgressFromTheStart() {
        var machine = UploadMachine(.ietf, length: 100, mayRepeat: true, options: UploadOptions())
        let now = Date()
        _ = machine.receive(UploadReply(status: 201), to: .create(count: 0), hasLocation: true, at: now)
        _ = machine.receive(
            UploadReply(status: 204, fields: [.named("Upload-Offset"): "90"]),
            to: .locate,
            hasLocation: false,
            at: now
        )
        #expect(machine.highest == 90)
        _ = machine.receive(UploadReply(status: 404), to: .locate, hasLocation: false, at: now)
        #expect(machine.highest == 0 && machine.offset == 0)
    }

    @Test func progressThatIsMadeDuringAReportIsReportedAfterIt() {
        let meter = Mutex<UploadMeter?>(nil)
        let counts = Mutex<[Int64]>([])
        let created = UploadMeter(length: 100) { progress in
            if progress.sent.count == 10 {
                meter.withLock { $0 }?.update(sent: 60, of: 100)
            }
            counts.withLock { $0.append(progress.sent.count) }
        }
        meter.withLock { $0 = created }
        created.update(sent: 10, of: 100)
        created.update(sent: 30, of: 100)
        created.update(sent: 200, of: 100)
        #expect(counts.withLock { $0 } == [10, 60, 100])
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
        let network = InterimOrigin(origin: origin, authority: "files.example")
        request.headerFields[.accept] = "application/json"
        try await network.upload(.data(Self.bytes), to: request, resumable: .automatic)
        #expect(origin.log == ["OPTIONS", "POST", "HEAD", "PATCH 60+40"])
        #expect(origin.state.bytes == Self.bytes)
    }

    @Test func pausedUploadContinuesAtTheURLOfAnInterimResponse() async throws {
        let origin = UploadOrigin(.ietf)
        origin.change { $0.exists = true }
        origin.add(.options, .responds(405))
        origin.add(.post, .hangs(after: 60))
        let network = InterimOrigin(origin: origin, authority: "files.example")
        let transfer = network.transfer(uploading: .data(Self.bytes), to: request, resumable: .automatic)
        try await origin.waitForRequests(2)
        await transfer.pause()
        transfer.resume()
        _ = try await transfer.value
        #expect(origin.log == ["OPTIONS", "POST", "HEAD", "PATCH 60+40"])
        #expect(origin.state.bytes == Self.bytes)
    }

    @Test func interimResponseOfARedirectedRequestReceivesNoCredentials() async throws {
        let origin = UploadOrigin(.ietf)
        origin.change { $0.exists = true }
        origin.add(.options, .responds(405))
        origin.add(.post, .responds(307, [.location: "https://other.example/films"]), .breaks(after: 60))
        var request = request
        request.headerFields[.authorization] = "Bearer own"
        let network = InterimOrigin(origin: origin, authority: "other.example")
        try await network.upload(.data(Self.bytes), to: request, resumable: .automatic)
        #expect(origin.log == ["OPTIONS", "POST", "POST", "HEAD", "PATCH 60+40"])
        for sent in origin.requests.dropFirst(2) {
            #expect(sent.authority == "other.example" && sent.headerFields[.authorization] == nil)
        }
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

/// A server that names the URL of the upload in an interim response, if the request has reached it.
private struct InterimOrigin: NetworkingTransport {
    let origin: UploadOrigin
    let authority: String

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        if request.method == .post, let host = request.authority, host == authority {
            let head = HTTPResponse(
                status: .init(code: 104),
                headerFields: [.location: "/uploads/1f0a9b8c7d6e5f40", .named("Upload-Draft-Interop-Version"): "8"]
            )
            request.emit(ExchangeEvent.headReceived(head))
        }
        return try await origin.exchange(request)
    }
}
