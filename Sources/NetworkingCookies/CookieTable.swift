import FoundationForNetworking
import NetworkingCore

/// The user that cookies are kept for.
struct CookieOwner: Sendable, Hashable {
    /// The principal, without cookies.
    let principal: Principal?
    /// The credentials of a request if only a modifier further out knows its principal.
    ///
    /// Such cookies are never written to a storage, because the credentials are secret.
    var credentials: ConnectionOwner?
}

/// The properties of a request that determine which cookies are sent.
struct CookieQuery: Sendable {
    let url: CookieURL
    /// The site of the URL.
    let site: String
    /// Whether another site has redirected the request.
    let isCrossSite: Bool
    /// Whether the method is safe (RFC 9110 section 9.2.1).
    let isSafe: Bool

    func admits(_ cookie: Cookie, at now: Date) -> Bool {
        guard cookie.matches(url, at: now) else { return false }
        guard isCrossSite else { return true }
        return switch cookie.sameSite {
        case .strict: false
        case .lax, .unspecified: isSafe
        case .none: true
        }
    }
}

/// The cookies of a jar: the state that its lock protects.
///
/// No function calls code of the app: the sites and the checks that need the list of public suffixes are arguments.
struct CookieTable {
    /// The maximum number of cookies of a site, for each owner.
    static let maximumPerSite = 180
    /// The maximum number of cookies of a jar.
    static let maximumCount = 3_000

    /// A cookie with its number in the order of creation, and the `clock` at its last use.
    fileprivate struct Entry {
        var cookie: Cookie
        let number: UInt64
        var lastUse: UInt64
    }

    /// The maximum number of owners without cookies that keep their identities.
    static let maximumEmptyCount = 1_000

    /// The cookies of one owner.
    private struct Session {
        var identity: CookieIdentity
        var sites: [String: [Entry]] = [:]

        var count: Int {
            sites.values.reduce(0) { $0 + $1.count }
        }
    }

    private var sessions: [CookieOwner: Session] = [:]
    private(set) var count = 0
    /// The removals by the app.
    private(set) var removals = CookieRemovals()
    /// A counter that increases with each use and each stored cookie.
    private var clock: UInt64 = 0
    /// Whether anything that an archive contains has changed since the last archive.
    var isDirty = false

    // MARK: Sending

    /// The cookies of a request, in the order in which they are sent, and their identity; `nil` if there are none.
    ///
    /// - Parameters:
    ///   - query: The request.
    ///   - owner: The owner.
    ///   - now: The date.
    ///   - isUse: Whether the cookies are sent, so that they are the last to be removed when there are too many.
    /// - Returns: The cookies and their identity.
    mutating func cookies(
        for query: CookieQuery,
        of owner: CookieOwner,
        at now: Date,
        isUse: Bool
    ) -> (cookies: [Cookie], session: String)? {
        guard let session = sessions[owner]?.identity.text(for: query.site),
            let found = sessions[owner]?.sites[query.site]?.filter({ query.admits($0.cookie, at: now) }),
            !found.isEmpty
        else { return nil }
        if isUse {
            clock += 1
            sessions[owner]?.sites[query.site]?.touch(at: clock) { query.admits($0, at: now) }
        }
        guard found.count > 1 else { return (found.map(\.cookie), session) }
        return (found.sorted(by: Self.isSent).map(\.cookie), session)
    }

    /// Whether a cookie is sent before another: first long paths, then the oldest (RFC 6265bis section 5.8.3).
    private static func isSent(_ entry: Entry, before other: Entry) -> Bool {
        let (length, otherLength) = (entry.cookie.path.utf8.count, other.cookie.path.utf8.count)
        if length != otherLength { return length > otherLength }
        if entry.cookie.created != other.cookie.created { return entry.cookie.created < other.cookie.created }
        return entry.number < other.number
    }

    /// All cookies of an owner that have not expired.
    func cookies(of owner: CookieOwner, at now: Date) -> [Cookie] {
        let entries = sessions[owner]?.sites.values.flatMap(\.self) ?? []
        return entries.filter { !$0.cookie.isExpired(at: now) }.sorted { $0.number < $1.number }.map(\.cookie)
    }

    // MARK: Storing

    /// Stores a cookie in place of the one with the same name, domain and path; an expired one only removes it.
    ///
    /// - Parameters:
    ///   - cookie: The cookie.
    ///   - site: The site of its domain.
    ///   - owner: The owner.
    ///   - url: The URL that sets it; `nil` if the app does.
    ///   - now: The date.
    ///   - id: The identity of the owner's cookies if this is the first one.
    /// - Returns: The reason why the cookie is not stored; `nil` if it is.
    @discardableResult
    mutating func store(
        _ cookie: Cookie,
        site: String,
        of owner: CookieOwner,
        from url: CookieURL?,
        at now: Date,
        id: String
    ) -> CookieRejection? {
        var entries = sessions[owner]?.sites[site] ?? []
        if let url, cookie.shadowsSecureCookie(among: entries.lazy.map(\.cookie), from: url, now: now) {
            return .shadowsSecure
        }
        let index = entries.firstIndex { cookie.replaces($0.cookie) }
        let former = index.map { entries[$0].cookie }
        guard !cookie.isExpired(at: now) else {
            guard let index, let former else { return nil }
            entries.remove(at: index)
            count -= 1
            sessions[owner]?.sites[site] = entries.isEmpty ? nil : entries
            if owner.credentials != nil, sessions[owner]?.sites.isEmpty == true {
                sessions[owner] = nil
            }
            isDirty = isDirty || former.expires != nil
            return nil
        }
        clock += 1
        if let index, let former {
            entries[index].cookie = cookie.with(expires: cookie.expires, created: former.created)
            entries[index].lastUse = clock
        } else {
            entries.append(Entry(cookie: cookie, number: clock, lastUse: clock))
            count += 1
        }
        isDirty = isDirty || cookie.expires != nil || former?.expires != nil
        if entries.count > Self.maximumPerSite {
            // Without `Secure`, the new cookie is removed itself if all the others have it.
            if removeSurplus(from: &entries, at: now) == clock { return .tooMany }
        }
        begin(CookieIdentity(id), of: owner)
        sessions[owner]?.sites[site] = entries
        if count > Self.maximumCount {
            removeSurplus(at: now)
        }
        return nil
    }

