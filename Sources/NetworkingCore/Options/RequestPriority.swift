/// The priority of a request among the waiting requests.
public enum RequestPriority: Int, Sendable, Hashable, Comparable, CaseIterable, Codable {
    /// Lower than all others, for example for prefetching.
    case low
    /// The default.
    case normal
    /// Higher than all others, for example for content that the user is looking at.
    case high

    /// Compares the priorities.
    public static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

extension HTTPRequestData {
    /// The priority of the request when requests wait for a permit.
    ///
    /// `.normal` by default. The stack's `throttled` and `rateLimited` read it.
    public var priority: RequestPriority {
        get { self[.priority] }
        set { self[.priority] = newValue }
    }
}

extension RequestOptionKey {
    // An urgent request must not join an exchange of low priority, because other requests may overtake that.
    /// ``HTTPRequestData/priority``.
    public static let priority = RequestOption(
        "priority",
        default: RequestPriority.normal,
        affects: .sending,
        stored: .always
    )
}
