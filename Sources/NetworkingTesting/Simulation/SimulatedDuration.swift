import CLibraryForNetworking
import NetworkingCore

/// A distribution of durations, from which a simulation draws.
public struct SimulatedDuration: Sendable, CustomStringConvertible {
    /// The distribution and its parameters.
    public let description: String
    private let quantile: @Sendable (_ fraction: Double) -> Duration

    private init(_ description: String, _ quantile: @escaping @Sendable (_ fraction: Double) -> Duration) {
        (self.description, self.quantile) = (description, quantile)
    }

    /// Returns a distribution with one duration.
    ///
    /// - Precondition: `duration` is not negative.
    public static func constant(_ duration: Duration) -> SimulatedDuration {
        precondition(duration >= .zero, "duration must not be negative (is \(duration))")
        return SimulatedDuration("constant(\(duration))") { _ in duration }
    }

    /// Returns an exponential distribution, as of a server whose requests differ a lot.
    ///
    /// - Precondition: `mean` is greater than zero.
    public static func exponential(mean: Duration) -> SimulatedDuration {
        precondition(mean > .zero, "mean must be greater than zero (is \(mean))")
        return SimulatedDuration("exponential(mean: \(mean))") { mean.bounded * -log(1 - $0) }
    }

    /// Returns a log-normal distribution, as of most services: a typical duration, and a long tail.
    ///
    /// - Parameters:
    ///   - median: The duration that half of the requests take at most.
    ///   - p99: The duration that 99 % of the requests take at most.
    /// - Returns: The distribution.
    /// - Precondition: `median` is greater than zero, and `p99` is not less.
    public static func logNormal(median: Duration, p99: Duration) -> SimulatedDuration {
        precondition(median > .zero, "median must be greater than zero (is \(median))")
        precondition(p99 >= median, "p99 must not be less than the median (is \(p99))")
        let sigma = log(p99 / median) / 2.326_347_874
        return SimulatedDuration("logNormal(median: \(median), p99: \(p99))") { fraction in
            let seconds = median / .seconds(1) * exp(sigma * normalQuantile(fraction))
            return .seconds(min(seconds, Duration.seconds(Int64.max).bounded / .seconds(1)))
        }
    }

    /// Returns the distribution of measured durations, each of which is equally probable.
    ///
    /// - Precondition: There is a sample, and none is negative.
    public static func samples(_ samples: [Duration]) -> SimulatedDuration {
        precondition(!samples.isEmpty, "samples must not be empty")
        if let sample = samples.first(where: { $0 < .zero }) {
            preconditionFailure("samples must not be negative (one is \(sample))")
        }
        let sorted = samples.sorted()
        return SimulatedDuration("samples(\(samples.count))") { sorted[Int($0 * Double(sorted.count))] }
    }

    func draw(from random: RandomSource) -> Duration {
        // A tail may be longer than any duration that can be added to a moment.
        quantile(random.fraction()).bounded
    }

    /// Returns the value below which a share of the standard normal distribution is.
    private static func normalQuantile(_ share: Double) -> Double {
        var (low, high) = (-9.0, 9.0)
        // Each step halves the interval, so the result is precise to nine digits.
        for _ in 0..<36 {
            let middle = (low + high) / 2
            if erfc(-middle / 1.414_213_562_373) / 2 < share {
                low = middle
            } else {
                high = middle
            }
        }
        return low
    }
}
