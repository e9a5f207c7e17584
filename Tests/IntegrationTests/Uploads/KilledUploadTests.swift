#if URLSession && AsyncHTTPClient && TestServer && os(Linux)
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import Testing

#if Crypto
import Crypto
#endif

extension Loopback {
    /// Uploads in separate processes: with many lost connections, killed and relaunched, and with their memory measured.
    @Suite(.timeLimit(.minutes(20)))
    struct KilledUploadTests {
        /// The number of lost connections and of kills.
        private static let (resets, kills) = (60, 3)

        /// Writes a file of bytes that do not repeat, without having it in memory as a whole.
        ///
        /// - Returns: Its SHA-256 digest in hexadecimal digits; `nil` without the trait `Crypto`.
        private static func write(_ byteCount: Int, to file: URL) throws -> String? {
            try Data().write(to: file)
            let handle = try FileHandle(forWritingTo: file)
            defer { try? handle.close() }
            let pattern = ServedFile(byteCount: 1 << 20).bytes
            #if Crypto
            var hash = SHA256()
            #endif
            for number in 0..<byteCount >> 20 {
                let block = withUnsafeBytes(of: number) { Data($0) } + pattern.dropFirst(8)
                try handle.write(contentsOf: block)
                #if Crypto
                hash.update(data: block)
                #endif
            }
            #if Crypto
            return hash.finalize().map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
            #else
            return nil
            #endif
        }

        /// A run with 1 GiB: `UPLOAD_MEBIBYTES=1024`.
        private static var byteCount: Int {
            max(8, ProcessInfo.processInfo.environment["UPLOAD_MEBIBYTES"].flatMap { Int($0) } ?? 8) << 20
        }

        @Test(arguments: Client.allCases, TestUploads.UploadProtocol.allCases)
        func arrivesAfterManyLostConnectionsAndKills(
            client: Client,
            uploadProtocol: TestUploads.UploadProtocol
        ) async throws {
            let seed =
                ProcessInfo.processInfo.environment["UPLOAD_SEED"].flatMap { UInt64($0) }
                ?? .random(in: 0...UInt64(UInt32.max))
            let about: Comment = "UPLOAD_SEED=\(seed)"
            var random = RandomSource.seeded(seed)
            let byteCount = Self.byteCount
            try await withTemporaryDirectory { outputs in
                try await withTemporaryDirectory { directory in
                    try await withTestServer { server in
                        let file = directory.appending(path: "film.bin")
                        let digest = try Self.write(byteCount, to: file)
                        // A lost connection costs the bytes of a block that the server has not stored yet.
                        let blockSize = max(1_024, byteCount >> 14)
                        let uploads = server.routeUploads(
                            "/films",
                            options: TestUploads.Options(protocols: [uploadProtocol], blockSize: blockSize)
                        )
                        // The faults together leave bytes for an undisturbed end.
                        let longest = byteCount / (Self.resets + Self.kills)
                        for _ in 0..<Self.kills {
                            for _ in 0..<Self.resets / Self.kills {
                                let count = Int.random(in: longest / 4...longest, using: &random)
                                uploads.enqueue(.disconnect(.reset, after: .bytes(count)), at: .append)
                            }
                            let count = Int.random(in: longest / 4...longest, using: &random)
                            // The process waits for the server until it is killed.
                            uploads.enqueue(.disconnect(.stall, after: .bytes(count)), at: .append)
                        }
                        let url = server.url.appending(path: "films")
                        let faults = Self.resets + Self.kills
                        // Includes the bytes that a lost connection left in the buffers of the system.
                        var passedCount = 0
                        for kill in 1...Self.kills {
                            let left = faults - kill * faults / Self.kills
                            let process = try DownloaderProcess(
                                over: client,
                                url,
                                to: file,
                                "upload",
                                output: outputs.appending(path: "\(kill)")
                            )
                            let report = try await process.killed { _ in
                                uploads.queuedFaults(at: .append).count <= left
                            }
                            passedCount += report.passed ?? 0
                            #expect(report.status == SIGKILL, about)
                            #expect(report.failure == nil, about)
                            #expect(uploads.all.map(\.isComplete) == [false], about)
                        }
                        let output = outputs.appending(path: "last")
                        let last = try DownloaderProcess(over: client, url, to: file, "upload", output: output)
                        let report = await last.end()
                        #expect(report.status == 0, about)
                        #expect(report.failure == nil, about)
                        let arrived = try #require(uploads.all.first)
                        passedCount += report.passed ?? 0
                        #expect(passedCount > byteCount / 2, about)
                        if ProcessInfo.processInfo.environment["UPLOAD_MEBIBYTES"] != nil {
                            print(
                                "\(client) \(uploadProtocol): \(byteCount) bytes, \(arrived.repeatedByteCount) of them "
                                    + "received twice, \(passedCount) passed to the transport"
                            )
                        }
                        #expect(uploads.all.count == 1, about)
                        #expect(arrived.isComplete && arrived.offset == Int64(byteCount), about)
                        #expect(arrived.sha256 == digest, about)
                        #expect(arrived.repeatedByteCount < Int64(byteCount / 50), about)
                        #expect(uploads.queuedFaults(at: .append).isEmpty, about)
                        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
                        #expect(names == ["film.bin"], about)
                        let peak = try #require(report.peakMemory)
                        #expect(peak < 96 << 20, "\(peak) bytes")
                    }
                }
            }
        }

        @Test(arguments: Client.allCases)
        func uploadsInConstantMemory(client: Client) async throws {
            try await withTemporaryDirectory { directory in
                try await withTestServer { server in
                    let uploads = server.routeUploads("/films")
                    let file = sparseFile(of: 256 << 20, in: directory)
                    let process = try DownloaderProcess(
                        over: client,
                        server.url.appending(path: "films"),
                        to: file,
                        "upload",
                        output: directory.appending(path: "output")
                    )
                    let report = await process.end()
                    #expect(report.failure == nil)
                    #expect(report.done?.count == 256 << 20)
                    #expect(uploads.all.map(\.offset) == [256 << 20])
                    let peak = try #require(report.peakMemory)
                    // The process itself takes 60 to 80 MB, most of them code.
                    #expect(peak < 96 << 20, "\(peak) bytes")
                }
            }
        }
    }
}
#endif
