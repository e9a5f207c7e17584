#if Valkey
import NetworkingCore
import NetworkingTesting
import NetworkingValkey
import Synchronization
import TestSupport
import Testing

extension Servers {
    /// The client while its server is gone, slow, full or mad.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20))) struct ValkeyOutageTests {
        @Test(.requires(.valkey)) func killedServerFailsCommandsUntilItIsBack() async throws {
            var configuration = ValkeyConfiguration.patient
            configuration.backoff = .constant(.milliseconds(20))
            try await withValkeyServer { server in
                try await withClient(server.address, configuration) { client async throws in
                    try await client.set("key", to: [1], ValkeySetOptions())
                    server.kill()
                    var kinds: Set<ValkeyError.Kind> = []
                    let time = try await ContinuousClock()
                        .measure {
                            for _ in 0..<500 {
                                kinds.insert(try #require(try await failure { _ = try await client.get("key") }))
                            }
                        }
                    // The first command may have been on its way.
                    #expect(kinds == [.unreachable] || kinds == [.unreachable, .connectionLost])
                    // Not one time limit of a minute for each.
                    #expect(time < .seconds(60))
                    try await server.start()
                    try await eventually("the client is connected again") {
                        try await failure { try await client.set("key", to: [2], ValkeySetOptions()) } == nil
                    }
                    #expect(try await client.get("key") == [2])
                }
            }
        }

        @Test(.requires(.valkey)) func pausedServerCostsOneTimeLimitAtATime() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address, .timeout(.seconds(2))) { client async throws in
                    let script = ValkeyScript("return ARGV[1]")
                    try await eventually("the client is connected") {
                        try await failure { _ = try await client.evaluate(script, keys: [], arguments: [[1]]) } == nil
                    }
                    server.pause()
                    #expect(try await failure { _ = try await client.get("key") } == .timedOut)
                    // While the reply is missing, nothing else waits for this server.
                    let time = try await ContinuousClock()
                        .measure {
                            for _ in 0..<200 {
                                let kind = try await failure { _ = try await client.get("key") }
                                // A connection that is silent for too long is given up.
                                #expect(kind == .unresponsive || kind == .unreachable)
                            }
                        }
                    #expect(time < .seconds(200))
                    server.resume()
                    // Late replies go to nobody, and the others to their own commands.
                    var number: UInt8 = 0
                    try await eventually("the server answers again") {
                        number &+= 1
                        do {
                            return try await client.evaluate(script, keys: [], arguments: [[number]])
                                == .bytes([number])
                        } catch is ValkeyError {
                            return false
                        }
                    }
                    for number in 0..<100 {
                        let result = try? await client.evaluate(script, keys: [], arguments: [[UInt8(number)]])
                        #expect(result == nil || result == .bytes([UInt8(number)]))
                    }
                }
            }
        }

        @Test(.requires(.valkey)) func serverThatIsSlowForAMomentFailsNoCommandWithinTheLimit() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    _ = try await client.get("key")
                    async let pause: Void = server.pause(for: .milliseconds(100))
                    try await withThrowingTaskGroup { group in
                        for number in 0..<200 {
                            group.addTask { _ = try await client.set("\(number)", to: [1], ValkeySetOptions()) }
                        }
                        try await group.waitForAll()
                    }
                    try await pause
                    #expect(try server.command("DBSIZE") == ":200\r\n")
                }
            }
        }

        @Test(.requires(.valkey)) func fullServerRefusesWritesAndAnswersReads() async throws {
            try await withValkeyServer(["--maxmemory", "100kb", "--maxmemory-policy", "noeviction"]) { server in
                try await withClient(server.address) { client async throws in
                    let error = await #expect(throws: ValkeyError.self) {
                        try await client.set("key", to: [1], ValkeySetOptions())
                    }
                    #expect(error?.kind == .reply && error?.code == "OOM")
                    #expect(try await client.get("key") == nil)
                }
            }
        }

        // MARK: Servers of the tests

        /// Bytes that are no reply, each after a correct greeting.
        @Test(arguments: [
            "HTTP/1.1 400 Bad Request\r\n\r\n", "\0\0\0\0\r\n", "$99999999999999\r\n", ":1\r\n:2\r\n",
            "*1000000000\r\n",
            ">3\r\n+subscribe\r\n+a\r\n:1\r\n", ">0\r\n", ">1\r\n+message\r\n",
        ])
        func garbageEndsTheConnection(garbage: String) async throws {
            try await FakeServer.run { call in
                FakeServer.greeting(call) ?? .bytes(call.connection == 1 ? garbage : "$1\r\na\r\n")
            } _: { server in
                try await withClient(server.address) { client async throws in
                    let first = try await failure { _ = try await client.get("key") }
                    // The first of two replies is one.
                    #expect(first == .malformedReply || garbage.hasPrefix(":1"))
                    try await eventually("the next connection works") { (try? await client.get("key")) == bytes("a") }
                    #expect(server.connections == 2)
                }
            }
        }

        @Test(arguments: ["", "$5\r\nab", "*2\r\n:1\r\n", "%1\r\n+a"])
        func connectionThatEndsWithinAReplyFailsItsCommandsAlone(start: String) async throws {
            try await FakeServer.run { call in
                FakeServer.greeting(call) ?? (call.connection == 1 ? .last(start) : .bytes("$1\r\na\r\n"))
            } _: { server in
                try await withClient(server.address) { client async throws in
                    #expect(try await failure { _ = try await client.get("key") } == .connectionLost)
                    try await eventually("the next connection works") { (try? await client.get("key")) == bytes("a") }
                    // The lost command was not sent again.
                    #expect(server.commands.count { $0.first == "HELLO" } == 2)
                }
            }
        }

        @Test func serverThatDoesNotGreetIsUnreachable() async throws {
            var configuration = ValkeyConfiguration.timeout(.seconds(10))
            configuration.connectTimeout = .milliseconds(50)
            configuration.backoff = .constant(.seconds(100))
            try await FakeServer.run { _ in
                .nothing
            } _: { server in
                try await withClient(server.address, configuration) { client async throws in
                    for _ in 0..<100 {
                        #expect(try await failure { _ = try await client.get("key") } == .unreachable)
                    }
                    // The others failed without an attempt.
                    #expect(server.connections == 1)
                }
            }
        }

        /// A server that accepts connections and closes them counts as gone, or each command would open another one.
        @Test func serverThatAnswersNothingIsTriedAfterTheBackoffOnly() async throws {
            var configuration = ValkeyConfiguration.patient
            configuration.backoff = .constant(.seconds(100))
            try await FakeServer.run {
                FakeServer.greeting($0) ?? .last("")
            } _: { server in
                try await withClient(server.address, configuration) { client async throws in
                    #expect(try await failure { _ = try await client.get("key") } == .connectionLost)
                    for _ in 0..<50 {
                        #expect(try await failure { _ = try await client.get("key") } == .unreachable)
                    }
                    #expect(server.connections == 1)
                }
            }
        }

        @Test func limitsArePassedOnTheClockOfTheEnvironment() async throws {
            let clock = ManualClock()
            var environment = NetworkEnvironment()
            environment.clock = .manual(clock)
            let isSilent = Mutex(true)
            try await FakeServer.run { call in
                FakeServer.greeting(call) ?? (isSilent.withLock { $0 } ? .nothing : .bytes("_\r\n"))
            } _: { server in
                let client = NetworkEnvironment.$current.withValue(environment) {
                    ValkeyClient(server.address, configuration: ValkeyConfiguration(timeout: .milliseconds(50)))
                }
                let call = Task { try await failure { _ = try await client.get("key") } }
                try await eventually("the command has arrived") { server.commands.contains(["GET", "key"]) }
                clock.advance(by: .milliseconds(50))
                #expect(try await call.value == .timedOut)
                #expect(try await failure { _ = try await client.get("key") } == .unresponsive)
                // A second later the connection counts as dead, and the next command opens another one.
                isSilent.withLock { $0 = false }
                clock.advance(by: .seconds(1))
                try await eventually("another connection is used") {
                    clock.advance(by: .seconds(3))
                    return try await failure { _ = try await client.get("key") } == nil
                }
                #expect(server.connections == 2)
                await client.shutdown()
            }
        }

        @Test func shutdownWaitsForRepliesAndRefusesCommands() async throws {
            try await FakeServer.run {
                FakeServer.greeting($0) ?? .bytes("$1\r\na\r\n")
            } _: { server in
                let client = ValkeyClient(server.address, configuration: .patient)
                let calls = (0..<50).map { _ in Task { try await client.get("key") } }
                try await eventually("the commands have arrived") { server.commands.count == 51 }
                await client.shutdown()
                for call in calls { #expect(try await call.value == bytes("a")) }
                #expect(try await failure { _ = try await client.get("key") } == .shutDown)
                await client.shutdown()
            }
        }

        @Test(.requires(.valkey)) func clientThatIsReleasedClosesItsConnection() async throws {
            try await withValkeyServer { server in
                var client: ValkeyClient? = ValkeyClient(server.address, configuration: .patient)
                _ = try await client?.get("key")
                #expect(try server.command("INFO", "clients").contains("connected_clients:2\r\n"))
                client = nil
                try await eventually("the connection is closed") {
                    try server.command("INFO", "clients").contains("connected_clients:1\r\n")
                }
            }
        }
    }
}
#endif
