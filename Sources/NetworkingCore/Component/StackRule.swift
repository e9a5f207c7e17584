/// A rule about the place of a part in a stack, and the diagnostic for a stack that breaks it.
///
/// Most rules are about one role:
///
/// ```swift
/// let rules: [StackRule] = [
///     .notInside(.signing, "is inside signed, so it changes signed requests. Put it outside."),
///     .notOutside(.retry, "is outside retry, so all attempts have the same number. Put it inside."),
/// ]
/// ```
///
/// A rule refers to roles instead of types, so that it also applies to the modifiers of other packages.
public struct StackRule: Sendable {
    let mistake: @Sendable (StackPlace) -> String?

    /// Creates a rule that needs more than one condition, or the names of other parts.
    ///
    /// ```swift
    /// let rule = StackRule { place in
    ///     let caches = place.inner.filter { $0.stackPart.roles.contains(.caching) }
    ///     return caches.count < 2 ? nil : "\(place.name) is outside \(caches.count) caches. Keep one of them."
    /// }
    /// ```
    ///
    /// - Parameter mistake: Returns the mistake and its consequence, in complete sentences that begin with the name of
    ///   the part; `nil` if the place has no mistake.
    public init(_ mistake: @escaping @Sendable (StackPlace) -> String?) {
        self.mistake = mistake
    }

    /// Returns a rule that reports the places that meet a condition.
    ///
    /// - Parameters:
    ///   - mistake: The sentence about the mistake and its consequence, without its subject, which is the part.
    ///   - isBroken: Returns `true` for a place with the mistake.
    /// - Returns: The rule.
    public static func not(
        _ mistake: String,
        when isBroken: @escaping @Sendable (StackPlace) -> Bool
    ) -> StackRule {
        StackRule { isBroken($0) ? "\($0.name) \(mistake)" : nil }
    }

    /// Returns a rule that reports a place inside a modifier with a role.
    ///
    /// - Parameters:
    ///   - role: The role.
    ///   - mistake: The sentence about the mistake and its consequence, without its subject, which is the part.
    /// - Returns: The rule.
    public static func notInside(_ role: StackRole, _ mistake: String) -> StackRule {
        not(mistake) { $0.isInside(role) }
    }

    /// Returns a rule that reports a place outside a modifier with a role.
    ///
    /// - Parameters:
    ///   - role: The role.
    ///   - mistake: The sentence about the mistake and its consequence, without its subject, which is the part.
    /// - Returns: The rule.
    public static func notOutside(_ role: StackRole, _ mistake: String) -> StackRule {
        not(mistake) { $0.isOutside(role) }
    }
}

/// The place of a part in a stack: the modifiers outside and inside of it.
///
/// A rule that needs more than roles reads ``StackDescribing/stackPart`` of a modifier, or casts it to a protocol of
/// its own or to the rule's own type.
public struct StackPlace: Sendable {
    /// The part's line in the outline, by which its diagnostics name it.
    public let name: String

    /// The modifiers outside, the nearest first.
    ///
    /// They receive a request earlier.
    public let outer: [any NetworkingModifier]

    /// The modifiers inside, the nearest first.
    ///
    /// They receive a request later.
    public let inner: [any NetworkingModifier]

    init(of index: Int, in parts: [any StackDescribing]) {
        name = outlineLines(of: parts[index]).joined(separator: "\n")
        outer = parts[..<index].reversed().compactMap { $0 as? any NetworkingModifier }
        inner = parts[(index + 1)...].compactMap { $0 as? any NetworkingModifier }
    }

    /// The environment that the modifiers outside set with `environment(_:_:)`, on top of the current one.
    public var environment: NetworkEnvironment {
        .current.merging(outer.reversed())
    }

    /// Returns whether the place is inside a modifier with a role.
    public func isInside(_ role: StackRole) -> Bool {
        outer.contains { $0.stackPart.roles.contains(role) }
    }

    /// Returns whether the place is outside a modifier with a role.
    public func isOutside(_ role: StackRole) -> Bool {
        inner.contains { $0.stackPart.roles.contains(role) }
    }
}
