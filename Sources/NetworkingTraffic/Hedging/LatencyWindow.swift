/// The latest latencies of a route, from which the delay of a hedge follows.
///
/// An attempt that was cancelled had not answered by then, so its latency is only known to be longer. Such samples are
/// censored: leaving them out would make the slowest attempts disappear, and the percentile too short. The percentiles
/// are those of the Kaplan-Meier estimator, which takes them into account.
struct LatencyWindow {
    /// The number of samples that are kept.
    private static let capacity = 1_000
    /// The age at which a sample no longer counts, in nanoseconds.
    private static let maximumAge: Int64 = 600_000_000_000
    /// The smallest number of samples with percentiles.
    private static let minimumCount = 50
    /// The shortest time between two computations of the percentiles, and the longest, in nanoseconds.
    private static let (shortestInterval, longestInterval): (Int64, Int64) = (100_000_000, 10_000_000_000)
    /// The part of the samples that is replaced between two computations.
    private static let replacedPart = 50

    private struct Sample {
        let moment: Int64
        let latency: Int64
        let isCensored: Bool
    }

    private let tail: Double
    private var samples: [Sample] = []
    /// The index of the oldest sample, once the window is full.
    private var oldest = 0
    /// The number of samples since the last computation.
    private var added = 0
    /// The moment of the last computation; `nil` if there was none.
    private var computation: Int64?
    private var latest: HedgingPolicy.Latencies?

    /// Creates an empty window.
    ///
    /// - Parameter tail: The part of the attempts that take longer than the percentile.
    init(tail: Double) {
        self.tail = tail
    }

    /// Adds a sample.
    ///
    /// - Parameters:
    ///   - latency: The time to the head, in nanoseconds.
    ///   - isCensored: Whether the attempt ended without a head after this time.
    ///   - now: The current time, in nanoseconds.
    mutating func add(_ latency: Int64, isCensored: Bool, at now: Int64) {
        // A clock that is set back makes the time negative.
        let sample = Sample(moment: now, latency: max(0, latency), isCensored: isCensored)
        added += 1
        guard samples.count == Self.capacity else {
            samples.append(sample)
            return
        }
        samples[oldest] = sample
        oldest = (oldest + 1) % Self.capacity
    }

    /// Returns the percentiles, at most ten seconds old; `nil` if there are too few samples.
    mutating func latencies(at now: Int64) -> HedgingPolicy.Latencies? {
        guard samples.count >= Self.minimumCount else { return nil }
        if let computation {
            let age = now - computation
            let isDue = added * Self.replacedPart >= samples.count && age >= Self.shortestInterval
            // The clock of another stack may be behind.
            guard isDue || age >= Self.longestInterval || age < 0 else { return latest }
        }
        (computation, added) = (now, 0)
        latest = computed(at: now)
        return latest
    }

    private func computed(at now: Int64) -> HedgingPolicy.Latencies? {
        let live = samples.filter { now - $0.moment <= Self.maximumAge }
            .sorted { ($0.latency, $0.isCensored ? 1 : 0) < ($1.latency, $1.isCensored ? 1 : 0) }
        guard live.count >= Self.minimumCount, let last = live.last else { return nil }
        var survival = 1.0
        var median: Int64?
        for (index, sample) in live.enumerated() {
            if !sample.isCensored { survival *= 1 - 1 / Double(live.count - index) }
            if median == nil, survival <= 0.5 + 1e-9 { median = sample.latency }
            if survival <= tail + 1e-9 {
                return HedgingPolicy.Latencies(median: median ?? sample.latency, tail: sample.latency)
            }
        }
        // So many of the slowest are censored that the percentile is longer than any sample.
        return HedgingPolicy.Latencies(median: median ?? last.latency, tail: last.latency)
    }
}

extension HedgingPolicy.Latencies {
    fileprivate init(median: Int64, tail: Int64) {
        self.init(median: .nanoseconds(median), tail: .nanoseconds(tail))
    }
}
