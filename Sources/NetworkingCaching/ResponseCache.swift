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
    let fetches = CacheFetches()
    /// The key for digests of credentials if the store has none.
    let ownDigestKey = CacheDigestKey()
    let valueTexts = ValueTexts()
    /// The keys of the background revalidations in progress.
    private let revalidations = Mutex<Set<CacheKey>>([])
    /// The maximum number of background revalidations; more would compete with requests that a caller is waiting for.
    private static let maximumRevalidations = 8

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
    /// - Throws: The store's error.
    public func remove(url: URL) async throws {
        try await remove(url: CacheKey(HTTPRequestData(url: url), principal: nil)?.url ?? url.absoluteString)
    }

    /// Removes the responses that were fetched for a principal, with any cookies.
    ///
    /// - Parameter principal: The principal.
    /// - Throws: The store's error.
    public func remove(principal: Principal) async throws {
        try await removeAll { $0.principal == principal || $0.principal?.withoutCookies == principal }
    }

    /// Removes the responses of all keys that match a predicate.
    ///
    /// - Parameter isUnwanted: Returns `true` for the keys to remove; the default removes all responses.
    /// - Throws: The store's error.
    public func removeAll(where isUnwanted: @escaping @Sendable (CacheKey) -> Bool = { _ in true }) async throws {
        let token = fetches.doom(where: isUnwanted)
        try await carryOut(token, isUnwanted)
    }

    private func carryOut(_ token: UInt64, _ isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
        // A fetch that began during the removal may have read an entry before it was removed.
        defer { fetches.outdateAll() }
        do {
            try await store.removeAll(where: isUnwanted)
            fetches.end(token, hasFailed: false)
        } catch {
            fetches.end(token, hasFailed: true)
            throw error
        }
    }

    /// Carries out earlier removals that failed, if they concern a key.
    ///
    /// Returns whether the stored entries of the key may be used: `false` while another task is removing them.
    func removeDoomed(_ key: CacheKey) async throws -> Bool {
        switch fetches.doom(of: key) {
        case .none: return true
        case .url(let token):
            try await store.remove(url: key.url)
            fetches.spare(key.url, token)
            return true
        case .several(let removals):
            for removal in removals where fetches.claim(removal.token) {
                try await carryOut(removal.token, removal.isUnwanted)
            }
            return false
        }
    }

    /// Removes the responses of a URL, and prevents requests in flight from storing theirs.
    func remove(url: String) async throws {
        // The entries must not be used until they are removed, even if the store cannot remove them now.
        let token = fetches.doom(url)
        try await store.remove(url: url)
        fetches.spare(url, token)
    }

    /// Whether a background revalidation is in progress.
    var isRevalidating: Bool {
        revalidations.withLock { !$0.isEmpty }
    }

    /// Revalidates the entries of a key in the background, unless the key is being revalidated already or too many
    /// other keys are.
    func revalidate(_ key: CacheKey, _ work: @escaping @Sendable () async throws -> Void) {
        let isFree = revalidations.withLock { revalidations in
            revalidations.count < Self.maximumRevalidations && revalidations.insert(key).inserted
        }
        guard isFree else { return }
        // A shared operation without waiters does not inherit the deadline of a caller.
        let operation = SharedOperation<Void>(outlivesWaiters: true)
        operation.start { [self] in
            defer { revalidations.withLock { _ = $0.remove(key) } }
            try await work()
        }
    }
}
