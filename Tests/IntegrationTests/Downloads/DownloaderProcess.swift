#if os(Linux)
import Foundation

/// A process of the program beside the tests that downloads a file, which goes on until it is done or is killed.
final class DownloaderProcess: Sendable {
    /// What it has told.
    struct Report {
        /// How it ended, or what killed it.
        var status: Int32 = -1
        /// How many bytes of this exchange have come from the transport.
        var arrived: Int?
        /// How many bytes are in the file; nil before it has asked for any.
        var kept: Int?
        var done: (count: Int, resumed: Int)?
        /// The kind of the error and its description.
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

    /// Starts it.
    ///
    /// Its output goes to a file: other processes that start meanwhile would inherit a pipe, and keep it open.
    init(over client: Client, _ url: URL, to file: URL, _ option: String? = nil, output: URL) throws {
        self.output = output
        try Data().write(to: output)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
            .deletingLastPathComponent().appending(path: "Downloader")
        process.arguments = [client.rawValue, url.absoluteString, file.path] + (option.map { [$0] } ?? [])
        let pipe = Pipe()
        input = pipe.fileHandleForWriting
        // Other processes that start meanwhile must not keep it open.
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

    /// Kills it at a moment, unless it has ended before, and returns what it has told.
    func killed(when isMoment: (Report) -> Bool) async throws -> Report {
        let reader = try FileHandle(forReadingFrom: output)
        var (report, rest) = (Report(), Data())
        while !isMoment(report), kill(identifier, 0) == 0 {
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

    /// Waits for its end, and returns what it has told.
    func end() async throws -> Report {
        var report = Report()
        for await end in ended.stream {
            report.status = end
        }
        // A line without its end is not told.
        for line in String(decoding: try Data(contentsOf: output), as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        {
            report.read(line)
        }
        return report
    }
}
#endif
