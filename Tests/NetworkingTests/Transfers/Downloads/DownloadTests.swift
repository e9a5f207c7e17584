import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCore

/// Downloads to a file from a server that follows the RFC, over connections that fail.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DownloadTests {
    private static let bytes = Data((0..<100).map { UInt8($0) })
    private let request = HTTPRequestData(url: URL(string: "https://files.example/film.mp4")!)

    /// Runs a test with a path for a file, and then checks that only the expected files are left.
    private func withPlace(
        leaving names: Set<String> = ["film"],
        _ body: nonisolated(nonsending) (URL) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try await body(directory.appending(path: "film"))
            #expect(Set(try FileManager.default.contentsOfDirectory(atPath: directory.path)) == names)
        }
    }

    private func expectError(
        _ kind: NetworkingError.Kind,
        saying text: String = "",
        _ call: nonisolated(nonsending) () async throws -> DownloadedFile,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        do {
            let file = try await call()
            Issue.record("\(file) arrived", sourceLocation: sourceLocation)
        } catch let error as NetworkingError {
            #expect(error.kind == kind, sourceLocation: sourceLocation)
            #expect(text.isEmpty || error.reason.contains(text), "\(error)", sourceLocation: sourceLocation)
        } catch {
            Issue.record(error, sourceLocation: sourceLocation)
        }
    }

    // MARK: Without a destination

    @Test func downloadWithoutADestinationIsATemporaryFile() async throws {
        func names() throws -> Set<String> {
            let names = try FileManager.default.contentsOfDirectory(atPath: FileManager.default.temporaryDirectory.path)
            return Set(names.filter { $0.contains("networking-download-") })
        }
        let before = try names()
        let origin = FileOrigin(Self.bytes)
        let file = try await origin.download(request)
        let directory = file.url.deletingLastPathComponent()
        #expect(try Data(contentsOf: file.url) == Self.bytes)
        #expect(file.url.lastPathComponent == "film.mp4")
        let mode = try FileManager.default.attributesOfItem(atPath: directory.path)[.posixPermissions]
        #expect(mode as? Int == 0o700)
        let other = try await origin.download(request)
        #expect(other.url != file.url)
        try FileManager.default.removeItem(at: directory)
        try FileManager.default.removeItem(at: other.url.deletingLastPathComponent())

        let refused = MockTransport { _ in .status(.notFound) }
        await expectError(.status) { try await refused.download(request) }
        #expect(try names().subtracting(before).isEmpty)
    }

    // MARK: One exchange

    @Test func downloadsAFile() async throws {
        try await withPlace { place in
            let origin = FileOrigin(Self.bytes)
            let progressReports = Mutex<[BytesReceived]>([])
            let file = try await origin.download(request, to: place) { progress in
                progressReports.withLock { $0.append(progress.received) }
            }
            #expect(try Data(contentsOf: place) == Self.bytes)
            #expect(file.url.path == place.path && file.byteCount == 100 && file.resumedByteCount == 0)
            #expect(file.response.status == .ok && file.response.body == .delivered(byteCount: 100))
            #expect(file.response.request == request)
            let counts = progressReports.withLock { $0.map(\.count) }
            #expect(counts == counts.sorted() && counts.first == 0 && counts.last == 100)
            #expect(progressReports.withLock { $0.last?.fractionCompleted } == 1)
            let permissions = try FileManager.default.attributesOfItem(atPath: place.path)[.posixPermissions] as? Int
            #expect(permissions == 0o600)
            #expect(origin.requests.first?.headerFields[.acceptEncoding] == "identity")
            #expect(origin.ranges == [nil])
        }
    }

    @Test func downloadsAnEmptyFile() async throws {
        try await withPlace { place in
            let progressReports = Mutex<[BytesReceived]>([])
            let file = try await FileOrigin(Data())
                .download(request, to: place) { progress in
                    progressReports.withLock { $0.append(progress.received) }
                }
            #expect(try Data(contentsOf: place).isEmpty && file.byteCount == 0)
            #expect(progressReports.withLock { $0.last } == BytesReceived(count: 0, expected: 0))
        }
    }

    @Test func downloadsAFileOfUnknownLength() async throws {
        try await withPlace { place in
            let head = HTTPResponse(status: .ok, headerFields: [.eTag: "\"1\""])
            let file = try await FileOrigin(Data(), [:], .responds(head, Self.bytes)).download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes && file.byteCount == 100)
        }
    }

    @Test func pageOfAnErrorIsNotStored() async throws {
        try await withPlace(leaving: []) { place in
            let origin = FileOrigin(Self.bytes, [:], .responds(HTTPResponse(status: .notFound), Data("gone".utf8)))
            let error = await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            #expect(error?.kind == .status && error?.bodyText == "gone")
        }
    }

    @Test func storesABodyThatAModifierHasCollected() async throws {
        try await withPlace { place in
            let transport = MockTransport([.ok(Self.bytes, headerFields: [.eTag: "\"1\""])])
            let network = transport.retry().cached()
            try await network.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes)
        }
    }

    @Test func allModifiersApplyToADownload() async throws {
        try await withPlace { place in
            let origin = FileOrigin(
                Self.bytes,
                [:],
                .responds(HTTPResponse(status: .serviceUnavailable), Data("busy".utf8))
            )
            let network = origin.retry(.exponential(base: .zero)).server(authority: "files.example")
            try await network.download(HTTPRequestData(path: "film.mp4"), to: place)
            #expect(try Data(contentsOf: place) == Self.bytes)
            #expect(
                origin.requests.map { $0.url?.absoluteString }
                    == Array(repeating: "https://files.example/film.mp4", count: 2)
            )
        }
    }

    @Test func progressIncludesSentBytes() async throws {
        try await withPlace { place in
            let progressReports = Mutex<[TransferProgress]>([])
            let post = HTTPRequestData(method: .post, url: request.url!, body: .data(Data("which?".utf8)))
                .with { $0.progressHandler = { progress in progressReports.withLock { $0.append(progress) } } }
            let transport = MockTransport([.ok(Self.bytes)])
            let reports = Mutex<[TransferProgress]>([])
            try await transport.download(post, to: place) { progress in
                reports.withLock { $0.append(progress) }
            }
            let seen = reports.withLock { $0 }
            #expect(seen == progressReports.withLock { $0 })
            #expect(seen.first == TransferProgress(sent: BytesSent(count: 0, expected: 6)))
            #expect(
                seen.last
                    == TransferProgress(
                        sent: BytesSent(count: 6, expected: 6),
                        received: BytesReceived(count: 100, expected: 100)
                    )
            )
        }
    }

    // MARK: Resuming

    @Test func resumesAfterTheReceivedBytes() async throws {
        try await withPlace { place in
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .breaks(after: 37))
            await expectError(.connectionLost) { try await origin.download(request, to: place) }
            #expect(!FileManager.default.fileExists(atPath: place.path))
            try expectPartialFile(37, of: place)
            #expect(try DownloadState(at: place)?.fractionCompleted == 0.37)

            let progressReports = Mutex<[Int64]>([])
            let file = try await origin.download(request, to: place) { progress in
                progressReports.withLock { $0.append(progress.received.count) }
            }
            #expect(try Data(contentsOf: place) == Self.bytes)
            #expect(file.byteCount == 100 && file.resumedByteCount == 37 && file.response.status == .partialContent)
            #expect(origin.ranges == [nil, "bytes=37-"])
            #expect(origin.requests.last?.headerFields[.ifRange] == "\"1\"")
            #expect(progressReports.withLock { $0.first } == 37 && progressReports.withLock { $0.last } == 100)
            #expect(try DownloadState(at: place) == nil)
        }
    }

    @Test func resumesAfterASingleByte() async throws {
        try await withPlace { place in
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .breaks(after: 1))
            await #expect(throws: NetworkingError.self) { try await origin.download(request, to: place) }
            try expectPartialFile(1, of: place)
            try await origin.download(request, to: place)
            #expect(origin.ranges == [nil, "bytes=1-"])
            #expect(try Data(contentsOf: place) == Self.bytes)
        }
    }

    @Test func retryResumesTheDownload() async throws {
        try await withPlace { place in
            let origin = FileOrigin(
                Self.bytes,
                [.eTag: "\"1\""],
                .breaks(after: 30),
                .fails(.connection),
                .breaks(after: 33)
            )
            let progressReports = Mutex<[Int64]>([])
            let file = try await origin.retry(.exponential(base: .zero, maximumRetries: 5))
                .download(request, to: place) { progress in
                    progressReports.withLock { $0.append(progress.received.count) }
                }
            #expect(try Data(contentsOf: place) == Self.bytes)
            #expect(origin.ranges == [nil, "bytes=30-", "bytes=30-", "bytes=63-"])
            #expect(file.response.attempts.count == 3)
            // This call has not resumed an earlier one.
            #expect(file.resumedByteCount == 0)
            let counts = progressReports.withLock { $0 }
            #expect(counts == counts.sorted())
        }
    }

    @Test func retryThroughACacheAndAWrappedSinkResumes() async throws {
        struct SinkWatching: NetworkingModifier {
            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                var request = request
                request.sink = request.sink.map { WatchedSink($0) { _ in } }
                return try await upstream.send(request)
            }
        }
        try await withPlace { place in
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\"", .cacheControl: "max-age=60"], .breaks(after: 40))
            let network = origin.retry(.exponential(base: .zero)).modified(SinkWatching())
                .cached().modified(SinkWatching())
            try await network.download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes)
            #expect(origin.ranges == [nil, "bytes=40-"])
        }
    }

    @Test func retriesOfADownloadRespectBudgetAndDeadline() async throws {
        try await withPlace(leaving: ["film.download", "film.download-state"]) { place in
            let origin = FileOrigin(
                Self.bytes,
                [.eTag: "\"1\""],
                .breaks(after: 10),
                .breaks(after: 10),
                .breaks(after: 10)
            )
            let budget = RetryBudget(.ratio(0, reserve: 1, over: .seconds(3_600)))
            let error = await #expect(throws: NetworkingError.self) {
                try await origin.retry(.exponential(base: .zero), budget: budget).download(request, to: place)
            }
            #expect(error?.retryRefusal == .budget && origin.requests.count == 2)
            try expectPartialFile(20, of: place)

            let clock = ManualClock()
            let late = await #expect(throws: NetworkingError.self) {
                try await origin.retry(.exponential(base: .seconds(60), cap: .seconds(60), jitter: .none))
                    .deadline(.seconds(30))
                    .environment(\.clock, .manual(clock)).download(request, to: place)
            }
            #expect(late?.retryRefusal == .deadline)
            try expectPartialFile(30, of: place)
        }
    }

    @Test func completePartialFileIsValidatedWithItsLastByte() async throws {
        try await withPlace(leaving: ["film", "other"]) { place in
            let origin = FileOrigin(Self.bytes)
            try Data("x".utf8).write(to: place.deletingLastPathComponent().appending(path: "other"))
            let other = place.deletingLastPathComponent().appending(path: "other")
            // All bytes have arrived when another file takes the name.
            let network = origin.modified(NameOccupying(place: place))
            await expectError(.storage, saying: "already") { try await network.download(request, to: place) }
            #expect(try Data(contentsOf: place) == Data("taken".utf8))
            try expectPartialFile(100, of: place)

            let file = try await origin.download(request, to: .file(place, ifExists: .replace))
            #expect(origin.ranges == [nil, "bytes=99-"] && file.resumedByteCount == 99)
            #expect(try Data(contentsOf: place) == Self.bytes && Data(contentsOf: other) == Data("x".utf8))
        }
    }

    /// Creates a file at the destination when the download has arrived.
    private struct NameOccupying: NetworkingModifier {
        let place: URL

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            let response = try await upstream.send(request)
            try Data("taken".utf8).write(to: place)
            return response
        }
    }

    @Test func serverThatSendsSmallRangesIsRequestedAgain() async throws {
        try await withPlace { place in
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .breaks(after: 10))
            origin.sendAtMost(40)
            try await origin.retry(.exponential(base: .zero)).download(request, to: place)
            #expect(try Data(contentsOf: place) == Self.bytes)
            #expect(origin.ranges == [nil, "bytes=10-", "bytes=50-", "bytes=90-"])
        }
    }

    // MARK: Validators

    /// Each case has the header fields of the first response and the condition of the next request.
    @Test(
        arguments: [
            ([.eTag: "\"1\""], "\"1\""),
            ([.eTag: "\"1\"", .acceptRanges: "bytes"], "\"1\""),
            ([.eTag: "\"1\"", .acceptRanges: "none"], nil),
            ([.eTag: "W/\"1\""], nil),
            (
                [
                    .eTag: "W/\"1\"", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT",
                    .date: "Sun, 06 Nov 1994 08:50:00 GMT",
                ], nil
            ),
            ([.eTag: "1"], nil),
            ([:], nil),
            (
                [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .date: "Sun, 06 Nov 1994 08:49:38 GMT"],
                "Sun, 06 Nov 1994 08:49:37 GMT"
            ),
            ([.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .date: "Sun, 06 Nov 1994 08:49:37 GMT"], nil),
            ([.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"], nil),
            ([.lastModified: "yesterday", .date: "Sun, 06 Nov 1994 08:49:37 GMT"], nil),
            (
                [
                    .eTag: "\"1\"", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT",
                    .date: "Sun, 06 Nov 1994 08:50:00 GMT",
                ], "\"1\""
            ),
        ] as [(HTTPFields, String?)]
    )
    func resumesWithAStrongValidatorOnly(fields: HTTPFields, condition: String?) async throws {
        try await withPlace { place in
            let origin = FileOrigin(Self.bytes, fields, .breaks(after: 37))
            await expectError(.connectionLost) { try await origin.download(request, to: place) }
            try expectPartialFile((condition == nil ? nil : 37), of: place)
            if condition == nil {
                // A partial file that could never be resumed is deleted.
                #expect(!FileManager.default.fileExists(atPath: place.path + ".download"))
            }
            try await origin.download(request, to: place)
            #expect(origin.ranges == [nil, condition == nil ? nil : "bytes=37-"])
            #expect(origin.requests.last?.headerFields[.ifRange] == condition)
            #expect(try Data(contentsOf: place) == Self.bytes)
        }
    }

    @Test func bodyOfUnknownLengthOrWithACodingIsNotResumed() async throws {
        for fields: HTTPFields in [[:], [.contentLength: "100", .contentEncoding: "br"]] {
            try await withPlace { place in
                let head = HTTPResponse(status: .ok, headerFields: fields)
                let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""])
                let broken = FailingAtTheEnd(upstream: FileOrigin(Data(), [:], .responds(head, Self.bytes)))
                await expectError(.connectionLost) { try await broken.download(request, to: place) }
                try await origin.download(request, to: place)
                #expect(origin.ranges == [nil])
            }
        }
    }

    /// A transport that fails after the last byte and before the end.
    private struct FailingAtTheEnd<Upstream: NetworkingComponent>: NetworkingComponent {
        let upstream: Upstream

        func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            guard request.isUnderway else { return try await begin(request) }
            _ = try await upstream.send(request)
            throw NetworkingError(.connectionLost, request: request)
        }
    }

    @Test func onlyAGETWithoutARangeIsResumed() async throws {
        let part = request.with { $0.headerFields[.range] = "bytes=10-" }
        let post = request.with { $0.method = .post }
        for request in [part, post] {
            try await withPlace { place in
                let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .breaks(after: 20))
                await expectError(.connectionLost) { try await origin.download(request, to: place) }
                #expect(try DownloadState(at: place) == nil)
                try await origin.download(request, to: place)
                let isPart = request.method == .get
                #expect(origin.ranges == Array(repeating: isPart ? "bytes=10-" : nil, count: 2))
                #expect(try Data(contentsOf: place) == (isPart ? Self.bytes[10...] : Self.bytes))
            }
        }
    }

    @Test func partialFileOfAnotherURLIsNotResumed() async throws {
        try await withPlace { place in
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .breaks(after: 20))
            await expectError(.connectionLost) { try await origin.download(request, to: place) }
            try await origin.download(request.with { $0.query.version = "2" }, to: place)
            #expect(origin.ranges == [nil, nil])
            #expect(try Data(contentsOf: place) == Self.bytes)
        }
    }

    @Test func signedURLIsResumedByItsKey() async throws {
        try await withPlace { place in
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .breaks(after: 20))
            let options = DownloadOptions(resumptionKey: "film 42")
            await expectError(.connectionLost) {
                try await origin.download(request.with { $0.query.signature = "a" }, to: place, options: options)
            }
            let state = try String(contentsOfFile: place.path + ".download-state", encoding: .utf8)
            #expect(!state.contains("signature") && !state.contains("film 42"))
            try await origin.download(request.with { $0.query.signature = "b" }, to: place, options: options)
            #expect(origin.ranges == [nil, "bytes=20-"])
        }
    }

    @Test func partialFileOfAnotherUserIsNotResumed() async throws {
        try await withPlace { place in
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .breaks(after: 20), .breaks(after: 20))
            for user in ["a", "b", "b"] {
                _ = try? await origin.modified(SignedIn(as: user)).download(request, to: place)
            }
            #expect(origin.ranges == [nil, nil, "bytes=20-"])
        }
    }

    // MARK: Checksums

    @Test func checksumCoversTheWholeFile() async throws {
        try await withPlace { place in
            let origin = FileOrigin(Self.bytes, [.eTag: "\"1\""], .breaks(after: 50))
            let sum = Checksum(expected: Data([UInt8(truncatingIfNeeded: 4950)])) { Sum() }
            let options = DownloadOptions(checksum: sum)
            await expectError(.connectionLost) { try await origin.download(request, to: place, options: options) }
            try await origin.download(request, to: place, options: options)
            #expect(origin.ranges == [nil, "bytes=50-"])
        }
    }

    @Test func fileWithAnotherChecksumIsDeleted() async throws {
        try await withPlace(leaving: []) { place in
            let options = DownloadOptions(checksum: Checksum(expected: Data([1])) { Sum() })
            await expectError(.checksumMismatch, saying: "56 instead of the expected 01") {
                try await FileOrigin(Self.bytes).download(request, to: place, options: options)
            }
        }
    }

    /// A checksum that adds up all bytes.
    private struct Sum: ChecksumFunction {
        var sum: UInt8 = 0

        mutating func update(_ bytes: Data) {
            sum = bytes.reduce(sum, &+)
        }

        func finish() -> Data {
            Data([sum])
        }
    }

    @Test func cancelledCallDoesNotReadTheRestOfAFileForItsChecksum() async throws {
        try await withPlace(leaving: []) { place in
            let journal = Journal()
            let transport = MockTransport { _ in .ok(Data(count: 3 << 20)) }
            let options = DownloadOptions(checksum: Checksum(expected: Data()) { Cancelling(journal: journal) })
            let call = Task { try await transport.download(request, to: place, options: options) }
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(journal.entries == ["read"])
        }
    }

    /// A checksum that cancels its task when it gets bytes.
    private struct Cancelling: ChecksumFunction {
        let journal: Journal

        mutating func update(_ bytes: Data) {
            journal.note("read")
            withUnsafeCurrentTask { $0?.cancel() }
        }

        func finish() -> Data {
            Data()
        }
    }

    #if Crypto
    @Test func checksumsMatchThoseOfCommandLineTools() async throws {
        // The vectors of FIPS 180-4 for "abc".
        let sums: [Checksum] = [
            .sha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            .sha384(
                "CB00753F45A35E8BB5A03D699AC65007272C32AB0EDED1631A8B605A43FF5BED8086072BA1E7CC2358BAECA134C825A7"
            ),
            .sha512(
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                    + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
            ),
        ]
        for sum in sums {
            try await withPlace { place in
                try await FileOrigin(Data("abc".utf8))
                    .download(request, to: place, options: DownloadOptions(checksum: sum))
            }
        }
        for wrong in ["", "ba78", String(repeating: "g", count: 64), "é"] {
            try await withPlace(leaving: []) { place in
                let origin = FileOrigin(Self.bytes)
                await expectError(.invalidRequest, saying: "64 hexadecimal digits") {
                    try await origin.download(request, to: place, options: DownloadOptions(checksum: .sha256(wrong)))
                }
                #expect(origin.requests.isEmpty)
            }
        }
    }
    #endif
}
