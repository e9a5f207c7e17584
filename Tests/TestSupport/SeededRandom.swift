import Foundation
import Testing

/// A random number generator with a sequence that depends only on its seed (SplitMix64).
package struct SeededRandom: RandomNumberGenerator, Sendable {
    /// The seed that the sequence started with.
    package let seed: UInt64

    private var state: UInt64

    /// Creates a generator.
    ///
    /// - Parameter seed: The seed. Equal seeds give equal sequences on every platform.
    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// Returns a generator for a test, and prints its seed.
    ///
    /// - Parameter function: The name in the printed line.
    /// - Returns: A generator with the seed in the environment variable `TEST_SEED`, or with another seed in each run.
    package static func announced(in function: String = #function) -> SeededRandom {
        SeededRandom(seed: announcedSeed(of: function))
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// Runs a test with random numbers that can be repeated.
///
/// ```swift
/// try withSeed { random in
///     let sizes = (0..<12).map { _ in Int.random(in: 0..<9, using: &random) }
///     #expect(parse(sizes) != nil)
/// }
/// ```
///
/// The seed is the number in the environment variable `TEST_SEED`; without it, each run of the test draws another seed.
/// The seed is printed before the test starts, so that the output of a test that fails or traps has it.
///
/// - Parameters:
///   - function: The name in the printed line.
///   - body: The test.
/// - Returns: The result of the body.
/// - Throws: The error of the body.
package func withSeed<Result>(
    in function: String = #function,
    _ body: (inout SeededRandom) throws -> Result
) rethrows -> Result {
    var random = SeededRandom(seed: announcedSeed(of: function))
    return try body(&random)
}

/// Runs an asynchronous test with random numbers that can be repeated.
///
/// - Parameters:
///   - function: The name in the printed line.
///   - body: The test.
/// - Returns: The result of the body.
/// - Throws: The error of the body.
package func withSeed<Result>(
    in function: String = #function,
    _ body: nonisolated(nonsending) (inout SeededRandom) async throws -> Result
) async rethrows -> Result {
    var random = SeededRandom(seed: announcedSeed(of: function))
    return try await body(&random)
}

private func announcedSeed(of function: String) -> UInt64 {
    let given = ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
    let seed = given ?? UInt64.random(in: .min ... .max)
    print("\(Test.current?.name ?? function): TEST_SEED=\(seed) repeats this run")
    return seed
}
