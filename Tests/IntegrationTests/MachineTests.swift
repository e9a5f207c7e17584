#if os(Linux) && Valkey && Crypto
import Crypto
import Foundation
import Networking
import NetworkingTesting
import NetworkingValkey
import TestSupport
import Testing

extension Loopback {
    /// Processes that share their state through a server.
    @Suite(.timeLimit(.minutes(20)), .requires(.valkey))
    struct MachineTests {
        /// Starts a process that writes its output to a file with the given name.
        private func machine(_ arguments: String..., server: ValkeyServer, name: String) throws -> ChildProcess {
            try ChildProcess("Machine", ["\(server.port)"] + arguments, output: server.folder.appending(path: name))
        }

        // MARK: A limit

        /// The time for which the requests are counted, in seconds; the long run is
        /// `LIMIT_SECONDS=30 swift test --enable-all-traits --filter MachineTests`.
        private static let longSeconds =
            ProcessInfo.processInfo.environment["LIMIT_SECONDS"].flatMap { Double($0) }
        private static let seconds = longSeconds ?? 6

        /// Four processes have 100 requests per second together, also while two are killed and started again.
        @Test func processesKeepTheRateTogether() async throws {
            try await withValkeyServer { server in
                func start(_ number: Int) throws -> ChildProcess {
                    try machine("limit", server: server, name: "\(number)")
                }
                var machines = try (0..<4).map(start)
                defer { for machine in machines { machine.end() } }
                // All processes run, and have used what became available while they started.
                try await eventually("all processes send") { machines.allSatisfy { $0.lines.count > 5 } }
                let start0 = ProcessInfo.processInfo.systemUptime
                try await Task.sleep(for: .seconds(Self.seconds / 4))
                for machine in machines.prefix(2) {
                    machine.end()
                    _ = await machine.status()
                }
                try await Task.sleep(for: .seconds(Self.seconds / 4))
                machines += try [start(4), start(5)]
                let rest = start0 + Self.seconds - ProcessInfo.processInfo.systemUptime
                try await Task.sleep(for: .seconds(max(0, rest)))
                for machine in machines.dropFirst(2) {
                    machine.end()
                    _ = await machine.status()
                }
                let moments = machines.flatMap(\.lines).compactMap { Double($0) }
                    .filter { $0 >= start0 && $0 < start0 + Self.seconds }
                let expected = Self.seconds * 100
                // The two killed processes lose the permits that they hold, at most those of 100 ms each. In the short
                // run, other tests may leave the processes too little time to reach the rate.
                let missing = Self.longSeconds == nil ? 0.5 * expected : 0.02 * expected
                #expect(moments.count > Int(expected - missing), "\(moments.count) of \(expected)")
                #expect(moments.count < Int(1.02 * expected) + 10, "\(moments.count) of \(expected)")
                print("\(moments.count) of \(expected) requests in processes that sent", machines.map(\.lines.count))
                #expect(machines.allSatisfy { $0.lines.count > 5 })
            }
        }

        // MARK: A cache

        /// The number of responses; the long run is `CACHE_ENTRIES=10000 swift test --enable-all-traits --filter
        /// MachineTests`.
        private static let entries = ProcessInfo.processInfo.environment["CACHE_ENTRIES"].flatMap { Int($0) } ?? 300

        /// Three processes read what another one has fetched, until one of them writes.
        @Test func oneProcessFetchesForAll() async throws {
            try await withValkeyServer { server in
                func fetched(_ user: String, _ name: String) async throws -> String? {
                    let process = try machine("read", "\(Self.entries)", user, server: server, name: name)
                    defer { process.end() }
                    #expect(await process.status() == 0)
                    return process.lines.first
                }
                #expect(try await fetched("emily", "first") == "fetched \(Self.entries)")
                try await withThrowingTaskGroup(of: String?.self) { group in
                    for number in 0..<3 { group.addTask { try await fetched("emily", "\(number)") } }
                    for try await line in group { #expect(line == "fetched 0") }
                }
                #expect(try await fetched("joe", "joe") == "fetched \(Self.entries)")
                let writer = try machine("write", "emily", server: server, name: "writer")
                defer { writer.end() }
                #expect(await writer.status() == 0)
                #expect(try await fetched("emily", "last") == "fetched 1")
            }
        }

        // MARK: A session

        private func storage(_ server: ValkeyServer) -> ValkeySessionStorage {
            let patient = ValkeyConfiguration(timeout: .seconds(10), connectTimeout: .seconds(10))
            let key = SessionSealingKey(id: "1", SymmetricKey(data: Array(repeating: 1, count: 32)))
            let client = ValkeyClient(.host("127.0.0.1", port: server.port), configuration: patient)
            return ValkeySessionStorage(client, namespace: "shop", keys: [key], timeout: .seconds(10))
        }

        /// Sends 1,000 requests in four processes, after another one was killed in its refresh, or without that.
        @Test(arguments: [false, true])
        func oneProcessRefreshesForAll(killsOne: Bool) async throws {
            try await withValkeyServer { server in
                let session = Session(
                    userID: "emily",
                    accessToken: "access-0",
                    refreshToken: "refresh-0",
                    expirationDate: .distantPast
                )
                try await storage(server).save(session)
                if killsOne {
                    let killed = try machine("hang", server: server, name: "hang")
                    defer { killed.end() }
                    try await eventually("it refreshes") { killed.lines.contains("refreshing") }
                }
                let machines = try (0..<4).map { try machine("session", "250", server: server, name: "\($0)") }
                defer { for machine in machines { machine.end() } }
                for machine in machines {
                    #expect(await machine.status() == 0)
                    #expect(machine.lines == ["answered 250"])
                }
                #expect(try server.command("GET", "used:refresh-0") == "$1\r\n1\r\n")
                #expect(try server.command("EXISTS", "used:refresh-1") == ":0\r\n")
                #expect(try await storage(server).session(for: "emily")?.refreshToken == "refresh-1")
            }
        }
    }
}
#endif
