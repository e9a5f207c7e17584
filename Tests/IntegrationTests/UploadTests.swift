#if TestServer && URLSession
import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if AsyncHTTPClient
import NetworkingAsyncHTTPClient
#endif

extension Loopback {
    /// Uploads of every kind of request body over real sockets: delivery, progress, retries, cancellation and temporary
    /// files.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct UploadTests {
        private let network = URLSessionTransport(configuration: .ephemeral)

        /// 1 MiB of bytes that do not repeat.
        private static let pattern = Data(
            (0..<(1 << 17)).flatMap { (place: UInt64) in withUnsafeBytes(of: place, Array.init) }
        )

        private static func bytes(_ count: Int) -> Data {
            var bytes = Data()
            while bytes.count < count {
                bytes.append(pattern.prefix(count - bytes.count))
            }
            return bytes
        }

        /// A stream of `count` bytes, in chunks of 64 KiB.
        private static func stream(_ count: Int) -> AsyncStream<Data> {
            let rest = Mutex(count)
            return AsyncStream {
                rest.withLock { rest in
                    guard rest > 0 else { return nil }
                    let chunk = min(rest, 65_536)
                    rest -= chunk
                    return pattern.prefix(chunk)
                }
            }
        }

        /// The spool files that existed before the test, such as those of a killed test run.
        private let known = Self.allSpools

        private static var allSpools: Set<String> {
            let directory = FileManager.default.temporaryDirectory.path
            let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
            return Set((names ?? []).filter { $0.hasPrefix("networking-") && !$0.hasPrefix("networking-tests-") })
        }

        /// The spool files that the library has created in the temporary directory during the test.
        private var spools: Set<String> {
            Self.allSpools.subtracting(known)
        }

        /// A body on a disk that notes each access on a thread of a task, which a slow disk would block.
        private struct WatchedBody: BodySource {
            let accesses: Journal
            let bytes: Data

            private func note(_ access: String) {
                accesses.note(withUnsafeCurrentTask { $0 == nil } ? access : "\(access) in a task")
            }

            var length: Int64? {
                note("length")
                return Int64(bytes.count)
            }

            var isOnDisk: Bool { true }
            var isReplayable: Bool { true }
            var identity: String? { nil }

            func open() async throws -> any BodyReader { Reader(body: self, rest: bytes) }

            func openNow() throws -> (any BodyReaderNow)? {
                note("open")
                return Reader(body: self, rest: bytes)
            }

            private struct Reader: DiskReader {
                let body: WatchedBody
                var rest: Data

                mutating func nextNow() throws -> Data? {
                    body.note("read")
                    defer { rest = Data() }
                    return rest.isEmpty ? nil : rest
                }
            }
        }

