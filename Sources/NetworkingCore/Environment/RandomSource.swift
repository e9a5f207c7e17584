import Synchronization

/// A random number generator for jitter and sampling, which a test can seed.
///
/// Do not use it for secrets.
///
/// ```swift
/// let network = transport.retry().environment(\.random, .seeded(42))
/// ```
///
/// Copies of a seeded source draw from one sequence, so that a stack gives the same results in the same order of calls.
public struct RandomSource: RandomNumberGenerator, Sendable {
    private let generator: @Sendable () -> UInt64

    /// Creates a source.
    ///
    /// - Parameter generator: Returns the next 64 bits; called from any thread.
    public init(_ generator: @escaping @Sendable () -> UInt64) {
        self.generator = generator
    }

    /// The system's generator.
    public static let system = RandomSource {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    /// Returns a generator that produces the same sequence for the same seed (SplitMix64).
    ///
    /// - Parameter seed: The start of the sequence.
    /// - Returns: The source.
    public static func seeded(_ seed: UInt64) -> RandomSource {
        let state = SeededState(seed)
        return RandomSource { state.next() }
    }

    /// Draws the next 64 bits.
    public func next() -> UInt64 {
        generator()
    }

    /// Draws a fraction from zero up to, but not including, one.
    package func fraction() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// Draws a fraction from a half to one, to spread actions that would otherwise happen at the same moment.
    func halfToOne() -> Double {
        0.5 + Double(next() >> 11) * 0x1p-54
    }

    private final class SeededState: Sendable {
        private let state: Mutex<UInt64>

        init(_ seed: UInt64) {
            state = Mutex(seed)
        }

        func next() -> UInt64 {
            var mixed = state.withLock { state in
                state &+= 0x9E37_79B9_7F4A_7C15
                return state
            }
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
