#if os(Linux) || os(macOS)
package import Foundation
import Synchronization
import Testing

/// A server of Valkey or Redis on a free port of loopback and on a Unix socket, which stores nothing on disk.
///
/// ```swift
/// @Test(.requires(.valkey)) func valueIsStored() async throws {
///     try await withValkeyServer { server in
///         #expect(try server.command("PING") == "+PONG\r\n")
///     }
/// }
/// ```
package final class ValkeyServer: Sendable {
    package let port: Int
    /// The path of the Unix socket.
    package let socket: String
    /// A folder for the files of the test, which ends with the server.
    package let folder: URL
    private let arguments: [String]
    private let process = Mutex<Running?>(nil)

    /// The server, and the shell that ends it with this process.
    private struct Running {
        let shell: Process
        let server: Int32
        /// The input of the shell.
        let input: FileHandle
        /// The output of both, which ends with them.
        let output: FileHandle
    }

    fileprivate init(_ arguments: [String]) throws {
        port = try Self.freePort()
        // The path of a socket has at most 107 bytes.
        folder = URL(filePath: "/tmp/valkey-\(UInt32.random(in: 0...UInt32.max))")
        socket = folder.appending(path: "socket").path
        self.arguments = arguments
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    fileprivate func end() {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts the server, and returns when it accepts commands.
    package func start() async throws {
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        // The input ends with this process, whatever ends it.
        shell.arguments = ["-c", #""$0" "$@" 3>&1 >/dev/null 2>&1 & echo $!; read -r _; kill -9 $!"#]
        shell.arguments? +=
            [
                Self.program?.path ?? "redis-server", "--port", "\(port)", "--bind", "127.0.0.1",
                "--unixsocket", socket, "--dir", folder.path, "--save", "", "--appendonly", "no", "--daemonize", "no",
                "--loglevel", "warning", "--enable-debug-command", "local",
            ] + arguments
        let (input, output) = (Pipe(), Pipe())
        (shell.standardInput, shell.standardOutput) = (input, output)
        try shell.run()
        let reader = output.fileHandleForReading
        let line = String(decoding: reader.availableData, as: UTF8.self)
        guard let number = Int32(line.dropLast()) else { throw CocoaError(.executableLoad) }
        let running = Running(shell: shell, server: number, input: input.fileHandleForWriting, output: reader)
        process.withLock { $0 = running }
        try await eventually("the server on port \(port) accepts commands") {
            let reply = try? command("PING")
            // A server with a password is ready too.
            return reply.map { $0.hasPrefix("+") || $0.hasPrefix("-NOAUTH") } ?? false
        }
    }

    /// Ends the server without a warning: its clients lose their connections, and it loses its keys.
    package func kill() {
        guard let running = process.withLock({ $0.take() }) else { return }
        // At once, because the shell may have to wait for a processor.
        _ = Foundation.kill(running.server, SIGKILL)
        try? running.input.close()
        _ = try? running.output.readToEnd()
        running.shell.waitUntilExit()
    }

    /// Ends the server, and starts it again on the same port, without its keys.
    package func restart() async throws {
        kill()
        try await start()
    }

    /// Stops the server without an end, so that its connections hang.
    package func pause() {
        signal(SIGSTOP)
    }

    /// Continues a server that ``pause()`` has stopped.
    package func resume() {
        signal(SIGCONT)
    }

    /// Stops the server for a time, beside the test.
    package func pause(for duration: Duration) async throws {
        pause()
        defer { resume() }
        try await Task.sleep(for: duration)
    }

    private func signal(_ number: Int32) {
        process.withLock { process in
            guard let process else { return }
            _ = Foundation.kill(process.server, number)
        }
    }

    /// Sends a command over a connection of its own, and returns its reply as the server sent it.
    ///
    /// It is for the short replies to commands of tests: the reply must arrive in one piece, within two seconds.
    @discardableResult
    package func command(_ words: String...) throws -> String {
        try command(words)
    }

    /// Sends a command like ``command(_:)-(String...)``.
    @discardableResult
    package func command(_ words: [String]) throws -> String {
        let socket = Foundation.socket(AF_INET, Self.stream, 0)
        guard socket >= 0 else { throw POSIXError(.EBADF) }
        defer { close(socket) }
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard Self.withAddress(port: port, { connect(socket, $0, $1) }) == 0 else { throw POSIXError(.ECONNREFUSED) }
        let text = "*\(words.count)\r\n" + words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
        let bytes = Array(text.utf8)
        guard send(socket, bytes, bytes.count, Self.sendFlags) == bytes.count else { throw POSIXError(.EPIPE) }
        var reply = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(socket, &reply, reply.count, 0)
        guard count > 0 else { throw POSIXError(.ETIMEDOUT) }
        return String(decoding: reply.prefix(count), as: UTF8.self)
    }

    /// The location of the program; `nil` if the machine has none.
    package static let program: URL? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let files = ["valkey-server", "redis-server"].flatMap { name in folders.map { "\($0)/\(name)" } }
        return files.first(where: FileManager.default.isExecutableFile(atPath:)).map { URL(filePath: $0) }
    }()

    /// Returns a port of loopback on which nobody listens.
    package static func freePort() throws -> Int {
        let socket = Foundation.socket(AF_INET, stream, 0)
        guard socket >= 0 else { throw POSIXError(.EBADF) }
        defer { close(socket) }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard withAddress(port: 0, { bind(socket, $0, $1) }) == 0 else { throw POSIXError(.EADDRINUSE) }
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(socket, $0, &length) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private static func withAddress<Result>(
        port: Int,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    // SOCK_STREAM, which is an integer on Apple platforms and a structure on Linux.
    private static let stream: Int32 = 1
    #if os(Linux)
    private static let sendFlags = Int32(MSG_NOSIGNAL)
    #else
    private static let sendFlags: Int32 = 0
    #endif
}

/// Runs the body with a server, which ends after it.
///
/// - Parameters:
///   - arguments: Additional options of the program, such as `["--maxmemory", "1mb"]`.
///   - body: The use of the server.
/// - Returns: The result of the body.
/// - Throws: The error of the body, or of a server that does not start.
package func withValkeyServer<Result>(
    _ arguments: [String] = [],
    _ body: (ValkeyServer) async throws -> Result
) async throws -> Result {
    let server = try ValkeyServer(arguments)
    defer { server.end() }
    try await server.start()
    return try await body(server)
}

extension Requirement {
    /// A server of Valkey or Redis.
    package static let valkey = Requirement(.valkey) { ValkeyServer.program != nil }
}
#endif
