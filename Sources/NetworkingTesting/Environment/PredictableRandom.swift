public import Networking
import Synchronization

extension RandomSource {
    /// A source that always gives the same.
    ///
    /// - Parameter value: The 64 bits. 0 is the least chance can bring, `.max` the most: the shortest and the longest
    ///   jitter.
    /// - Returns: The source.
    public static func constant(_ value: UInt64) -> RandomSource {
        RandomSource { value }
    }

    /// A source that gives values in order, and then again from the first.
    ///
    /// ```swift
    /// let network = transport.retry().environment(\.random, .cycling([0, .max]))
    /// ```
    ///
    /// - Parameter values: What it gives, 64 bits each.
    /// - Returns: The source. Copies draw from the one cycle.
    /// - Precondition: There is a value.
    public static func cycling(_ values: [UInt64]) -> RandomSource {
        precondition(!values.isEmpty, "values must not be empty: there is nothing to draw")
        let draws = Draws()
        return RandomSource { values[Int((draws.next() - 1) % UInt64(values.count))] }
    }
}

extension SecureRandomSource {
    /// A source whose draws are numbered, so that a test can tell them apart: 1, 2 and so on, in the last bytes of
    /// each.
    ///
    /// Ids, nonces and boundaries that a stack draws from it are different and known beforehand.
    ///
    /// ```swift
    /// let network = transport.traced().environment(\.secureRandom, .incrementing())
    /// try await network.data(request)   // traceparent: 00-00000000000000000000000000000001-…
    /// ```
    ///
    /// - Parameter first: The number of the first draw.
    /// - Returns: The source. Copies count together. A draw of fewer than 8 bytes has the last of the number's.
    public static func incrementing(from first: UInt64 = 1) -> SecureRandomSource {
        let draws = Draws()
        return SecureRandomSource { count in
            let number = first &+ draws.next() &- 1
            let digits = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * (7 - $0))) }
            return [UInt8](repeating: 0, count: max(0, count - 8)) + digits.suffix(count)
        }
    }

    /// A source that always gives the same bytes, over and over for a draw that is longer.
    ///
    /// - Parameter pattern: The bytes.
    /// - Returns: The source.
    /// - Precondition: There is a byte.
    public static func repeating(_ pattern: [UInt8]) -> SecureRandomSource {
        precondition(!pattern.isEmpty, "pattern must not be empty: there is nothing to draw")
        return SecureRandomSource { count in (0..<count).map { pattern[$0 % pattern.count] } }
    }
}

/// Counts draws from one on.
private final class Draws: Sendable {
    private let count = Atomic<UInt64>(0)

    func next() -> UInt64 {
        count.add(1, ordering: .relaxed).newValue
    }
}
