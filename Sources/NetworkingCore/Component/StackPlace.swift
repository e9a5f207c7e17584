/// The place of a modifier in a stack: the modifiers outside and inside of it.
///
/// A rule usually refers to roles. A rule that needs more than a role casts a modifier to a protocol, such as
/// ``DeadlineProviding``, or to the rule's own type.
public struct StackPlace: Sendable {
    /// The modifiers outside, the nearest first.
    ///
    /// They receive a request earlier.
    public let outer: [any NetworkingModifier]

    /// The modifiers inside, the nearest first.
    ///
    /// They receive a request later.
    public let inner: [any NetworkingModifier]

    init(of index: Int, in modifiers: [any NetworkingModifier]) {
        outer = modifiers[..<index].reversed()
        inner = Array(modifiers[(index + 1)...])
    }

    /// The environment that the modifiers outside set with `environment(_:_:)`, on top of the current one.
    public var environment: NetworkEnvironment {
        outer.reversed()
            .reduce(.current) { environment, modifier in
                (modifier as? any EnvironmentSetting).map { environment.merging($0.environment) } ?? environment
            }
    }

    /// Returns whether the place is inside a modifier with a role.
    public func isInside(_ role: StackRole) -> Bool {
        outer.contains { $0.roles.contains(role) }
    }

    /// Returns whether the place is outside a modifier with a role.
    public func isOutside(_ role: StackRole) -> Bool {
        inner.contains { $0.roles.contains(role) }
    }
}

/// A modifier that sets values of the environment for everything upstream.
protocol EnvironmentSetting: UpstreamLimited {
    /// The default environment with these values set.
    var environment: NetworkEnvironment { get }
}

/// A modifier that limits the time of a whole call, in the role ``StackRole/deadline``.
///
/// The rules of other modifiers read its limit.
public protocol DeadlineProviding: NetworkingModifier {
    /// The maximum duration of a call, for requests without a ``HTTPRequestData/deadline``.
    var limit: Duration { get }
}
