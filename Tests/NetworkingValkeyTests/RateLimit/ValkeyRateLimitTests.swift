#if Valkey
import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingValkey

/// Commands with a fixed result.
private struct FixedCommands: ValkeyCommands {
    let result: ValkeyValue

    func get(_ key: String) async throws -> [UInt8]? { nil }

    func set(_ key: String, to value: [UInt8], _ options: ValkeySetOptions) async throws -> Bool { true }

    func evaluate(_ script: ValkeyScript, keys: [String], arguments: [[UInt8]]) async throws -> ValkeyValue { result }
}

extension Servers {
    @Suite(.timeLimit(.minutes(20)))
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
            let store = ValkeyRateLimit(FixedCommands(result: .null), namespace: "shop")
            let key = store.key(of: demand(1))
            #expect(key.hasPrefix("{shop:") && key.hasSuffix("}:rate"))
            #expect(key.count == "{shop:}:rate".count + 32)
            #expect(!key.contains("emily"))
        }

        @Test(arguments: [
            ValkeyValue.null, [], [1], ["x", 1], [1, 2, 3], .error("ERR"), .bytes([]), [.null, .null], .double(1),
        ])
        func otherRepliesAreErrors(result: ValkeyValue) async {
            let store = ValkeyRateLimit(FixedCommands(result: result), namespace: "shop")
            await #expect(throws: ValkeyError.self) { try await store.take(demand(1)) }
        }

        @Test(.requires(.valkey)) func serverGrantsTheBurstAndRemovesTheKey() async throws {
            try await withServer { server, client in
                let store = ValkeyRateLimit(client, namespace: "shop")
                let start = ContinuousClock.now
                #expect(try await store.take(demand(7)) == RateLimitGrant(permits: 7, wait: .zero))
                let second = try await store.take(demand(1_000))
                let later = Int((ContinuousClock.now - start) / .milliseconds(10))
                #expect(second.permits >= 13 && second.permits <= 25 + later && second.wait <= .milliseconds(100))
                let key = store.key(of: demand(1))
                // A key without an expiry has -1.
                #expect(try server.command("PTTL", key) != ":-1\r\n")
                try await eventually("the key has expired", within: .seconds(3)) {
                    try server.command("EXISTS", key) == ":0\r\n"
                }
            }
        }

        /// The script makes the same decisions as ``RateLimitState``.
        @Test(.requires(.valkey), arguments: [1, 2, 3] as [UInt64])
        func scriptMakesTheDecisionsOfTheState(seed: UInt64) async throws {
            // With the moment of the test in place of the server's, and without an expiry on the server's clock.
            let source = ValkeyRateLimit.script.source
                .replacing("call('TIME')", with: "{ARGV[2], ARGV[3]}")
                .replacing("'PSETEX', KEYS[1], expiry", with: "'SET', KEYS[1]")
            #expect(!source.contains("TIME") && !source.contains("PSETEX"))
            let script = ValkeyScript(source)
            try await withServer { server, client in
                var (state, random) = (RateLimitState(), RandomSource.seeded(seed))
                let intervals: [Duration] = [
                    .milliseconds(10), .nanoseconds(14_286), .seconds(86_400), .microseconds(1),
                ]
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
                    let result = try await client.evaluate(
                        script,
                        keys: ["key"],
                        arguments: [
                            ValkeyRateLimit.argument(of: demand), bytes("\(now / 1_000_000)"),
                            bytes("\(now % 1_000_000)"),
                        ]
                    )
                    let grant = state.take(demand, at: .microseconds(now))
                    #expect(result == [.integer(Int64(grant.permits)), .integer(grant.wait.nanoseconds)])
                }
            }
        }

        @Test(
            .requires(.valkey),
            arguments: [
                [], [1, 2], [2, 1, 1, 1], [1, .nan, .nan, .nan], [1, 9e15, 9e16, 9], [1, -1, 1e300, 1e300],
                [1, .infinity, .infinity, .infinity], [1, -.infinity, .infinity, 1], [.nan, 1, 1, 1],
            ] as [[Double]]
        )
        func damagedValueIsLimited(numbers: [Double]) async throws {
            try await withServer { _, client in
                let store = ValkeyRateLimit(client, namespace: "shop")
                let value = numbers.flatMap { number in
                    withUnsafeBytes(of: number.bitPattern.littleEndian) { Array($0) }
                }
                try await client.set(store.key(of: demand(1)), to: value, ValkeySetOptions())
                let grant = try await store.take(demand(1))
                #expect(grant.permits <= 1 && grant.wait <= .milliseconds(1_010))
                try await eventually("the limit is usable", within: .seconds(3)) {
                    try await store.take(demand(1)).permits == 1
                }
            }
        }

        private func withServer(_ body: (ValkeyServer, ValkeyClient) async throws -> Void) async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { try await body(server, $0) }
            }
        }
    }
}
#endif
