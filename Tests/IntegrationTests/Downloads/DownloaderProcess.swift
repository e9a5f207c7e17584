#if os(Linux)
import Foundation

/// A helper process that downloads a file until it completes or is killed.
struct DownloaderProcess: Sendable {
    /// The output of the process.
    struct Report {
        /// The exit status, or the signal that ended the process.
        var status: Int32 = -1
        /// The number of bytes of this exchange that the transport has delivered.
        var arrived: Int?
        /// The number of bytes of all requests that were passed to the transport.
        var passed: Int?
        /// The number of bytes in the file, or `nil` before the first request.
        var kept: Int?
        var done: (count: Int, resumed: Int)?
        /// The kind and the description of the error.
        var failure: String?
        var peakMemory: Int?

        fileprivate mutating func read(_ line: Substring) {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2 else { return }
            let numbers = parts[1].split(separator: " ").compactMap { Int($0) }
            switch (parts[0], numbers.count) {
            case ("arrived", 1): arrived = numbers[0]
            case ("passed", 1): passed = numbers[0]
            case ("kept", 1): kept = numbers[0]
            case ("done", 2): done = (numbers[0], numbers[1])
            case ("failed", _): failure = String(parts[1])
            case ("peak", 1): peakMemory = numbers[0]
            default: break
            }
        }
    }

    private let process: ChildProcess

    /// Starts the process.
    init(over client: Client, _ url: URL, to file: URL, _ option: String? = nil, output: URL) throws {
        let arguments = [client.rawValue, url.absoluteString, file.path] + (option.map { [$0] } ?? [])
        process = try ChildProcess("Downloader", arguments, output: output)
    }

    /// Kills the process when a condition on its report is true, unless it has ended, and returns the report.
    func killed(when condition: (Report) -> Bool) async throws -> Report {
        let reader = try FileHandle(forReadingFrom: process.output)
        var (report, rest) = (Report(), Data())
        while !condition(report), process.isRunning {
            rest += try reader.read(upToCount: 65_536) ?? Data()
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                report.read(Substring(decoding: rest[..<end], as: UTF8.self))
                rest = rest[rest.index(after: end)...]
            }
            await Task.yield()
        }
        process.end()
        return await end()
    }

    /// Waits until the process ends and returns its report.
    func end() async -> Report {
        var report = Report()
        report.status = await process.status()
        for line in process.lines {
            report.read(line[...])
        }
        return report
    }
}
#endif
