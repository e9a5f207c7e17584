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

/// A large file over each transport against what its client offers for that, and how much memory it takes.
enum Transfers {
    /// What a client offers for a file.
    private struct Client {
        /// Writes the body at an address to a file.
        let download: (_ url: URL, _ file: URL) async throws -> Void
        /// Sends a file to an address.
        let upload: (_ file: URL, _ url: URL) async throws -> Void
    }

    /// What is transferred, and where.
    private struct File {
        let server: URL
        let mebibytes: Int

        init(_ server: URL, mebibytes: Int) {
            self.server = server
            self.mebibytes = mebibytes
        }

        var byteCount: Int {
            mebibytes << 20
        }

        var size: String {
            mebibytes < 1_024 ? "\(mebibytes) MiB" : "1 GiB"
        }
    }

    /// Measures both clients in a number of rounds.
    static func measure(rounds: Int) async throws -> [Row] {
        var rows = try await ChildProcess.withServer { try await measureURLSession(File($0, mebibytes: 1_024), rounds) }
        rows += try await ChildProcess.withServer {
            try await measureAsyncHTTPClient(File($0, mebibytes: 1_024), rounds)
        }
        #if SecureTestServer
        rows += try await ChildProcess.withServer("serve-http2", scheme: "https") {
            try await measureAsyncHTTPClient(File($0, mebibytes: 128), rounds)
        }
        #endif
        return rows
    }

    private static func measureURLSession(_ transfer: File, _ rounds: Int) async throws -> [Row] {
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
            transfer,
            rounds
        )
    }

    private static func measureAsyncHTTPClient(_ transfer: File, _ rounds: Int) async throws -> [Row] {
        func configured(_ configuration: HTTPClient.Configuration) -> HTTPClient.Configuration {
            var configuration = configuration
            #if SecureTestServer
            if transfer.server.scheme == "https" {
                configuration.tlsConfiguration = HTTP2.client
            }
            #endif
            return configuration
        }
        let raw = HTTPClient(configuration: configured(HTTPClient.Configuration()))
        let transport = AsyncHTTPClientTransport(configuration: configured(.networking))
        let client = Client { url, file in
            let delegate = try FileDownloadDelegate(path: file.path)
            _ = try await raw.execute(request: HTTPClient.Request(url: url), delegate: delegate).get()
        } upload: { file, url in
            let handle = try open(file)
            defer { try? handle.close() }
            let region = FileRegion(fileHandle: handle, readerIndex: 0, endIndex: transfer.byteCount)
            let eventLoop = raw.eventLoopGroup.next()
            let body = HTTPClient.Body.stream(contentLength: Int64(transfer.byteCount)) { writer in
                NonBlockingFileIO(threadPool: .singleton)
                    .readChunked(fileRegion: region, allocator: ByteBufferAllocator(), eventLoop: eventLoop) { chunk in
                        writer.write(.byteBuffer(chunk))
                    }
            }
            let request = try HTTPClient.Request(url: url, method: .PUT, body: body)
            let response = try await raw.execute(request: request, eventLoop: .delegateAndChannel(on: eventLoop)).get()
            precondition(response.status == .ok)
        }
        let rows = try await measure("AsyncHTTPClient", transport, client, transfer, rounds)
        try await transport.shutdown()
        try await raw.shutdown()
        return rows
    }

    /// Transfers files in turns: downloads each time to a file that is not there yet, uploads of one file.
    private static func measure(
        _ name: String,
        _ network: some NetworkingComponent,
        _ client: Client,
        _ transfer: File,
        _ rounds: Int
    ) async throws -> [Row] {
        let url = transfer.server.appending(path: "mebibytes/\(transfer.mebibytes)")
        let folder = FileManager.default.temporaryDirectory.appending(path: "networking-benchmarks-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "file")

        // First, before another download has used memory.
        let before = PeakMemory.reset()
        try await network.download(HTTPRequestData(url: url), to: file)
        let peak = PeakMemory.current - before
        try check(file, transfer)

        let downloads = try await Measurement.ratio(rounds: rounds) {
            try await network.download(HTTPRequestData(url: url), to: file)
            try check(file, transfer)
        } to: {
            try await client.download(url, file)
            try synchronize(file)
            try check(file, transfer)
        }

        // A hole, which no disk slows down.
        try Data().write(to: file)
        try FileHandle(forUpdating: file).truncate(atOffset: UInt64(transfer.byteCount))
        let target = transfer.server.appending(path: "upload")
        let uploads = try await Measurement.ratio(rounds: rounds) {
            try await network.upload(.file(file), to: HTTPRequestData(.put, target))
        } to: {
            try await client.upload(file, target)
        }
        let isHTTP2 = transfer.server.scheme == "https"
        let name = name + (isHTTP2 ? " over HTTP/2" : "")
        // Over HTTP/2 AsyncHTTPClient accepts 8 MiB ahead, in several buffers.
        let memory: Double = isHTTP2 ? 128 : 64
        return [
            Row(name: "\(name): \(transfer.size) to a file, with fsync", value: downloads.median, unit: "x", gate: 0.9),
            Row(name: "\(name): memory for that", value: Double(peak >> 20), unit: "MiB", gate: memory),
            Row(name: "\(name): \(transfer.size) from a file", value: uploads.median, unit: "x"),
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
    private static func check(_ file: URL, _ transfer: File) throws {
        let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
        precondition(size == transfer.byteCount)
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
