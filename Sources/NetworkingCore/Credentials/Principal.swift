/// The user or service that a request is sent for: a stable identity, never a credential.
///
/// `authenticated` returns the identity of its store. Caches, deduplication and per-user limits use it as part of their
/// key.
public struct Principal: Sendable, Hashable {
    /// The identity: a user's id, or a random one that stands for the store.
    public let id: String

    /// Creates a principal.
    ///
    /// - Parameter id: The identity. It may be written to disk as part of a cache key, so it must not be a secret.
    public init(id: String) {
        self.id = id
    }

    /// The principal of a user id that another system chose.
    ///
    /// Such an id cannot be mistaken for that of a joined principal.
    package init(userID: String) {
        self.init(id: userID.utf8.first == Self.joinMark.utf8.first ? Self.joinMark + Self.prefixed(userID) : userID)
    }

    /// The principal of a request that has the credentials of two stores.
    ///
    /// Both ids have their length before them, so that no other two ids give the same one.
    fileprivate init(outer: Principal, inner: Principal) {
        id = Self.joinMark + Self.prefixed(outer.id) + Self.prefixed(inner.id)
    }

    /// A control character, with which the id of a user does not begin.
    private static let joinMark = "\u{1F}"

    private static func prefixed(_ id: String) -> String {
        "\(id.utf8.count):\(id)"
    }
}

extension Principal? {
    /// Returns the principal of a request that has this principal's credentials and those of another store, further
    /// out.
    package func joined(by outer: Principal) -> Principal {
        guard let self else { return outer }
        return Principal(outer: outer, inner: self)
    }
}

extension Principal: CustomStringConvertible, CustomReflectable {
    /// States that there is a principal without its id, which is often personal data.
    public var description: String {
        "Principal(id: <redacted>)"
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: [:])
    }
}
