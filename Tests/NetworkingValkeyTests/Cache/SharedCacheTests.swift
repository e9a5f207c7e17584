#if Valkey
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingValkey

extension Servers {
    /// The caches of several machines over one server.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(5)), .requires(.valkey))
    struct SharedCacheTests {
        @Test(.stoppedClock) func writeOnOneMachineInvalidatesForAll() async throws {
            try await withTwoStores { _, mine, other in
                let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
                let (first, second) = (transport.cached(in: mine), transport.cached(in: other))
                try await first.data(.lawful)
                #expect(try await second.data(.lawful).isCached)
                try await second.data(.lawful.with { $0.method = .post })
                #expect(try await !first.data(.lawful).isCached)
                #expect(try await second.data(.lawful).isCached)
            }
        }

        @Test(.stoppedClock, arguments: ["post", "remove", "removeAll", "flush"])
        func changeOnAnotherMachineOutdatesAFetchInProgress(_ change: String) async throws {
            try await withTwoStores { server, mine, other in
                let origin = SlowOrigin()
                let network = origin.transport.cached(in: mine)
                async let before = network.data(.lawful)
                try await origin.arrived.value()
                let cache = ResponseCache(in: other)
                switch change {
                case "post": try await origin.transport.cached(in: cache).data(.lawful.with { $0.method = .post })
                case "remove": try await cache.remove(url: #require(HTTPRequestData.lawful.url))
                case "removeAll": try await cache.removeAll()
                default: try server.command("FLUSHALL")
                }
                origin.gate.resume()
                #expect(try await before.data == Data("1".utf8))
                #expect(try await before.cacheStatus?.detail == "outdated")
                #expect(try await network.data(.lawful).data == Data((change == "post" ? "3" : "2").utf8))
            }
        }

        @Test(.stoppedClock) func changeOfAnotherURLOutdatesNothing() async throws {
            try await withTwoStores { _, mine, other in
                let origin = SlowOrigin()
                let network = origin.transport.cached(in: mine)
                async let response = network.data(.lawful)
                try await origin.arrived.value()
                try await ResponseCache(in: other).remove(url: #require(URL(string: "https://api.example.com/other")))
                origin.gate.resume()
                #expect(try await response.cacheStatus?.isStored == true)
                #expect(try await origin.transport.cached(in: other).data(.lawful).isCached)
            }
        }

        /// The response to a POST is stored only if no other machine has changed the URL since the POST was sent.
        @Test(.stoppedClock, arguments: [true, false])
        func storesAResponseToPostOnlyIfTheURLIsUnchanged(isAlone: Bool) async throws {
            try await withTwoStores { _, mine, other in
                let arrived = Suspension<Void>()
                let gate = Suspension<Void>()
                let transport = MockTransport { request in
                    if request.method == .post {
                        arrived.resume()
                        try await gate.value()
                    }
                    return .ok(headerFields: [.cacheControl: "max-age=100", .contentLocation: "/"])
                }
                let network = transport.cached(in: mine)
                let request = HTTPRequestData.lawful.with { $0.target = "/" }
                async let post = network.data(request.with { $0.method = .post })
                try await arrived.value()
                if !isAlone { try await other.remove(url: #require(request.absoluteString)) }
                gate.resume()
                _ = try await post
                #expect(try await transport.cached(in: other).data(request).isCached == isAlone)
            }
        }

        @Test(.stoppedClock) func usersStayApart() async throws {
            try await withTwoStores { _, mine, other in
                let name = try #require(HTTPField.Name("X-API-Key"))
                let transport = MockTransport { request in
                    .ok(Data((request.headerFields[name] ?? "").utf8), headerFields: [.cacheControl: "max-age=9"])
                }
                let machines = [transport.cached(in: mine), transport.cached(in: other)]
                for round in 0..<2 {
                    for user in ["emily", "jack"] {
                        for (index, machine) in machines.enumerated() {
                            let request = HTTPRequestData.lawful.with { $0.headerFields[name] = user }
                            let response = try await machine.data(request)
                            #expect(response.data == Data(user.utf8))
                            // The second machine knows the digest of the credential.
                            #expect(response.isCached == (round > 0 || index > 0))
                        }
                    }
                }
                #expect(transport.requests.count == 2)
            }
        }

        /// The URL has a credential in its query, whose digest is the same on all machines.
        @Test(.stoppedClock) func removalFindsURLsWithCredentials() async throws {
            try await withTwoStores { server, mine, other in
                let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
                let request = HTTPRequestData.lawful.with { $0.target = "/?api_key=hunter2" }
                try await transport.cached(in: mine).data(request)
                #expect(try await transport.cached(in: other).data(request).isCached)
                try await ResponseCache(in: other).remove(url: #require(request.url))
                #expect(try await !transport.cached(in: mine).data(request).isCached)
            }
        }

        /// Four machines serve a stale response, and one of them asks the origin.
        @Test func oneMachineRevalidatesForAll() async throws {
            try await withValkeyServer { server in
                let clock = ManualClock()
                let transport = MockTransport { _ in
                    .ok(
                        headerFields: [
                            .cacheControl: "max-age=1, stale-while-revalidate=100",
                            .date: NetworkClock.manual(clock).date.httpDate,
                        ]
                    )
                }
                let clients = (0..<4).map { _ in ValkeyClient(server.address, configuration: .patient) }
                let machines = clients.map {
                    AnyNetworkingComponent(
                        transport.cached(in: ValkeyCacheStore.patient($0)).environment(\.clock, .manual(clock))
                    )
                }
                try await machines[0].data(.lawful)
                for round in 2...4 {
                    clock.advance(by: .seconds(2))
                    try await withThrowingDiscardingTaskGroup { group in
                        for number in 0..<100 {
                            group.addTask {
                                let response = try await machines[number % 4].data(.lawful)
                                #expect(response.isCached)
                            }
                        }
                    }
                    try await eventually("the origin is asked") { transport.requests.count == round }
                    // Each machine sees the new response, and none asks again.
                    for machine in machines {
                        try await eventually("the response is fresh") {
                            try await machine.data(.lawful).cacheStatus?.lifetimeLeft == 1
                        }
                    }
                    #expect(transport.requests.count == round)
                }
                for client in clients { await client.shutdown() }
            }
        }
    }
}

extension Servers {
    /// The cache while its server is gone, slow, full or mad: no request fails because of it.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
    struct CacheOutageTests {
        private let events = EventRecorder()
        private let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }

        /// The stack of a machine.
        private func machine(
            _ commands: any ValkeyCommands,
            timeout: Duration = .milliseconds(50)
        ) -> AnyNetworkingComponent {
            let store = ValkeyCacheStore(commands, namespace: "shop", key: .ofCache, timeout: timeout)
            return AnyNetworkingComponent(transport.cached(in: ResponseCache(in: store)).observed(by: events))
        }

        private func request(_ number: Int) -> HTTPRequestData {
            .lawful.with { $0.target = "/\(number)" }
        }

        private var failures: [String] {
            events.events.compactMap { event in
                if case .failed(let error) = event as? CacheEvent { "\(error)" } else { nil }
            }
        }

        /// Sends requests that the origin answers, and returns the median of their times.
        @discardableResult
        private func sendAll(_ network: some NetworkingComponent, _ numbers: Range<Int>) async throws -> Duration {
            let before = transport.requests.count
            var times: [Duration] = []
            for number in numbers {
                let start = ContinuousClock.now
                let response = try await network.data(request(number))
                times.append(ContinuousClock.now - start)
                #expect(response.status == .ok && !response.isCached)
            }
            #expect(transport.requests.count == before + numbers.count)
            return times.sorted()[times.count / 2]
        }

        @Test(.requires(.valkey)) func killedServerIsAMissUntilItIsBack() async throws {
            try await withValkeyServer { server in
                let configuration = ValkeyConfiguration(backoff: .constant(.milliseconds(20)))
                try await withClient(server.address, configuration) { client async throws in
                    let network = machine(client)
                    try await network.data(request(0))
                    server.kill()
                    // A command without a time limit would wait for minutes.
                    #expect(try await sendAll(network, 0..<50) < .seconds(5))
                    #expect(!failures.isEmpty)
                    try await server.start()
                    try await eventually("responses are stored again") {
                        try await network.data(request(7)).isCached
                    }
                }
            }
        }

        @Test(.requires(.valkey)) func serverThatHangsCostsItsTimeLimit() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address, ValkeyConfiguration()) { client async throws in
                    let network = machine(client)
                    try await network.data(request(0))
                    server.pause()
                    // One command waits; the others fail at once, but for one a second that tests the server.
                    #expect(try await sendAll(network, 0..<50) < .seconds(5))
                    #expect(!failures.isEmpty)
                    server.resume()
                    try await eventually("responses are stored again") {
                        try await network.data(request(7)).isCached
                    }
                }
            }
        }

        /// Another client may have no time limit of its own.
        @Test func clientWithoutATimeLimitCostsThatOfTheStore() async throws {
            let clock = ManualClock()
            let scripts = [CacheScript.read: FakeValkey.Script(name: "READ") { _, _, _ in [] }]
            let commands = FakeValkey(on: .manual(clock), scripts)
            commands.fail { _ in .silence }
            let store = ValkeyCacheStore(commands, namespace: "shop", key: .ofCache)
            var environment = NetworkEnvironment()
            environment.clock = .manual(clock)
            let read = Task {
                try await NetworkEnvironment.$current.withValue(environment) {
                    try await store.entries(for: .named("a"))
                }
            }
            try await eventually("the command is sent") { !commands.commands.isEmpty }
            clock.advance(by: .milliseconds(49))
            clock.advance(by: .milliseconds(1))
            let error = await #expect(throws: ValkeyError.self) { try await read.value }
            #expect(error?.kind == .timedOut)
        }

        @Test(.requires(.valkey)) func fullServerStoresNothingAndInvalidates() async throws {
            try await withValkeyServer(["--maxmemory-policy", "noeviction"]) { server in
                try await withClient(server.address) { client async throws in
                    let network = machine(client, timeout: .seconds(10))
                    try await eventually("a response is stored") { try await network.data(request(0)).isCached }
                    try server.command("CONFIG", "SET", "maxmemory", "1")
                    try await sendAll(network, 1..<20)
                    #expect(failures.contains { $0.contains("OOM") })
                    // Reads and removals need no memory.
                    let other = machine(client, timeout: .seconds(10))
                    #expect(try await other.data(request(0)).isCached)
                    try await network.data(request(0).with { $0.method = .post })
                    #expect(try await !other.data(request(0)).isCached)
                    try server.command("CONFIG", "SET", "maxmemory", "0")
                    try await eventually("responses are stored again") { try await other.data(request(1)).isCached }
                }
            }
        }

        @Test(.requires(.valkey)) func evictingServerForgetsAndGoesOn() async throws {
            try await withValkeyServer(["--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru"]) { server in
                try await withClient(server.address) { client async throws in
                    let store = ValkeyCacheStore.patient(client)
                    for number in 0..<400 {
                        try await store.store(.sample(length: 20_000), for: .named("\(number)"))
                    }
                    var count = 0
                    for number in 0..<400 {
                        let entries = try await store.entries(for: .named("\(number)"))
                        #expect(entries.allSatisfy { $0.body.count == 20_000 })
                        count += entries.count
                    }
                    #expect(count > 0 && count < 400)
                }
            }
        }

        /// The server closes the connection within a reply, sends garbage, or replies of unexpected types.
        @Test(arguments: [
            "$5\r\nab", "", "HTTP/1.1 400 Bad Request\r\n\r\n", "*1000000000\r\n", ":1\r\n", "_\r\n", "$1\r\na\r\n",
            "*1\r\n:1\r\n", "*2\r\n$3\r\nkey\r\n$3\r\nkey\r\n", "*3\r\n$1\r\na\r\n_\r\n-ERR\r\n", "-WRONGTYPE key\r\n",
            "-NOSCRIPT none\r\n", "-BUSY script\r\n", "$15\r\n123456789abcdef\r\n", "#t\r\n", ",1.5\r\n",
        ])
        func madServerFailsNoRequest(reply: String) async throws {
            try await FakeServer.run { call in
                FakeServer.greeting(call) ?? (reply.count < 8 ? .last(reply) : .bytes(reply))
            } _: { server in
                var configuration = ValkeyConfiguration.patient
                configuration.backoff = .immediate
                try await withClient(server.address, configuration) { client async throws in
                    try await sendAll(machine(client), 0..<10)
                }
            }
        }
    }
}

extension Servers {
    /// Values that are damaged, moved, or of another version.
    @Suite(.timeLimit(.minutes(5)))
    struct CacheVaultTests {
        private let vault = CacheVault(namespace: "shop", .ofCache)
        private let entry = CachedEntry.sample("a body of some length")
        private let key = CacheKey.named("a", Principal(id: "emily"))

