#if TestServer && URLSession && AsyncHTTPClient && os(Linux)
import Foundation
import NetworkingTestServer
import TestSupport
import Testing

/// A server of another project, in a process of its own, on free ports of loopback.
///
/// The shell between this process and the server ends the server when its input ends, whatever ends this process.
final class Peer: Sendable {
    /// The server of the current suite.
    @TaskLocal static var current: Peer?

    let kind: PeerKind
    let site: PeerSite
    private let shell = Process()
    private let server: Int32
    /// The input of the shell.
    private let input: FileHandle
    /// The output of both, which ends with them.
    private let output: FileHandle

    private init(_ kind: PeerKind, _ site: PeerSite) throws {
        self.kind = kind
        self.site = site
        let (input, output) = (Pipe(), Pipe())
        self.input = input.fileHandleForWriting
        self.output = output.fileHandleForReading
        // Prevents processes that start in the meantime from keeping it open.
        _ = fcntl(self.input.fileDescriptor, F_SETFD, FD_CLOEXEC)
        shell.executableURL = URL(filePath: "/bin/sh")
        // Without a wait, because the shell inherits a signal mask in which the end of a child is blocked.
        shell.arguments = ["-c", #""$0" "$@" 3>&1 </dev/null >log 2>&1 & echo $!; read -r _; kill -9 $!"#]
        shell.arguments? += try [kind.program?.path ?? kind.name] + kind.command(site)
        shell.currentDirectoryURL = site.folder
        shell.environment = ProcessInfo.processInfo.environment
            .merging(["HOME": site.folder.path, "TMPDIR": site.folder.path]) { _, own in own }
        (shell.standardInput, shell.standardOutput) = (input, output)
        shell.standardError = FileHandle.nullDevice
        try shell.run()
        let line = String(decoding: self.output.availableData, as: UTF8.self)
        guard let number = Int32(line.dropLast()) else { throw CocoaError(.executableLoad) }
        server = number
    }

    /// Whether the server has not ended; the shell does not wait for it, so it stays as a zombie.
    private var isRunning: Bool {
        let state = try? String(contentsOfFile: "/proc/\(server)/stat", encoding: .utf8)
        return state.map { !$0.contains(") Z") } ?? false
    }

    /// Ends the server at once, without waiting.
    func crash() {
        Foundation.kill(server, SIGKILL)
    }

    /// Ends the server and its shell, and waits for their end.
    func end() {
        if shell.isRunning {
            crash()
            try? input.close()
        }
        _ = try? output.readToEnd()
        shell.waitUntilExit()
    }

    /// Starts a server, which responds when this returns.
    ///
    /// - Parameters:
    ///   - kind: The kind of the server.
    ///   - site: The site, with its ports.
    /// - Returns: The server; `nil` if it has ended, for example because another process has taken its port.
    /// - Throws: The error of the system if it cannot start processes.
    static func start(_ kind: PeerKind, _ site: PeerSite) async throws -> Peer? {
        let peer = try Peer(kind, site)
        let end = ContinuousClock.now + .seconds(20)
        while peer.isRunning, .now < end {
            // The token shows that the server is this one.
            if let token = try? await site.get("ready.txt"), token == Data(site.token.utf8) { return peer }
            try await Task.sleep(for: .milliseconds(10))
        }
        peer.end()
        return nil
    }

    /// Starts a server with a new site, runs an operation, and ends the server.
    static func run(
        _ kind: PeerKind,
        _ operation: nonisolated(nonsending) (Peer) async throws -> Void
    ) async throws {
        try await withTestServer { origin in
            PeerSite.route(on: origin)
            var log = ""
            for _ in 0..<5 {
                let site = try PeerSite(origin: origin.port)
                defer { site.remove() }
                guard let peer = try await start(kind, site) else {
                    log = site.log
                    continue
                }
                let result = await Result { try await operation(peer) }
                peer.end()
                return try result.get()
            }
            Issue.record("\(kind.name) did not start: \(log)")
        }
    }
}

/// A kind of server: its program, its configuration, and what it cannot do.
struct PeerKind: Sendable {
    let name: String
    let program: URL?
    var versions = PeerVersion.allCases
    /// The capabilities that the server or its configuration does not have.
    var lacks: Set<PeerCapability> = []
    /// Whether a PUT to a path below `/upload/` stores a file.
    var storesUploads = false
    /// Writes the configuration into the folder of a site, and returns the arguments of the program.
    let command: @Sendable (PeerSite) throws -> [String]

    /// Returns the location of a program; `nil` if the machine has none.
    static func program(_ name: String) -> URL? {
        // A user's path may lack the folders of servers.
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin:/sbin"
        return path.split(separator: ":").map { URL(filePath: "\($0)/\(name)") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }
}

/// The version of HTTP to a server.
enum PeerVersion: String, CaseIterable, Sendable {
    /// Without TLS.
    case http1 = "HTTP/1.1"
    /// Over TLS.
    case http2 = "HTTP/2"
}

/// Runs the tests of a suite while a server runs.
struct PeerTrait: SuiteTrait, TestScoping {
    let kind: PeerKind

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for peerCase in PeerCase.untried(of: kind) {
            PeerTable.record(peerCase, passes: false)
        }
        try await Peer.run(kind) { peer in
            try await Peer.$current.withValue(peer) { try await function() }
        }
        try PeerTable.write()
    }
}

extension Trait where Self == PeerTrait {
    /// Runs the tests of a suite while a server runs.
    static func peer(_ kind: PeerKind) -> PeerTrait {
        PeerTrait(kind: kind)
    }
}

extension Requirement {
    /// The program of a server, in a run by hand with the variable `TEST_PEERS`.
    static func peer(_ kind: PeerKind) -> Requirement {
        Requirement(.peers) { isByHand && kind.program != nil }
    }

    /// A server in Python.
    static func peer(in modules: String) -> Requirement {
        Requirement(.peers) { if isByHand { await Python.has(modules) } else { false } }
    }

    private static var isByHand: Bool {
        ProcessInfo.processInfo.environment["TEST_PEERS"] != nil
    }
}
#endif
