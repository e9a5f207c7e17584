import CLibraryForNetworking

/// The delay before another attempt: a base that may grow, with random jitter, up to a cap.
///
/// ```swift
/// let network = URLSession.shared.retry(.exponential(jitter: .equal))
/// ```
///
/// For any parameters and any number of retries, a delay is between zero and the cap.
public struct Backoff: Sendable {
    /// The random spread of a delay, so that clients that failed together do not return together.
    ///
    /// Any other spread is a ``Backoff/custom(_:)``.
    @nonexhaustive
    public enum Jitter: Sendable, Hashable, CaseIterable {
        /// No jitter.
        case none
        /// A random time between zero and the delay.
        case full
        /// A random time between half the delay and the delay.
        case equal
        /// A random time between the base and three times the previous delay, so that the delay grows only by chance.
        case decorrelated
    }

    private enum Curve: Sendable {
        case exponential(base: Duration, multiplier: Double, cap: Duration, Jitter)
        case custom(@Sendable (Int, Duration?, inout RandomSource) -> Duration)
    }

    private let curve: Curve

    /// No delay.
    public static let immediate = constant(.zero)

    /// The same delay each time.
    ///
    /// - Parameters:
    ///   - delay: The delay.
    ///   - jitter: The random spread of the delay.
    /// - Returns: The backoff.
    /// - Precondition: `delay` is not negative.
    public static func constant(_ delay: Duration, jitter: Jitter = .none) -> Backoff {
        precondition(delay >= .zero, "delay must not be negative (is \(delay))")
        let cap = jitter == .decorrelated ? min(delay, .seconds(Int64.max / 4)) * 3 : delay
        return Backoff(curve: .exponential(base: delay, multiplier: 1, cap: cap, jitter))
    }

    /// A delay that is multiplied by a factor each time.
    ///
    /// - Parameters:
    ///   - base: The first delay.
    ///   - multiplier: The factor by which the delay grows.
    ///   - cap: The maximum delay, including its jitter.
    ///   - jitter: The random spread of the delay.
    /// - Returns: The backoff.
    /// - Precondition: `base` and `cap` are not negative, and `multiplier` is at least 1.
    public static func exponential(
        base: Duration = .milliseconds(200),
        multiplier: Double = 2,
        cap: Duration = .seconds(20),
        jitter: Jitter = .full
    ) -> Backoff {
        precondition(base >= .zero, "base must not be negative (is \(base))")
        precondition(cap >= .zero, "cap must not be negative (is \(cap))")
        precondition(multiplier >= 1, "multiplier must be at least 1 (is \(multiplier))")
        return Backoff(curve: .exponential(base: base, multiplier: multiplier, cap: cap, jitter))
    }

    /// A delay that a closure computes.
    ///
    /// ```swift
    /// let linear = Backoff.custom { retry, _, random in
    ///     .milliseconds(100) * retry + .milliseconds(.random(in: 0...50, using: &random))
    /// }
    /// ```
    ///
    /// - Parameter delay: Returns the delay before a retry, from its number, counted from 1, and the delay before the
    ///   previous one. A negative delay counts as zero.
    /// - Returns: The backoff.
    public static func custom(
        _ delay: @escaping @Sendable (_ retry: Int, _ previous: Duration?, _ random: inout RandomSource) -> Duration
    ) -> Backoff {
        Backoff(curve: .custom(delay))
    }

    /// Returns the delay before a retry.
    ///
    /// - Parameters:
    ///   - retry: The number of the retry, from 1.
    ///   - previous: The delay before the previous retry; `nil` for the first.
    ///   - random: The source of randomness for the jitter.
    /// - Returns: The delay, from zero to the cap.
    public func delay(
        beforeRetry retry: Int,
        after previous: Duration? = nil,
        using random: inout RandomSource
    ) -> Duration {
        switch curve {
        case .custom(let delay):
            return max(.zero, delay(max(1, retry), previous, &random))
        case .exponential(let base, let multiplier, let cap, let jitter):
            let (first, limit) = (base / .seconds(1), cap / .seconds(1))
            // For a large exponent the product is infinite, and the cap limits it.
            let full = first == 0 ? 0 : min(limit, first * pow(multiplier, Double(max(0, retry - 1))))
            let seconds =
                switch jitter {
                case .none: full
                case .full: full * random.fraction()
                case .equal: full * random.halfToOne()
                case .decorrelated:
                    first + max(0, 3 * (previous.map { $0 / .seconds(1) } ?? first) - first) * random.fraction()
                }
            guard seconds < limit else { return cap }
            // Rounded to the nanosecond, so that a fifth of a second is 200 ms.
            return min(cap, seconds < 1e9 ? .nanoseconds(Int64((seconds * 1e9).rounded())) : .seconds(seconds))
        }
    }
}

extension Backoff: CustomStringConvertible {
    /// The delays, for the outline of a stack: `0.2 seconds to 20.0 seconds, full jitter`.
    public var description: String {
        switch curve {
        case .custom: "custom"
        case .exponential(_, _, let cap, _) where cap == .zero: "none"
        case .exponential(let base, let multiplier, let cap, let jitter):
            (multiplier == 1 && jitter != .decorrelated ? "\(base)" : "\(base) to \(cap)")
                + (jitter == .none ? "" : ", \(jitter) jitter")
        }
    }
}
