public import FoundationForNetworking
public import NetworkingCore
import Synchronization

/// The cookies that servers have set, for ``NetworkingComponent/cookies(in:)``.
///
/// ```swift
/// let jar = CookieJar()
/// let network = URLSession.shared
///     .cookies(in: jar)
///     .server(authority: "api.example.com")
/// ```
///
/// Stacks that use the same jar share their cookies. The cookies of each principal are separate. A jar without a
/// storage keeps its cookies in memory.
///
/// A jar contains at most 3,000 cookies, and at most 180 for the hosts of one site and one principal. Beyond these
/// limits, expired cookies are removed first, then the least recently used ones. If a site has too many, cookies
/// without `Secure` are removed before the others.
public final class CookieJar: Sendable {
    private struct State {
        var table = CookieTable()
        var isSaving = false
        /// The calls that wait until everything is saved.
        var waiters: [Suspension<Void>] = []

        /// Ends the saving, and returns its waiters, which the caller must resume.
        mutating func stopSaving() -> [Suspension<Void>] {
            isSaving = false
            defer { waiters = [] }
            return waiters
        }
    }

    private let state: Mutex<State>
    private let publicSuffixes: PublicSuffixes
    private let storage: (any CookieStorage)?
    /// The key of the digests that represent cookies in principals.
    private let key: CookieDigestKey

    // MARK: Creating

    /// Creates an empty jar that keeps its cookies in memory.
    ///
    /// - Parameter publicSuffixes: The domains for which no server may set a cookie.
    public init(publicSuffixes: PublicSuffixes = .standard) {
        self.publicSuffixes = publicSuffixes
        storage = nil
        key = CookieDigestKey()
        state = Mutex(State())
    }

    /// Creates a jar with the cookies of a storage, which receives every change.
    ///
    /// Cookies without an expiry date are not written to the storage, so they end with the process. Changes are written
    /// in the background; ``flush()`` waits for them.
    ///
    /// - Parameters:
    ///   - storage: The storage. No other jar may use it at the same time.
    ///   - publicSuffixes: The domains for which no server may set a cookie.
    /// - Throws: The error of the storage, or `CancellationError` as soon as the caller is cancelled.
    public init(in storage: some CookieStorage, publicSuffixes: PublicSuffixes = .standard) async throws {
        self.publicSuffixes = publicSuffixes
        self.storage = storage
        let archive = try await StoreWait.run(until: nil) { try await storage.load() }
        key = archive.flatMap { CookieDigestKey(bytes: $0.key) } ?? CookieDigestKey()
        var table = CookieTable()
        let now = NetworkEnvironment.current.clock.date
        let latest = now.addingTimeInterval(TimeInterval(Cookie.maximumAge))
        for session in archive?.sessions ?? [] {
            let owner = CookieOwner(principal: session.principal.map { Principal(id: $0) })
            table.begin(session.identity, of: owner)
            for cookie in session.cookies {
                // A file may be damaged or of a version with other rules.
                guard let expires = cookie.expires, (try? cookie.check(publicSuffixes)) != nil else { continue }
                let cookie = cookie.with(expires: min(expires, latest), created: min(cookie.created, now))
                let site = publicSuffixes.site(of: cookie.domain)
                table.store(cookie, site: site, of: owner, from: nil, at: now, id: Self.newID())
            }
        }
        table.isDirty = false
        let loaded = table
        state = Mutex(State(table: loaded))
    }

    // MARK: Reading

    /// The number of cookies, of all principals.
    public var count: Int {
        state.withLock { $0.table.count }
    }

    /// Returns the cookies that a GET request for a URL would be sent with, in the order of the Cookie field.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - principal: The principal of the request; `nil` if there is none.
    /// - Returns: The cookies.
    public func cookies(for url: URL, principal: Principal? = nil) -> [Cookie] {
        guard let query = query(for: HTTPRequestData(url: url)) else { return [] }
        let now = NetworkEnvironment.current.clock.date
        let owner = CookieOwner(principal: principal?.withoutCookies)
        return state.withLock { $0.table.cookies(for: query, of: owner, at: now, isUse: false)?.cookies ?? [] }
    }

    /// Returns all cookies of a principal, oldest first.
    ///
    /// - Parameter principal: The principal; `nil` for the cookies of requests without one.
    /// - Returns: The cookies.
    public func cookies(of principal: Principal?) -> [Cookie] {
        let now = NetworkEnvironment.current.clock.date
        let owner = CookieOwner(principal: principal?.withoutCookies)
        return state.withLock { $0.table.cookies(of: owner, at: now) }
    }

    // MARK: Changing

    /// Stores a cookie of the app.
    ///
    /// It replaces a cookie with the same name, domain and path. An expired cookie only removes that one.
    ///
    /// - Parameters:
    ///   - cookie: The cookie.
    ///   - principal: The principal of the requests that are sent with it; `nil` for requests without one.
    /// - Throws: The reason why the cookie is not stored.
    public func set(_ cookie: Cookie, for principal: Principal? = nil) throws(CookieRejection) {
        try set(cookie, for: principal, since: nil)
    }

