#if URLSession && AsyncHTTPClient && TestServer
import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

extension Loopback {
    /// Resumable uploads over real sockets, to a server that plays both protocols and fails at each step.
    @Suite(.timeLimit(.minutes(20)))
    struct ResumableUploadTests {
        private static let film = ServedFile(byteCount: 1_000_000)
        private static let options = UploadOptions(maximumAppendSize: 400_000)

        /// The places of one upload: the file, the server and its uploads.
        private struct Upload: Sendable {
            let network: AnyNetworkingComponent
            let file: URL
            let server: TestServer
            let uploads: TestUploads
            let resumable: ResumableUpload

            var request: HTTPRequestData {
                HTTPRequestData(method: .post, url: server.url.appending(path: "films"))
            }

            @discardableResult
            func run(_ request: HTTPRequestData? = nil) async throws -> HTTPResponseData {
                try await network.upload(
                    .file(file),
                    to: request ?? self.request,
                    resumable: resumable,
                    options: ResumableUploadTests.options
                )
            }

            /// Expects the whole file in the newest upload of the server, and no state beside it.
            func expectArrival(sourceLocation: SourceLocation = #_sourceLocation) throws {
                let arrived = try #require(uploads.all.last, sourceLocation: sourceLocation)
                #expect(arrived.isComplete, sourceLocation: sourceLocation)
                let bytes = try Data(contentsOf: try #require(arrived.file))
                #expect(bytes == ResumableUploadTests.film.bytes, sourceLocation: sourceLocation)
                let names = try FileManager.default
                    .contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
                #expect(Set(names) == ["film.mp4", "received"], sourceLocation: sourceLocation)
            }
        }

        /// Runs a test with a file and a server.
        private static func withUpload(
            over client: Client,
            by resumable: ResumableUpload,
            limits: TestUploads.Limits = TestUploads.Limits(),
            blockSize: Int = 1,
            _ test: nonisolated(nonsending) (Upload) async throws -> Void
        ) async throws {
            try await withTemporaryDirectory { directory in
                let file = directory.appending(path: "film.mp4")
                try film.bytes.write(to: file)
                let received = directory.appending(path: "received")
                try FileManager.default.createDirectory(at: received, withIntermediateDirectories: true)
                try await withTestServer { server in
                    let options = TestUploads.Options(limits: limits, blockSize: blockSize, directory: received)
                    let uploads = server.routeUploads("/films", options: options)
                    let network = AnyNetworkingComponent(client.makeTransport())
                    try await test(
                        Upload(
                            network: network,
                            file: file,
                            server: server,
                            uploads: uploads,
                            resumable: resumable
                        )
                    )
                }
            }
        }

        // MARK: Uploads without faults

        @Test(arguments: Client.allCases, ResumableUpload.allCases)
        func uploadsAFile(client: Client, resumable: ResumableUpload) async throws {
            try await Self.withUpload(over: client, by: resumable) { upload in
                let response = try await upload.run()
                #expect(response.status == (resumable == .tus ? .noContent : .created))
                try upload.expectArrival()
                let expected: TestUploads.UploadProtocol? =
                    switch resumable {
                    case .automatic, .ietf: .ietf
                    case .tus: .tus
                    default: nil
                    }
                #expect(upload.uploads.all.map(\.uploadProtocol) == [expected])
                #expect(upload.uploads.all.map(\.repeatedByteCount) == [0])
                #expect(upload.uploads.all.map(\.rejectedRequestCount) == [0])
            }
        }

        @Test(arguments: Client.allCases)
        func obeysTheLimitsOfTheServer(client: Client) async throws {
            let limits = TestUploads.Limits(maximumSize: 1_000_000, maximumAppendSize: 70_000)
            try await Self.withUpload(over: client, by: .automatic, limits: limits) { upload in
                try await upload.run()
                try upload.expectArrival()
                #expect(upload.server.requests.count { $0.method == .patch } == 15)
            }
        }

        @Test(arguments: Client.allCases, [ResumableUpload.ietf, .tus])
        func refusesAFileThatIsTooLargeBeforeItIsSent(client: Client, resumable: ResumableUpload) async throws {
            let limits = TestUploads.Limits(maximumSize: 999_999)
            try await Self.withUpload(over: client, by: resumable, limits: limits) { upload in
                let error = await #expect(throws: NetworkingError.self) { try await upload.run() }
                #expect(error?.kind == .tooLarge || error?.response?.status == .contentTooLarge)
                #expect(!upload.server.requests.contains { $0.method == .patch })
            }
        }

        #if Crypto
        @Test(arguments: Client.allCases, [ResumableUpload.ietf, .tus])
        func sendsDigestsThatTheServerChecks(client: Client, resumable: ResumableUpload) async throws {
            try await Self.withUpload(over: client, by: resumable) { upload in
                var options = Self.options
                options.digest = .sha256
                try await upload.network.upload(
                    .file(upload.file),
                    to: upload.request,
                    resumable: resumable,
                    options: options
                )
                try upload.expectArrival()
                let name = HTTPField.Name(resumable == .tus ? "Upload-Checksum" : "Content-Digest")!
                let appends = upload.server.requests.filter { $0.method == .patch }
                #expect(appends.count == 3 && appends.allSatisfy { $0.headerFields[name] != nil })
            }
        }
        #endif

