import NetworkingCore

/// How often a stub of a ``MockTransport`` is to answer.
///
/// One that has answered as often as it may leaves what it matches to later stubs. One that has answered less often
/// than it must is what ``MockTransport/verifyAllUsed()`` tells of.
public struct MockUses: Sendable, Hashable {
    let least: Int
    /// Nil for any number.
    let most: Int?

    /// Exactly once.
    public static let once = MockUses(least: 1, most: 1)

    /// At least once: the default.
    public static let atLeastOnce = MockUses(least: 1, most: nil)

    /// Any number of times, or never.
    public static let any = MockUses(least: 0, most: nil)

    /// Exactly so often.
    ///
    /// - Parameter count: How often.
    /// - Returns: The number of uses.
    /// - Precondition: `count` is greater than zero.
    public static func exactly(_ count: Int) -> MockUses {
        precondition(count > 0, "count must be greater than zero (is \(count))")
        return MockUses(least: count, most: count)
    }
}

extension MockUses: CustomStringConvertible {
    /// In words: `at least once`, `exactly 2 times`.
    public var description: String {
        switch most {
        case nil: least == 0 ? "any number of times" : "at least once"
        case 1: "once"
        case let most?: "exactly \(most) times"
        }
    }
}
