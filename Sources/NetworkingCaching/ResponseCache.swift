import HTTPTypes
public import NetworkingCore
import Synchronization

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The responses that `cached` keeps; stacks that have the same one share them.
///
/// ```swift
/// let cache = ResponseCache(in: MemoryCacheStore(costLimit: 10 << 20))
/// let network = URLSession.shared.cached(in: cache)
///
/// try await cache.remove(url: url)
/// ```
///
/// What is removed stays removed: responses that are on their way at that moment are not kept.
public final class ResponseCache: Sendable {
    let store: any CacheStore
    let rules: CacheRules
    let fetches = CacheFetches()
    /// The key for digests of credentials where the store has none.
    let ownDigestKey = CacheDigestKey()
    /// Revalidations that nobody waits for, by what they revalidate.
    private let revalidations = Mutex<Set<CacheKey>>([])
    /// More at a time would compete with what somebody waits for.
    private static let maximumRevalidations = 8

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - store: Where the responses are kept.
    ///   - isShared: Whether it serves many users, as a proxy does: then `private` responses are not kept, and
    ///     `s-maxage` and `CDN-Cache-Control` count.
    public init(in store: any CacheStore = MemoryCacheStore(), isShared: Bool = false) {
        self.store = store
        rules = CacheRules(isShared: isShared)
    }

    /// Removes what was fetched from a URL, for every user.
    ///
    /// - Parameter url: The URL.
    /// - Throws: What the store throws.
    public func remove(url: URL) async throws {
        try await remove(url: CacheKey(HTTPRequestData(url: url), principal: nil)?.url ?? url.absoluteString)
    }

    /// Removes what was fetched on somebody's behalf.
    ///
    /// - Parameter principal: On whose.
    /// - Throws: What the store throws.
    public func remove(principal: Principal) async throws {
        try await removeAll { $0.principal == principal }
    }

    /// Removes the responses of all keys that a closure names.
    ///
    /// - Parameter isUnwanted: Names them.
    /// - Throws: What the store throws.
    public func removeAll(where isUnwanted: @escaping @Sendable (CacheKey) -> Bool = { _ in true }) async throws {
        let token = fetches.doom(where: isUnwanted)
        try await carryOut(token, isUnwanted)
    }

    private func carryOut(_ token: UInt64, _ isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
        // Once more after it: what is read meanwhile may be among what goes.
        defer { fetches.outdateAll() }
        do {
            try await store.removeAll(where: isUnwanted)
            fetches.end(token, hasFailed: false)
        } catch {
            fetches.end(token, hasFailed: true)
            throw error
        }
    }

    /// Removes what could not be removed before, as far as it concerns a key.
    ///
    /// Returns whether what is stored of the key may be used: not while somebody else removes it.
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

    /// Removes what was fetched from a URL, and whatever is being fetched from it.
    func remove(url: String) async throws {
        // Until it is gone it must not be used, also when the store cannot remove it just now.
        let token = fetches.doom(url)
        try await store.remove(url: url)
        fetches.spare(url, token)
    }

    /// Whether something is being revalidated in the background.
    var isRevalidating: Bool {
        revalidations.withLock { !$0.isEmpty }
    }

    /// Revalidates in the background, unless that is being done.
    func revalidate(_ key: CacheKey, _ work: @escaping @Sendable () async throws -> Void) {
        let isFree = revalidations.withLock { revalidations in
            revalidations.count < Self.maximumRevalidations && revalidations.insert(key).inserted
        }
        guard isFree else { return }
        // A shared operation without waiters: it belongs to nobody, and has no deadline of its first caller's.
        let operation = SharedOperation<Void>(outlivesWaiters: true)
        operation.start { [self] in
            defer { revalidations.withLock { _ = $0.remove(key) } }
            try await work()
        }
    }
}