        // MARK: Faults

        /// The faults after which an upload still succeeds.
        enum Scenario: CaseIterable, Sendable {
            case discoveryFails
            case creationIsReset
            case creationIsLost
            case creationFails
            case appendIsReset
            case appendIsClosed
            case appendIsLost
            case appendFails
            case appendFailsWithinTheBody
            case lastBytesAreReset
            case lastResponseIsLost
            case offsetIsReset
            case offsetFails
            case offsetGoesBack
            case offsetIsBeyondTheSentBytes
            case uploadIsForgotten
            case uploadIsGone

            func enqueue(_ uploads: TestUploads) {
                let reset = TestUploads.Fault.disconnect(.reset, after: .bytes(150_000))
                switch self {
                case .discoveryFails: uploads.enqueue(.status(.serviceUnavailable), at: .discovery)
                case .creationIsReset: uploads.enqueue(.disconnect(.reset, after: .head), at: .creation)
                case .creationIsLost: uploads.enqueue(.disconnect(.close, after: .processing), at: .creation)
                case .creationFails: uploads.enqueue(.status(.serviceUnavailable), at: .creation)
                case .appendIsReset: uploads.enqueue(.none, reset, reset, at: .append)
                case .appendIsClosed: uploads.enqueue(.disconnect(.close, after: .bytes(150_000)), at: .append)
                case .appendIsLost: uploads.enqueue(.disconnect(.reset, after: .processing), at: .append)
                case .appendFails: uploads.enqueue(.status(.serviceUnavailable), at: .append)
                case .appendFailsWithinTheBody:
                    uploads.enqueue(.status(.badGateway, after: .bytes(150_000)), at: .append)
                case .lastBytesAreReset: uploads.enqueue(reset, at: .completion)
                case .lastResponseIsLost: uploads.enqueue(.disconnect(.reset, after: .processing), at: .completion)
                case .offsetIsReset:
                    uploads.enqueue(reset, at: .append)
                    uploads.enqueue(.disconnect(.reset, after: .head), at: .offset)
                case .offsetFails:
                    uploads.enqueue(reset, at: .append)
                    uploads.enqueue(.status(.internalServerError), at: .offset)
                case .offsetGoesBack:
                    uploads.enqueue(.none, reset, at: .append)
                    uploads.enqueue(.offset(adding: -300_000), at: .offset)
                case .offsetIsBeyondTheSentBytes:
                    uploads.enqueue(reset, at: .append)
                    uploads.enqueue(.offset(adding: 500_000), at: .offset)
                case .uploadIsForgotten: uploads.enqueue(.none, .forget(.notFound), at: .append)
                case .uploadIsGone: uploads.enqueue(.none, .forget(.gone), at: .append)
                }
            }

            /// The number of uploads that the client has created.
            var uploadCount: Int {
                switch self {
                case .creationIsLost, .uploadIsForgotten, .uploadIsGone: 2
                default: 1
                }
            }
        }

        @Test(arguments: Client.allCases, Scenario.allCases)
        func survivesFaultsWithTheDraft(client: Client, scenario: Scenario) async throws {
            try await Self.survives(scenario, over: client, by: .automatic)
        }

        @Test(arguments: Client.allCases, Scenario.allCases.filter { $0 != .discoveryFails })
        func survivesFaultsWithTus(client: Client, scenario: Scenario) async throws {
            try await Self.survives(scenario, over: client, by: .tus)
        }

        private static func survives(
            _ scenario: Scenario,
            over client: Client,
            by resumable: ResumableUpload
        ) async throws {
            try await withUpload(over: client, by: resumable) { upload in
                scenario.enqueue(upload.uploads)
                try await upload.run()
                try upload.expectArrival()
                #expect(upload.uploads.all.count == scenario.uploadCount)
                for step in TestUploads.Step.allCases {
                    #expect(upload.uploads.queuedFaults(at: step).isEmpty)
                }
            }
        }

        /// The server stores bytes in blocks, so each lost connection costs less than a block.
        @Test(arguments: Client.allCases)
        func progressNeverGoesBackAfterLostBytes(client: Client) async throws {
            try await Self.withUpload(over: client, by: .ietf, blockSize: 32_768) { upload in
                let resets = [100_000, 50_000, 200_000].map { TestUploads.Fault.disconnect(.reset, after: .bytes($0)) }
                upload.uploads.enqueue(resets, at: .append)
                let counts = Mutex<[Int64]>([])
                try await upload.network.upload(
                    .file(upload.file),
                    to: upload.request,
                    resumable: upload.resumable,
                    options: Self.options
                ) { progress in
                    counts.withLock { $0.append(progress.sent.count) }
                }
                try upload.expectArrival()
                let reported = counts.withLock { $0 }
                #expect(zip(reported, reported.dropFirst()).allSatisfy { $0 <= $1 })
                #expect(reported.last == 1_000_000)
                let repeated = try #require(upload.uploads.all.first?.repeatedByteCount)
                #expect(repeated > 0 && repeated < 3 * 32_768)
            }
        }

