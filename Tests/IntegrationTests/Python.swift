#if os(Linux) || os(macOS)
import Foundation

/// Programs in Python, where there is one: other people's implementations to compare with.
///
/// The interpreter is the one that `TESTS_PYTHON` names, else the `python3` of the path.
enum Python {
    /// Whether the interpreter has modules.
    static func has(_ modules: String) async -> Bool {
        let process = process("import \(modules)")
        return await withCheckedContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus == 0) }
            do {
                try process.run()
            } catch {
                continuation.resume(returning: false)
            }
        }
    }

    /// Runs a program on an input, and returns what it prints.
    static func run(_ program: String, on input: Data) throws -> Data {
        let file = FileManager.default.temporaryDirectory.appending(path: "networking-tests-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        try input.write(to: file)
        let process = process(program)
        let output = Pipe()
        process.standardInput = try FileHandle(forReadingFrom: file)
        process.standardOutput = output
        try process.run()
        let printed = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return printed
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
