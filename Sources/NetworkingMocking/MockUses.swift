import NetworkingCore

/// How often a stub of a ``MockTransport`` must and may be used.
///
/// A stub that has reached its maximum leaves matching requests to later stubs. ``MockTransport/verifyAllUsed()``
/// reports a stub that has not reached its minimum.
public struct MockUses: Sendable, Hashable {
    let least: Int
    /// Nil for no maximum.
    let most: Int?

    /// Exactly once.
    public static let once = MockUses(least: 1, most: 1)

    /// At least once; the default.
    public static let atLeastOnce = MockUses(least: 1, most: nil)

    /// Any number of times, or never.
    public static let any = MockUses(least: 0, most: nil)

    /// Exactly a given number of times.
    ///
    /// - Parameter count: The number of uses.
    /// - Returns: The number of uses.
    /// - Precondition: `count` is greater than zero.
    public static func exactly(_ count: Int) -> MockUses {
        precondition(count > 0, "count must be greater than zero (is \(count))")
        return MockUses(least: count, most: count)
    }
}

extension MockUses: CustomStringConvertible {
    /// A text such as `at least once` or `exactly 2 times`.
    public var description: String {
        switch most {
        case nil: least == 0 ? "any number of times" : "at least once"
        case 1: "once"
        case let most?: "exactly \(most) times"
        }
    }
}
