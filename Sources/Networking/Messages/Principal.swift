/// On whose behalf a request is sent: a stable identity, never a credential.
///
/// `authenticated` answers with the identity of its store; caches, deduplication and limits per user key on it.
public struct Principal: Sendable, Hashable {
    /// The identity: a user's id, or a random one that stands for the store.
    public let id: String

    /// Creates a principal.
    ///
    /// - Parameter id: The identity. It may be written to disk as part of a cache key, so it must not be a secret.
    public init(id: String) {
        self.id = id
    }
}

extension Principal: CustomStringConvertible, CustomReflectable {
    /// Says that there is a principal, not who: an id is often personal data.
    public var description: String {
        "Principal(id: <redacted>)"
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: [:])
    }
}