        /// Returns the entries that a store reads from the fields of a hash.
        private func read(_ fields: [ValkeyValue]) async throws -> [CachedEntry] {
            let scripts = [CacheScript.read: FakeValkey.Script(name: "READ") { _, _, _ in .array(fields) }]
            let commands = FakeValkey(on: .continuous, scripts)
            return try await ValkeyCacheStore.patient(commands).entries(for: key)
        }

        private func read(_ value: [UInt8], as name: String? = nil) async throws -> [CachedEntry] {
            try await read([.bytes(Array((name ?? entry.id.name).utf8)), .bytes(value)])
        }

        @Test func descriptionsContainNoKey() {
            let key = SymmetricKey(data: Array("a secret of 16 bytes".utf8))
            let store = ValkeyCacheStore(FakeValkey(on: .continuous, [:]), namespace: "shop", key: key)
            var dumped = "\(store) \(String(reflecting: store))"
            dump(store, to: &dumped)
            #expect(!dumped.contains("secret") && !dumped.contains("sealing"))
        }

        @Test func damagedValuesAreMissing() async throws {
            let value = try vault.seal(entry, at: vault.place(of: key))
            #expect(try await read(value) == [entry])
            #expect(value.first == 1)
            for index in value.indices {
                var damaged = value
                damaged[index] ^= 1 << UInt8(index % 8)
                #expect(try await read(damaged).isEmpty, "byte \(index)")
                #expect(try await read(Array(value.prefix(index))).isEmpty, "length \(index)")
            }
            #expect(try await read(value + [0]).isEmpty)
            // The two bytes of a version and of a header are not enough for a box.
            #expect(try await read([2] + value.dropFirst()).isEmpty)
        }

