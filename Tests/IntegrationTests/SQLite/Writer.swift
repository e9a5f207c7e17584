#if SQLite && (os(Linux) || os(macOS))
import Foundation
import Synchronization

/// A helper process that writes entries until it completes or is killed.
final class Writer: Sendable {
    private let output: URL
    /// The writing end of the process's input, which the system closes when the tests end.
    private let input: FileHandle
    private let ended = AsyncStream.makeStream(of: Int32.self)
    private let identifier: Int32

    /// Starts the process.
    ///
    /// Its output goes to a file, because processes that start in the meantime would inherit a pipe and keep it open.
    init(_ file: URL, first: Int, count: Int, store: String = "cache") throws {
        output = URL(fileURLWithPath: file.path + "-output-\(first)")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = Self.program
        process.arguments = [store, file.path, "\(first)", "\(count)"]
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

    /// Kills the process when it has acknowledged `count` writes or has ended.
    ///
    /// Returns its status and all acknowledged numbers.
    func killed(after count: Int) async throws -> (status: Int32, acknowledged: [Int]) {
        let reader = try FileHandle(forReadingFrom: output)
        var lines = 0
        while lines < count, kill(identifier, 0) == 0 {
            let new = try reader.read(upToCount: 4096) ?? Data()
            lines += new.count { $0 == UInt8(ascii: "\n") }
            // A file does not signal that it has grown, and polling without a pause takes the core that the writer
            // needs.
            try await Task.sleep(for: .milliseconds(2))
        }
        kill(identifier, SIGKILL)
        return try await end()
    }

    /// Closes the input of the process, as the system does when the tests end.
    func abandon() throws {
        try input.close()
    }

    /// Waits until the process ends and returns its status and the acknowledged numbers.
    func end() async throws -> (status: Int32, acknowledged: [Int]) {
        var status: Int32 = -1
        for await end in ended.stream {
            status = end
        }
        // A number without the end of its line was not acknowledged.
        let lines = try Data(contentsOf: output).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return (status, lines.dropLast().compactMap { Int(String(decoding: $0, as: UTF8.self)) })
    }

    /// The helper program in the directory of the tests.
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
