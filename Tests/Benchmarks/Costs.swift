#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation

/// What a call costs: the stack of an app, its transport alone and the client alone, measured in turns.
///
/// The server runs in another process. It prints the tables of the documents.
enum Costs {
    /// The rows of a table of the documents.
    private enum Table: String, CaseIterable {
        case processorTime = "Processor time of a call in µs"
        case rate = "Calls a second"
        case call = "One call"
    }

    /// What is read from a case.
    private struct Metric {
        let table: Table
        /// The row, if it is not that of the case.
        var row: String?
        /// Whether the row is in Performance.md too, not only in Measurements.md.
        var isForUsers = true
        let value: @Sendable (Cost) -> Double

        static let processorTime = Metric(table: .processorTime) { $0.cpu / 1_000 }
        static let rate = Metric(table: .rate) { 1e9 / $0.time }
        static let contextSwitches = Metric(table: .call, row: "context switches, 16 callers") { $0.contextSwitches }

        /// The same for Measurements.md alone.
        var detailed: Metric {
            Metric(table: table, row: row, isForUsers: false, value: value)
        }
    }

    /// One row for one client.
    private struct Line {
        let table: Table
        let row: String
        let client: MeasuredClient.Name
        var isForUsers = true
        /// The figures of the stack of an app, the transport and the client.
        let values: [Double]
        /// The figure of the stack relative to that of the client.
        let ratio: Double
        var target: Double?
    }

    /// Measures everything over both clients; a smaller number of times that each client is created is faster.
    static func measure(clients: Int = MeasuredCase.clients) async throws -> [Row] {
        var lines: [Line] = []
        for client in MeasuredClient.Name.allCases {
            lines += try await measure(cases(client), of: client, clients: clients, over: "serve", scheme: "http")
            #if SecureTestServer
            if client == .asyncHTTPClient || HTTP2.isTrustedByURLSession {
                let cases = secureCases(client)
                lines += try await measure(cases, of: client, clients: clients, over: "serve-http2", scheme: "https")
            }
            #endif
            lines += try await processes(client)
        }
        print(lines)
        return lines.compactMap { line in
            line.target.map { target in
                let name = "\(line.client.rawValue): \(line.table.rawValue.lowercased()), \(line.row)"
                return Row(name: name, value: line.ratio, unit: "x", gate: target)
            }
        }
    }

    // MARK: Cases

    /// A case, what is read from it, and the least ratio of its rate.
    private struct Case {
        let measured: MeasuredCase
        let metrics: [Metric]
        var target: Double?
    }

    private static func cases(_ client: MeasuredClient.Name) -> [Case] {
        let isURLSession = client == .urlSession
        let total = isURLSession ? 512 : 1_024
        let all = [Metric.processorTime, .rate, .contextSwitches]
        return [
            get("1 caller", 1, total, [.processorTime, .rate], target: isURLSession ? 0.85 : nil),
            get("16 callers", 16, total, all, target: isURLSession ? 0.9 : 0.75),
            get("64 callers", 64, total, target: isURLSession ? nil : 0.75),
            get("256 callers", 256, total, target: isURLSession ? nil : 0.75),
            get("1 ms, 16 callers", 16, 512, [.rate]) { "slow/1/\($0)" },
            get("20 ms, 1 caller", 1, 16, rounds: 1, [.rate]) { "slow/20/\($0)" },
            get("20 ms, 16 callers", 16, 128, rounds: 1, [.rate]) { "slow/20/\($0)" },
            get("100 ms, 16 callers", 16, 48, rounds: 1, [.rate]) { "slow/100/\($0)" },
            get("64 KiB, 16 callers", 16, total / 2) { "bytes/65536/\($0)" },
            get("10 MiB, 1 caller", 1, 4, [.processorTime, .rate], target: isURLSession ? 1.1 : nil) {
                "bytes/10485760/\($0)"
            },
            typed("typed JSON, 16 callers", total, target: 0.9),
        ]
    }

    private static func secureCases(_ client: MeasuredClient.Name) -> [Case] {
        let total = client == .urlSession ? 512 : 1_024
        let detailed = [Metric.processorTime.detailed, .rate.detailed]
        return [
            get("HTTP/2, 1 caller", 1, total, detailed), get("HTTP/2, 16 callers", 16, total),
            get("HTTP/2, 64 callers", 64, total, detailed),
        ]
    }

    private static func get(
        _ name: String,
        _ callers: Int,
        _ total: Int,
        rounds: Int = 2,
        _ metrics: [Metric] = [.processorTime, .rate.detailed],
        target: Double? = nil,
        _ path: @escaping @Sendable (Int) -> String = { "items/\($0)" }
    ) -> Case {
        let measured = MeasuredCase(name: name, load: Load(callers: callers, total: total), rounds: rounds) { client in
            MeasuredClient.Side.allCases.map { client.call($0, path) }
        }
        return Case(measured: measured, metrics: metrics, target: target)
    }

    private static func typed(_ name: String, _ total: Int, target: Double? = nil) -> Case {
        let measured = MeasuredCase(name: name, load: Load(callers: 16, total: total), rounds: 2) { client in
            MeasuredClient.Side.allCases.map { client.typedCall($0) }
        }
        return Case(measured: measured, metrics: [.processorTime, .rate.detailed], target: target)
    }

