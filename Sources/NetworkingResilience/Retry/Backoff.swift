import NetworkingCore

#if canImport(Darwin)
import Foundation
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// How long to wait before a retry: a base that may grow, spread by chance, and never more than a cap.
///
/// ```swift
/// let network = URLSession.shared.retry(.exponential(jitter: .equal))
/// ```
///
/// Whatever the parameters and however many retries, a delay is between zero and the cap.
public struct Backoff: Sendable, Hashable {
    /// How a delay is spread, so that clients that failed together do not come back together.
    public enum Jitter: Sendable, Hashable {
        /// Not at all.
        case none
        /// Anything between zero and the delay.
        case full
        /// Anything between half the delay and the delay.
        case equal
        /// Anything between the base and three times the delay before; it grows by chance alone.
        case decorrelated
        /// A spread exponential curve without steps, with the base as its first delay, about.
        case smooth
        /// The delay, by up to a part of it more or less: 0.2 is what gRPC does.
        case proportional(Double)
        /// The delay and up to a part of it more.
        case stretched(Double)
        /// The delay and up to a while more.
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
    ///   - jitter: How it is spread.
    /// - Returns: The backoff.
    /// - Precondition: `delay` is not negative, and the jitter's part or while is neither.
    public static func constant(_ delay: Duration, jitter: Jitter = .none) -> Backoff {
        precondition(delay >= .zero, "delay must not be negative (is \(delay))")
        jitter.check()
        return Backoff(base: delay, multiplier: 1, cap: jitter.longest(for: delay), jitter: jitter)
    }

    /// A delay that is multiplied each time.
    ///
    /// - Parameters:
    ///   - base: The first delay.
    ///   - multiplier: What it grows by.
    ///   - cap: The longest delay, with its jitter.
    ///   - jitter: How it is spread.
    /// - Returns: The backoff.
    /// - Precondition: `base` and `cap` are not negative, `multiplier` is at least 1, and the jitter's part or while is
    ///   not negative.
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

    /// The delay before a retry.
    ///
    /// - Parameters:
    ///   - retry: Which one it is, from 1.
    ///   - previous: The delay before the last one; nil for the first.
    ///   - random: Chance.
    /// - Returns: The delay, from zero to the cap.
    public func delay(
        beforeRetry retry: Int,
        after previous: Duration? = nil,
        using random: inout some RandomNumberGenerator
    ) -> Duration {
        let exponent = Double(max(0, retry - 1))
        // Beyond any cap it is infinite, which the cap takes care of.
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
        // To the nanosecond, so that a fifth of a second is 200 ms.
        return min(cap, seconds < 1e9 ? .nanoseconds(Int64((max(0, seconds) * 1e9).rounded())) : .seconds(seconds))
    }

    /// The difference of two points of a curve that is flat at zero and exponential beyond (as Polly's decorrelated
    /// jitter).
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
            precondition(duration >= .zero, "the while of an additive jitter must not be negative (is \(duration))")
        case .none, .full, .equal, .decorrelated, .smooth:
            break
        }
    }

    /// The longest that a delay becomes.
    fileprivate func longest(for delay: Duration) -> Duration {
        switch self {
        case .none, .full, .equal: delay
        case .proportional(let part), .stretched(let part): delay * (1 + part)
        case .additive(let duration): delay + duration
        case .decorrelated, .smooth: delay * 3
        }
    }
}

extension Double {
    /// Anything from 0 to 1.
    fileprivate static func chance(_ random: inout some RandomNumberGenerator) -> Double {
        .random(in: 0...1, using: &random)
    }
}

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
