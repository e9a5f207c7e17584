/// The place of a modifier in a stack: the modifiers outside and inside of it.
///
/// A rule usually refers to roles. A rule that needs more than a role casts a modifier to ``StackDescribing``, to a
/// protocol of its own, or to the rule's own type.
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
        .current.merging(outer.reversed())
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

/// A part of a stack that describes itself beyond its roles.
///
/// ```swift
/// struct Budgeted: NetworkingModifier, StackDescribing {
///     let limit: Duration
///     var roles: Set<StackRole> { [.deadline] }
///     var stackPart: StackPart { StackPart(deadline: limit) }
/// }
/// ```
public protocol StackDescribing {
    /// The facts that the rules of other parts and the outline use.
    var stackPart: StackPart { get }
}

/// What a part of a stack says about itself.
public struct StackPart: Sendable {
    /// The maximum duration of a call, for a modifier in the role ``StackRole/deadline``.
    ///
    /// A request with its own ``HTTPRequestData/deadline`` may take longer.
    public let deadline: Duration?
    /// The authority of the server that the part names, to which the credentials next to it belong.
    package let server: String?
    /// The default environment with the values that the part sets for everything upstream.
    let environment: NetworkEnvironment?
    /// The part's line in the outline, in place of its description.
    let name: String?
    /// The modifiers that the part consists of, outermost first, without absent ones; `nil` for a part that is not made
    /// of others.
    let modifiers: [any NetworkingModifier]?

    /// Creates the facts of a part that limits the time of a call.
    ///
    /// - Parameter deadline: The maximum duration of a call.
    public init(deadline: Duration?) {
        self.init(deadline: deadline, modifiers: nil)
    }

    /// Creates the facts of a part that names a server, or that has another name than its type.
    package init(server: String? = nil, name: String? = nil) {
        self.init(server: server, name: name, modifiers: nil)
    }

    init(environment: NetworkEnvironment) {
        self.init(environment: environment, modifiers: nil)
    }

    init(
        deadline: Duration? = nil,
        server: String? = nil,
        environment: NetworkEnvironment? = nil,
        name: String? = nil,
        modifiers: [any NetworkingModifier]?
    ) {
        self.deadline = deadline
        self.server = server
        self.environment = environment
        self.name = name
        self.modifiers = modifiers
    }
}
