#if URLSession && AsyncHTTPClient && SQLite && Telemetry && Valkey
import Foundation
import Networking
import NetworkingValkey

/// The decisions of a limit that machines share, relative to other commands of the same connection.
///
/// It starts `redis-server` on a Unix socket, and measures nothing if there is none.
enum Valkey {
    static func measure() async throws -> [Row] {
        let socket = "/tmp/valkey-benchmark-\(ProcessInfo.processInfo.processIdentifier)"
        let server = Process()
        server.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        server.arguments = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""]
        server.standardOutput = FileHandle.nullDevice
        try server.run()
        defer {
            // Not SIGTERM, which children inherit as blocked from a thread of Dispatch.
            kill(server.processIdentifier, SIGKILL)
            server.waitUntilExit()
            unlink(socket)
        }
        // No command is to fail because the machine is busy.
        let configuration = ValkeyConfiguration(timeout: .seconds(10), backoff: .constant(.milliseconds(50)))
        let client = ValkeyClient(.unixSocket(socket), configuration: configuration)
        while server.isRunning, (try? await client.set("key", to: [1], ValkeySetOptions())) == nil {
            try await Task.sleep(for: .milliseconds(20))
        }
        guard server.isRunning else { return [] }
        let rows = try await measure(client)
        await client.shutdown()
        return rows
    }

    private static func measure(_ client: ValkeyClient) async throws -> [Row] {
        let store = ValkeyRateLimit(client, namespace: "benchmarks")
        let demand = RateLimitDemand(
            key: "vendor",
            permits: 1,
            interval: .microseconds(1),
            burst: 1_000_000,
            lead: .milliseconds(100)
        )
        let one = ValkeyScript("return 1")
        let get = { @Sendable in _ = try await client.get("key") }
        let script = { @Sendable in _ = try await client.evaluate(one, keys: ["key"], arguments: []) }
        let decide = { @Sendable in _ = try await store.take(demand) }
        // In turns, and the best of each: a slow second of the machine must not affect a single row.
        var (bare, scripted, decision) = (Double.infinity, Double.infinity, Double.infinity)
        for _ in 0..<20 {
            bare = min(bare, try await Measurement.measure(runs: 500, samples: 1, get).minimum)
            scripted = min(scripted, try await Measurement.measure(runs: 500, samples: 1, script).minimum)
            decision = min(decision, try await Measurement.measure(runs: 500, samples: 1, decide).minimum)
        }
        return [
            Row(name: "a round trip to Redis over a Unix socket", value: bare, unit: "ns"),
            Row(name: "a script that does nothing, to a round trip", value: scripted / bare, unit: "times"),
            Row(
                name: "a decision of a shared limit, to a round trip",
                value: decision / bare,
                unit: "times",
                gate: 1.3
            ),
            Row(name: "round trips of 100 callers", value: try await rate(get), unit: "/s"),
            Row(name: "decisions of 100 callers", value: try await rate(decide), unit: "/s", gate: 20_000),
        ]
    }

    /// Returns how often 100 callers run an operation in a second; the best of five attempts.
    private static func rate(_ operation: @escaping @Sendable () async throws -> Void) async throws -> Double {
        let (callers, runs) = (100, 1_000)
        var best = 0.0
        for _ in 0..<5 {
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<callers {
                    group.addTask {
                        for _ in 0..<runs { try await operation() }
                    }
                }
                try await group.waitForAll()
            }
            best = max(best, Double(callers * runs) / ((ContinuousClock.now - start) / .seconds(1)))
        }
        return best
    }
}
#endif
