import NetworkingCore

/// Cookies that the app removes.
enum CookieRemoval: Sendable {
    /// All cookies.
    case all
    /// The cookies of a principal.
    case principal(Principal?)
    /// The cookies of a host and its subdomains. The site is `nil` if the host is a public suffix.
    case host(String, site: String?)

    /// Whether cookies of an owner may be among them.
    func concerns(_ owner: CookieOwner) -> Bool {
        guard case .principal(let principal) = self else { return true }
        return owner.principal == principal
    }

    /// Whether a cookie is among them.
    func covers(_ cookie: Cookie, of owner: CookieOwner) -> Bool {
        switch self {
        case .all: true
        case .principal: concerns(owner)
        case .host(let host, _): CookieURL.host(cookie.domain, isWithin: host)
        }
    }
}

/// The removals of cookies so far, so that the response to an earlier request does not bring a cookie back.
struct CookieRemovals: Sendable {
    /// The number of removals so far, which a request takes along.
    private(set) var count: UInt64 = 0
    /// The latest removals with their numbers.
    private var latest: [(number: UInt64, removal: CookieRemoval)] = []
    /// The number of the last removal that is not among the latest.
    private var lastForgotten: UInt64 = 0

    /// The maximum number of removals that are known.
    static let maximumCount = 1_000

    mutating func note(_ removal: CookieRemoval) {
        count += 1
        latest.append((count, removal))
        guard latest.count > Self.maximumCount else { return }
        let forgotten = latest.prefix(Self.maximumCount / 2)
        lastForgotten = forgotten.last?.number ?? lastForgotten
        latest.removeFirst(forgotten.count)
    }

    /// Returns whether a cookie of an earlier request was removed meanwhile.
    ///
    /// - Parameters:
    ///   - cookie: The cookie.
    ///   - owner: Its owner.
    ///   - moment: The ``count`` when the request was sent. If too many removals followed, the cookie counts as
    ///     removed.
    /// - Returns: Whether the cookie must not be stored.
    func cover(_ cookie: Cookie, of owner: CookieOwner, since moment: UInt64) -> Bool {
        guard moment < count else { return false }
        guard moment >= lastForgotten else { return true }
        return latest.reversed().prefix { $0.number > moment }.contains { $0.removal.covers(cookie, of: owner) }
    }
}
