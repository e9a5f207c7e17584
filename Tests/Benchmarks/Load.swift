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

    /// Measures operations under this load: one after the other, in an order that alternates from round to round.
    ///
    /// - Returns: For each round, the cost of each operation, in the order of the arguments.
    func rounds(_ count: Int, of calls: [@Sendable (Int) async throws -> Void]) async throws -> [[Cost]] {
        var rounds: [[Cost]] = []
        for round in 0...count {
            var costs: [Cost] = []
            for call in round.isMultiple(of: 2) ? calls : calls.reversed() {
                costs.append(try await cost(of: call))
            }
            // The first round opens the connections.
            if round > 0 {
                rounds.append(round.isMultiple(of: 2) ? costs : costs.reversed())
            }
        }
        return rounds
    }

    private func cost(of call: @escaping @Sendable (Int) async throws -> Void) async throws -> Cost {
        let start = ContinuousClock.now
        let (cpu, switches) = (Cost.cpuTime, Cost.contextSwitches)
        try await run(call)
        let count = Double(callers * calls)
        return Cost(
            time: (ContinuousClock.now - start) / .nanoseconds(1) / count,
            cpu: (Cost.cpuTime - cpu) / count,
            contextSwitches: (Cost.contextSwitches - switches) / count
        )
    }
}

/// The cost of a call.
struct Cost: Sendable {
    /// Nanoseconds of time.
    let time: Double
    /// Nanoseconds of CPU time of this process.
    let cpu: Double
    /// How often a thread of this process lost its processor or waited.
    let contextSwitches: Double

    /// Nanoseconds of CPU time that all threads of this process have used.
    static var cpuTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }

    static var contextSwitches: Double {
        var usage = rusage()
        #if canImport(Darwin)
        getrusage(RUSAGE_SELF, &usage)
        #else
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #endif
        return Double(usage.ru_nvcsw + usage.ru_nivcsw)
    }
}

extension [Double] {
    /// The value in the middle of the sorted values.
    var median: Double {
        sorted()[count / 2]
    }
}
#endif
