/// The user or service that a request is sent for: a stable identity, never a credential.
///
/// `authenticated` returns the identity of its store. Caches, deduplication and per-user limits use it as part of their
/// key.
public struct Principal: Sendable, Hashable {
    /// The identity: the identifier of a user, or a random one that represents the store.
    public let id: String

    /// Creates a principal.
    ///
    /// - Parameter id: The identity. It may be written to disk as part of a cache key, so it must not be a secret.
    public init(id: String) {
        self.id = id
    }

    /// Creates the principal for a user identifier of another system.
    ///
    /// Such an identifier cannot be confused with that of a joined principal.
    package init(userID: String) {
        self.init(id: userID.utf8.first == Self.joinMark.utf8.first ? Self.joinMark + Self.prefixed(userID) : userID)
    }

    /// Creates the principal of a request that has the credentials of two stores.
    ///
    /// The length of both identifiers is part of the result, so that no other two identifiers have the same one.
    fileprivate init(outer: Principal, inner: Principal) {
        id = Self.joinMark + Self.prefixed(outer.id) + Self.prefixed(inner.id)
    }

    /// A control character that is never the start of a user identifier.
    private static let joinMark = "\u{1F}"

    private static func prefixed(_ id: String) -> String {
        "\(id.utf8.count):\(id)"
    }
}

extension Principal? {
    /// Returns the principal of a request that has this principal's credentials and those of another store further out.
    package func joined(by outer: Principal) -> Principal {
        guard let self else { return outer }
        return Principal(outer: outer, inner: self)
    }
}

extension Principal: CustomStringConvertible, CustomReflectable {
    /// A text without the identifier, which is often personal data.
    public var description: String {
        "Principal(id: <redacted>)"
    }

    /// The contents of a dump, without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: [:])
    }
}
