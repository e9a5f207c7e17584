#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation

/// A number of concurrent callers that make the same number of calls each.
struct Load {
    let callers: Int
    let calls: Int

    /// Splits a number of calls among callers.
    init(callers: Int, total: Int) {
        self.callers = callers
        calls = max(1, total / callers)
    }

    /// Makes the calls; each gets a different number.
    func run(_ call: @escaping @Sendable (_ number: Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            for caller in 0..<callers {
                group.addTask { [calls] in
                    for number in 0..<calls {
                        try await call(caller * calls + number)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Measures two operations under this load: in pairs, one after the other, in alternating order.
    func pairs(
        rounds: Int,
        of call: @escaping @Sendable (Int) async throws -> Void,
        to reference: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> [CostPair] {
        var pairs: [CostPair] = []
        for round in 0...rounds {
            let pair: CostPair
            if round.isMultiple(of: 2) {
                let own = try await cost(of: call)
                pair = CostPair(own: own, reference: try await cost(of: reference))
            } else {
                let other = try await cost(of: reference)
                pair = CostPair(own: try await cost(of: call), reference: other)
            }
            // The first round opens the connections.
            if round > 0 {
                pairs.append(pair)
            }
        }
        return pairs
    }

    /// Compares two operations under this load.
    func compare(
        rounds: Int,
        of call: @escaping @Sendable (Int) async throws -> Void,
        to reference: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> Comparison {
        Comparison(of: try await pairs(rounds: rounds, of: call, to: reference))
    }

    private func cost(of call: @escaping @Sendable (Int) async throws -> Void) async throws -> Cost {
        let start = ContinuousClock.now
        let cpu = Cost.cpuTime
        try await run(call)
        let count = Double(callers * calls)
        return Cost(time: (ContinuousClock.now - start) / .nanoseconds(1) / count, cpu: (Cost.cpuTime - cpu) / count)
    }
}

/// The costs of two operations that were measured one after the other.
struct CostPair: Sendable {
    fileprivate let own: Cost
    fileprivate let reference: Cost
}

/// The cost of a call.
struct Cost: Sendable {
    /// Nanoseconds of time.
    let time: Double
    /// Nanoseconds of CPU time of this process.
    let cpu: Double

    /// Nanoseconds of CPU time that all threads of this process have used.
    static var cpuTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

/// The medians of a comparison.
struct Comparison {
    /// Calls a second, relative to the reference.
    let rate: Double
    /// Microseconds of CPU time for a call.
    let cpu: Double
    /// Microseconds of CPU time for a call of the reference.
    let referenceCPU: Double

    init(of pairs: [CostPair]) {
        rate = Self.median(pairs.map { $0.reference.time / $0.own.time })
        cpu = Self.median(pairs.map(\.own.cpu)) / 1_000
        referenceCPU = Self.median(pairs.map(\.reference.cpu)) / 1_000
    }

    private static func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }

    /// The row of a report.
    func row(_ name: String, gate: Double? = nil) -> Row {
        let detail = String(format: "CPU %.1f us a call, client alone %.1f us", cpu, referenceCPU)
        return Row(name: name, value: rate, unit: "x", gate: gate, detail: detail)
    }
}
#endif
