import Foundation

/// A server of Valkey or Redis for the processes of an example, on a socket in a directory.
package final class SharedServer: Sendable {
    /// The path of the socket.
    package let socket: String
    private let process: ChildProcess

    /// The path of the program; `nil` if it is not installed.
    package static var program: String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return ["valkey-server", "redis-server"].lazy.flatMap { name in folders.map { "\($0)/\(name)" } }
            .first(where: FileManager.default.isExecutableFile(atPath:))
    }

    /// Starts the server, which stores nothing on disk.
    package init(_ program: String, in directory: URL) throws {
        socket = directory.appending(path: "socket").path
        // The shell ends the server as soon as its own input ends, so also when this process is killed.
        let script = #""$0" --port 0 --unixsocket "$1" --save '' >/dev/null 2>&1 & read -r _; kill $!; wait"#
        process = try ChildProcess("/bin/sh", ["-c", script, program, socket])
    }

    /// Ends the server.
    package func end() async {
        _ = await process.end()
    }
}

/// Another process of an example, whose input ends at the latest with this process.
package final class ChildProcess: Sendable {
    private let input = Pipe()
    private let ended = AsyncStream.makeStream(of: Int32.self)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: Its arguments.
    ///   - environment: The variables that it gets besides those of this process.
    /// - Throws: The error of the system.
    package init(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        process.terminationHandler = { [continuation = ended.continuation] process in
            continuation.yield(process.terminationStatus)
            continuation.finish()
        }
        try process.run()
    }

    /// Waits until the process ends by itself, and returns its exit code.
    package func exitCode() async -> Int32? {
        await ended.stream.first { _ in true }
    }

    /// Ends the input of the process, and waits until the process has noticed that.
    package func end() async -> Int32? {
        try? input.fileHandleForWriting.close()
        return await exitCode()
    }

    /// Ends this process when its input ends, for a program that starts itself.
    package static func endWithParent() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(1)
        }
    }
}
