#if Valkey
import Foundation
import NetworkingValkey
import NIOSSL
import TestSupport
import Testing

extension Servers {
    /// The client over a real server.
    @Suite(.requires(.valkey), .tags(.concurrency), .timeLimit(.minutes(20))) struct ValkeyClientTests {
        private static let echo = ValkeyScript("return ARGV[1]")

        // MARK: Commands

        @Test func valuesAreSetUnderConditions() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    #expect(try await client.get("key") == nil)
                    #expect(try await !client.set("key", to: [1], ValkeySetOptions(.ifPresent)))
                    let options = ValkeySetOptions(.ifMissing, expiry: .seconds(900))
                    #expect(try await client.set("key", to: [0, 13, 10, 255], options))
                    #expect(try await !client.set("key", to: [2], ValkeySetOptions(.ifMissing)))
                    #expect(try await client.get("key") == [0, 13, 10, 255])
                    #expect(try server.command("PTTL", "key") > ":8")
                    #expect(try await client.set("key", to: [], ValkeySetOptions(expiry: .milliseconds(1))))
                    try await eventually("the key expires") { try await client.get("key") == nil }
                    let large = [UInt8](repeating: 7, count: 5_000_000)
                    try await client.set("large", to: large, ValkeySetOptions())
                    #expect(try await client.get("large") == large)
                }
            }
        }

        @Test func scriptIsSentOnceToEachServer() async throws {
            let script = ValkeyScript("return {KEYS[1], ARGV[1], #ARGV, false, {1, 2}, redis.status_reply('fine')}")
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    let result: ValkeyValue = ["key", "a", 2, .null, [1, 2], "fine"]
                    for _ in 0..<2 {
                        #expect(try await client.evaluate(script, keys: ["key"], arguments: [[97], []]) == result)
                    }
                    #expect(try server.command("INFO", "commandstats").contains("cmdstat_eval:calls=1,"))
                    try server.command("SCRIPT", "FLUSH")
                    #expect(try await client.evaluate(script, keys: ["key"], arguments: [[97], []]) == result)
                    #expect(try server.command("INFO", "commandstats").contains("cmdstat_eval:calls=2,"))
                }
            }
        }

        @Test func errorOfAScriptHasItsCode() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    let script = ValkeyScript("return redis.error_reply('CUSTOM of ' .. ARGV[1])")
                    let error = await #expect(throws: ValkeyError.self) {
                        try await client.evaluate(script, keys: [], arguments: [bytes("secret")])
                    }
                    #expect(error?.kind == .reply && error?.code == "CUSTOM")
                    #expect(error?.message == "CUSTOM of secret")
                    #expect(error.map { "\($0)" } == "reply (CUSTOM)")
                    await #expect(throws: ValkeyError.self) {
                        try await client.evaluate(ValkeyScript("this is no Lua"), keys: [], arguments: [])
                    }
                    // The connection is as good as before.
                    #expect(try await client.evaluate(Self.echo, keys: [], arguments: [[1]]) == .bytes([1]))
                }
            }
        }

        @Test func databaseIsSelected() async throws {
            var configuration = ValkeyConfiguration.patient
            configuration.database = 3
            try await withValkeyServer { server in
                try await withClient(server.address, configuration) { client async throws in
                    try await client.set("key", to: [1], ValkeySetOptions())
                }
                #expect(try server.command("EXISTS", "key") == ":0\r\n")
                configuration.database = 99
                try await withClient(server.address, configuration) { client async throws in
                    let error = await #expect(throws: ValkeyError.self) { try await client.get("key") }
                    #expect(error?.code == "ERR")
                }
            }
        }

        // MARK: Pipelining

        @Test func concurrentCommandsGetTheirOwnReplies() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    try await withThrowingTaskGroup { group in
                        for number in 0..<3_000 {
                            group.addTask {
                                let argument = bytes("\(number)")
                                let result = try await client.evaluate(Self.echo, keys: [], arguments: [argument])
                                #expect(result == .bytes(argument))
                            }
                        }
                        try await group.waitForAll()
                    }
                    // All of them over one connection, besides the one of this command.
                    #expect(try server.command("INFO", "clients").contains("connected_clients:2\r\n"))
                }
            }
        }

        @Test func cancelledCallerLeavesTheOrderOfTheOthers() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    try await client.set("key", to: [1], ValkeySetOptions())
                    server.pause()
                    let calls = (0..<30)
                        .map { number in
                            Task { try await client.evaluate(Self.echo, keys: [], arguments: [[UInt8(number)]]) }
                        }
                    for call in calls.enumerated() where call.offset % 3 == 0 {
                        call.element.cancel()
                        // At once, although the server does not answer.
                        await #expect(throws: CancellationError.self) { try await call.element.value }
                    }
                    server.resume()
                    for call in calls.enumerated() where call.offset % 3 != 0 {
                        #expect(try await call.element.value == .bytes([UInt8(call.offset)]))
                    }
                }
            }
        }

        @Test func numberOfPendingCommandsIsLimited() async throws {
            var configuration = ValkeyConfiguration.patient
            configuration.maximumPending = 10
            try await withValkeyServer { server in
                try await withClient(server.address, configuration) { client async throws in
                    _ = try await client.get("key")
                    server.pause()
                    try await withThrowingTaskGroup(of: ValkeyError.Kind?.self) { group async throws in
                        for _ in 0..<25 {
                            group.addTask { try await failure { _ = try await client.get("key") } }
                        }
                        for _ in 0..<15 { #expect(try await group.next() == .queueFull) }
                        server.resume()
                        // The first command may still have counted, because those of a read leave together.
                        let rest = try await group.reduce(into: []) { $0.append($1) }
                        #expect(rest.count { $0 == nil } >= 9 && rest.count == 10)
                    }
                    // Each reply has made room.
                    for _ in 0..<25 { _ = try await client.get("key") }
                }
            }
        }

        @Test func scriptsOfManyCallersRunOnceEach() async throws {
            let increment = ValkeyScript("return {redis.call('INCR', KEYS[1]), tonumber(ARGV[1])}")
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    try await withThrowingTaskGroup { group in
                        for _ in 0..<200 {
                            group.addTask {
                                for _ in 0..<20 {
                                    _ = try await client.evaluate(increment, keys: ["key"], arguments: [[49]])
                                }
                            }
                        }
                        try await group.waitForAll()
                    }
                    #expect(try server.command("GET", "key") == "$4\r\n4000\r\n")
                }
            }
        }
    }
}
#endif