    private static func measure(
        _ cases: [Case],
        of client: MeasuredClient.Name,
        clients: Int,
        over server: String,
        scheme: String
    ) async throws -> [Line] {
        let results = try await ChildProcess.withServer(server, scheme: scheme) { server in
            try await MeasuredCase.measure(cases.map(\.measured), clients: clients) { MeasuredClient(client, server) }
        }
        return zip(cases, results)
            .flatMap { measured, rounds in
                measured.metrics.map { metric in
                    Line(
                        table: metric.table,
                        row: metric.row ?? measured.measured.name,
                        client: client,
                        isForUsers: metric.isForUsers,
                        values: MeasuredClient.Side.allCases.indices.map { side in
                            rounds.map { metric.value($0[side]) }.median
                        },
                        ratio: rounds.map { metric.value($0[0]) / metric.value($0[2]) }.median,
                        target: metric.table == .rate ? measured.target : nil
                    )
                }
            }
    }

    // MARK: Processes

    /// What only a process of its own shows: allocations, and the memory of waiting calls.
    private static func processes(_ client: MeasuredClient.Name) async throws -> [Line] {
        let sides = MeasuredClient.Side.allCases.map { "\(client.countedName).\($0.rawValue)" }
        var lines: [Line] = []
        if let values = try allocations(sides) {
            lines.append(line("allocations, 16 callers", client, values))
        }
        let memory = try sides.map { side in
            let child = try ChildProcess("waiting", side, "1000")
            defer { child.end() }
            return Double(try child.number()) / 1_000
        }
        lines.append(line("KB while 1,000 wait", client, memory))
        return lines
    }

    private static func line(_ row: String, _ client: MeasuredClient.Name, _ values: [Double]) -> Line {
        Line(table: .call, row: row, client: client, values: values, ratio: values[0] / values[2])
    }

    /// Returns the allocations of a call, or `nil` if `heaptrack` is not installed.
    ///
    /// What the process allocates once is not counted: it is the difference between two numbers of calls.
    private static func allocations(_ names: [String]) throws -> [Double]? {
        var values: [Double] = []
        for name in names {
            guard let few = try allocations(name, calls: 512), let many = try allocations(name, calls: 2_048) else {
                return nil
            }
            values.append(Double(many - few) / (2_048 - 512))
        }
        return values
    }

    private static func allocations(_ name: String, calls: Int) throws -> Int? {
        let file = FileManager.default.temporaryDirectory.appending(path: "networking-benchmarks-\(UUID())").path
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["heaptrack", "-o", file, CommandLine.arguments[0], "count", name, "\(calls)", "16"]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        for suffix in ["zst", "gz"] {
            try? FileManager.default.removeItem(atPath: "\(file).\(suffix)")
        }
        return text.firstMatch(of: /\sallocations:\s+(\d+)/).flatMap { Int($0.1) }
    }

    // MARK: Tables

    /// Prints the tables of Performance.md, then those of Measurements.md.
    private static func print(_ lines: [Line]) {
        let clients = MeasuredClient.Name.allCases
        for table in Table.allCases {
            let header = clients.flatMap { ["\($0.rawValue) with the stack", "alone"] }
            let rows = rows(of: lines, in: table)
                .map { row in [row] + clients.flatMap { cells(of: $0, row, lines, table) } }
            printTable([table.rawValue] + header, rows)
        }
        for client in clients {
            let rows = Table.allCases.flatMap { table in
                lines.filter { $0.client == client && $0.table == table }.map(cells)
            }
            printTable(["Over \(client.rawValue)", "Stack", "Transport", "Client alone", "Ratio", "Target"], rows)
        }
    }

    /// The figures of the stack and of the client alone.
    private static func cells(
        of client: MeasuredClient.Name,
        _ row: String,
        _ lines: [Line],
        _ table: Table
    ) -> [String] {
        guard let line = lines.first(where: { $0.client == client && $0.row == row && $0.table == table }) else {
            return ["–", "–"]
        }
        return [format(line.values[0]), format(line.values[2])]
    }

    private static func cells(of line: Line) -> [String] {
        let name = line.table == .call ? line.row : "\(line.table.rawValue.lowercased()), \(line.row)"
        let ratio = String(format: "%.2f", line.ratio)
        guard let target = line.target else { return [name] + line.values.map(format) + [ratio, "–"] }
        let marked = line.ratio < target ? "**\(ratio)**" : ratio
        return [name] + line.values.map(format) + [marked, String(format: "%.2f", target)]
    }

    private static func rows(of lines: [Line], in table: Table) -> [String] {
        lines.filter { $0.table == table && $0.isForUsers }
            .map(\.row)
            .reduce(into: []) { rows, row in
                if !rows.contains(row) {
                    rows.append(row)
                }
            }
    }

    private static func printTable(_ header: [String], _ rows: [[String]]) {
        Swift.print("| \(header.joined(separator: " | ")) |")
        Swift.print("|\(String(repeating: "---|", count: header.count))")
        for cells in rows {
            Swift.print("| \(cells.joined(separator: " | ")) |")
        }
        Swift.print()
    }

    /// Formats a figure with a decimal place if it is below 10, and otherwise with separators of thousands.
    private static func format(_ value: Double) -> String {
        guard value >= 10 else { return String(format: "%.1f", value) }
        let digits = Array(String(Int(value.rounded())))
        return String(
            digits.enumerated()
                .flatMap { index, digit in
                    index > 0 && (digits.count - index).isMultiple(of: 3) ? [",", digit] : [digit]
                }
        )
    }
}
#endif
