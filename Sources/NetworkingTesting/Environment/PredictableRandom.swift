public import NetworkingCore
import Synchronization

extension RandomSource {
    /// Creates a source that always returns the same value.
    ///
    /// - Parameter value: The 64 bits. 0 is the minimum and `.max` the maximum, which give the shortest and the longest
    ///   jitter.
    /// - Returns: The source.
    public static func constant(_ value: UInt64) -> RandomSource {
        RandomSource { value }
    }

    /// Creates a source that cycles through values in order.
    ///
    /// ```swift
    /// let network = transport.retry().environment(\.random, .cycling([0, .max]))
    /// ```
    ///
    /// - Parameter values: The values, 64 bits each.
    /// - Returns: The source. Copies share the same cycle.
    /// - Precondition: `values` is not empty.
    public static func cycling(_ values: [UInt64]) -> RandomSource {
        precondition(!values.isEmpty, "values must not be empty: there is nothing to draw")
        let draws = Draws()
        return RandomSource { values[Int((draws.next() - 1) % UInt64(values.count))] }
    }
}

extension SecureRandomSource {
    /// Creates a source with numbered draws: 1, 2 and so on, in the last bytes of each draw.
    ///
    /// The ids, nonces and boundaries that a stack draws from it are distinct and predictable.
    ///
    /// ```swift
    /// let network = transport.traced().environment(\.secureRandom, .incrementing())
    /// try await network.data(request)   // traceparent: 00-00000000000000000000000000000001-…
    /// ```
    ///
    /// - Parameter first: The number of the first draw.
    /// - Returns: The source. Copies share one counter. A draw of fewer than 8 bytes contains the last bytes of the
    ///   number.
    public static func incrementing(from first: UInt64 = 1) -> SecureRandomSource {
        let draws = Draws()
        return SecureRandomSource { count in
            let number = first &+ draws.next() &- 1
            let digits = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * (7 - $0))) }
            return [UInt8](repeating: 0, count: max(0, count - 8)) + digits.suffix(count)
        }
    }

    /// Creates a source that always returns the same bytes, repeated for a longer draw.
    ///
    /// - Parameter pattern: The bytes.
    /// - Returns: The source.
    /// - Precondition: `pattern` is not empty.
    public static func repeating(_ pattern: [UInt8]) -> SecureRandomSource {
        precondition(!pattern.isEmpty, "pattern must not be empty: there is nothing to draw")
        return SecureRandomSource { count in (0..<count).map { pattern[$0 % pattern.count] } }
    }
}

/// A counter of draws that starts at one.
private final class Draws: Sendable {
    private let count = Atomic<UInt64>(0)

    func next() -> UInt64 {
        count.add(1, ordering: .relaxed).newValue
    }
}
