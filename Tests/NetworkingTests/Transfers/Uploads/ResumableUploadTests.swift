import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Uploads that resume, over a server that plays both protocols.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ResumableUploadTests {
    private struct Film: Codable, Equatable, Sendable {
        let id: Int
    }

    private static let bytes = Data((0..<100).map { UInt8($0) })
    private let request = HTTPRequestData(url: URL(string: "https://files.example/films")!)

    private func options(_ size: Int64 = 40, retries: Int = 5) -> UploadOptions {
        UploadOptions(maximumAppendSize: size, maximumRetries: retries)
    }

    /// Runs a test with a file of 100 bytes.
    private func withFile(_ test: (URL) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "film.mp4")
            try Self.bytes.write(to: file)
            try await test(file)
            #expect(!FileManager.default.fileExists(atPath: file.path + ".upload-lock"))
        }
    }

    // MARK: Protocols

    @Test func automaticUploadUsesTheDraftIfTheServerSupportsIt() async throws {
        try await withFile { file in
            let origin = UploadOrigin(.ietf)
            let response = try await origin.upload(
                .file(file),
                to: request,
                resumable: .automatic,
                options: options()
            )
            #expect(response.status == .ok && response.request.url == request.url)
            #expect(origin.state.bytes == Self.bytes && origin.state.isComplete)
            #expect(origin.log == ["OPTIONS", "POST", "PATCH 0+40", "PATCH 40+40", "PATCH 80+20"])
            let sent = origin.requests
            #expect(sent.allSatisfy { $0.headerFields[.named("Upload-Draft-Interop-Version")] == "8" })
            #expect(sent.map { $0.headerFields[.named("Upload-Complete")] } == [nil, "?0", "?0", "?0", "?1"])
            #expect(sent[1].headerFields[.named("Upload-Length")] == "100")
            #expect(sent[1].headerFields[.contentType] == "video/mp4")
            #expect(sent[2].headerFields[.contentType] == "application/partial-upload")
            #expect(sent[2].url?.absoluteString == "https://files.example/uploads/1f0a9b8c7d6e5f40")
            #expect(try UploadState(of: file) == nil)
        }
    }

    @Test func automaticUploadUsesTusIfTheServerSupportsIt() async throws {
        try await withFile { file in
            let origin = UploadOrigin(.tus)
            var options = options()
            options.fileName = "Größe.mp4"
            try await origin.upload(.file(file), to: request, resumable: .automatic, options: options)
            #expect(origin.state.bytes == Self.bytes)
            #expect(origin.log == ["OPTIONS", "POST", "PATCH 0+40", "PATCH 40+40", "PATCH 80+20"])
            let sent = origin.requests
            #expect(sent[0].headerFields[.named("Tus-Resumable")] == nil)
            #expect(sent.dropFirst().allSatisfy { $0.headerFields[.named("Tus-Resumable")] == "1.0.0" })
            #expect(sent[1].headerFields[.named("Upload-Length")] == "100")
            #expect(
                sent[1].headerFields[.named("Upload-Metadata")]
                    == "filename \(Data("Größe.mp4".utf8).base64EncodedString()),filetype dmlkZW8vbXA0"
            )
            #expect(sent[2].headerFields[.contentType] == "application/offset+octet-stream")
        }
    }

    @Test func statusesOfTusAreNotThoseOfTheRequest() async throws {
        let origin = UploadOrigin(.tus)
        var request = request
        request.acceptedStatuses = [.accepted]
        let network = origin.checkedStatusCode()
        let response = try await network.upload(.data(Self.bytes), to: request, resumable: .tus)
        #expect(response.status == .noContent && origin.state.bytes == Self.bytes)
    }

    @Test func tusServerReceivesAShortBodyWithTheCreation() async throws {
        let origin = UploadOrigin(.tus, [.named("Tus-Extension"): "creation,creation-with-upload"])
        try await origin.upload(.data(Self.bytes), to: request, resumable: .automatic)
        #expect(origin.log == ["OPTIONS", "POST"] && origin.state.bytes == Self.bytes)
    }

    @Test func automaticUploadToAnotherServerIsOneRequest() async throws {
        let origin = UploadOrigin(.none)
        try await origin.upload(.data(Self.bytes), to: request, resumable: .automatic)
        #expect(origin.log == ["OPTIONS", "POST"] && origin.state.bytes == Self.bytes)
        let sent = origin.requests[1]
        #expect(sent.headerFields[.named("Upload-Complete")] == "?1")
        #expect(sent.headerFields[.named("Upload-Length")] == "100")
    }

    @Test func uploadThatNeverResumesIsAnOrdinaryRequest() async throws {
        let origin = UploadOrigin(.ietf)
        try await origin.upload(.data(Self.bytes), to: request, resumable: .never)
        #expect(origin.log == ["POST"] && origin.requests[0].headerFields[.named("Upload-Complete")] == nil)
    }

    @Test(arguments: [UploadOrigin.Dialect.ietf, .tus])
    func uploadsAnEmptyBody(dialect: UploadOrigin.Dialect) async throws {
        let origin = UploadOrigin(dialect)
        let protocols: ResumableUpload = dialect == .ietf ? .ietf : .tus
        try await origin.upload(.data(Data()), to: request, resumable: protocols)
        #expect(origin.log == (dialect == .ietf ? ["POST", "PATCH 0+0"] : ["POST"]))
    }

    @Test func streamNeedsAnAutomaticUpload() async throws {
        let origin = UploadOrigin(.ietf)
        let body = RequestBody.stream { AsyncStream<Data> { $0.finish() } }
        try await origin.upload(body, to: request, resumable: .automatic)
        #expect(origin.log == ["POST"])
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(body, to: request, resumable: .ietf)
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func decodesTheLastResponse() async throws {
        let origin = UploadOrigin(.ietf)
        let (film, _) = try await origin.upload(.data(Self.bytes), to: Request<Film>(request), resumable: .ietf)
        #expect(film == Film(id: 7))
    }

    // MARK: Interruptions

    @Test(arguments: [ResumableUpload.ietf, .tus])
    func lostConnectionContinuesAtTheOffset(resumable: ResumableUpload) async throws {
        try await withFile { file in
            let origin = UploadOrigin(resumable == .ietf ? .ietf : .tus)
            origin.add(.patch, .breaks(after: 7), .breaks(after: 33), .breaks(after: 1))
            let sent = Mutex<[Int64]>([])
            try await origin.upload(.file(file), to: request, resumable: resumable) { progress in
                sent.withLock { $0.append(progress.sent.count) }
            }
            #expect(origin.state.bytes == Self.bytes && origin.state.receivedCount == 100)
            #expect(
                origin.log == [
                    "POST", "PATCH 0+100", "HEAD", "PATCH 7+93", "HEAD", "PATCH 40+60", "HEAD", "PATCH 41+59",
                ]
            )
            let counts = sent.withLock { $0 }
            #expect(counts == counts.sorted() && counts.last == 100)
        }
    }

    @Test func relaunchResumesFromTheStateFile() async throws {
        try await withFile { file in
            let origin = UploadOrigin(.ietf)
            origin.add(.patch, .breaks(after: 30))
            await #expect(throws: NetworkingError.self) {
                try await origin.upload(
                    .file(file),
                    to: request,
                    resumable: .automatic,
                    options: options(100, retries: 0)
                )
            }
            let state = try #require(try UploadState(of: file))
            #expect(state.byteCount == 0 && state.expectedByteCount == 100)
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path + ".upload-state")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            // Nothing but the state file connects the two calls.
            try await origin.upload(.file(file), to: request, resumable: .automatic)
            #expect(origin.log == ["OPTIONS", "POST", "PATCH 0+100", "HEAD", "PATCH 30+70"])
            #expect(origin.state.bytes == Self.bytes)
            #expect(try UploadState(of: file) == nil)
        }
    }

    @Test func stateOfAnotherRequestIsReplaced() async throws {
        try await withFile { file in
            let origin = UploadOrigin(.ietf)
            origin.add(.patch, .breaks(after: 30))
            await #expect(throws: NetworkingError.self) {
                try await origin.upload(.file(file), to: request, resumable: .ietf, options: options(retries: 0))
            }
            var other = request
            other.path = "/other"
            try await origin.upload(.file(file), to: other, resumable: .ietf)
            #expect(origin.log.suffix(2) == ["POST", "PATCH 0+100"])
        }
    }

    @Test func changedFileIsRefusedUntilTheUploadIsCancelled() async throws {
        try await withFile { file in
            let origin = UploadOrigin(.ietf)
            origin.add(.patch, .breaks(after: 30))
            await #expect(throws: NetworkingError.self) {
                try await origin.upload(.file(file), to: request, resumable: .ietf, options: options(retries: 0))
            }
            try Data(repeating: 1, count: 100).write(to: file)
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.upload(.file(file), to: request, resumable: .ietf)
            }
            #expect(error?.kind == .representationChanged)
            #expect(error?.localizedDescription == "The file was changed during its upload.")
            #expect(origin.log == ["POST", "PATCH 0+40"])
            #expect(try await origin.cancelUpload(.file(file), to: request))
            #expect(origin.log.last == "DELETE" && !origin.state.exists)
            #expect(try await origin.cancelUpload(.file(file), to: request) == false)
            try await origin.upload(.file(file), to: request, resumable: .ietf)
            #expect(origin.state.bytes == Data(repeating: 1, count: 100))
        }
    }

    @Test func lostResponseIsReplacedByTheState() async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .losesResponse)
        let response = try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        #expect(response.status == .noContent && origin.log == ["POST", "PATCH 0+100", "HEAD"])
        origin.add(.patch, .losesResponse)
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: Request<Film>(request), resumable: .ietf)
        }
        #expect(error?.kind == .decoding && error?.reason.contains("complete") == true)
    }

    @Test func offsetOfAConflictIsAsked() async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .responds(409, [.named("Upload-Offset"): "0"]))
        try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        #expect(origin.log == ["POST", "PATCH 0+100", "HEAD", "PATCH 0+100"])
    }

    @Test func tooLargeAppendIsDivided() async throws {
        let body = Data(repeating: 3, count: 200_000)
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .responds(413))
        try await origin.upload(.data(body), to: request, resumable: .ietf)
        #expect(origin.log == ["POST", "PATCH 0+200000", "HEAD", "PATCH 0+100000", "PATCH 100000+100000"])
        #expect(origin.state.bytes == body)
    }

    @Test func failureOfTheProcessingIsTheResponse() async throws {
        try await withFile { file in
            let origin = UploadOrigin(.ietf)
            origin.add(.patch, .responds(422, [.named("Upload-Complete"): "?1"]))
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.upload(.file(file), to: request, resumable: .ietf)
            }
            #expect(error?.status?.code == 422 && origin.log.count == 2)
            let state = try UploadState(of: file)
            #expect(state == nil)
        }
    }

    // MARK: Expiry

    @Test func uploadThatTheServerHasRemovedRestartsOnce() async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .breaks(after: 20))
        origin.add(.head, .responds(404))
        let recorder = Mutex<[String]>([])
        var request = request
        request.addObserver(UploadListener { event in recorder.withLock { $0.append(event) } })
        try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf, options: options())
        #expect(origin.log.prefix(5) == ["POST", "PATCH 0+40", "HEAD", "POST", "PATCH 0+40"])
        #expect(origin.state.bytes == Self.bytes)
        #expect(recorder.withLock { $0 } == ["uploadRestarted"])
        origin.add(.patch, .breaks(after: 20), .breaks(after: 20))
        origin.add(.head, .responds(404), .responds(404))
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf, options: options())
        }
        #expect(error?.status == .notFound)
    }

    @Test func uploadThatMayBeCompleteDoesNotRestart() async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.patch, .losesResponse)
        origin.add(.head, .responds(404))
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        }
        #expect(error?.kind == .status && error?.reason.contains("may be complete") == true)
        #expect(origin.log == ["POST", "PATCH 0+100", "HEAD"])
    }

    @Test func expiredUploadRestartsWithoutAQuestion() async throws {
        try await withFile { file in
            let clock = ManualClock()
            let origin = UploadOrigin(.ietf, [.named("Upload-Limit"): "max-age=60"])
            origin.add(.patch, .breaks(after: 20))
            try await withClock(clock) {
                await #expect(throws: NetworkingError.self) {
                    try await origin.upload(.file(file), to: request, resumable: .ietf, options: options(retries: 0))
                }
                #expect(try UploadState(of: file)?.expires != nil)
                clock.advance(by: .seconds(61))
                try await origin.upload(.file(file), to: request, resumable: .ietf, options: options(100))
            }
            #expect(origin.log == ["POST", "PATCH 0+40", "POST", "PATCH 0+100"])
        }
    }

    // MARK: Limits

    @Test func bodyBeyondTheLimitIsNotSent() async throws {
        let origin = UploadOrigin(.ietf, [.named("Upload-Limit"): "max-size=99"])
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .automatic)
        }
        #expect(error?.kind == .tooLarge && origin.log == ["OPTIONS"])
        #expect(error?.localizedDescription == "This is too large for the server.")
        // Without the question, the response to the creation names the limit.
        await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        }
        #expect(origin.log == ["OPTIONS", "POST", "DELETE"])
        let tus = UploadOrigin(.tus, [.named("Tus-Max-Size"): "99"])
        await #expect(throws: NetworkingError.self) {
            try await tus.upload(.data(Self.bytes), to: request, resumable: .automatic)
        }
        #expect(tus.log == ["OPTIONS"])
    }

    @Test(arguments: [
        ("max-append-size=30", ["PATCH 0+30", "PATCH 30+30", "PATCH 60+30", "PATCH 90+10"]),
        ("min-append-size=60", ["PATCH 0+60", "PATCH 60+40"]),
        ("min-append-size=20, max-append-size=50", ["PATCH 0+40", "PATCH 40+40", "PATCH 80+20"]),
        ("max-append-size=\"x\"", ["PATCH 0+40", "PATCH 40+40", "PATCH 80+20"]),
        ("max-append-size=-5", ["PATCH 0+40", "PATCH 40+40", "PATCH 80+20"]),
        ("max-append-size=0", ["PATCH 0+40", "PATCH 40+40", "PATCH 80+20"]),
        ("what is this?", ["PATCH 0+40", "PATCH 40+40", "PATCH 80+20"]),
    ])
    func appendsFollowTheLimits(limits: String, appends: [String]) async throws {
        let origin = UploadOrigin(.ietf, [.named("Upload-Limit"): limits])
        try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf, options: options())
        #expect(origin.log == ["POST"] + appends)
    }

    // MARK: Waits

    @Test func failuresWithoutProgressWaitAndEnd() async throws {
        let clock = ManualClock()
        let origin = UploadOrigin(.ietf)
        for _ in 0..<10 { origin.add(.patch, .breaks(after: 0)) }
        let events = EventRecorder()
        var request = request
        request.addObserver(events)
        let call = Task { [request] in
            try await withClock(clock) {
                try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf, options: options(retries: 3))
            }
        }
        // The first failure is followed by a question at once.
        try await clock.waitForSleepers(1)
        #expect(origin.log == ["POST", "PATCH 0+40", "HEAD", "PATCH 0+40"])
        clock.advance(by: .seconds(30))
        try await clock.waitForSleepers(1)
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .connectionLost && origin.log.count == 8)
        #expect(events.events.count { if case WaitEvent.waiting(.uploadRetry, _) = $0 { true } else { false } } == 2)
    }

    @Test func deadlineEndsAWait() async throws {
        let clock = ManualClock()
        let origin = UploadOrigin(.ietf)
        origin.add(.head, .responds(503, [.retryAfter: "60"]))
        origin.add(.patch, .breaks(after: 0))
        let network = origin.deadline(.seconds(10))
        let call = Task {
            try await withClock(clock) {
                try await network.upload(.data(Self.bytes), to: request, resumable: .ietf)
            }
        }
        while clock.nextDeadline.map({ clock.now.duration(to: $0) }) != .seconds(10) || origin.log.count < 3 {
            try Task.checkCancellation()
            await Task.yield()
        }
        try await clock.waitForSleepers(1)
        clock.advance(by: .seconds(10))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
    }

    @Test func serverThatAsksToWaitForLongEndsTheUpload() async throws {
        let origin = UploadOrigin(.ietf)
        origin.add(.post, .responds(503, [.retryAfter: "86400"]))
        let error = await #expect(throws: NetworkingError.self) {
            try await origin.upload(.data(Self.bytes), to: request, resumable: .ietf)
        }
        #expect(error?.status == .serviceUnavailable && origin.log == ["POST"])
    }

    // MARK: Handles

    @Test func transferPausesAndResumes() async throws {
        try await withFile { file in
            let origin = UploadOrigin(.ietf)
            origin.add(.patch, .hangs(after: 25))
            let transfer = origin.transfer(uploading: .file(file), to: request, resumable: .ietf)
            try await origin.waitForRequests(2)
            await transfer.pause()
            #expect(transfer.isPaused)
            #expect(try UploadState(of: file) != nil)
            transfer.resume()
            #expect(try await transfer.value.status == .ok && !transfer.isPaused)
            #expect(origin.log == ["POST", "PATCH 0+100", "HEAD", "PATCH 25+75"])
            #expect(origin.state.bytes == Self.bytes)
        }
    }

    @Test func transferOfBytesInMemoryResumesWithinTheCall() async throws {
        let origin = UploadOrigin(.tus)
        origin.add(.patch, .hangs(after: 25))
        let transfer = origin.transfer(
            uploading: .data(Self.bytes),
            to: Request<Void>(request),
            resumable: .tus
        )
        try await origin.waitForRequests(2)
        await transfer.pause()
        transfer.resume()
        _ = try await transfer.value
        #expect(origin.log == ["POST", "PATCH 0+100", "HEAD", "PATCH 25+75"])
    }

    @Test func cancelledUploadKeepsItsState() async throws {
        try await withFile { file in
            let origin = UploadOrigin(.ietf)
            origin.add(.patch, .hangs(after: 25))
            let transfer = origin.transfer(uploading: .file(file), to: request, resumable: .ietf)
            try await origin.waitForRequests(2)
            transfer.cancel()
            await #expect(throws: CancellationError.self) { try await transfer.value }
            #expect(try UploadState(of: file) != nil)
            try UploadState.discard(of: file)
            #expect(try UploadState(of: file) == nil)
        }
    }

    @Test func callCannotPause() async throws {
        let transfer = UploadOrigin(.none).transfer(uploading: .data(Self.bytes), to: request)
        await transfer.pause()
        #expect(!transfer.isPaused)
        transfer.resume()
        _ = try await transfer.value
    }

    @Test func oneStateFileServesOneUpload() async throws {
        try await withFile { file in
            let origin = UploadOrigin(.ietf)
            origin.add(.patch, .hangs(after: 25))
            let transfer = origin.transfer(uploading: .file(file), to: request, resumable: .ietf)
            try await origin.waitForRequests(2)
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.upload(.file(file), to: request, resumable: .ietf)
            }
            #expect(error?.kind == .storage)
            #expect(throws: UploadStateError.self) { try UploadState.discard(of: file) }
            transfer.cancel()
            _ = try? await transfer.value
        }
    }

    @Test(arguments: ["", "{}", "{\"version\":9}", "not JSON"])
    func damagedStateIsAnError(content: String) async throws {
        try await withFile { file in
            let state = URL(filePath: file.path + ".upload-state")
            try Data(content.utf8).write(to: state)
            let origin = UploadOrigin(.ietf)
            guard !content.isEmpty else {
                try await origin.upload(.file(file), to: request, resumable: .ietf)
                return
            }
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.upload(.file(file), to: request, resumable: .ietf)
            }
            #expect(error?.kind == .storage && origin.log.isEmpty)
            try UploadState.discard(of: file)
            try await origin.upload(.file(file), to: request, resumable: .ietf)
        }
    }

    // MARK: Digests

    #if Crypto
    @Test func draftSendsDigests() async throws {
        let origin = UploadOrigin(.ietf)
        let options = UploadOptions(digest: .sha256, fileName: "greeting.txt")
        try await origin.upload(.data(Data("hello world\n".utf8)), to: request, resumable: .ietf, options: options)
        #expect(origin.requests[0].headerFields[.contentDisposition]?.contains("greeting.txt") == true)
        let digest = "sha-256=:qUiQTy8PR5uPgZdpSzAYSw0u0cHNKh7A+4XSmaGSpEc=:"
        #expect(origin.requests[0].headerFields[.named("Repr-Digest")] == digest)
        #expect(origin.requests[1].headerFields[.named("Content-Digest")] == digest)
        #expect(origin.requests[1].headerFields[.named("Repr-Digest")] == nil)
    }

    @Test func tusServerThatFindsAWrongChecksumReceivesTheBytesAgain() async throws {
        let origin = UploadOrigin(
            .tus,
            [.named("Tus-Extension"): "creation,checksum", .named("Tus-Checksum-Algorithm"): "md5,sha1"]
        )
        origin.add(.patch, .responds(460))
        var options = options()
        options.digest = .sha256
        try await origin.upload(.data(Data("hello world".utf8)), to: request, resumable: .tus, options: options)
        #expect(origin.log == ["OPTIONS", "POST", "PATCH 0+11", "HEAD", "PATCH 0+11"])
        #expect(origin.requests[4].headerFields[.named("Upload-Checksum")] == "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=")
    }
    #endif
}

/// Receives the names of the events of uploads.
private struct UploadListener: NetworkEventObserver {
    let receive: @Sendable (String) -> Void

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        if event is UploadEvent { receive(event.record.name) }
    }
}

private func withClock<Result>(_ clock: ManualClock, _ work: () async throws -> Result) async throws -> Result {
    var environment = NetworkEnvironment.current
    environment.clock = .manual(clock)
    return try await withEnvironment(environment) { try await work() }
}
