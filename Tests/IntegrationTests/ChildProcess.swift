#if os(Linux) || os(macOS)
import Foundation

/// A process of a program that is built next to the tests, until it completes or is killed.
final class ChildProcess: Sendable {
    let output: URL
    /// The writing end of the process's input, which the system closes when the tests end.
    private let input: FileHandle
    private let ended = AsyncStream.makeStream(of: Int32.self)
    private let identifier: Int32

    /// Starts the process.
    ///
    /// Its output goes to a file, because processes that start in the meantime would inherit a pipe and keep it open.
    ///
    /// - Parameters:
    ///   - program: The name of the program.
    ///   - arguments: The arguments of the program.
    ///   - output: The file for its output.
    ///   - environment: The variables that it has beside those of the tests.
    /// - Throws: An error if the process cannot be started.
    init(_ program: String, _ arguments: [String], output: URL, environment: [String: String] = [:]) throws {
        self.output = output
        try Data().write(to: output)
        let process = Process()
        process.executableURL = Self.url(of: program)
        process.arguments = arguments
        // A process that is killed leaves temporary files, also those of SQLite, which the test removes with its output.
        process.environment = ProcessInfo.processInfo.environment
            .merging(["TMPDIR": output.deletingLastPathComponent().path]) { _, own in own }
            .merging(environment) { _, own in own }
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

    var isRunning: Bool {
        kill(identifier, 0) == 0
    }

    /// Kills the process, unless it has ended.
    func end() {
        kill(identifier, SIGKILL)
    }

    /// Asks the process to end, as the system does before it stops.
    func terminate() {
        kill(identifier, SIGTERM)
    }

    /// Stops the process without an end, so that its connections hang.
    func pause() {
        kill(identifier, SIGSTOP)
    }

    /// Closes the input of the process, as the system does when the tests end.
    func abandon() throws {
        try input.close()
    }

    /// Waits until the process ends.
    ///
    /// - Returns: The exit status, or the signal that ended the process.
    func status() async -> Int32 {
        var status: Int32 = -1
        for await end in ended.stream {
            status = end
        }
        return status
    }

    /// The lines of the output, without an incomplete last one.
    var lines: [String] {
        let text = (try? Data(contentsOf: output)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Returns the location of a program in the directory of the tests.
    static func url(of program: String) -> URL {
        #if os(macOS)
        let tests = Bundle(for: ChildProcess.self).bundleURL
        #else
        let tests = URL(fileURLWithPath: CommandLine.arguments[0])
        #endif
        return tests.deletingLastPathComponent().appending(path: program)
    }
}
#endif
