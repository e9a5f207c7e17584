#if os(Linux)
import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct SystemConnectivityTests {
    @Test func reportsAStatusAndStopsWithItsLastReference() async {
        // In a process of its own, because other tests open netlink sockets too.
        await #expect(processExitsWith: .success) {
            var connectivity: SystemConnectivity? = SystemConnectivity()
            #expect(try netlinkSockets() == 0)
            try await eventually("the first status is known") { connectivity?.status != nil }
            #expect(try netlinkSockets() == 1)

            var changes = connectivity?.changes.makeAsyncIterator()
            let status = connectivity?.status
            // A reader keeps the observation alive.
            connectivity = nil
            #expect(await changes?.next() == status)
            #expect(try netlinkSockets() == 1)
            changes = nil
            try await eventually("the socket is closed") { try netlinkSockets() == 0 }
        }
    }

    @Test(.requires(.networkNamespaces)) func followsTheNetworksOfTheSystem() async throws {
        try await withNetworkNamespace { namespace in
            // A default route over an interface that is up is a network.
            try namespace.run("ip link add up0 type veth peer name up1 && ip addr add 10.9.0.1/24 dev up0")
            try namespace.run("ip link set up1 up && ip link set up0 up && ip route add default via 10.9.0.2 dev up0")
            try await namespace.waitForLine("online over wired")
            // The kernel sends no message about the route that is removed with the interface.
            try namespace.run("ip link set up0 down")
            try await namespace.waitForLine("offline")
            try namespace.run("ip link set up0 up && ip -6 route add default dev up0")
            try await namespace.waitForLine("online over wired")
            // Neither an unreachable route nor one to the machine itself is a network.
            try namespace.run("ip -6 route del default dev up0")
            try await namespace.waitForLine("offline")
            try namespace.run("ip link set lo up; ip route add default dev lo")
            try namespace.run("ip route add unreachable default metric 9")
            try namespace.run("ip route add default via 10.9.0.2 dev up0 metric 5 onlink")
            try await namespace.waitForLine("online over wired")
            // The other end of the cable is disconnected.
            try namespace.run("ip link set up1 down")
            try await namespace.waitForLine("offline")
            #expect(
                namespace.lines == [
                    "offline", "online over wired", "offline", "online over wired", "offline", "online over wired",
                    "offline",
                ]
            )
        }
    }

    @Test(.requires(.networkNamespaces)) func manyChangesEndWithTheLastStatus() async throws {
        try await withNetworkNamespace { namespace in
            try namespace.run("ip link add up0 type veth peer name up1 && ip link set up1 up && ip link set up0 up")
            try namespace.run("ip addr add 10.9.0.1/24 dev up0")
            try namespace.run(
                "for i in $(seq 100); do ip route add default via 10.9.0.2 dev up0; ip route del default; done"
            )
            try namespace.run("ip route add default via 10.9.0.2 dev up0; echo settled >&2")
            try await namespace.waitForErrors("settled")
            try await eventually("the last status is that of the last change") {
                namespace.lines.last == "online over wired"
            }
        }
    }

    /// Runs a closure with a network namespace without networks, which its watcher has noticed.
    private func withNetworkNamespace(
        _ body: nonisolated(nonsending) (NetworkNamespace) async throws -> Void
    ) async throws {
        let namespace = try NetworkNamespace()
        defer { namespace.end() }
        try await namespace.waitForLine("offline")
        try await body(namespace)
    }
}

/// The number of this process's sockets for messages about interfaces and routes.
private func netlinkSockets() throws -> Int {
    // Each line names one netlink socket of the namespace; 0 is the protocol of rtnetlink.
    let own = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
    let inodes = Set(own.compactMap { $0.firstMatch(of: /^socket:\[(\d+)\]$/).map { String($0.1) } })
    return try String(contentsOfFile: "/proc/net/netlink", encoding: .utf8).split(separator: "\n")
        .filter { line in
            let columns = line.split(separator: " ")
            return columns.count > 9 && columns[1] == "0" && columns[3] == "00000441"
                && inodes.contains(String(columns[9]))
        }
        .count
}

extension Requirement {
    fileprivate static let networkNamespaces = Requirement(.networkNamespaces) {
        guard let namespace = try? NetworkNamespace(watching: false) else { return false }
        defer { namespace.end() }
        try? namespace.run("ip link add up0 type veth peer name up1 && echo ready >&2")
        return (try? await namespace.waitForErrors("ready", within: .seconds(5))) != nil
    }
}

/// A shell in a separate network namespace, with a process that prints the connectivity.
private final class NetworkNamespace: Sendable {
    private let input: FileHandle
    private let folder: URL
    private let identifier: Int32

    init(watching: Bool = true) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "networking-namespace-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/unshare")
        // With a user namespace, so that it needs no privileges.
        process.arguments = ["--map-root-user", "--net", "/bin/sh"]
        let pipe = Pipe()
        input = pipe.fileHandleForWriting
        _ = fcntl(input.fileDescriptor, F_SETFD, FD_CLOEXEC)
        process.standardInput = pipe
        for name in ["lines", "errors"] {
            try Data().write(to: folder.appending(path: name))
        }
        process.standardOutput = try FileHandle(forWritingTo: folder.appending(path: "lines"))
        process.standardError = try FileHandle(forWritingTo: folder.appending(path: "errors"))
        try process.run()
        identifier = process.processIdentifier
        if watching {
            // The process must not read the input of the shell's script.
            try run(
                "'\(ChildProcess.url(of: "OfflineHelper").path)' watch </dev/null & watcher=$!; trap 'kill $watcher' EXIT"
            )
        }
    }

    func run(_ commands: String) throws {
        try input.write(contentsOf: Data("\(commands)\n".utf8))
    }

    /// The statuses that were printed.
    var lines: [String] {
        text("lines").split(separator: "\n").map(String.init)
    }

    func waitForLine(_ line: String) async throws {
        try await eventually("\(line) is printed after \(lines), with \(text("errors"))") { lines.last == line }
    }

    func waitForErrors(_ text: String, within limit: Duration = .seconds(20)) async throws {
        try await eventually("\(text) is printed", within: limit) { self.text("errors").contains(text) }
    }

    private func text(_ name: String) -> String {
        (try? String(contentsOf: folder.appending(path: name), encoding: .utf8)) ?? ""
    }

    /// Ends the shell, which ends the process that prints.
    func end() {
        try? run("exit")
        try? input.close()
        try? FileManager.default.removeItem(at: folder)
    }
}
#endif
