public import FoundationForNetworking
import HTTPTypes
public import NetworkingCore
import Synchronization

/// The responses that `cached` stores; stacks that use the same object share them.
///
/// ```swift
/// let cache = ResponseCache(in: MemoryCacheStore(costLimit: 10 << 20))
/// let network = URLSession.shared.cached(in: cache)
///
/// try await cache.remove(url: url)
/// ```
///
/// Removed responses do not come back: a response that is in flight during the removal is not stored.
public final class ResponseCache: Sendable {
    let store: any CacheStore
    let rules: CacheRules
    let invalidation = CacheInvalidation()
    /// The key for digests of credentials if the store has none.
    let ownDigestKey = CacheDigestKey()
    let valueTexts = ValueTexts()
    let writes = CacheWrites()
    /// The keys of the background revalidations in progress, for each origin.
    private let revalidations = Mutex<[String: Set<CacheKey>]>([:])
    /// The maximum number of background revalidations at one origin; more would compete with requests that a caller is
    /// waiting for.
    private static let maximumRevalidations = 8
    /// The maximum time of a background revalidation, after which its place is free for others.
    private static let revalidationLimit = Duration.seconds(60)

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - store: The store for the responses.
    ///   - isShared: Whether the cache serves many users, as a proxy does; `false` by default. A shared cache does not
    ///     store `private` responses, and follows `s-maxage` and `CDN-Cache-Control`.
    public init(in store: any CacheStore = MemoryCacheStore(), isShared: Bool = false) {
        self.store = store
        rules = CacheRules(isShared: isShared)
    }

    /// Removes the responses of a URL, for every user.
    ///
    /// - Parameter url: The URL.
    /// - Throws: The store's error, or `CancellationError` if the caller is cancelled; the removal continues then.
    public func remove(url: URL) async throws {
        try await remove(url: CacheKey(HTTPRequestData(url: url), principal: nil)?.url ?? url.absoluteString)
    }

    /// Removes the responses that were fetched for a principal, with any cookies.
    ///
    /// - Parameter principal: The principal.
    /// - Throws: The store's error, or `CancellationError` if the caller is cancelled; the removal continues then.
    public func remove(principal: Principal) async throws {
        try await removeAll { $0.principal == principal || $0.principal?.withoutCookies == principal }
    }

    /// Removes the responses of all keys that match a predicate.
    ///
    /// - Parameter isUnwanted: Returns `true` for the keys to remove; the default removes all responses. Unless the
    ///   store is in memory, a digest replaces the query of a URL with credentials.
    /// - Throws: The store's error, or `CancellationError` if the caller is cancelled; the removal continues then.
    public func removeAll(where isUnwanted: @escaping @Sendable (CacheKey) -> Bool = { _ in true }) async throws {
        let token = invalidation.invalidate(where: isUnwanted)
        try await StoreWait.run(until: nil) { [self] in try await carryOut(token, isUnwanted) }
    }

    /// Waits until the store has every response that was returned so far.
    ///
    /// Call it before the process ends. A response usually waits for its store. If the store takes longer than 250
    /// milliseconds, the response is returned and is stored afterwards.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled.
    public func flush() async throws {
        try await writes.flush()
    }

    private func carryOut(_ token: UInt64, _ isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
        // A fetch that began during the removal may have read an entry before it was removed.
        defer { invalidation.outdateAll() }
        do {
            try await store.removeAll(where: isUnwanted)
            invalidation.endRemoval(token, hasFailed: false)
        } catch {
            invalidation.endRemoval(token, hasFailed: true)
            throw error
        }
    }

    /// Carries out earlier removals that failed, if they concern a key.
    ///
    /// Returns whether the stored entries of the key may be used: `false` while another task is removing them.
    func removeInvalid(_ key: CacheKey) async throws -> Bool {
        for removal in invalidation.takeOverGroupRemovals(of: key) {
            try await carryOut(removal)
        }
        switch invalidation.unfinishedRemovals(of: key) {
        case .none: return true
        case .url(let token):
            try await removeStored(key.url)
            invalidation.endRemoval(of: key.url, token)
            return true
        case .several(let removals):
            for removal in removals where invalidation.takeOver(removal.token) {
                try await carryOut(removal.token, removal.isUnwanted)
            }
            return false
        }
    }

    /// Removes the entries of groups from the store.
    func carryOut(_ removal: CacheInvalidation.GroupRemoval) async throws {
        do {
            try await store.remove(groups: removal.groups, at: removal.scope)
            invalidation.endGroupRemoval(removal.token, hasFailed: false)
        } catch {
            invalidation.endGroupRemoval(removal.token, hasFailed: true)
            throw error
        }
    }

    /// Removes the responses of a URL, and prevents requests in flight from storing theirs.
    func remove(url: String) async throws {
        // The entries must not be used until they are removed, even if the store cannot remove them now.
        let token = invalidation.invalidate(url)
        try await StoreWait.run(until: nil) { [self] in
            try await removeStored(url)
            invalidation.endRemoval(of: url, token)
        }
    }

    /// Removes the entries of a URL from the store, also those under a digest of its query, and the index of the URLs
    /// that differ from it in their query.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - change: The number of an earlier change; `nil` if the caller needs no result.
    ///   - sealed: The URL as the store has it for the caller's request.
    /// - Returns: The number of this removal; `nil` if the URL was also removed after the change.
    /// - Throws: The store's error.
    @discardableResult
    func removeStored(_ url: String, since change: Int64? = nil, as sealed: String? = nil) async throws -> Int64? {
        var urls: Set = [url]
        if !store.isInMemory, url.utf8.contains(UInt8(ascii: "?")) {
            urls = [CacheSeal.sealed(url, with: try await store.digestKey() ?? ownDigestKey)]
            if !CacheSeal.hasCredentials(url) {
                urls.insert(url)
            }
        }
        // Without their index, no entry of another URL is returned for this one.
        try await store.remove(url: SearchIndex.key(of: url).url)
        let own = sealed ?? url
        for other in urls where other != own || change == nil {
            try await store.remove(url: other)
        }
        guard let change else { return nil }
        return try await store.remove(url: own, checkingSince: change)
    }

    /// Whether a background revalidation is in progress.
    var isRevalidating: Bool {
        revalidations.withLock { !$0.isEmpty }
    }

    /// Revalidates the entries of a key in the background, unless the key is being revalidated already or too many
    /// other keys of its origin are.
    func revalidate(_ key: CacheKey, _ work: @escaping @Sendable () async throws -> Void) {
        let origin = key.origin
        let isFree = revalidations.withLock { revalidations in
            let keys = revalidations[origin] ?? []
            guard keys.count < Self.maximumRevalidations, !keys.contains(key) else { return false }
            revalidations[origin, default: []].insert(key)
            return true
        }
        guard isFree else { return }
        // A shared operation without waiters does not inherit the deadline of a caller.
        let operation = SharedOperation<Void>(outlivesWaiters: true)
        let clock = NetworkEnvironment.current.clock
        operation.start { [self] in
            defer { endRevalidation(key, at: origin) }
            try await ExchangeLimit(until: clock.now + Self.revalidationLimit, on: clock).run { try await work() }
        }
    }

    private func endRevalidation(_ key: CacheKey, at origin: String) {
        revalidations.withLock { revalidations in
            revalidations[origin]?.remove(key)
            if revalidations[origin]?.isEmpty == true {
                revalidations[origin] = nil
            }
        }
    }
}