        /// The server does not announce the draft, and offers it in an interim response (104).
        @Test(arguments: Client.allCases)
        func ordinaryRequestResumesAfterAnInterimResponse(client: Client) async throws {
            try await Self.withUpload(over: client, by: .automatic) { upload in
                upload.uploads.enqueue(.status(.methodNotAllowed), at: .discovery)
                upload.uploads.enqueue(.disconnect(.reset, after: .bytes(500_000)), at: .completion)
                switch client {
                case .urlSession:
                    try await upload.run()
                    try upload.expectArrival()
                case .asyncHTTPClient:
                    // It drops interim responses.
                    let error = await #expect(throws: NetworkingError.self) { try await upload.run() }
                    #expect(error?.kind.meaning == .interrupted)
                }
                #expect(upload.uploads.all.count == 1)
            }
        }

        // MARK: Hostile servers

        @Test(
            arguments: Client.allCases,
            [
                String(repeating: "a", count: 20_000), "ftp://files.example/1", "http://user:secret@files.example/1",
                "http://[", "",
            ]
        )
        func refusesAHostileLocation(client: Client, location: String) async throws {
            try await Self.withUpload(over: client, by: .ietf) { upload in
                upload.uploads.enqueue(.location(location), at: .creation)
                let error = await #expect(throws: NetworkingError.self) { try await upload.run() }
                #expect(error?.kind == .invalidResponse)
                #expect(error.map { "\($0)" }?.contains("secret") == false)
                #expect(!upload.server.requests.contains { $0.method == .patch })
            }
        }

        @Test(arguments: Client.allCases)
        func sendsNoCredentialsToTheLocationOfAnotherOrigin(client: Client) async throws {
            try await Self.withUpload(over: client, by: .ietf) { upload in
                try await withTestServer { other in
                    let uploads = other.routeUploads("/films")
                    var creation = HTTPRequestData(method: .post, url: other.url.appending(path: "films"))
                    creation.headerFields[HTTPField.Name("Upload-Complete")!] = "?0"
                    _ = try await upload.network.data(creation)
                    other.forgetRequests()
                    upload.uploads.enqueue(.location("\(other.url.absoluteString)/films/1"), at: .creation)
                    var request = upload.request
                    request.headerFields[.authorization] = "Bearer secret"
                    try await upload.run(request)
                    #expect(uploads.all.map(\.offset) == [1_000_000])
                    #expect(!other.requests.isEmpty)
                    #expect(other.requests.allSatisfy { $0.headerFields[.authorization] == nil })
                    #expect(upload.server.requests.contains { $0.headerFields[.authorization] != nil })
                }
            }
        }

        @Test(arguments: Client.allCases, [ResumableUpload.ietf, .tus])
        func refusesAnOffsetBeyondTheEnd(client: Client, resumable: ResumableUpload) async throws {
            try await Self.withUpload(over: client, by: resumable) { upload in
                upload.uploads.enqueue(.disconnect(.reset, after: .bytes(1_000)), at: .append)
                upload.uploads.enqueue(.offset(adding: 2_000_000), at: .offset)
                let error = await #expect(throws: NetworkingError.self) { try await upload.run() }
                #expect(error?.kind == .invalidResponse)
            }
        }

        // MARK: State

        @Test(arguments: Client.allCases, [ResumableUpload.ietf, .tus])
        func nextCallResumesACancelledUpload(client: Client, resumable: ResumableUpload) async throws {
            try await Self.withUpload(over: client, by: resumable) { upload in
                upload.uploads.enqueue(.disconnect(.stall, after: .bytes(150_000)), at: .append)
                try await withThrowingTaskGroup { group in
                    group.addTask { _ = try await upload.run() }
                    try await eventually("the server has the first bytes") {
                        upload.uploads.all.first?.offset == 150_000
                    }
                    group.cancelAll()
                    await #expect(throws: CancellationError.self) { try await group.next() }
                }
                try await upload.run()
                try upload.expectArrival()
                #expect(upload.uploads.all.count == 1)
                #expect(upload.uploads.all.map(\.repeatedByteCount) == [0])
            }
        }

        @Test(arguments: Client.allCases, [ResumableUpload.ietf, .tus])
        func cancellationRemovesTheUploadFromTheServer(client: Client, resumable: ResumableUpload) async throws {
            try await Self.withUpload(over: client, by: resumable) { upload in
                upload.uploads.enqueue(.status(.forbidden), at: .append)
                await #expect(throws: NetworkingError.self) { try await upload.run() }
                #expect(upload.uploads.all.map(\.isAvailable) == [true])
                let wasCancelled = try await upload.network.cancelUpload(.file(upload.file), to: upload.request)
                #expect(wasCancelled)
                #expect(upload.uploads.all.map(\.isAvailable) == [false])
                #expect(upload.server.requests.last?.method == .delete)
            }
        }
    }
}
#endif