        /// A request with a listener, of whose body the length is needed at several places.
        private func expectNoAccessInATask(
            over network: some NetworkingComponent,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let body = WatchedBody(accesses: Journal(), bytes: Self.bytes(100_000))
                var request = HTTPRequestData(
                    method: .put,
                    body: RequestBody(body, contentType: "text/plain")
                )
                request.addObserver(EventRecorder())
                request.progressHandler = { _ in }
                let response = try await network.server(baseURL: server.url).data(request)
                #expect(response.status == .ok, sourceLocation: sourceLocation)
                let accesses = Set(body.accesses.entries)
                #expect(accesses.isSuperset(of: ["length", "read"]), sourceLocation: sourceLocation)
                #expect(!accesses.contains { $0.hasSuffix("task") }, "\(accesses)", sourceLocation: sourceLocation)
            }
        }

        @Test func fileIsReadOffTheThreadsOfTasks() async throws {
            try await expectNoAccessInATask(over: network)
        }

        #if AsyncHTTPClient
        @Test func fileIsReadOffTheThreadsOfTasksOverAsyncHTTPClient() async throws {
            let network = AsyncHTTPClientTransport()
            try await expectNoAccessInATask(over: network)
            try await network.shutdown()
        }
        #endif

        @Test(arguments: [0, 1, 16_384, 524_288, 524_289, 3_000_000])
        func sendsEveryKindOfBodyUnchanged(size: Int) async throws {
            try await withTemporaryDirectory { directory in
                try await withTestServer { server in
                    server.route("/") { _ in .ok }
                    let bytes = Self.bytes(size)
                    let file = directory.appending(path: "data.bin")
                    try bytes.write(to: file)
                    let bodies: [RequestBody] = [
                        .data(bytes), .file(file), .stream { [bytes].async },
                        .stream([bytes].async, length: Int64(size)),
                        .multipart([.file(file, name: "f"), .text("t", name: "t")], boundary: "B"),
                    ]
                    for body in bodies {
                        let sent = Mutex<[BytesSent]>([])
                        let length = body.length
                        let events = EventRecorder()
                        let request = HTTPRequestData(url: server.url).with { $0.addObserver(events) }
                        try await network.upload(body, to: request) { progress in
                            sent.withLock { sent in
                                if sent.last != progress.sent {
                                    sent.append(progress.sent)
                                }
                            }
                        }
                        let arrived = try #require(server.requests.last)
                        let expected = body.boundaryIsB ? try await body.collect() : bytes
                        #expect(arrived.body == expected)
                        #expect(arrived.headerFields[.contentLength] == "\(expected.count)")
                        #expect(arrived.headerFields[.contentType] == body.contentType)
                        // The progress starts at zero, increases and ends at the full length.
                        let counts = sent.withLock { $0.map(\.count) }
                        let total = Int64(expected.count)
                        #expect(counts.first == 0)
                        #expect(counts.last == total)
                        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 < $1 })
                        #expect(sent.withLock { $0 }.allSatisfy { $0.expected == total })
                        #expect(length == nil || length == total)
                        #expect(events.events.contains { "\($0)".hasPrefix("exchangeEnded(sent: \(total), ") })
                    }
                }
            }
            #expect(spools.isEmpty)
        }

        @Test func retriesAndRedirectsSendTheFileAgain() async throws {
            try await withTemporaryDirectory { directory in
                try await withTestServer { server in
                    server.enqueue(
                        .text("", status: .serviceUnavailable),
                        .redirect(to: "/there", status: .temporaryRedirect),
                        .ok
                    )
                    let file = directory.appending(path: "data.bin")
                    try Self.pattern.write(to: file)
                    let sent = Mutex<[Int64]>([])
                    var request = HTTPRequestData(method: .put, url: server.url)
                    request.isIdempotent = true
                    try await network.retry(.immediate())
                        .upload(.file(file), to: request) { progress in
                            sent.withLock { sent in
                                if sent.last != progress.sent.count {
                                    sent.append(progress.sent.count)
                                }
                            }
                        }
                    #expect(server.requests.map(\.path) == ["/", "/", "/there"])
                    #expect(server.requests.allSatisfy { $0.body == Self.pattern })
                    let counts = sent.withLock { $0 }
                    // Each of the three attempts counts from zero to the full length.
                    #expect(counts.count { $0 == 0 } == 3)
                    #expect(counts.count { $0 == Int64(Self.pattern.count) } == 3)
                    let attempts = counts.split(separator: 0)
                    #expect(attempts.allSatisfy { zip($0, $0.dropFirst()).allSatisfy { $0 < $1 } })
                }
            }
        }

        /// The length is unknown until the end of the response.
        @Test(arguments: [true, false])
        func progressWithoutALengthEndsWithTheReceivedCount(isCompressed: Bool) async throws {
            try await withTestServer { server in
                let gzip = try #require(Data(base64Encoded: "H4sIAAAAAAACA2NgGIwAAN9wyiiWAAAA"))
                server.route("/") { _ in
                    isCompressed
                        ? TestResponse(headerFields: [.contentEncoding: "gzip"], body: .data(gzip))
                        : TestResponse(
                            body: .chunks([TestResponse.Chunk(Data(count: 100)), TestResponse.Chunk(Data(count: 50))])
                        )
                }
                let reports = Mutex<[TransferProgress]>([])
                let request = HTTPRequestData(url: server.url, headerFields: [.acceptEncoding: "gzip"])
                try await network.data(request) { progress in
                    reports.withLock { $0.append(progress) }
                }
                let received = reports.withLock { $0.map(\.received) }
                #expect(received.first == BytesReceived(count: 0))
                #expect(received.dropLast().allSatisfy { $0.expected == nil })
                #expect(received.last == BytesReceived(count: 150, expected: 150))
                #expect(zip(received, received.dropFirst()).allSatisfy { $0.count <= $1.count })
            }
        }

        // MARK: Connections that end

        /// libcurl repeats a request when a kept connection is closed without a response, and reads the body from its
        /// start.
        ///
        /// The server may have processed the first request, so only an idempotent method may be repeated.
        @Test(arguments: ["data", "file", "parts", "stream"], [HTTPRequest.Method.put, .post])
        func repeatsOnlyIdempotentUploadsAfterAKeptConnectionCloses(
            kind: String,
            method: HTTPRequest.Method
        ) async throws {
            try await withTemporaryDirectory { directory in
                try await withTestServer { server in
                    let file = directory.appending(path: "data.bin")
                    try Self.pattern.write(to: file)
                    let body: RequestBody =
                        switch kind {
                        case "data": .data(Self.pattern)
                        case "file": .file(file)
                        case "parts": .multipart([.file(file, name: "f")], boundary: "B")
                        default: .stream { Self.stream(1 << 20) }
                        }
                    let expected = try await body.collect()
                    server.enqueue(.ok, TestResponse(body: .hangUp), .ok)
                    let request = HTTPRequestData(method: method, url: server.url)
                    try await network.data(request)
                    if method == .put {
                        let response = try await network.upload(body, to: request)
                        #expect(response.status == .ok)
                        #expect(server.requests.count == 3)
                    } else {
                        let error = await #expect(throws: NetworkingError.self) {
                            try await network.upload(body, to: request)
                        }
                        #expect(error?.kind == .connectionLost)
                        #expect(server.requests.count == 2)
                    }
                    #expect(server.requests.dropFirst().allSatisfy { $0.body == expected })
                }
            }
        }

        @Test func cancelledUploadsThrowCancellationErrorAndCloseTheirConnections() async throws {
            try await withTemporaryDirectory { directory in
                try await withTestServer(keepingBodiesUpTo: 0) { server in
                    server.route("/") { _ in .ok }
                    let file = sparseFile(of: 8 << 20, in: directory)
                    let request = HTTPRequestData(url: server.url)
                    var cancelled = 0
                    for round in 0..<100 {
                        let body: RequestBody = round % 2 == 0 ? .file(file) : .multipart([.file(file, name: "f")])
                        let (moments, reached) = AsyncStream.makeStream(of: Void.self)
                        let limit = Int64(round) * 90_000
                        let call = Task {
                            defer { reached.finish() }
                            try await network.upload(body, to: request) { progress in
                                if progress.sent.count >= limit {
                                    reached.finish()
                                }
                            }
                        }
                        for await _ in moments {}
                        call.cancel()
                        if case .failure(let error) = await call.result {
                            #expect(error is CancellationError)
                            cancelled += 1
                        }
                    }
                    // An upload may complete before its cancellation, but not each of them.
                    #expect(cancelled > 0)
                    try await server.waitForOpenConnections(1)
                    let after = try await network.upload(.file(file), to: request)
                    #expect(after.status == .ok)
                }
            }
        }

        // MARK: Bad input

        @Test(arguments: ["cut", "grown", "rewritten"])
        func failsWhenTheFileChangesDuringTheUpload(change: String) async throws {
            try await withTemporaryDirectory { directory in
                try await withTestServer(keepingBodiesUpTo: 0) { server in
                    let file = sparseFile(of: 64 << 20, in: directory)
                    let isChanged = Atomic(false)
                    var request = HTTPRequestData(method: .post, url: server.url)
                    request.body = .file(file)
                    server.route("/") { _ in .ok }
                    let error = await #expect(throws: NetworkingError.self) {
                        try await network.data(request) { progress in
                            guard progress.sent.count > 1_000_000, !isChanged.exchange(true, ordering: .relaxed) else {
                                return
                            }
                            switch change {
                            case "cut": truncate(file.path, 10)
                            case "grown": truncate(file.path, 65 << 20)
                            default: utimes(file.path, [timeval(), timeval()])
                            }
                        }
                    }
                    #expect(error?.kind == .storage)
                    #expect(error?.reason.contains("changed while it was being sent") == true)
                    #expect(error?.description.contains(server.authority) == true)
                }
            }
        }

        @Test(arguments: ["/nonexistent/film.mov", "/tmp", "/dev/zero"])
        func failsBeforeConnectingWhenThePathIsNoReadableFile(path: String) async throws {
            try await withTestServer { server in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.upload(.file(URL(filePath: path)), to: HTTPRequestData(url: server.url))
                }
                #expect(error?.kind == .storage)
                #expect(error?.reason.contains(path) == true)
                #expect(server.acceptedConnections == 0)
            }
        }

        @Test func removesTheSpoolFileWhenTheStreamThrows() async throws {
            struct Broken: Error {}
            try await withTestServer { server in
                let broken = AsyncThrowingStream<Data, any Error> { continuation in
                    continuation.yield(Self.pattern)
                    continuation.finish(throwing: Broken())
                }
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.upload(.stream(broken), to: HTTPRequestData(url: server.url))
                }
                #expect(error?.underlying is Broken)
                #expect(server.acceptedConnections == 0)
                #expect(spools.isEmpty)
            }
        }

        @Test func removesTheSpoolFileWhenCancelledWhileSpooling() async throws {
            try await withTestServer { server in
                let (reading, began) = AsyncStream.makeStream(of: Void.self)
                let isFirst = Atomic(true)
                let endless = AsyncThrowingStream<Data, any Error> {
                    if isFirst.exchange(false, ordering: .relaxed) { return Self.pattern }
                    began.yield()
                    try await Suspension<Void>().value()
                    return nil
                }
                let request = HTTPRequestData(url: server.url)
                let call = Task { try await network.upload(.stream(endless), to: request) }
                for await _ in reading { break }
                #if canImport(FoundationNetworking)
                // The file is unlinked, so a killed process does not leave it behind.
                #expect(spools.isEmpty)
                #else
                #expect(spools.count == 1)
                let spool = FileManager.default.temporaryDirectory.appending(path: spools.first ?? "")
                let permissions =
                    try FileManager.default.attributesOfItem(atPath: spool.path)[.posixPermissions] as? Int
                #expect(permissions == 0o600)
                #endif
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                #expect(spools.isEmpty)
                #expect(server.acceptedConnections == 0)
            }
        }

        @Test func removesTheSpoolFileWhenTheUploadIsCancelled() async throws {
            try await withTestServer(keepingBodiesUpTo: 0) { server in
                server.route("/") { _ in .raw(.stall) }
                let request = HTTPRequestData(url: server.url)
                let call = Task { try await network.upload(.stream { Self.stream(3_000_000) }, to: request) }
                try await server.waitForRequests(1)
                #if !canImport(FoundationNetworking)
                #expect(spools.count == 1)
                #endif
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                #expect(spools.isEmpty)
                try await server.waitForOpenConnections(0)
            }
        }

        #if os(Linux)
        /// A limit on the size of files simulates a full disk: the write fails in both cases.
        @Test func reportsAFullDiskAndRemovesTheSpoolFile() async {
            await #expect(processExitsWith: .success) {
                signal(SIGXFSZ, SIG_IGN)
                var limit = rlimit(rlim_cur: 1_000_000, rlim_max: 1_000_000)
                #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
                let before = Self.allSpools
                let error = await #expect(throws: NetworkingError.self) {
                    try await URLSessionTransport(configuration: .ephemeral)
                        .upload(.stream { Self.stream(3_000_000) }, to: HTTPRequestData(authority: "127.0.0.1:1"))
                }
                #expect(error?.kind == .storage)
                #expect(error?.reason.contains("no space left") == true)
                #expect(Self.allSpools == before)
            }
        }

        // MARK: Memory

        /// The uploads run in an exit test, so that other tests do not add to the peak memory.
        @Test(arguments: ["file", "multipart", "stream"])
        func transfersAGibibyteInConstantMemory(kind: String) async throws {
            await #expect(processExitsWith: .success) { [kind] in
                try await withTemporaryDirectory { directory in
                    try await withTestServer(keepingBodiesUpTo: 0) { server in
                        server.route("/") { _ in .ok }
                        let file = sparseFile(of: 1 << 30, in: directory)
                        let body: RequestBody =
                            switch kind {
                            case "file": .file(file)
                            case "multipart": .multipart([.file(file, name: "film")])
                            default: .stream { Self.stream(1 << 30) }
                            }
                        let network = URLSessionTransport(configuration: .ephemeral)
                        let url = server.url
                        try await network.upload(.data(Data(count: 1_000)), to: HTTPRequestData(url: url))
                        let before = peakMemory()
                        try await network.upload(body, to: HTTPRequestData(url: url))
                        #expect(server.requests.last?.bodyByteCount ?? 0 >= 1 << 30)
                        let growth = peakMemory() - before
                        #expect(growth < 32 << 20, "\(growth) bytes")
                    }
                }
            }
        }
        #endif
    }
}

extension RequestBody {
    fileprivate var boundaryIsB: Bool {
        contentType?.hasSuffix("boundary=B") == true
    }
}

extension Array where Element: Sendable {
    /// A stream of the elements.
    fileprivate var async: AsyncStream<Element> {
        AsyncStream { continuation in
            for element in self {
                continuation.yield(element)
            }
            continuation.finish()
        }
    }
}
#endif
