#if SQLite && (os(Linux) || os(macOS))
import Foundation
import Synchronization

/// A process of the program beside the tests, which writes until it has done its part or is killed.
final class Writer: Sendable {
    private let output: URL
    /// The writing end of the process's input, which the system closes when the tests end.
    private let input: FileHandle
    private let ended = AsyncStream.makeStream(of: Int32.self)
    private let identifier: Int32

    /// Starts it.
    ///
    /// Its output goes to a file: other processes that start meanwhile would inherit a pipe, and keep it open.
    init(_ file: URL, first: Int, count: Int) throws {
        output = URL(fileURLWithPath: file.path + "-output-\(first)")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = Self.program
        process.arguments = [file.path, "\(first)", "\(count)"]
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

    /// Kills it when it has acknowledged so many or has ended, and returns the status and all that it has acknowledged.
    func killed(after count: Int) async throws -> (status: Int32, acknowledged: [Int]) {
        let reader = try FileHandle(forReadingFrom: output)
        var lines = 0
        while lines < count, kill(identifier, 0) == 0 {
            let new = try reader.read(upToCount: 4096) ?? Data()
            lines += new.count { $0 == UInt8(ascii: "\n") }
            // A file tells nobody that it has grown, and looking without a pause takes the core that the writer needs.
            try await Task.sleep(for: .milliseconds(2))
        }
        kill(identifier, SIGKILL)
        return try await end()
    }

    /// Closes its input, as the system does when the tests end.
    func abandon() throws {
        try input.close()
    }

    /// Waits for its end, and returns the status and what it has acknowledged.
    func end() async throws -> (status: Int32, acknowledged: [Int]) {
        var status: Int32 = -1
        for await end in ended.stream {
            status = end
        }
        // A number without the end of its line was not acknowledged.
        let lines = try Data(contentsOf: output).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return (status, lines.dropLast().compactMap { Int(String(decoding: $0, as: UTF8.self)) })
    }

    /// Beside the tests, wherever these were built.
    private static var program: URL {
        #if os(macOS)
        let tests = Bundle(for: Writer.self).bundleURL
        #else
        let tests = URL(fileURLWithPath: CommandLine.arguments[0])
        #endif
        return tests.deletingLastPathComponent().appending(path: "SQLiteWriter")
    }
}
#endif
