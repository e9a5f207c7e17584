#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import Networking

/// Measures the library against its budgets:
/// `swift run -c release --traits URLSession,AsyncHTTPClient,SQLite,Telemetry,SecureTestServer,Valkey,Crypto Benchmarks
/// [overhead|inflight|mocks|caches|bodies|costs|parts|transfers|streams|valkey]`.
///
/// `costs` prints tables for the documents too. `costs 1` and `transfers 1` are shorter and less exact.
///
/// `Benchmarks count NAME CALLS [CALLERS]` makes calls through one of the stacks of ``CountedStacks``, for counting
/// instructions.
///
/// The exit code is 1 if a result is worse than its target. Times are of this machine; ratios hold on others too.
@main
struct Benchmarks {
    static func main() async throws {
        let arguments = CommandLine.arguments
        switch arguments.dropFirst().first {
        case "serve": try await BenchmarkServer.serve()
        #if SecureTestServer
        case "serve-http2": try await HTTP2.serve()
        #endif
        case "waiting": return try await InFlight.printMemory(of: arguments[2], waiting: Int(arguments[3]) ?? 0)
        case "count":
            let callers = arguments.count > 4 ? Int(arguments[4]) ?? 1 : 1
            return try await CountedStacks.call(arguments[2], times: Int(arguments[3]) ?? 0, callers: callers)
        case let choice: try await measure(choice)
        }
    }

    /// Measures everything, or one of the groups.
    private static func measure(_ choice: String?) async throws {
        var report = Report()
        // Off the main actor: a suspension costs 14 us on its executor.
        if choice == nil || choice == "overhead" {
            report.rows += try await Task.detached { try await Overhead.measure() }.value
            report.rows += try await Overhead.measureOnMainActor()
        }
        if choice == nil || choice == "inflight" {
            report.rows += try await Task.detached { try await InFlight.measure() }.value
        }
        if choice == nil || choice == "mocks" {
            report.rows += try await Task.detached { try await Mocks.measure() }.value
        }
        if choice == nil || choice == "caches" {
            report.rows += try await Task.detached { try await Caches.measure() }.value
        }
        if choice == nil || choice == "bodies" {
            report.rows += try await Task.detached { try await Bodies.measure() }.value
        }
        let repetitions = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) }
        if choice == nil || choice == "costs" {
            let clients = repetitions ?? MeasuredCase.clients
            report.rows += try await Task.detached { try await Costs.measure(clients: clients) }.value
        }
        if choice == nil || choice == "parts" {
            report.rows += try await Task.detached { try await Parts.measure() }.value
        }
        if choice == nil || choice == "transfers" {
            report.rows += try await Task.detached { try await Transfers.measure(rounds: repetitions ?? 3) }.value
        }
        if choice == nil || choice == "streams" {
            report.rows += try await Task.detached { try await Streams.measure() }.value
        }
        #if Valkey
        if choice == nil || choice == "valkey" {
            report.rows += try await Task.detached { try await Valkey.measure() }.value
        }
        #endif
        report.print()
        exit(report.isWithinGates ? 0 : 1)
    }
}

/// A result and its budget.
struct Row: Sendable {
    let name: String
    let value: Double
    let unit: String
    /// The maximum of a time or the minimum of a ratio or rate; `nil` for a result that is only reported.
    var gate: Double?
    /// More figures of the same measurement.
    var detail = ""

    var isRatio: Bool {
        unit == "x"
    }

    /// Whether more is better.
    var isLeast: Bool {
        isRatio || unit == "MB/s" || unit == "/s"
    }

    var isWithinGate: Bool {
        guard let gate else { return true }
        return isLeast ? value >= gate : value <= gate
    }
}

struct Report {
    var rows: [Row] = []

    var isWithinGates: Bool {
        rows.allSatisfy(\.isWithinGate)
    }

    func print() {
        for row in rows {
            let format = row.isRatio || row.unit == "times" ? "%.2f" : "%.0f"
            let value = String(format: format, row.value)
            let gate = row.gate.map { (row.isLeast ? ">= " : "<= ") + String(format: format, $0) }
            let name = row.name.padding(toLength: 64, withPad: " ", startingAt: 0)
            let notes = [gate.map { "(target \($0))" }, row.isWithinGate ? nil : "MISSED", row.detail]
            Swift.print(name, value, row.unit, notes.compactMap(\.self).joined(separator: " "))
        }
    }
}
#else
@main
enum Benchmarks {
    static func main() {}
}
#endif
