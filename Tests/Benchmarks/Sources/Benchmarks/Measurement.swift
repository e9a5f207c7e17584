/// The time that one run of an operation takes, over several samples of many runs each.
struct Measurement {
    let name: String
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
    /// The clock is read around a whole sample and never inside `Clock.measure`, which hops off the executor.
    static func measure(
        _ name: String,
        runs: Int,
        samples: Int = 9,
        _ operation: () async throws -> Void
    ) async rethrows -> Measurement {
        var results: [Double] = []
        for sample in 0...samples {
            let start = ContinuousClock.now
            for _ in 0..<runs {
                try await operation()
            }
            let elapsed = ContinuousClock.now - start
            if sample > 0 {
                results.append(elapsed.nanoseconds / Double(runs))
            }
        }
        return Measurement(name: name, samples: results.sorted())
    }
}

extension Duration {
    var nanoseconds: Double {
        Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9
    }
}
