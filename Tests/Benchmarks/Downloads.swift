#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import AsyncHTTPClient
import Foundation
import NIOCore
import Networking
import NetworkingAsyncHTTPClient

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A file of 1 GiB over each transport against what its client offers for that, and how much memory it takes.
enum Downloads {
    private static let rounds = 5
    private static let byteCount = 1 << 30

    static func measureURLSession() async throws -> [Row] {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let raw = URLSession(configuration: configuration)
        defer { raw.invalidateAndCancel() }
        return try await measure("URLSession", URLSessionTransport(configuration: configuration)) { url, file in
            let (temporary, _) = try await raw.download(from: url)
            try FileManager.default.moveItem(at: temporary, to: file)
            try synchronize(file)
        }
    }

    static func measureAsyncHTTPClient() async throws -> [Row] {
        let raw = HTTPClient()
        let transport = AsyncHTTPClientTransport()
        let rows = try await measure("AsyncHTTPClient", transport) { url, file in
            let delegate = try FileDownloadDelegate(path: file.path)
            _ = try await raw.execute(request: HTTPClient.Request(url: url), delegate: delegate).get()
            try synchronize(file)
        }
        try await transport.shutdown()
        try await raw.shutdown()
        return rows
    }

    /// Downloads in turns, each time to a file that is not there yet.
    private static func measure(
        _ name: String,
        _ network: some NetworkingComponent,
        raw: (URL, URL) async throws -> Void
    ) async throws -> [Row] {
        try await ChildProcess.withServer { server in
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

            let ratio = try await Measurement.ratio(rounds: rounds) {
                try await network.download(HTTPRequestData(url: url), to: file)
                try check(file)
            } to: {
                try await raw(url, file)
                try check(file)
            }
            return [
                Row(name: "\(name): a file of 1 GiB, on the disk", value: ratio.median, unit: "x", gate: 0.9),
                Row(name: "\(name): memory for that", value: Double(peak >> 20), unit: "MiB", gate: 64),
            ]
        }
    }

    /// Waits for the disk, as the library does before it renames a file.
    ///
    /// Otherwise one of the two would wait for the
    /// unwritten bytes of the other.
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