    /// Stores a cookie of the app, unless it was removed since the ``removalCount`` was read.
    package func set(_ cookie: Cookie, for principal: Principal?, since moment: UInt64?) throws(CookieRejection) {
        try cookie.check(publicSuffixes)
        let now = NetworkEnvironment.current.clock.date
        let latest = now.addingTimeInterval(TimeInterval(Cookie.maximumAge))
        let cookie = cookie.with(expires: cookie.expires.map { min($0, latest) }, created: cookie.created)
        let (site, id) = (publicSuffixes.site(of: cookie.domain), Self.newID())
        let owner = CookieOwner(principal: principal?.withoutCookies)
        let refusal = state.withLock { state -> CookieRejection? in
            if let moment, state.table.removals.cover(cookie, of: owner, since: moment) { return .removed }
            return state.table.store(cookie, site: site, of: owner, from: nil, at: now, id: id)
        }
        if let refusal { throw refusal }
        save()
    }

    /// Removes all cookies.
    ///
    /// A response to a request that was sent before this call stores no cookies, and ``CookieRejection/removed`` is
    /// reported.
    public func removeAll() {
        remove(.all)
    }

    /// Removes the cookies of a principal, for example when the user signs out.
    ///
    /// A request that is retried afterwards is not sent with the cookies of the next user. A response to a request of
    /// the principal that was sent before this call stores no cookies.
    ///
    /// - Parameter principal: The principal; `nil` for the cookies of requests without one.
    public func removeAll(of principal: Principal?) {
        remove(.principal(principal?.withoutCookies))
    }

    /// Removes the cookies of a host and of its subdomains, for all principals.
    ///
    /// Cookies of a domain above the host are kept. A response to a request that was sent before this call stores no
    /// cookies of the host.
    ///
    /// - Parameter host: The host, such as `example.com`.
    public func removeAll(at host: String) {
        let host = Cookie.normalized(host)
        remove(.host(host, site: publicSuffixes.contains(host) ? nil : publicSuffixes.site(of: host)))
    }

    private func remove(_ removal: CookieRemoval) {
        let id = Self.newID()
        state.withLock { $0.table.remove(removal, id: id) }
        save()
    }

    // MARK: Requests

    /// The cookies of a request.
    struct Selection {
        /// The value of the Cookie field.
        let field: String
        let count: Int
        /// The identity of the cookies.
        let session: String
        /// The principal that represents the cookies.
        let principal: Principal
        /// Whether the app has removed the cookies of the user for whom the request was created.
        let isOfLaterUser: Bool
    }

    /// Notes the user for whom the work of a request begins.
    ///
    /// A jar knows a user only by the removals at a sign-out, so their number stands for the sign-in.
    func noteUser(of request: inout HTTPRequestData) {
        request.noteUser(Principal(id: ""), signIn: removalCount, of: self)
    }

    /// The number of removals so far.
    ///
    /// A response stores no cookie that was removed since this number was read.
    package var removalCount: UInt64 {
        state.withLock { $0.table.removals.count }
    }

    /// Returns the cookies that a request is sent with; `nil` if there are none.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - owner: The owner of the cookies.
    ///   - isUse: Whether the request is sent now.
    /// - Returns: The cookies.
    func selection(for request: HTTPRequestData, of owner: CookieOwner, isUse: Bool) -> Selection? {
        // Asked first, because finding the site takes longer.
        guard count > 0, let query = query(for: request) else { return nil }
        let now = NetworkEnvironment.current.clock.date
        let moment = request.notedSignIn(of: self)
        let found = state.withLock { state -> (cookies: [Cookie], session: String, isLater: Bool)? in
            guard let (cookies, session) = state.table.cookies(for: query, of: owner, at: now, isUse: isUse) else {
                return nil
            }
            let isLater = moment.map { moment in
                cookies.contains { state.table.removals.cover($0, of: owner, since: moment) }
            }
            return (cookies, session, isLater ?? false)
        }
        guard let (cookies, session, isLater) = found else { return nil }
        let field = Cookie.field(inOrder: cookies)
        return Selection(
            field: field,
            count: cookies.count,
            session: session,
            principal: Principal(
                cookies: key.digest(of: field),
                // Caches must not find a response of the later user.
                session: isLater ? "former user" : session,
                of: nil
            ),
            isOfLaterUser: isLater
        )
    }

    private func query(for request: HTTPRequestData) -> CookieQuery? {
        guard let url = CookieURL(request) else { return nil }
        let site = publicSuffixes.site(of: url.host)
        return CookieQuery(
            url: url,
            site: site,
            isCrossSite: request.formerOrigins.contains { origin in
                origin[0] != (request.scheme ?? "https") || publicSuffixes.site(of: origin[1]) != site
            },
            isSafe: request.method.isSafe
        )
    }

