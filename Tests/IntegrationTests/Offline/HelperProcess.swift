#if os(Linux)
import Foundation
import Synchronization

/// A process of the program OfflineHelper, which is built next to the tests.
final class HelperProcess: Sendable {
    private let output: URL
    /// The writing end of the process's input, which the system closes when the tests end.
    private let input: FileHandle
    private let ended = AsyncStream.makeStream(of: Int32.self)
    private let identifier: Int32

    /// Starts the process.
    ///
    /// Its output goes to a file, because processes that start in the meantime would inherit a pipe and keep it open.
    init(_ arguments: [String], output: URL) throws {
        self.output = output
        try Data().write(to: output)
        let process = Process()
        process.executableURL = Self.program
        process.arguments = arguments
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

    /// The complete lines of the output.
    var lines: [String] {
        let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Kills the process when it has printed `count` lines or has ended.
    ///
    /// Returns its status and all lines.
    func killed(afterLines count: Int) async throws -> (status: Int32, lines: [String]) {
        while lines.count < count, kill(identifier, 0) == 0 {
            // A file notifies no reader that it has grown.
            try await Task.sleep(for: .milliseconds(1))
        }
        kill(identifier, SIGKILL)
        return try await end()
    }

    /// Waits until the process ends and returns its status and its lines.
    func end() async throws -> (status: Int32, lines: [String]) {
        var status: Int32 = -1
        for await end in ended.stream {
            status = end
        }
        return (status, lines)
    }

    /// The helper program in the directory of the tests.
    static var program: URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "OfflineHelper")
    }
}
#endif
