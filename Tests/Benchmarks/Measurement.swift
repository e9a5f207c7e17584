#if URLSession && AsyncHTTPClient && SQLite && Telemetry
/// The time that one run of an operation takes, over several samples of many runs each.
struct Measurement {
    /// Nanoseconds a run, of each sample, sorted.
    let samples: [Double]

    var median: Double {
        samples[samples.count / 2]
    }

    var minimum: Double {
        samples[0]
    }

    /// Measures an operation, with one sample to warm up.
    ///
    /// The clock is read around a whole sample and never with `Clock.measure`, which hops off the executor.
    static func measure(
        runs: Int,
        samples: Int = 15,
        _ operation: () async throws -> Void
    ) async rethrows -> Measurement {
        var results: [Double] = []
        for sample in 0...samples {
            let time = try await nanoseconds {
                for _ in 0..<runs {
                    try await operation()
                }
            }
            if sample > 0 {
                results.append(time / Double(runs))
            }
        }
        return Measurement(samples: results.sorted())
    }

    /// How much faster one operation is than another: their times in pairs, one after the other, so that what slows
    /// the machine down slows down both.
    static func ratio(
        rounds: Int,
        of operation: () async throws -> Void,
        to reference: () async throws -> Void
    ) async rethrows -> Measurement {
        var ratios: [Double] = []
        for round in 0...rounds {
            let first = round.isMultiple(of: 2)
            var time = first ? try await nanoseconds(operation) : 0
            let referenceTime = try await nanoseconds(reference)
            if !first {
                time = try await nanoseconds(operation)
            }
            if round > 0 {
                ratios.append(referenceTime / time)
            }
        }
        return Measurement(samples: ratios.sorted())
    }

    private static func nanoseconds(_ operation: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await operation()
        let elapsed = (ContinuousClock.now - start).components
        return Double(elapsed.seconds) * 1e9 + Double(elapsed.attoseconds) / 1e9
    }
}
#endif