    /// Sets the identity of an owner, unless it has one.
    mutating func begin(_ identity: CookieIdentity, of owner: CookieOwner) {
        guard sessions[owner] == nil else { return }
        sessions[owner] = Session(identity: identity)
        isDirty = isDirty || owner.credentials == nil
        if sessions.count > Self.maximumCount + Self.maximumEmptyCount {
            for (other, session) in sessions where session.sites.isEmpty && other != owner {
                sessions[other] = nil
            }
        }
    }

    /// Removes one cookie of a site: an expired one, then one without `Secure`, then the one used longest ago.
    ///
    /// - Returns: The number of the cookie that was removed.
    private mutating func removeSurplus(from entries: inout [Entry], at now: Date) -> UInt64? {
        let rank = { (entry: Entry) in entry.cookie.isExpired(at: now) ? 0 : entry.cookie.isSecure ? 2 : 1 }
        let worst = entries.indices.min { first, second in
            (rank(entries[first]), entries[first].lastUse) < (rank(entries[second]), entries[second].lastUse)
        }
        guard let worst else { return nil }
        let removed = entries.remove(at: worst)
        count -= 1
        isDirty = isDirty || removed.cookie.expires != nil
        return removed.number
    }

    /// Removes the expired cookies of the whole jar and, if too many are left, the tenth that was used longest ago.
    ///
    /// It removes a tenth at a time, so that a full jar is not searched for each new cookie.
    private mutating func removeSurplus(at now: Date) {
        for owner in sessions.keys {
            removeEntries(of: owner) { $0.cookie.isExpired(at: now) }
        }
        guard count > Self.maximumCount else { return }
        let uses = sessions.values.flatMap { $0.sites.values.flatMap(\.self) }.map(\.lastUse).sorted()
        let limit = uses[uses.count / 10]
        for owner in sessions.keys {
            removeEntries(of: owner) { $0.lastUse <= limit }
        }
    }

    // MARK: Removing

    /// Removes cookies on behalf of the app, and gives new identities to the owners that it concerns.
    ///
    /// A server may have removed the cookies before, so an owner without any gets a new identity, too.
    ///
    /// - Parameters:
    ///   - removal: The cookies.
    ///   - id: An identity that was never used.
    mutating func remove(_ removal: CookieRemoval, id: String) {
        removals.note(removal)
        for owner in sessions.keys where removal.concerns(owner) {
            removeEntries(of: owner) { removal.covers($0.cookie, of: owner) }
            guard let session = sessions[owner], !session.sites.isEmpty, case .host(let host, let site) = removal else {
                sessions[owner] = nil
                isDirty = true
                continue
            }
            sessions[owner]?.identity.renew(for: host, site: site, knownSites: Array(session.sites.keys), id: id)
            isDirty = true
        }
    }

    private mutating func removeEntries(of owner: CookieOwner, where isUnwanted: (Entry) -> Bool) {
        guard var session = sessions[owner] else { return }
        let countBefore = session.count
        for (site, entries) in session.sites {
            let kept = entries.filter { entry in
                guard isUnwanted(entry) else { return true }
                isDirty = isDirty || entry.cookie.expires != nil
                return false
            }
            session.sites[site] = kept.isEmpty ? nil : kept
        }
        count -= countBefore - session.count
        // Credentials are secret, and not kept longer than their cookies.
        sessions[owner] = owner.credentials != nil && session.sites.isEmpty ? nil : session
    }

    // MARK: Archives

    /// The cookies that are written to a storage: those with an expiry date, except for owners with credentials.
    ///
    /// The identities of owners without such cookies are written too. Otherwise a user would have another identity
    /// after a restart.
    func archived(at now: Date) -> [CookieArchive.Session] {
        sessions.compactMap { owner, session in
            guard owner.credentials == nil else { return nil }
            let entries = session.sites.values.flatMap(\.self)
                .filter { $0.cookie.expires != nil && !$0.cookie.isExpired(at: now) }
                .sorted { $0.number < $1.number }
            return CookieArchive.Session(
                principal: owner.principal?.id,
                identity: session.identity,
                cookies: entries.map(\.cookie)
            )
        }
        .sorted { ($0.principal ?? "") < ($1.principal ?? "") }
    }
}

extension [CookieTable.Entry] {
    /// Records a use of some cookies.
    fileprivate mutating func touch(at clock: UInt64, where isUsed: (Cookie) -> Bool) {
        for index in indices where isUsed(self[index].cookie) {
            self[index].lastUse = clock
        }
    }
}
