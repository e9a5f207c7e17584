/// The user or service that a request is sent for: a stable identity, never a credential.
///
/// `authenticated` returns the identity of its store. `cookies(in:)` adds a digest of the cookies that the request is
/// sent with. Caches, deduplication and per-user limits use the principal as part of their key.
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
        let isMarked = [Self.joinMark.utf8.first, Self.cookieMark.utf8.first].contains(userID.utf8.first)
        self.init(id: isMarked ? Self.joinMark + Self.prefixed(userID) : userID)
    }

    /// Creates the principal of a request that has the credentials of two stores.
    ///
    /// The result contains the lengths of both identifiers, so that no other pair of identifiers has the same result.
    fileprivate init(outer: Principal, inner: Principal) {
        id = Self.joinMark + Self.prefixed(outer.id) + Self.prefixed(inner.id)
    }

    /// The control character at the start of a joined identity; ``init(userID:)`` escapes a user identifier with it.
    private static let joinMark = "\u{1F}"

    private static func prefixed(_ id: String) -> String {
        "\(id.utf8.count):\(id)"
    }

    // MARK: Cookies

    /// The start of the identity of a principal with cookies.
    private static let cookieMark = "\u{1E}"

    /// Creates the principal of a request that is sent with cookies.
    ///
    /// - Parameters:
    ///   - digest: A digest of the cookies, from which their values cannot be found.
    ///   - session: The identity of the cookies, which stays the same when their values change.
    ///   - owner: The principal without the cookies.
    package init(cookies digest: String, session: String, of owner: Principal?) {
        id = Self.cookieMark + Self.prefixed(session) + Self.prefixed(digest) + (owner.map { "+\($0.id)" } ?? "-")
    }

    /// The session and the digest of the cookies, and the principal without them; `nil` if there are no cookies.
    private var cookieParts: (session: String, digest: String, owner: Principal?)? {
        // Compared first, because few principals have cookies.
        guard id.utf8.first == Self.cookieMark.utf8.first else { return nil }
        var rest = id.utf8.dropFirst()
        guard let session = Self.prefixedText(&rest), let digest = Self.prefixedText(&rest) else { return nil }
        switch rest.popFirst() {
        case UInt8(ascii: "+"): return (session, digest, Principal(id: String(Substring(rest))))
        case UInt8(ascii: "-") where rest.isEmpty: return (session, digest, nil)
        default: return nil
        }
    }

    /// Reads a text after its length, and removes both.
    private static func prefixedText(_ rest: inout Substring.UTF8View) -> String? {
        let digits = rest.prefix { $0 != UInt8(ascii: ":") }
        guard let count = DecimalDigits.number(digits).flatMap({ Int(exactly: $0) }), digits.count < rest.count else {
            return nil
        }
        rest = rest.dropFirst(digits.count + 1)
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return String(Substring(rest.prefix(count)))
    }

    /// The principal without the cookies; `nil` if there is nothing else.
    package var withoutCookies: Principal? {
        guard let parts = cookieParts else { return self }
        return parts.owner
    }

    /// The principal with the identity of its cookies, which stays the same when a server changes their values.
    package var withoutCookieValues: Principal {
        guard let parts = cookieParts else { return self }
        return Principal(cookies: "", session: parts.session, of: parts.owner)
    }

    /// Whether two principals are the same if the values of cookies are ignored.
    ///
    /// A server may change a cookie in any response, for example in one that redirects the request or that is retried.
    /// Signing out removes the cookies, and the next ones belong to another session.
    func isSame(as other: Principal) -> Bool {
        if self == other { return true }
        guard let parts = cookieParts, let others = other.cookieParts else {
            // The user stays the same when a session gets its first cookie or loses its last one.
            return withoutCookies == other.withoutCookies
        }
        return parts.session == others.session && parts.owner == others.owner
    }

    /// Returns the principal of a request that has this principal's credentials and those of another one further out.
    fileprivate func joinedWithCookies(by outer: Principal) -> Principal {
        let (own, others) = (cookieParts, outer.cookieParts)
        guard own != nil || others != nil else { return Principal(outer: outer, inner: self) }
        let (inner, further) = (withoutCookies, outer.withoutCookies)
        let owner = inner.map { inner in further.map { Principal(outer: $0, inner: inner) } ?? inner } ?? further
        let parts = [others, own].compactMap(\.self)
        return Principal(
            cookies: parts.count == 1 ? parts[0].digest : parts.map { Self.prefixed($0.digest) }.joined(),
            session: parts.count == 1 ? parts[0].session : parts.map { Self.prefixed($0.session) }.joined(),
            of: owner
        )
    }
}

extension Principal? {
    /// Returns the principal of a request that has this principal's credentials and those of another store further out.
    package func joined(by outer: Principal) -> Principal {
        guard let self else { return outer }
        return self.joinedWithCookies(by: outer)
    }

    /// Whether a request with this principal is for the same user as one with another principal, if the values of
    /// cookies are ignored.
    package func isSame(as other: Principal?) -> Bool {
        guard let self, let other else { return self?.withoutCookies == other?.withoutCookies }
        return self.isSame(as: other)
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
