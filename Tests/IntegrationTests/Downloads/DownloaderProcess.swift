#if os(Linux)
import Foundation

/// A helper process that downloads a file until it completes or is killed.
final class DownloaderProcess: Sendable {
    /// The output of the process.
    struct Report {
        /// The exit status, or the signal that ended the process.
        var status: Int32 = -1
        /// The number of bytes of this exchange that the transport has delivered.
        var arrived: Int?
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
            case ("kept", 1): kept = numbers[0]
            case ("done", 2): done = (numbers[0], numbers[1])
            case ("failed", _): failure = String(parts[1])
            case ("peak", 1): peakMemory = numbers[0]
            default: break
            }
        }
    }

    private let output: URL
    /// The writing end of the process's input, which the system closes when the tests end.
    private let input: FileHandle
    private let ended = AsyncStream.makeStream(of: Int32.self)
    private let identifier: Int32

    /// Starts the process.
    ///
    /// Its output goes to a file, because processes that start in the meantime would inherit a pipe and keep it open.
    init(over client: Client, _ url: URL, to file: URL, _ option: String? = nil, output: URL) throws {
        self.output = output
        try Data().write(to: output)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            .deletingLastPathComponent().appending(path: "Downloader")
        process.arguments = [client.rawValue, url.absoluteString, file.path] + (option.map { [$0] } ?? [])
        let pipe = Pipe()
        input = pipe.fileHandleForWriting
        // Prevents processes that start in the meantime from keeping it open.
        _ = fcntl(input.fileDescriptor, F_SETFD, FD_CLOEXEC)
        process.standardInput = pipe
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.terminationHandler = { [continuation = ended.continuation] process in
            continuation.yield(process.terminationStatus)
            continuation.finish()
        }
        try process.run()
        identifier = process.processIdentifier
    }

    /// Kills the process when a condition on its report is true, unless it has ended, and returns the report.
    func killed(when condition: (Report) -> Bool) async throws -> Report {
        let reader = try FileHandle(forReadingFrom: output)
        var (report, rest) = (Report(), Data())
        while !condition(report), kill(identifier, 0) == 0 {
            rest += try reader.read(upToCount: 65_536) ?? Data()
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                report.read(Substring(decoding: rest[..<end], as: UTF8.self))
                rest = rest[rest.index(after: end)...]
            }
            await Task.yield()
        }
        kill(identifier, SIGKILL)
        return try await end()
    }

    /// Waits until the process ends and returns its report.
    func end() async throws -> Report {
        var report = Report()
        for await end in ended.stream {
            report.status = end
        }
        // An incomplete last line is ignored.
        for line in String(decoding: try Data(contentsOf: output), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        {
            report.read(line)
        }
        return report
    }
}
#endif
