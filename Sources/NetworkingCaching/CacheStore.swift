import NetworkingCore
import Synchronization

/// A store for the entries of a ``ResponseCache``, such as ``MemoryCacheStore``.
///
/// Callers never receive an error that a store throws: the cache continues without the store and reports an event.
///
/// When a store makes room, it evicts the oldest variants of the same key, or other keys with all their variants.
///
/// For responses with `No-Vary-Search`, a cache also stores small entries of its own, under URLs with a fragment.
public protocol CacheStore: Sendable {
    /// The maximum ``CachedEntry/cost`` of an entry, in bytes; the cache never stores a larger one.
    var entryCostLimit: Int { get }

    /// Whether all methods return without waiting, because the entries are only in the memory of this process.
    ///
    /// A cache calls the methods of such a store directly, and passes keys and entries to it as they are. For every
    /// other store, which is the default, a response waits at most a short time until it is stored, a read ends at the
    /// caller's cancellation and time limit, and digests replace the credentials in URLs.
    var isInMemory: Bool { get }

    /// Returns the key for the digests of credentials in this store's entries.
    ///
    /// A store needs its own key if it outlives the process, or if several ``ResponseCache`` objects use it. The key is
    /// a random ``CacheDigestKey`` that the store keeps with the entries and never changes. A store on top of another
    /// one returns the key of that one. If the key changes, entries for requests with credentials are no longer found.
    /// No request gets an entry that belongs to other credentials.
    ///
    /// - Returns: The key; `nil`, the default, for a store without one. Each ``ResponseCache`` then uses its own random
    ///   key.
    /// - Throws: An error if the store cannot read its key.
    func digestKey() async throws -> CacheDigestKey?

    /// Returns all entries of a key.
    ///
    /// - Parameter key: The key.
    /// - Returns: The entries, in any order.
    /// - Throws: An error if the store cannot read the entries.
    func entries(for key: CacheKey) async throws -> [CachedEntry]

    /// Stores an entry, and replaces the entry with the same id.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: The number of other entries that were evicted to make room.
    /// - Throws: An error if the store cannot write the entry.
    @discardableResult
    func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int

    /// Returns the number of the latest removal of a URL or of several keys.
    ///
    /// If several processes or several ``ResponseCache`` objects use a store, it numbers the calls of ``remove(url:)``
    /// and ``removeAll(where:)`` in the order of their execution, and keeps the numbers with the entries. A cache reads
    /// the number before it sends a request, and stores the response only if the URL has not changed since then.
    /// Without numbers, a response that is in flight while another process removes its URL is stored after the removal.
    ///
    /// - Returns: The number; `nil`, the default, for a store that only one ``ResponseCache`` uses.
    /// - Throws: An error if the store cannot read the number. The response is not stored then.
    func changeNumber() async throws -> Int64?

    /// Returns the number of the latest removal that concerns a URL.
    ///
    /// A cache calls this method, and passes the number to other methods for the same URL only. A store that numbers
    /// the removals of each URL on its own implements it. The default implementation calls ``changeNumber()``.
    ///
    /// - Parameter url: The URL, as in a ``CacheKey``.
    /// - Returns: The number; `nil` for a store that only one ``ResponseCache`` uses.
    /// - Throws: An error if the store cannot read the number. The response is not stored then.
    func changeNumber(of url: String) async throws -> Int64?

    /// Stores an entry and replaces the entry with the same id, unless its URL has been removed since a given change.
    ///
    /// The check and the write are atomic: no removal can happen between them. If the store no longer knows whether the
    /// URL was removed, it stores nothing.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    ///   - change: A number that ``changeNumber(of:)`` has returned for the URL.
    /// - Returns: The number of entries that were evicted to make room; `nil` if the entry is not stored. The default
    ///   implementation ignores the number.
    /// - Throws: An error if the store cannot write the entry.
    func store(_ entry: CachedEntry, for key: CacheKey, ifUnchangedSince change: Int64) async throws -> Int?

