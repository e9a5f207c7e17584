#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import Networking
import Synchronization

/// The cost of a call while many others wait for their responses, and the memory that a waiting call takes.
enum InFlight {
    static func measure() async throws -> [Row] {
        let slowness = try await Overhead.slowness()
        var rows: [Row] = []
        for count in [10, 1_000, 100_000] {
            let time = try await callTime(waiting: count)
            rows.append(Row(name: "a call through the app stack, \(count) in flight", value: time, unit: "ns"))
        }
        rows.append(
            Row(name: "one async call here and now, relative to the targets' machine", value: slowness, unit: "times")
        )
        for name in ["task", "app"] {
            let child = try ChildProcess("waiting", name, "20000")
            defer { child.end() }
            rows.append(
                Row(
                    name: name == "app" ? "memory of a waiting call of the app stack" : "memory of its task alone",
                    value: Double(try child.number()),
                    unit: "bytes"
                )
            )
        }
        return rows
    }

    /// Nanoseconds of a call while a number of other calls wait.
    private static func callTime(waiting count: Int) async throws -> Double {
        let transport = HoldingTransport()
        let network: any NetworkingComponent = transport.appStack(URL(string: "https://api.example.com")!)
        return try await transport.hold(count, over: network) {
            try await Measurement.measure(runs: 1_000, samples: 20) {
                _ = try await network.data(HTTPRequestData(path: "now"))
            }
            .minimum
        }
    }

    /// Prints the memory of each of a number of waiting calls, for the process that ``ChildProcess`` starts.
    ///
    /// The names are `task`, `app`, and those of clients in ``CountedStacks``, such as `http.client`, whose calls wait
    /// for a server, each in a connection of its own.
    static func printMemory(of name: String, waiting count: Int) async throws {
        let words = name.split(separator: ".")
        if let client = MeasuredClient.Name.allCases.first(where: { $0.countedName == words[0] }) {
            let side = MeasuredClient.Side(rawValue: String(words[1]))!
            return try await Task.detached { try await printMemory(of: client, side, waiting: count) }.value
        }
        let transport = HoldingTransport()
        let stack: any NetworkingComponent = transport.appStack(URL(string: "https://api.example.com")!)
        let network: any NetworkingComponent = name == "app" ? stack : transport
        // Objects that the first calls create once are not counted.
        try await transport.hold(100, over: network) {}
        let before = memory()
        let after = try await transport.hold(count, over: network) { memory() }
        print((after - before) / count)
    }

    private static func printMemory(
        of name: MeasuredClient.Name,
        _ side: MeasuredClient.Side,
        waiting count: Int
    ) async throws {
        try await ChildProcess.withServer { server in
            let client = MeasuredClient(name, server, connections: count + 1)
            // Objects that the first calls create once are not counted.
            try await Load(callers: 16, total: 64).run(client.call(side) { "items/\($0)" })
            let before = memory()
            try await withThrowingTaskGroup { group in
                let waiting = client.call(side) { "slow/9000/\($0)" }
                for number in 0..<count {
                    group.addTask { try await waiting(number) }
                }
                try await client.call(side) { "held/\($0)" }(count)
                print((memory() - before) / count)
                // Without waiting for the responses.
                exit(0)
            }
        }
    }

    /// The bytes of memory that the process uses; 0 where the system does not say it as Linux does.
    private static func memory() -> Int {
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4_096
    }
}

/// A transport that holds calls until they are released, and responds at once to the path `/now`.
///
/// It claims to enforce time limits, as the transports for a network do, so a call has no more tasks than over those.
private final class HoldingTransport: NetworkingComponent {
    private let response = HTTPResponseData(request: HTTPRequestData())
    private let held = Mutex<[CheckedContinuation<Void, Never>]>([])

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        if request.path != "/now" {
            await withCheckedContinuation { continuation in
                held.withLock { $0.append(continuation) }
            }
        }
        return response
    }

    // swift-format-ignore: NoLeadingUnderscores
    var _endsAtLimit: Bool {
        true
    }

    /// Runs an operation while a number of calls wait in this transport.
    func hold<Success: Sendable>(
        _ count: Int,
        over network: any NetworkingComponent,
        _ operation: () async throws -> Success
    ) async throws -> Success {
        try await withThrowingTaskGroup { group in
            for number in 0..<count {
                group.addTask { _ = try await network.send(HTTPRequestData(path: "held/\(number)")) }
            }
            while held.withLock({ $0.count }) < count {
                await Task.yield()
            }
            let result = try await operation()
            for continuation in held.withLock({ held in
                defer { held = [] }
                return held
            }) {
                continuation.resume()
            }
            try await group.waitForAll()
            return result
        }
    }
}
#endif
