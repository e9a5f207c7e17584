#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation

/// Another process of this program, with a hidden argument.
struct ChildProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// Starts this program again.
    init(_ arguments: String...) throws {
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    /// Waits for a line of output, which must be a number.
    func number() throws -> Int {
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let bytes = output.fileHandleForReading.availableData
            guard !bytes.isEmpty else { throw Failure.noNumber }
            line += bytes
        }
        guard let number = Int(String(decoding: line.dropLast(), as: UTF8.self)) else { throw Failure.noNumber }
        return number
    }

    /// Closes the process's standard input, at which it ends, and waits for its end.
    func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    enum Failure: Error {
        case noNumber
    }

    /// Runs an operation with a server in another process.
    ///
    /// - Parameters:
    ///   - argument: The argument that starts the server.
    ///   - scheme: The scheme of the server.
    ///   - operation: Uses the server.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    static func withServer<Success>(
        _ argument: String = "serve",
        scheme: String = "http",
        _ operation: (_ server: URL) async throws -> Success
    ) async throws -> Success {
        let child = try ChildProcess(argument)
        defer { child.end() }
        return try await operation(URL(string: "\(scheme)://127.0.0.1:\(try child.number())")!)
    }
}
#endif
