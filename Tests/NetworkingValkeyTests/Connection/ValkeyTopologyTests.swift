#if Valkey
import TestSupport
import Testing

@testable import NetworkingValkey

extension Servers {
    /// The client of a primary with replicas, and of a cluster.
    @Suite(.requires(.valkey), .tags(.concurrency), .timeLimit(.minutes(20))) struct ValkeyTopologyTests {
        // MARK: Replicas

        @Test func writesFollowThePrimary() async throws {
            try await withValkeyServer { first in
                try await withValkeyServer { second in
                    try second.command("REPLICAOF", "127.0.0.1", "\(first.port)")
                    // The replica is named first, and is not used.
                    try await withClient(second.address, others: [first.address]) { client async throws in
                        try await client.set("key", to: [1], ValkeySetOptions())
                        #expect(try first.command("DBSIZE") == ":1\r\n")
                        try second.command("REPLICAOF", "NO", "ONE")
                        try first.command("REPLICAOF", "127.0.0.1", "\(second.port)")
                        let script = ValkeyScript("return redis.call('SET', KEYS[1], ARGV[1])")
                        try await eventually("writes reach the new primary") {
                            try await failure { _ = try await client.evaluate(script, keys: ["new"], arguments: [[1]]) }
                                == nil
                        }
                        #expect(try second.command("EXISTS", "new") == ":1\r\n")
                    }
                }
            }
        }

        @Test func replicaAloneIsAnError() async throws {
            try await withValkeyServer { server in
                try server.command("REPLICAOF", "127.0.0.1", "\(ValkeyServer.freePort())")
                try await withClient(server.address) { client async throws in
                    for _ in 0..<5 {
                        let error = await #expect(throws: ValkeyError.self) {
                            try await client.set("key", to: [1], ValkeySetOptions())
                        }
                        #expect(error?.code == "READONLY" || error?.kind == .unreachable)
                    }
                }
                try await withClient(server.address, others: [server.address]) { client async throws in
                    let error = await #expect(throws: ValkeyError.self) { try await client.get("key") }
                    #expect(error?.kind == .unreachable && error?.code == "READONLY")
                }
            }
        }

        // MARK: Cluster

        private static func arguments() throws -> [String] {
            [
                "--cluster-enabled", "yes", "--cluster-port", "\(try ValkeyServer.freePort())",
                "--cluster-node-timeout",
                "2000",
            ]
        }

        /// Runs the body with a cluster of three nodes, each with a third of the slots.
        static func withCluster(_ body: ([ValkeyServer]) async throws -> Void) async throws {
            let arguments = try (0..<3).map { _ in try Self.arguments() }
            try await withValkeyServer(arguments[0]) { first in
                try await withValkeyServer(arguments[1]) { second in
                    try await withValkeyServer(arguments[2]) { third in
                        let servers = [first, second, third]
                        for (index, range) in [("0", "5460"), ("5461", "10922"), ("10923", "16383")].enumerated() {
                            #expect(
                                try servers[index].command("CLUSTER", "ADDSLOTSRANGE", range.0, range.1) == "+OK\r\n"
                            )
                            try servers[index].command("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
                        }
                        for (index, server) in servers.enumerated().dropFirst() {
                            try first.command("CLUSTER", "MEET", "127.0.0.1", "\(server.port)", arguments[index][3])
                        }
                        try await eventually("the nodes know each other") {
                            try servers.allSatisfy { server in
                                let state = try server.command("CLUSTER", "INFO")
                                return state.contains("cluster_state:ok") && state.contains("cluster_known_nodes:3")
                            }
                        }
                        try await body(servers)
                    }
                }
            }
        }

        @Test func commandsReachTheNodeOfTheirSlot() async throws {
            try await Self.withCluster { servers in
                try await withClient(servers[0].address) { client async throws in
                    let script = ValkeyScript("redis.call('SET', KEYS[2], ARGV[1]) return redis.call('INCR', KEYS[1])")
                    for number in 0..<60 {
                        try await client.set("key\(number)", to: [UInt8(number)], ValkeySetOptions())
                        let keys = ["{name:\(number)}:count", "{name:\(number)}:value"]
                        #expect(try await client.evaluate(script, keys: keys, arguments: [[1]]) == 1)
                    }
                    for number in 0..<60 {
                        #expect(try await client.get("key\(number)") == [UInt8(number)])
                        let slot = try servers[0].command("CLUSTER", "KEYSLOT", "{name:\(number)}:count")
                        #expect(slot == ":\(ClusterSlots.slot(of: "{name:\(number)}:value"))\r\n")
                    }
                    let sizes = try servers.map { try $0.command("DBSIZE") }
                    #expect(!sizes.contains(":0\r\n"), "Each node has a part of the keys: \(sizes)")
                    // One connection to each node, besides that of this command.
                    for server in servers {
                        #expect(try server.command("INFO", "clients").contains("connected_clients:2\r\n"))
                    }
                    // Known slots are not asked for again.
                    let errors = try servers[0].command("INFO", "errorstats")
                    for number in 0..<60 { _ = try await client.get("key\(number)") }
                    #expect(try servers[0].command("INFO", "errorstats") == errors)
                }
            }
        }