    /// Stores the cookies that a response sets.
    ///
    /// - Parameters:
    ///   - fields: The values of the Set-Cookie fields.
    ///   - request: The request that the response belongs to.
    ///   - owner: The owner of the cookies.
    ///   - moment: The ``removalCount`` before the request was sent; `nil` for now.
    /// - Returns: The number of valid cookies, and the reasons why others are not stored.
    func store(
        _ fields: [String],
        from request: HTTPRequestData,
        for owner: CookieOwner,
        since moment: UInt64? = nil
    ) -> (stored: Int, rejections: [CookieRejection]) {
        guard let url = CookieURL(request) else { return (0, []) }
        let now = NetworkEnvironment.current.clock.date
        var parsed: [(cookie: Cookie, site: String)] = []
        var rejections: [CookieRejection] = []
        for field in fields {
            do {
                let cookie = try Cookie(setCookie: field, from: url, now: now, suffixes: publicSuffixes)
                parsed.append((cookie, publicSuffixes.site(of: cookie.domain)))
            } catch {
                rejections.append(error)
            }
        }
        guard !parsed.isEmpty else { return (0, rejections) }
        let (cookies, id) = (parsed, Self.newID())
        let refused = state.withLock { state in
            cookies.compactMap { cookie, site -> CookieRejection? in
                if let moment, state.table.removals.cover(cookie, of: owner, since: moment) { return .removed }
                return state.table.store(cookie, site: site, of: owner, from: url, at: now, id: id)
            }
        }
        save()
        return (cookies.count - refused.count, rejections + refused)
    }

    private static func newID() -> String {
        NetworkEnvironment.current.secureRandom.bytes(8).hexadecimal
    }

    // MARK: Saving

    /// Waits until the storage has received every change so far.
    ///
    /// Call it before the process ends. It returns at once if the jar has no storage.
    ///
    /// - Throws: The error of the storage, or `CancellationError` as soon as the caller is cancelled. A change that
    ///   could not be written is written with the next one, or the next call.
    public func flush() async throws {
        let (waiter, isFirst) = state.withLock { state -> (Suspension<Void>?, Bool) in
            guard storage != nil, state.isSaving || state.table.isDirty else { return (nil, false) }
            let waiter = Suspension<Void>()
            state.waiters.append(waiter)
            defer { state.isSaving = true }
            return (waiter, !state.isSaving)
        }
        if isFirst {
            startSaving()
        }
        try await waiter?.value(until: nil)
    }

    /// Starts to write changes in the background, unless that is under way.
    private func save() {
        guard storage != nil else { return }
        let isFirst = state.withLock { state in
            guard state.table.isDirty, !state.isSaving else { return false }
            state.isSaving = true
            return true
        }
        if isFirst {
            startSaving()
        }
    }

    private func startSaving() {
        let clock = NetworkEnvironment.current.clock
        // The task belongs to no caller, and retains the jar until everything is written.
        _ = OwnedTask.detached { await self.saveChanges(at: clock) }
    }

    private func saveChanges(at clock: NetworkClock) async {
        while let archive = nextArchive(at: clock.date) {
            do {
                try await storage?.save(archive)
            } catch {
                let waiters = state.withLock { state in
                    state.table.isDirty = true
                    return state.stopSaving()
                }
                for waiter in waiters {
                    waiter.resume(with: .failure(error))
                }
                return
            }
        }
    }

    /// The next archive to write; `nil` if nothing has changed, which ends the saving and every wait for it.
    private func nextArchive(at now: Date) -> CookieArchive? {
        let (sessions, waiters) = state.withLock { state -> ([CookieArchive.Session]?, [Suspension<Void>]) in
            guard state.table.isDirty else { return (nil, state.stopSaving()) }
            state.table.isDirty = false
            return (state.table.archived(at: now), [])
        }
        for waiter in waiters {
            waiter.resume()
        }
        return sessions.map { CookieArchive(key: key.bytes, sessions: $0) }
    }
}

extension CookieJar: CustomStringConvertible, CustomReflectable {
    /// The number of cookies.
    public var description: String {
        "CookieJar(\(count) cookies)"
    }

    /// The contents of a dump, without cookies.
    public var customMirror: Mirror {
        Mirror(self, children: ["count": count])
    }
}

/// The secret key of a jar, with which it represents cookies in principals.
struct CookieDigestKey: Sendable {
    let bytes: [UInt8]

    init() {
        // A random source for tests may return fewer bytes.
        bytes = NetworkEnvironment.current.secureRandom.bytes(16)
    }

    init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    func digest(of text: String) -> String {
        var words: [UInt64] = [0, 0]
        for (index, byte) in bytes.prefix(16).enumerated() {
            words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8)
        }
        let hash = SipHash.hash(Array(text.utf8), key: (words[0], words[1]))
        return hash.0.hexadecimal + hash.1.hexadecimal
    }
}
