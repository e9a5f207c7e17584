#if URLSession && AsyncHTTPClient && SQLite
import Foundation
import Networking

/// Measures the library against its budgets:
/// `swift run -c release --traits URLSession,AsyncHTTPClient,SQLite Benchmarks [overhead|mocks|caches|transport|asynchttpclient|downloads|streams]`.
///
/// It ends with an exit code of 1 when a gate is missed. Times are of this machine; ratios hold on others too.
@main
struct Benchmarks {
    static func main() async throws {
        let choice = CommandLine.arguments.dropFirst().first
        var report = Report()
        // Off the main actor, whose executor makes every suspension cost 14 us.
        if choice == nil || choice == "overhead" {
            report.rows += try await Task.detached { try await Overhead.measure() }.value
            report.rows += try await Overhead.measureOnMainActor()
        }
        if choice == nil || choice == "mocks" {
            report.rows += try await Task.detached { try await Mocks.measure() }.value
        }
        if choice == nil || choice == "caches" {
            report.rows += try await Task.detached { try await Caches.measure() }.value
        }
        if choice == nil || choice == "transport" {
            report.rows += try await Task.detached { try await TransportRatio.measureURLSession() }.value
        }
        if choice == nil || choice == "asynchttpclient" {
            report.rows += try await Task.detached { try await TransportRatio.measureAsyncHTTPClient() }.value
        }
        if choice == nil || choice == "downloads" {
            report.rows += try await Task.detached { try await Downloads.measureURLSession() }.value
            report.rows += try await Task.detached { try await Downloads.measureAsyncHTTPClient() }.value
        }
        if choice == nil || choice == "streams" {
            report.rows += try await Task.detached { try Streams.measure() }.value
        }
        report.print()
        exit(report.isWithinGates ? 0 : 1)
    }
}

/// One budget and how it is met.
struct Row: Sendable {
    let name: String
    let value: Double
    let unit: String
    /// The most (of a time) or the least (of a ratio or a rate) that is allowed; nil for what is only reported.
    var gate: Double?

    var isRatio: Bool {
        unit == "x"
    }

    /// Whether more is better.
    var isLeast: Bool {
        isRatio || unit == "MB/s"
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
            let value = row.isRatio ? String(format: "%.2f", row.value) : String(format: "%.0f", row.value)
            let gate = row.gate.map { gate in
                row.isRatio
                    ? String(format: ">= %.2f", gate) : String(format: row.isLeast ? ">= %.0f" : "<= %.0f", gate)
            }
            let name = row.name.padding(toLength: 64, withPad: " ", startingAt: 0)
            Swift.print(name, value, row.unit, gate.map { "(gate \($0))" } ?? "", row.isWithinGate ? "" : "MISSED")
        }
    }
}
#else
@main
enum Benchmarks {
    static func main() {}
}
#endif