    /// Removes all entries of a URL, and checks whether the URL had been removed since a given change.
    ///
    /// - Parameters:
    ///   - url: The URL, as in a ``CacheKey``.
    ///   - change: A number that ``changeNumber(of:)`` has returned for the URL.
    /// - Returns: The number of this removal; `nil` if the URL was also removed between that change and this removal,
    ///   or if the store no longer knows. The default implementation calls ``remove(url:)`` and returns `nil`.
    /// - Throws: An error if the store cannot remove the entries.
    func remove(url: String, checkingSince change: Int64) async throws -> Int64?

    /// Removes one entry of a key, or all of them.
    ///
    /// - Parameters:
    ///   - id: The id of the entry; `nil` for all entries of the key.
    ///   - key: The key.
    /// - Throws: An error if the store cannot remove the entries.
    func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws

    /// Removes all entries of a URL, for all principals.
    ///
    /// - Parameter url: The URL, as in a ``CacheKey``.
    /// - Throws: An error if the store cannot remove the entries.
    func remove(url: String) async throws

    /// Removes the entries of all keys that match a predicate.
    ///
    /// - Parameter isUnwanted: Returns `true` for the keys to remove.
    /// - Throws: An error if the store cannot remove the entries.
    func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws

    /// Removes the entries that belong to any of several groups (RFC 9875), and no others.
    ///
    /// A store that several processes use also makes sure that
    /// ``CacheStore/store(_:for:ifUnchangedSince:)`` stores no entry of these groups that was requested before. The
    /// default implementation passes every key to ``removeAll(where:)`` without removing one, reads the entries of the
    /// keys in the scope, and removes those of the groups; a store that can look up groups should implement this
    /// itself.
    ///
    /// - Parameters:
    ///   - groups: The names of the groups, as in ``CachedEntry/groups``.
    ///   - scope: The origin and the principals.
    /// - Throws: An error if the store cannot remove the entries.
    func remove(groups: Set<String>, at scope: CacheGroupScope) async throws

    /// Returns whether the caller may revalidate an entry in the background.
    ///
    /// If several processes use a store, it lets one of them revalidate an entry, and the others for this entry only
    /// after a short time, in case the first one fails. The successor of the entry, with other dates, is free at once.
    /// A cache does not ask a store in memory.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: `false` if another process revalidates the entry; `true` by default.
    /// - Throws: An error if the store does not know. The cache then revalidates the entry.
    func claimRevalidation(of entry: CachedEntry, for key: CacheKey) async throws -> Bool
}

extension CacheStore {
    /// Returns `false`: the store may have to wait.
    public var isInMemory: Bool {
        false
    }

    /// Returns `nil`: each ``ResponseCache`` uses its own random key.
    public func digestKey() async throws -> CacheDigestKey? {
        nil
    }

    /// Returns `nil`: only one ``ResponseCache`` uses the store.
    public func changeNumber() async throws -> Int64? {
        nil
    }

    /// Returns the number of the latest removal of any URL.
    public func changeNumber(of url: String) async throws -> Int64? {
        try await changeNumber()
    }

    /// Stores the entry without checking for removals.
    public func store(_ entry: CachedEntry, for key: CacheKey, ifUnchangedSince change: Int64) async throws -> Int? {
        try await store(entry, for: key)
    }

    /// Removes the entries and returns `nil`.
    public func remove(url: String, checkingSince change: Int64) async throws -> Int64? {
        try await remove(url: url)
        return nil
    }

    /// Checks every key; a store that can look up the keys of a URL should implement this itself.
    public func remove(url: String) async throws {
        try await removeAll { $0.url == url }
    }

    /// Reads the entries of all keys in the scope.
    public func remove(groups: Set<String>, at scope: CacheGroupScope) async throws {
        let keys = Mutex<[CacheKey]>([])
        // A store that numbers its removals also numbers this one, which outdates the fetches of other processes.
        try await removeAll { key in
            if scope.contains(key) {
                keys.withLock { $0.append(key) }
            }
            return false
        }
        for key in keys.withLock({ $0 }) {
            for entry in try await entries(for: key) where !entry.groups.isDisjoint(with: groups) {
                try await remove(entry.id, for: key)
            }
        }
    }

    /// Returns `true`: each process revalidates its entries.
    public func claimRevalidation(of entry: CachedEntry, for key: CacheKey) async throws -> Bool {
        true
    }
}
