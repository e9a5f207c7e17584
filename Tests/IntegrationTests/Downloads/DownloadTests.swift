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
    /// Downloads over real sockets, from servers that lose connections or send wrong metadata.
    @Suite(.timeLimit(.minutes(20)))
    struct DownloadTests {
        private static let served = ServedFile(byteCount: 3_000_000)
        /// A shorter file, so that a test notices leftover bytes of the longer one.
        private static let another = ServedFile(byteCount: 2_900_000, eTag: "\"2\"", salt: 1)
        private static let half = 1_500_000

        /// Downloads half of the file, until the server closes the connection.
        @discardableResult
        private static func downloadHalf(
            of served: ServedFile,
            in file: URL,
            _ network: any NetworkingComponent,
            _ server: TestServer,
            adding fields: HTTPFields = [:]
        ) async -> NetworkingError? {
            let gate = Gate()
            server.enqueue(served.lost(after: half, for: gate, adding: fields))
            let error = await #expect(throws: NetworkingError.self) {
                try await network.download(HTTPRequestData(url: server.url), to: file) { progress in
                    if progress.received.count == half {
                        gate.open()
                    }
                }
            }
            #expect(gate.isOpen)
            return error
        }

        private static func names(beside file: URL) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path).sorted()
        }

        private static func firstBytes(of server: TestServer) -> [Int?] {
            server.requests.map(\.firstByte)
        }

        /// Downloads from a server over a client, into a directory of the test.
        ///
        /// The server sends the requested range of the file, unless `response` returns other responses.
        private static func withDownload(
            over client: Client,
            response: @escaping @Sendable (RecordedRequest) -> TestResponse = { DownloadTests.served.response(to: $0) },
            perform: nonisolated(nonsending) (ServedFile, TestServer, AnyNetworkingComponent, URL) async throws -> Void
        ) async throws {
            try await withTemporaryDirectory { directory in
                try await withTestServer { server in
                    server.route(.get, "/") { request in response(request) }
                    let network = AnyNetworkingComponent(client.makeTransport())
                    try await perform(served, server, network, directory.appending(path: "film.bin"))
                }
            }
        }

        // MARK: Lost connections

        @Test(arguments: Client.allCases)
        func retryResumesAfterALostConnection(client: Client) async throws {
            try await withTemporaryDirectory { directory in
                try await withTestServer { server in
                    let served = Self.served
                    let gates = [Gate(), Gate()]
                    server.enqueue(served.lost(after: Self.half, for: gates[0]))
                    server.route(.get, "/") { request in served.response(to: request) }
                    let network = client.makeTransport().retry(.immediate())
                    let file = directory.appending(path: "film.bin")
                    let counts = Mutex<[Int64]>([])
                    let downloaded = try await network.download(HTTPRequestData(url: server.url), to: file) {
                        progress in
                        counts.withLock { $0.append(progress.received.count) }
                        if progress.received.count == Self.half {
                            gates[0].open()
                        }
                    }
                    #expect(try Data(contentsOf: file) == served.bytes)
                    #expect(Self.firstBytes(of: server) == [nil, Self.half])
                    #expect(server.requests.map { $0.headerFields[.ifRange] } == [nil, served.eTag])
                    #expect(server.requests.allSatisfy { $0.headerFields[.acceptEncoding] == "identity" })
                    #expect(downloaded.byteCount == Int64(served.count))
                    #expect(downloaded.response.status == .partialContent)
                    let reported = counts.withLock { $0 }
                    #expect(
                        zip(reported, reported.dropFirst()).allSatisfy { $0 <= $1 }
                            && reported.last == Int64(served.count)
                    )
                    #expect(try Self.names(beside: file) == ["film.bin"])
                }
            }
        }

        @Test(arguments: Client.allCases)
        func nextCallResumesAFailedDownload(client: Client) async throws {
            try await Self.withDownload(over: client) { served, server, network, file in
                let error = await Self.downloadHalf(of: served, in: file, network, server)
                #expect(error?.kind == .connectionLost)
                #expect(try Self.names(beside: file) == ["film.bin.download", "film.bin.download-state"])
                let kept = try #require(try DownloadState(at: file))
                #expect(kept.byteCount == Int64(Self.half))
                #expect(kept.expectedByteCount == Int64(served.count))
                // A new transport, as in another process.
                let downloaded = try await client.makeTransport()
                    .download(HTTPRequestData(url: server.url), to: file)
                #expect(downloaded.resumedByteCount == Int64(Self.half))
                #expect(try Data(contentsOf: file) == served.bytes)
                #expect(Self.firstBytes(of: server) == [nil, Self.half])
                #expect(try Self.names(beside: file) == ["film.bin"])
            }
        }

        // MARK: Unexpected responses to a range request

        /// The second response of the server, to the request that resumes the download.
        enum SecondResponse: CaseIterable, Sendable {
            case wholeFile
            case wholeOtherFile
            case notSatisfiable
            case partOfOtherFile
            case partOfOtherLength
            case compressed
            case compressedPart

            func response(to request: RecordedRequest, _ served: ServedFile, _ another: ServedFile) -> TestResponse {
                let part = served.response(to: request)
                // A request without a range gets the whole file.
                guard let start = request.firstByte else { return served.response(to: request) }
                switch self {
                case .wholeFile:
                    return TestResponse(headerFields: served.headerFields, body: .data(served.bytes))
                case .wholeOtherFile:
                    return TestResponse(headerFields: another.headerFields, body: .data(another.bytes))
                case .notSatisfiable:
                    return TestResponse(
                        status: .rangeNotSatisfiable,
                        headerFields: [.contentRange: "bytes */\(served.count)"]
                    )
                case .partOfOtherFile:
                    var part = part
                    part.headerFields[.eTag] = another.eTag
                    part.body = .data(another.bytes[start...])
                    return part
                case .partOfOtherLength:
                    var part = part
                    part.headerFields[.contentRange] = "bytes \(start)-\(served.count - 1)/\(served.count + 1)"
                    return part
                case .compressed:
                    return TestResponse(
                        headerFields: served.headerFields + [.contentEncoding: "gzip"],
                        body: .data(served.bytes.storedAsGzip)
                    )
                case .compressedPart:
                    var part = part
                    part.headerFields[.contentEncoding] = "gzip"
                    part.body = .data(served.bytes[start...].storedAsGzip)
                    return part
                }
            }

            var isOtherFile: Bool {
                self == .wholeOtherFile
            }

            /// The first requested byte of each request.
            var firstBytes: [Int?] {
                switch self {
                case .wholeFile, .wholeOtherFile, .compressed, .compressedPart: [nil, DownloadTests.half]
                case .notSatisfiable, .partOfOtherFile, .partOfOtherLength: [nil, DownloadTests.half, nil]
                }
            }
        }

        /// Downloads half of a file from a server that gives another response to the request for the rest.
        private static func withHalf(
            over client: Client,
            then second: SecondResponse,
            perform: nonisolated(nonsending) (ServedFile, TestServer, AnyNetworkingComponent, URL) async throws -> Void
        ) async throws {
            try await withDownload(over: client) { request in
                second.response(to: request, Self.served, Self.another)
            } perform: { served, server, network, file in
                await downloadHalf(of: served, in: file, network, server)
                try await perform(served, server, network, file)
            }
        }

        @Test(arguments: Client.allCases, SecondResponse.allCases)
        func completesTheFileAfterAnyResponseToARangeRequest(client: Client, second: SecondResponse) async throws {
            try await Self.withHalf(over: client, then: second) { served, server, network, file in
                let downloaded = try await network.download(HTTPRequestData(url: server.url), to: file)
                #expect(try Data(contentsOf: file) == (second.isOtherFile ? Self.another : served).bytes)
                #expect(Self.firstBytes(of: server) == second.firstBytes)
                #expect(downloaded.resumedByteCount == (second == .compressedPart ? Int64(Self.half) : 0))
                #expect(try Self.names(beside: file) == ["film.bin"])
            }
        }

        @Test(arguments: Client.allCases, [SecondResponse.wholeOtherFile, .notSatisfiable, .partOfOtherFile])
        func reportsAChangedFileIfTheAppAsksForIt(client: Client, second: SecondResponse) async throws {
            try await Self.withHalf(over: client, then: second) { served, server, network, file in
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.download(
                        HTTPRequestData(url: server.url),
                        to: file,
                        options: DownloadOptions(changedFile: .fail)
                    )
                }
                #expect(error?.kind == .representationChanged)
                #expect(try DownloadState(at: file)?.byteCount == Int64(Self.half))
                let part = try Data(contentsOf: file.appendingPathExtension("download"))
                #expect(part == served.bytes.prefix(Self.half))
            }
        }

        /// An invalid range is an error and does not remove the partial file.
        @Test(
            arguments: Client.allCases,
            [
                // Ranges after and before the requested one, of a shorter body, reversed, beyond the end, and in
                // another unit.
                "bytes 1500010-2999999/3000000", "bytes 1499990-2999999/3000000", "bytes 1500000-2000000/3000000",
                "bytes 2999999-1500000/3000000", "bytes 1500000-3000000/3000000", "lines 1-2/3",
            ]
        )
        func rejectsAnInvalidContentRange(client: Client, range: String) async throws {
            try await Self.withDownload(over: client) { served, server, network, file in
                await Self.downloadHalf(of: served, in: file, network, server)
                var lie = TestResponse(
                    status: .partialContent,
                    headerFields: served.headerFields,
                    body: .data(served.bytes[Self.half...])
                )
                lie.headerFields[.contentRange] = range
                server.enqueue(lie)
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.download(HTTPRequestData(url: server.url), to: file)
                }
                #expect(error?.kind == .invalidResponse)
                #expect(error?.reason.contains("The partial file is kept.") == true)
                try await network.download(HTTPRequestData(url: server.url), to: file)
                #expect(try Data(contentsOf: file) == served.bytes)
                #expect(Self.firstBytes(of: server) == [nil, Self.half, Self.half])
            }
        }

        /// The response has no Content-Length, so only the received bytes show the excess.
        @Test(arguments: Client.allCases)
        func rejectsMoreBytesThanTheRangeAnnounces(client: Client) async throws {
            try await Self.withDownload(over: client) { served, server, network, file in
                await Self.downloadHalf(of: served, in: file, network, server)
                var fields = served.headerFields
                fields[.contentRange] = "bytes \(Self.half)-\(served.count - 1)/\(served.count)"
                let tooMuch = Data(repeating: 1, count: served.count)
                server.enqueue(
                    TestResponse(
                        status: .partialContent,
                        headerFields: fields,
                        body: .chunks([TestResponse.Chunk(tooMuch)])
                    )
                )
                let error = await #expect(throws: NetworkingError.self) {
                    try await network.download(HTTPRequestData(url: server.url), to: file)
                }
                #expect(error?.kind == .invalidResponse)
                try await network.download(HTTPRequestData(url: server.url), to: file)
                #expect(try Data(contentsOf: file) == served.bytes)
                #expect(Self.firstBytes(of: server) == [nil, Self.half, Self.half])
            }
        }

        /// Without a strong validator, a later response cannot be matched with the partial file.
        @Test(arguments: Client.allCases, ["a weak ETag", "a compressed body", "no ranges"])
        func removesAPartialFileThatCannotBeResumed(client: Client, flaw: String) async throws {
            try await withTemporaryDirectory { directory in
                try await withTestServer { server in
                    let served = ServedFile(byteCount: 3_000_000, eTag: flaw == "a weak ETag" ? "W/\"1\"" : "\"1\"")
                    var fields: HTTPFields = [:]
                    if flaw == "no ranges" {
                        fields[.acceptRanges] = "none"
                    }
                    let network = client.makeTransport()
                    let file = directory.appending(path: "film.bin")
                    if flaw == "a compressed body" {
                        let bytes = served.bytes.storedAsGzip
                        server.enqueue(
                            TestResponse(
                                headerFields: served.headerFields + [
                                    .contentEncoding: "gzip", .contentLength: "\(bytes.count)",
                                ],
                                body: .data(bytes.prefix(Self.half))
                            )
                        )
                        await #expect(throws: NetworkingError.self) {
                            try await network.download(HTTPRequestData(url: server.url), to: file)
                        }
                    } else {
                        await Self.downloadHalf(of: served, in: file, network, server, adding: fields)
                    }
                    #expect(try Self.names(beside: file) == [])
                    server.route(.get, "/") { request in served.response(to: request) }
                    try await network.download(HTTPRequestData(url: server.url), to: file)
                    #expect(try Data(contentsOf: file) == served.bytes)
                    #expect(Self.firstBytes(of: server) == [nil, nil])
                }
            }
        }

        // MARK: Groups

        @Test(arguments: Client.allCases)
        func cancelledGroupClosesItsConnections(client: Client) async throws {
            try await withTemporaryDirectory { directory in
                try await withTestServer { server in
                    let served = Self.served
                    let isHeld = Mutex(true)
                    server.route(.get, "/:name") { request in
                        served.response(to: request, stoppingAt: isHeld.withLock { $0 } ? Self.half : nil)
                    }
                    let network = client.makeTransport()
                    let group = TransferGroup()
                    let files = (0..<4).map { directory.appending(path: "\($0).bin") }
                    let transfers = files.map { file in
                        network.transfer(
                            downloading: HTTPRequestData(url: server.url.appending(path: file.lastPathComponent)),
                            to: file,
                            in: group
                        )
                    }
                    for transfer in transfers {
                        for await progress in transfer.progress where progress.received.count == Self.half { break }
                    }
                    #expect(group.count == 4 && server.openConnections == 4)
                    #expect(group.progress.received == BytesReceived(count: 6_000_000, expected: 12_000_000))
                    group.cancelAll()
                    for transfer in transfers {
                        await #expect(throws: CancellationError.self) { try await transfer.value }
                    }
                    try await server.waitForOpenConnections(0)
                    try await eventually("the group is empty") { group.count == 0 }
                    isHeld.withLock { $0 = false }
                    for file in files {
                        #expect(try DownloadState(at: file)?.byteCount == Int64(Self.half))
                        let request = HTTPRequestData(url: server.url.appending(path: file.lastPathComponent))
                        #expect(try await network.download(request, to: file).resumedByteCount == Int64(Self.half))
                        #expect(try Data(contentsOf: file) == served.bytes)
                    }
                }
            }
        }
    }
}

extension Data {
    /// The bytes in the gzip format, stored without compression (RFC 1951 section 3.2.4, RFC 1952).
    fileprivate var storedAsGzip: Data {
        var result = Data([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
        var rest = self[...]
        repeat {
            let block = rest.prefix(65_535)
            rest = rest.dropFirst(block.count)
            let length = UInt16(block.count)
            result.append(rest.isEmpty ? 1 : 0)
            for number in [length, ~length] {
                result.append(contentsOf: [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)])
            }
            result.append(block)
        } while !rest.isEmpty
        for number in [crc32, UInt32(truncatingIfNeeded: count)] {
            result.append(contentsOf: (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
        }
        return result
    }

    private var crc32: UInt32 {
        let table = (0..<256)
            .map { (index: UInt32) in
                (0..<8).reduce(index) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xedb8_8320 }
            }
        return withUnsafeBytes { bytes in
            var value = ~UInt32(0)
            for byte in bytes {
                value = value >> 8 ^ table[Int(UInt8(truncatingIfNeeded: value) ^ byte)]
            }
            return ~value
        }
    }
}
#endif
