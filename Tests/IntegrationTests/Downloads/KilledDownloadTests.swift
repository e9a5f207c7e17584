#if URLSession && AsyncHTTPClient && TestServer && os(Linux)
import Foundation
import NetworkingTesting
import HTTPTypes
import Networking
import NetworkingTestServer
import Synchronization
import Testing

#if Crypto
import Crypto
#endif

extension Loopback {
    /// Downloads in separate processes: killed at random moments, with a full disk, and with their memory measured.
    @Suite(.timeLimit(.minutes(20)))
    struct KilledDownloadTests {
        // MARK: Kills

        /// The first byte that the server holds back until the kill, so that the process cannot complete before.
        private struct Stop {
            var byte: Int?
            var gate = Gate()
        }

        /// The maximum number of bytes that the transport has delivered and that are not in the file, if the transport
        /// applies back pressure.
        ///
        /// AsyncHTTPClient delivers the result of one read of the socket and reads again when those bytes are written.
        /// URLSession has no back pressure on Linux: a body that arrives faster than the disk writes is buffered in a
        /// private file, which is lost with the process.
        private static func bufferSize(of client: Client) -> Int? {
            switch client {
            case .urlSession: nil
            case .asyncHTTPClient: 256 << 10
            }
        }

        /// Provides a directory for the output of processes, one for the downloads, and a server.
        private func withPlaces(
            _ body: nonisolated(nonsending) (_ outputs: URL, _ directory: URL, TestServer) async throws -> Void
        ) async throws {
            try await withTemporaryDirectory { outputs in
                try await withTemporaryDirectory { directory in
                    try await withTestServer { server in try await body(outputs, directory, server) }
                }
            }
        }

        @Test(arguments: Client.allCases)
        func eachKillLosesLessThanOneBuffer(client: Client) async throws {
            let seed =
                ProcessInfo.processInfo.environment["DOWNLOAD_SEED"].flatMap { UInt64($0) }
                ?? .random(in: 0...UInt64(UInt32.max))
            var random = RandomSource.seeded(seed)
            try await withPlaces { outputs, directory, server in
                let served = ServedFile(byteCount: 64 << 20)
                let stop = Mutex(Stop())
                server.route(.get, "/film") { request in
                    let stop = stop.withLock { $0 }
                    return served.response(to: request, stoppingAt: stop.byte, for: stop.gate)
                }
                let url = server.url.appending(path: "film")
                let file = directory.appending(path: "film.bin")
                let part = directory.appending(path: "film.bin.download")
                var kept = 0
                var firstBytes: [Int?] = []
                for round in 0..<10 {
                    let moment = kept + .random(in: 0...(served.count - kept) / 6, using: &random)
                    let end = moment + .random(in: 1...(served.count - moment) / 8, using: &random)
                    let about: Comment =
                        "round \(round) of \(client), killed at \(moment), stopped at \(end), DOWNLOAD_SEED=\(seed)"
                    stop.withLock { $0 = Stop(byte: end) }
                    firstBytes.append(kept > 0 ? kept : nil)
                    let process = try DownloaderProcess(
                        over: client,
                        url,
                        to: file,
                        output: outputs.appending(path: "\(round)")
                    )
                    let report = try await process.killed { report in
                        report.kept ?? -1 >= moment && server.requests.count > round
                    }
                    let size = try? FileManager.default.attributesOfItem(atPath: part.path)[.size] as? Int
                    let start = kept
                    kept = size ?? 0
                    #expect(report.status == SIGKILL, about)
                    // The file contains all bytes that the process has reported, and no more than the server
                    // has sent.
                    #expect(report.kept ?? 0 <= kept && kept <= end, about)
                    let lost = start + (report.arrived ?? 0) - kept
                    if let buffer = Self.bufferSize(of: client) {
                        #expect(lost < buffer, about)
                    }
                    #expect(server.requests.map(\.firstByte) == firstBytes, about)
                    guard kept < served.count else { break }
                }
                stop.withLock { $0 = Stop() }
                firstBytes.append(kept > 0 ? kept : nil)
                let output = outputs.appending(path: "last")
                let report = try await DownloaderProcess(over: client, url, to: file, output: output).end()
                #expect(report.status == 0)
                #expect(report.done?.count == served.count && report.done?.resumed == kept)
                #expect(server.requests.map(\.firstByte) == firstBytes, "DOWNLOAD_SEED=\(seed)")
                let bytes = try Data(contentsOf: file)
                #if Crypto
                #expect(SHA256.hash(data: bytes) == SHA256.hash(data: served.bytes), "DOWNLOAD_SEED=\(seed)")
                #endif
                #expect(bytes == served.bytes, "DOWNLOAD_SEED=\(seed)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["film.bin"])
            }
        }

        // MARK: Space

        /// A limit on the size of files simulates a full disk: the write fails in both cases.
        @Test(arguments: Client.allCases)
        func reportsAFullDiskAndKeepsThePartialFile(client: Client) async throws {
            try await withPlaces { outputs, directory, server in
                let served = ServedFile(byteCount: 8 << 20)
                let url = server.url.appending(path: "film")
                let file = directory.appending(path: "film.bin")
                let part = directory.appending(path: "film.bin.download")
                for (limit, start) in [(3_000_000, nil), (3_000_000, 3_000_000), (5_000_000, 3_000_000)] {
                    // The bytes beyond the limit fit into memory, because the limit also applies to the buffer
                    // file.
                    server.route(.get, "/film") { request in
                        served.response(to: request, stoppingAt: limit + 10_000)
                    }
                    let process = try DownloaderProcess(
                        over: client,
                        url,
                        to: file,
                        "\(limit)",
                        output: outputs.appending(path: "\(server.requests.count)")
                    )
                    let report = await process.end()
                    #expect(report.status == 1)
                    #expect(report.failure?.hasPrefix("storage ") == true)
                    #expect(report.failure?.contains("There is no space left for \(part.path)") == true)
                    #expect(try Data(contentsOf: part) == served.bytes.prefix(limit))
                    #expect(try DownloadState(at: file)?.byteCount == Int64(limit))
                    #expect(server.requests.last?.firstByte == start)
                }
                server.route(.get, "/film") { request in served.response(to: request) }
                let output = outputs.appending(path: "last")
                let report = try await DownloaderProcess(over: client, url, to: file, output: output).end()
                #expect(report.done?.resumed == 5_000_000)
                #expect(try Data(contentsOf: file) == served.bytes)
                #expect(server.requests.last?.firstByte == 5_000_000)
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["film.bin"])
            }
        }

        // MARK: Memory

        @Test(arguments: Client.allCases)
        func transfersAGibibyteInConstantMemory(client: Client) async throws {
            try await withPlaces { outputs, directory, server in
                let chunk = TestResponse.Chunk(Data(repeating: 1, count: 1 << 20))
                server.route("/film") { _ in
                    TestResponse(
                        headerFields: [.eTag: "\"1\""],
                        body: .sized(Array(repeating: chunk, count: 1_024))
                    )
                }
                let file = directory.appending(path: "film.bin")
                let process = try DownloaderProcess(
                    over: client,
                    server.url.appending(path: "film"),
                    to: file,
                    "quiet",
                    output: outputs.appending(path: "output")
                )
                let report = await process.end()
                #expect(report.done?.count == 1 << 30)
                #expect(report.failure == nil)
                let peak = try #require(report.peakMemory)
                // The process itself takes 60 to 80 MB, most of them code.
                #expect(peak < 96 << 20, "\(peak) bytes")
            }
        }
    }
}
#endif