        @Test func slotOnItsWayIsAskedForOnce() async throws {
            try await Self.withCluster { servers in
                try await withClient(servers[1].address) { client async throws in
                    // The slot of this key belongs to the first node.
                    let slot = ClusterSlots.slot(of: "{x4}")
                    let (source, target) = try Self.nodes(of: slot, servers)
                    let name = { (server: ValkeyServer) in
                        // After `$40` and the end of its line.
                        let bytes = try server.command("CLUSTER", "MYID").utf8.dropFirst(5).prefix(40)
                        return String(decoding: bytes, as: UTF8.self)
                    }
                    try await client.set("{x4}:old", to: [1], ValkeySetOptions())
                    try target.command("CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", name(source))
                    try source.command("CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", name(target))
                    try await client.set("{x4}:new", to: [2], ValkeySetOptions())
                    #expect(try target.command("CLUSTER", "COUNTKEYSINSLOT", "\(slot)") == ":1\r\n")
                    #expect(try await client.get("{x4}:old") == [1])
                    #expect(try await client.get("{x4}:new") == [2])
                }
            }
        }

        private static func nodes(
            of slot: UInt16,
            _ servers: [ValkeyServer]
        ) throws -> (source: ValkeyServer, ValkeyServer) {
            let index = slot <= 5_460 ? 0 : slot <= 10_922 ? 1 : 2
            return (servers[index], servers[(index + 1) % 3])
        }

        @Test func deadNodeFailsItsOwnSlotsAlone() async throws {
            try await Self.withCluster { servers in
                try await withClient(servers[0].address) { client async throws in
                    let keys = (0..<40).map { "key\($0)" }
                    for key in keys { try await client.set(key, to: [1], ValkeySetOptions()) }
                    servers[2].kill()
                    for key in keys {
                        let isLost = ClusterSlots.slot(of: key) > 10_922
                        let kind = try await failure { _ = try await client.get(key) }
                        #expect((kind == nil) == !isLost || kind == .reply, "\(key): \(kind.map { "\($0)" } ?? "none")")
                    }
                }
            }
        }

        @Test func slotsAreThoseOfTheSpecification() {
            #expect(ClusterSlots.slot(of: "123456789") == 0x31C3 % ClusterSlots.count)
            #expect(ClusterSlots.slot(of: "{user1000}.following") == ClusterSlots.slot(of: "{user1000}.followers"))
            #expect(ClusterSlots.slot(of: "foo{}{bar}") != ClusterSlots.slot(of: "bar"))
            #expect(ClusterSlots.slot(of: "foo{{bar}}zap") == ClusterSlots.slot(of: "{bar"))
            #expect(ClusterSlots.slot(of: "foo{bar}{zap}") == ClusterSlots.slot(of: "bar"))
            #expect(ClusterSlots.slot(of: "") == 0)
        }

        @Test(arguments: [
            "MOVED", "MOVED 1", "MOVED x 127.0.0.1:1", "MOVED 16384 127.0.0.1:1", "MOVED 1 127.0.0.1",
            "MOVED 1 127.0.0.1:0",
            "MOVED 1 127.0.0.1:65536", "MOVED 1 a:1 b", "ASK -1 a:1", "MOVE 1 a:1",
        ])
        func malformedRedirectionIsNone(text: String) {
            #expect(Redirection(ValkeyError(reply: text), from: .host("a")) == nil)
        }

        @Test func redirectionNamesAServer() throws {
            let moved = try #require(Redirection(ValkeyError(reply: "MOVED 3999 ::1:6381"), from: .host("a")))
            #expect(moved.slot == 3_999 && moved.address == .host("::1", port: 6_381) && !moved.isOnce)
            let ask = try #require(Redirection(ValkeyError(reply: "ASK 0 :7"), from: .host("a")))
            #expect(ask.address == .host("a", port: 7) && ask.isOnce)
            #expect(Redirection(ValkeyError(reply: "ASK 0 :7"), from: .unixSocket("/a")) == nil)
        }

        /// A server that points to itself, or to ever new addresses, does not keep a command busy.
        @Test func redirectionsAreBounded() async throws {
            try await FakeServer.run { call in
                FakeServer.greeting(call) ?? .bytes("-MOVED 1 127.0.0.1:\(call.words[1])\r\n")
            } _: { server in
                guard case .host(_, let port) = server.address.place else { return }
                try await withClient(server.address) { client async throws in
                    let key = "\(port)"
                    let kind = try await failure { _ = try await client.get(key) }
                    #expect(kind == .reply)
                    #expect(server.commands.count { $0.first == "GET" } == 6)
                }
            }
        }
    }
}
#endif