        @Test func movedValuesAreMissing() async throws {
            let place = vault.place(of: key)
            let value = try vault.seal(entry, at: place)
            #expect(try await read(value, as: UUID().name).isEmpty)
            #expect(try await read(value, as: entry.id.name.uppercased()).isEmpty)
            #expect(try await read(vault.seal(entry, at: vault.place(of: .named("a", Principal(id: "jack"))))).isEmpty)
            #expect(try await read(vault.seal(entry, at: vault.place(of: .named("b", key.principal)))).isEmpty)
            #expect(try await read(vault.seal(key, at: place.entries)).isEmpty)
            #expect(try vault.key(vault.seal(key, at: place.entries), at: place.entries) == key)
            #expect(try vault.key(vault.seal(key, at: place.entries), at: place.url) == nil)
            let other = CacheVault(namespace: "shop", SymmetricKey(data: Array(repeating: 2, count: 32)))
            #expect(try await read(other.seal(entry, at: place)).isEmpty)
        }

        @Test func fieldsOfOtherTypesAreIgnored() async throws {
            let value = try vault.seal(entry, at: vault.place(of: key))
            let name = ValkeyValue.bytes(Array(entry.id.name.utf8))
            #expect(try await read([name]).isEmpty)
            let fields: [ValkeyValue] = [name, 1, name, .null, .null, .bytes(value), name, .bytes(value), name]
            #expect(try await read(fields) == [entry])
            for text in ["", "order", String(repeating: "g", count: 32), String(repeating: "é", count: 16)] {
                #expect(try await read(value, as: text).isEmpty)
            }
        }
    }
}
#endif
