#if os(Linux) || os(macOS)
import Foundation
import NetworkingTesting
import Testing

/// Programs in Python, where there is one: other people's implementations to compare with.
///
/// The interpreter is the one that `TESTS_PYTHON` names, else the `python3` of the path.
enum Python {
    /// Whether the interpreter has modules.
    static func has(_ modules: String) async -> Bool {
        let status = try? await end(of: process("import \(modules)"))
        return status == 0
    }

    /// Runs a program on an input, and returns what it prints.
    ///
    /// Through files: other processes that start meanwhile inherit a pipe and keep it open.
    static func run(_ program: String, on input: Data) async throws -> Data {
        try await withTemporaryDirectory { directory in
            let (source, target) = (directory.appending(path: "in"), directory.appending(path: "out"))
            try input.write(to: source)
            try Data().write(to: target)
            let process = process(program)
            process.standardInput = try FileHandle(forReadingFrom: source)
            process.standardOutput = try FileHandle(forWritingTo: target)
            _ = try await end(of: process)
            return try Data(contentsOf: target)
        }
    }

    /// Runs a server for as long as an operation runs.
    ///
    /// - Parameters:
    ///   - program: Prints the port on 127.0.0.1 once it listens. It has to end at the end of its input, so that it
    ///     does not outlive a test run that is killed, and to call the alarm of ``process(_:)`` off.
    ///   - operation: Uses the server, whose URL it gets.
    /// - Throws: What the operation throws, or that the server did not start.
    static func withServer(
        _ program: String,
        performing operation: @concurrent @Sendable (URL) async throws -> Void
    ) async throws {
        let process = process(program)
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        let (end, ending) = AsyncStream.makeStream(of: Never.self)
        process.terminationHandler = { _ in ending.finish() }
        try process.run()
        let result: Result<Void, any Error>
        do {
            let port = try #require(await port(from: output.fileHandleForReading), "the server did not start")
            try await operation(try #require(URL(string: "http://127.0.0.1:\(port)")))
            result = .success(())
        } catch {
            result = .failure(error)
        }
        process.terminate()
        for await _ in end {}
        try input.fileHandleForWriting.close()
        try result.get()
    }

    /// The number that a program prints; nil when it ends without.
    private static func port(from output: FileHandle) async -> Int? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async {
                    let line = String(decoding: output.availableData, as: UTF8.self)
                    continuation.resume(returning: Int(line.trimmingCharacters(in: .newlines)))
                }
        }
    }

    /// Starts a process, and returns its status when it has ended.
    private static func end(of process: Process) async throws -> Int32 {
        try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// A process that runs a program, and ends on its own when that has not come far within 30 seconds.
    ///
    /// On Linux a process begins with the signals blocked that the starting thread blocks, which are most of them.
    static func process(_ program: String) -> Process {
        let prelude = """
            import signal
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            signal.alarm(30)

            """
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            ProcessInfo.processInfo.environment["TESTS_PYTHON"] ?? "python3", "-c", prelude + program,
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        return process
    }
}
#endif
