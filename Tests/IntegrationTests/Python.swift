#if os(Linux) || os(macOS)
import Foundation
import NetworkingTesting
import Testing

/// Runs Python programs, which serve as independent implementations to compare with.
///
/// The interpreter is the one in `TESTS_PYTHON`, or else the `python3` in the path.
enum Python {
    /// Returns whether the interpreter can import the modules.
    static func has(_ modules: String) async -> Bool {
        let status = try? await end(of: process("import \(modules)"))
        return status == 0
    }

    /// Runs a program with an input and returns its output.
    ///
    /// Both are files, because processes that start in the meantime inherit a pipe and keep it open.
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

    /// Runs a server while an operation runs.
    ///
    /// - Parameters:
    ///   - program: A program that prints its port on 127.0.0.1 when it listens. It must end at the end of its input,
    ///     so that it does not outlive a killed test run, and must cancel the alarm of ``process(_:)``.
    ///   - operation: The operation, which receives the URL of the server.
    /// - Throws: The error of the operation, or an error if the server did not start.
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

    /// The number that a program prints, or `nil` if the program ends without printing one.
    private static func port(from output: FileHandle) async -> Int? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async {
                    let line = String(decoding: output.availableData, as: UTF8.self)
                    continuation.resume(returning: Int(line.trimmingCharacters(in: .newlines)))
                }
        }
    }

    /// Starts a process and returns its status when it has ended.
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

    /// A process that runs a program and ends itself after 30 seconds unless the program cancels the alarm.
    ///
    /// On Linux a process inherits the signal mask of the starting thread, which blocks most signals.
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
