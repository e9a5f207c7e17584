#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Networking
import NetworkingAsyncHTTPClient

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A file of 1 GiB over each transport against what its client offers for that, and how much memory it takes.
enum Transfers {
    private static let byteCount = 1 << 30

    /// What a client offers for a file.
    private struct Client {
        /// Writes the body at an address to a file.
        let download: (_ url: URL, _ file: URL) async throws -> Void
        /// Sends a file to an address.
        let upload: (_ file: URL, _ url: URL) async throws -> Void
    }

    /// Measures both clients in a number of rounds.
    static func measure(rounds: Int) async throws -> [Row] {
        var rows = try await ChildProcess.withServer { try await measureURLSession($0, rounds) }
        rows += try await ChildProcess.withServer { try await measureAsyncHTTPClient($0, rounds) }
        return rows
    }

    private static func measureURLSession(_ server: URL, _ rounds: Int) async throws -> [Row] {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let raw = URLSession(configuration: configuration)
        defer { raw.invalidateAndCancel() }
        let client = Client { url, file in
            let (temporary, _) = try await raw.download(from: url)
            try FileManager.default.moveItem(at: temporary, to: file)
        } upload: { file, url in
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            _ = try await raw.upload(for: request, fromFile: file)
        }
        return try await measure(
            "URLSession",
            URLSessionTransport(configuration: configuration),
            client,
            server,
            rounds
        )
    }

    private static func measureAsyncHTTPClient(_ server: URL, _ rounds: Int) async throws -> [Row] {
        let raw = HTTPClient()
        let transport = AsyncHTTPClientTransport()
        let client = Client { url, file in
            let delegate = try FileDownloadDelegate(path: file.path)
            _ = try await raw.execute(request: HTTPClient.Request(url: url), delegate: delegate).get()
        } upload: { file, url in
            let handle = try open(file)
            defer { try? handle.close() }
            let region = FileRegion(fileHandle: handle, readerIndex: 0, endIndex: byteCount)
            let eventLoop = raw.eventLoopGroup.next()
            let body = HTTPClient.Body.stream(contentLength: Int64(byteCount)) { writer in
                NonBlockingFileIO(threadPool: .singleton)
                    .readChunked(fileRegion: region, allocator: ByteBufferAllocator(), eventLoop: eventLoop) { chunk in
                        writer.write(.byteBuffer(chunk))
                    }
            }
            let request = try HTTPClient.Request(url: url, method: .PUT, body: body)
            let response = try await raw.execute(request: request, eventLoop: .delegateAndChannel(on: eventLoop)).get()
            precondition(response.status == .ok)
        }
        let rows = try await measure("AsyncHTTPClient", transport, client, server, rounds)
        try await transport.shutdown()
        try await raw.shutdown()
        return rows
    }

    /// Transfers files in turns: downloads each time to a file that is not there yet, uploads of one file.
    private static func measure(
        _ name: String,
        _ network: some NetworkingComponent,
        _ client: Client,
        _ server: URL,
        _ rounds: Int
    ) async throws -> [Row] {
        let url = server.appending(path: "gibibyte")
        let folder = FileManager.default.temporaryDirectory.appending(path: "networking-benchmarks-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "file")

        // First, before another download has used memory.
        let before = PeakMemory.reset()
        try await network.download(HTTPRequestData(url: url), to: file)
        let peak = PeakMemory.current - before
        try check(file)

        let downloads = try await Measurement.ratio(rounds: rounds) {
            try await network.download(HTTPRequestData(url: url), to: file)
            try check(file)
        } to: {
            try await client.download(url, file)
            try synchronize(file)
            try check(file)
        }

        // A hole, which no disk slows down.
        try Data().write(to: file)
        try FileHandle(forUpdating: file).truncate(atOffset: UInt64(byteCount))
        let target = server.appending(path: "upload")
        let uploads = try await Measurement.ratio(rounds: rounds) {
            try await network.upload(.file(file), to: HTTPRequestData(.put, target))
        } to: {
            try await client.upload(file, target)
        }
        return [
            Row(name: "\(name): 1 GiB to a file, with fsync", value: downloads.median, unit: "x", gate: 0.9),
            Row(name: "\(name): memory for that", value: Double(peak >> 20), unit: "MiB", gate: 64),
            Row(name: "\(name): 1 GiB from a file", value: uploads.median, unit: "x"),
        ]
    }

    /// Opens a file, which asynchronous code must not do.
    private static func open(_ file: URL) throws -> NIOFileHandle {
        try NIOFileHandle(_deprecatedPath: file.path)
    }

    /// Waits for the disk, as the library does before it renames a file.
    ///
    /// Otherwise one of the two would wait for the unwritten bytes of the other.
    private static func synchronize(_ file: URL) throws {
        try FileHandle(forUpdating: file).synchronize()
    }

    /// Removes a file, which has to be complete.
    private static func check(_ file: URL) throws {
        let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
        precondition(size == byteCount)
        try FileManager.default.removeItem(at: file)
    }
}

/// The maximum memory of the process so far, in bytes; 0 on systems other than Linux.
private enum PeakMemory {
    static var current: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) << 10
    }

    /// Resets the maximum to the current memory (proc(5), `clear_refs`), and returns it.
    static func reset() -> Int {
        try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
        return current
    }
}
#endif
