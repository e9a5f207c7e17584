/// The priority of a request among the waiting requests.
public enum RequestPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
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
        get { self[option: PriorityOption.self] ?? .normal }
        set { self[option: PriorityOption.self] = newValue == .normal ? nil : newValue }
    }

    // An urgent request must not join an exchange of low priority, because other requests may overtake that.
    fileprivate enum PriorityOption: SendingOption {
        static let name = "priority"
        static let defaultValue: RequestPriority? = nil
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/priority``.
    public static let priority = RequestOptionKey(HTTPRequestData.PriorityOption.self)
}
