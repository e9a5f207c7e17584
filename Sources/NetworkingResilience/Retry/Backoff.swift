import CLibraryForNetworking
import NetworkingCore

/// The delay before a retry: a base that may grow, with random jitter, up to a cap.
///
/// ```swift
/// let network = URLSession.shared.retry(.exponential(jitter: .equal))
/// ```
///
/// For any parameters and any number of retries, a delay is between zero and the cap.
public struct Backoff: Sendable, Hashable {
    /// The random spread of a delay, so that clients that failed together do not return together.
    public enum Jitter: Sendable, Hashable {
        /// No jitter.
        case none
        /// A random time between zero and the delay.
        case full
        /// A random time between half the delay and the delay.
        case equal
        /// A random time between the base and three times the previous delay, so that the delay grows only by chance.
        case decorrelated
        /// An exponential curve without steps, with random spread.
        ///
        /// The first delay is about the base.
        case smooth
        /// The delay, plus or minus a random fraction of up to this value: gRPC uses 0.2.
        case proportional(Double)
        /// The delay plus a random fraction of up to this value.
        case stretched(Double)
        /// The delay plus a random time of up to this duration.
        case additive(Duration)
    }

    private let base: Double
    private let multiplier: Double
    private let cap: Duration
    private let jitter: Jitter

    private init(base: Duration, multiplier: Double, cap: Duration, jitter: Jitter) {
        self.base = base.inSeconds
        self.multiplier = multiplier
        self.cap = cap
        self.jitter = jitter
    }

    /// No delay.
    public static let immediate = constant(.zero)

    /// The same delay each time.
    ///
    /// - Parameters:
    ///   - delay: The delay.
    ///   - jitter: The random spread of the delay.
    /// - Returns: The backoff.
    /// - Precondition: `delay` is not negative, nor is the fraction or duration of the jitter. The fraction of
    ///   ``Jitter/proportional(_:)`` is at most 1.
    public static func constant(_ delay: Duration, jitter: Jitter = .none) -> Backoff {
        precondition(delay >= .zero, "delay must not be negative (is \(delay))")
        jitter.check()
        return Backoff(base: delay, multiplier: 1, cap: jitter.maximum(for: delay), jitter: jitter)
    }

    /// A delay that is multiplied by a factor each time.
    ///
    /// - Parameters:
    ///   - base: The first delay.
    ///   - multiplier: The factor by which the delay grows.
    ///   - cap: The maximum delay, including its jitter.
    ///   - jitter: The random spread of the delay.
    /// - Returns: The backoff.
    /// - Precondition: `base` and `cap` are not negative, `multiplier` is at least 1, and the fraction or duration of
    ///   the jitter is not negative. The fraction of ``Jitter/proportional(_:)`` is at most 1.
    public static func exponential(
        base: Duration = .milliseconds(200),
        multiplier: Double = 2,
        cap: Duration = .seconds(20),
        jitter: Jitter = .full
    ) -> Backoff {
        precondition(base >= .zero, "base must not be negative (is \(base))")
        precondition(cap >= .zero, "cap must not be negative (is \(cap))")
        precondition(multiplier >= 1, "multiplier must be at least 1 (is \(multiplier))")
        jitter.check()
        return Backoff(base: base, multiplier: multiplier, cap: cap, jitter: jitter)
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
        using random: inout some RandomNumberGenerator
    ) -> Duration {
        let exponent = Double(max(0, retry - 1))
        // For a large exponent the product is infinite, and the cap limits it.
        let limit = cap.inSeconds
        let full = base == 0 ? 0 : min(limit, base * pow(multiplier, exponent))
        let seconds =
            switch jitter {
            case .none: full
            case .full: full * .chance(&random)
            case .equal: full / 2 + full / 2 * .chance(&random)
            case .decorrelated:
                base + max(0, 3 * (previous?.inSeconds ?? base) - base) * .chance(&random)
            case .smooth: base / 1.4 * Self.smoothStep(exponent, .chance(&random), multiplier)
            case .proportional(let part): full * (1 - part + 2 * part * .chance(&random))
            case .stretched(let part): full * (1 + part * .chance(&random))
            case .additive(let extra): full + extra.inSeconds * .chance(&random)
            }
        guard seconds < limit else { return cap }
        // Rounded to the nanosecond, so that a fifth of a second is 200 ms.
        return min(cap, seconds < 1e9 ? .nanoseconds(Int64((max(0, seconds) * 1e9).rounded())) : .seconds(seconds))
    }

    /// Returns the difference of two points on a curve that is flat at zero and exponential beyond, as in Polly's
    /// decorrelated jitter.
    private static func smoothStep(_ exponent: Double, _ chance: Double, _ multiplier: Double) -> Double {
        func height(_ x: Double) -> Double { pow(multiplier, x) * tanh((4 * x).squareRoot()) }
        let x = exponent + chance
        return height(x) - (exponent > 0 ? height(x - 1) : 0)
    }
}

extension Backoff.Jitter {
    fileprivate func check() {
        switch self {
        case .proportional(let part):
            precondition((0...1).contains(part), "the part of a proportional jitter must be 0 to 1 (is \(part))")
        case .stretched(let part):
            precondition(part >= 0 && part.isFinite, "the part of a stretched jitter must not be negative (is \(part))")
        case .additive(let duration):
            precondition(duration >= .zero, "the duration of an additive jitter must not be negative (is \(duration))")
        case .none, .full, .equal, .decorrelated, .smooth:
            break
        }
    }

    /// Returns the maximum delay after jitter.
    fileprivate func maximum(for delay: Duration) -> Duration {
        switch self {
        case .none, .full, .equal: delay
        case .proportional(let part), .stretched(let part): delay * (1 + part)
        case .additive(let duration): delay + duration
        case .decorrelated, .smooth: delay * 3
        }
    }
}

extension Double {
    /// Returns a random number from 0 to 1.
    fileprivate static func chance(_ random: inout some RandomNumberGenerator) -> Double {
        .random(in: 0...1, using: &random)
    }
}

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
