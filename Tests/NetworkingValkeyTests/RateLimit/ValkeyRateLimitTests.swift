#if Valkey
import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingValkey

/// Commands over a connection of the test server for each of them.
private struct ServerCommands: ValkeyCommands {
    let server: ValkeyServer

    func get(_ key: String) async throws -> [UInt8]? { throw ValkeyError(.unsupported) }

    func set(_ key: String, to value: [UInt8], _ options: ValkeySetOptions) async throws -> Bool {
        throw ValkeyError(.unsupported)
    }

    func evaluate(_ script: ValkeyScript, keys: [String], arguments: [[UInt8]]) async throws -> ValkeyValue {
        let words =
            ["EVAL", script.source, "\(keys.count)"] + keys + arguments.map { String(decoding: $0, as: UTF8.self) }
        let lines = try server.command(words).split(separator: "\r\n")
        guard lines.first == "*2" else { throw ValkeyError(.reply) }
        return .array(lines.dropFirst().compactMap { Int64($0.dropFirst()).map { .integer($0) } })
    }
}

/// Commands with a fixed result.
private struct FixedCommands: ValkeyCommands {
    let result: ValkeyValue

    func get(_ key: String) async throws -> [UInt8]? { nil }

    func set(_ key: String, to value: [UInt8], _ options: ValkeySetOptions) async throws -> Bool { true }

    func evaluate(_ script: ValkeyScript, keys: [String], arguments: [[UInt8]]) async throws -> ValkeyValue { result }
}

@Suite(.timeLimit(.minutes(5)))
struct ValkeyRateLimitTests {
    private func demand(
        _ permits: Int,
        spare: Int = 0,
        returned: Int = 0,
        interval: Duration = .milliseconds(10),
        burst: Int = 10,
        lead: Duration = .milliseconds(100)
    ) -> RateLimitDemand {
        RateLimitDemand(
            key: "vendor emily@example.com",
            permits: permits,
            spare: spare,
            returned: returned,
            interval: interval,
            burst: burst,
            lead: lead
        )
    }

    @Test func keyHasAHashTagAndADigest() {
        let store = ValkeyRateLimit(in: FixedCommands(result: .null), namespace: "shop")
        let key = store.key(of: demand(1))
        #expect(key.hasPrefix("{shop:") && key.hasSuffix("}:rate"))
        #expect(key.count == "{shop:}:rate".count + 32)
        #expect(!key.contains("emily"))
    }

    @Test(arguments: [
        ValkeyValue.null, [], [1], ["x", 1], [1, 2, 3], .error("ERR"), .bytes([]), [.null, .null], .double(1),
    ])
    func otherRepliesAreErrors(result: ValkeyValue) async {
        let store = ValkeyRateLimit(in: FixedCommands(result: result), namespace: "shop")
        await #expect(throws: ValkeyError.self) { try await store.take(demand(1)) }
    }

    @Test(.requires(.valkey)) func serverGrantsTheBurstAndRemovesTheKey() async throws {
        try await withValkeyServer { server in
            let store = ValkeyRateLimit(in: ServerCommands(server: server), namespace: "shop")
            #expect(try await store.take(demand(7)) == RateLimitGrant(permits: 7, wait: .zero))
            let second = try await store.take(demand(1_000))
            #expect(second.permits >= 13 && second.permits < 40 && second.wait <= .milliseconds(100))
            let third = try await store.take(demand(1))
            #expect(third.permits <= 1)
            let key = store.key(of: demand(1))
            #expect(try server.command("EXISTS", key) == ":1\r\n")
            try await eventually("the key has expired", within: .seconds(3)) {
                try server.command("EXISTS", key) == ":0\r\n"
            }
        }
    }

    /// The script makes the same decisions as ``RateLimitState``.
    @Test(.requires(.valkey), arguments: [1, 2, 3] as [UInt64])
    func scriptMakesTheDecisionsOfTheState(seed: UInt64) async throws {
        // With the moment of the test in place of the server's.
        let source = ValkeyRateLimit.script.source
            .replacing("redis.call('TIME')", with: "{ARGV[8], ARGV[9]}")
        #expect(source != ValkeyRateLimit.script.source)
        let script = ValkeyScript(source)
        try await withValkeyServer { server in
            let commands = ServerCommands(server: server)
            var (state, random) = (RateLimitState(), RandomSource.seeded(seed))
            let intervals: [Duration] = [.milliseconds(10), .nanoseconds(14_286), .seconds(86_400), .microseconds(1)]
            let interval = intervals[Int(seed) % intervals.count]
            let burst = Int.random(in: 1...40, using: &random)
            var now = Int64(1_800_000_000_000_000)
            for _ in 0..<150 {
                now += Int64.random(in: -1_000...20_000, using: &random)
                let demand = demand(
                    Int.random(in: 0...30, using: &random),
                    spare: Int.random(in: 0...10, using: &random),
                    returned: Int.random(in: 0...2, using: &random),
                    interval: interval,
                    burst: burst,
                    lead: .milliseconds(Int.random(in: 0...100, using: &random))
                )
                let arguments = ValkeyRateLimit.arguments(of: demand) + [now / 1_000_000, now % 1_000_000]
                let result = try await commands.evaluate(
                    script,
                    keys: ["key"],
                    arguments: arguments.map { Array("\($0)".utf8) }
                )
                let grant = state.take(demand, at: .microseconds(now))
                #expect(result == [.integer(Int64(grant.permits)), .integer(grant.wait.nanoseconds)])
                // An expired key is the same as an idle one, but the test's clock is not the server's.
                _ = try server.command("PERSIST", "key")
            }
        }
    }

    @Test(.requires(.valkey), arguments: ["", "1 2", "2 1 1 1", "1 x y z", "1 9999999999999999 99999999999999999 9"])
    func damagedValueIsLimited(value: String) async throws {
        try await withValkeyServer { server in
            let store = ValkeyRateLimit(in: ServerCommands(server: server), namespace: "shop")
            try server.command("SET", store.key(of: demand(1)), value)
            let grant = try await store.take(demand(1))
            #expect(grant.permits <= 1 && grant.wait <= .milliseconds(1_010))
            try await eventually("the limit is usable", within: .seconds(3)) {
                try await store.take(demand(1)).permits == 1
            }
        }
    }
}
#endif
