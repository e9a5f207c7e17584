import NetworkingCore

/// The minimum and maximum number of uses of a ``MockTransport`` stub.
///
/// A stub that has reached its maximum leaves matching requests to later stubs. ``MockTransport/verifyAllUsed()``
/// reports a stub that has not reached its minimum.
public struct MockUses: Sendable, Hashable {
    let minimum: Int
    /// Nil for no maximum.
    let maximum: Int?

    /// Exactly once.
    public static let once = MockUses(minimum: 1, maximum: 1)

    /// At least once; the default.
    public static let atLeastOnce = MockUses(minimum: 1, maximum: nil)

    /// Any number of times, or never.
    public static let any = MockUses(minimum: 0, maximum: nil)

    /// Exactly a given number of times.
    ///
    /// - Parameter count: The required number of uses.
    /// - Returns: The requirement.
    /// - Precondition: `count` is greater than zero.
    public static func exactly(_ count: Int) -> MockUses {
        precondition(count > 0, "count must be greater than zero (is \(count))")
        return MockUses(minimum: count, maximum: count)
    }
}

extension MockUses: CustomStringConvertible {
    /// A text such as `at least once` or `exactly 2 times`.
    public var description: String {
        switch maximum {
        case nil: minimum == 0 ? "any number of times" : "at least once"
        case 1: "once"
        case let maximum?: "exactly \(maximum) times"
        }
    }
}
