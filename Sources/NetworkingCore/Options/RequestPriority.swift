/// How urgent a request is among those that wait.
public enum RequestPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// After all others, such as what is fetched in advance.
    case low
    /// As most are.
    case normal
    /// Before all others, such as what somebody looks at.
    case high

    /// Compares by urgency.
    public static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

extension HTTPRequestData {
    /// Who goes first when requests wait for a slot.
    public var priority: RequestPriority {
        get { box?.value.priority ?? .normal }
        set { settings.priority = newValue }
    }
}
