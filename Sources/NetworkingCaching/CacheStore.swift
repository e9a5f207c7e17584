import NetworkingCore

/// Where a ``ResponseCache`` keeps its entries.
///
/// ``MemoryCacheStore`` is one. What a store throws is never the caller's: the cache goes on without it, and tells.
///
/// A store keeps all entries of a key or none: when it makes room, a key's variants go together.
public protocol CacheStore: Sendable {
    /// The most bytes that an entry may take, its ``CachedEntry/cost``; larger ones are never handed over.
    var entryCostLimit: Int { get }

    /// Returns the key for the digests of credentials in this store's entries.
    ///
    /// A store that outlives the process, or that several ``ResponseCache`` objects use, needs a key of its own: a
    /// random ``CacheDigestKey`` that is kept with the entries, so that it is the same for as long as they are. A store
    /// over another one returns the key of that one. With another key, entries for requests with credentials are not
    /// found; no request gets an entry that belongs to other credentials.
    ///
    /// - Returns: The key; `nil`, the default, for a store without one. Each ``ResponseCache`` then uses a random key
    ///   of its own.
    /// - Throws: The error that keeps the store from reading its key.
    func digestKey() async throws -> CacheDigestKey?

    /// All entries of a key.
    ///
    /// - Parameter key: The key.
    /// - Returns: The entries, in any order.
    /// - Throws: What keeps it from reading them.
    func entries(for key: CacheKey) async throws -> [CachedEntry]

    /// Keeps an entry, in place of that with its id.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: How many others went to make room for it.
    /// - Throws: What keeps it from doing so.
    @discardableResult
    func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int

    /// Returns the number of the latest removal of a URL or of several keys.
    ///
    /// A store that several processes or several ``ResponseCache`` objects use numbers the calls of ``remove(url:)``
    /// and ``removeAll(where:)`` in the order in which they are carried out, and keeps the numbers with the entries. A
    /// cache asks for the number before it sends a request, and stores the response only if the URL has not changed
    /// since then. Without numbers, a response that was on its way while another process removed its URL is stored
    /// after the removal.
    ///
    /// - Returns: The number; `nil`, the default, for a store that only one ``ResponseCache`` uses.
    /// - Throws: The error that keeps the store from reading the number. Then the response is not stored.
    func changeNumber() async throws -> Int64?

    /// Stores an entry in place of the one with its id, unless its URL was removed after a change.
    ///
    /// The check and the write are one step that no removal can come between. A store that no longer knows whether the
    /// URL was removed stores nothing.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    ///   - change: A number that ``changeNumber()`` has returned.
    /// - Returns: The number of entries that were evicted to make room; `nil` if the entry is not stored. The default
    ///   implementation ignores the number.
    /// - Throws: The error that keeps the store from doing so.
    func store(_ entry: CachedEntry, for key: CacheKey, ifUnchangedSince change: Int64) async throws -> Int?

    /// Removes all entries of a URL, and checks whether the URL was removed before that.
    ///
    /// - Parameters:
    ///   - url: The URL, as in a ``CacheKey``.
    ///   - change: A number that ``changeNumber()`` has returned.
    /// - Returns: The number of this removal; `nil` if the URL was also removed between the change and this removal, or
    ///   if the store no longer knows. The default implementation calls ``remove(url:)`` and returns `nil`.
    /// - Throws: The error that keeps the store from removing the entries.
    func remove(url: String, checkingSince change: Int64) async throws -> Int64?

    /// Removes the entry of an id, or all of a key.
    ///
    /// - Parameters:
    ///   - id: The id; nil for all.
    ///   - key: The key.
    /// - Throws: What keeps it from doing so.
    func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws

    /// Removes all entries of a URL, whoever they were fetched for.
    ///
    /// - Parameter url: The URL, as in a ``CacheKey``.
    /// - Throws: What keeps it from doing so.
    func remove(url: String) async throws

    /// Removes the entries of all keys that a closure names.
    ///
    /// - Parameter isUnwanted: Names them.
    /// - Throws: What keeps it from doing so.
    func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws
}

extension CacheStore {
    /// Returns `nil`: each ``ResponseCache`` uses a random key of its own.
    public func digestKey() async throws -> CacheDigestKey? {
        nil
    }

    /// Returns `nil`: only one ``ResponseCache`` uses the store.
    public func changeNumber() async throws -> Int64? {
        nil
    }

    /// Stores the entry, whatever was removed.
    public func store(_ entry: CachedEntry, for key: CacheKey, ifUnchangedSince change: Int64) async throws -> Int? {
        try await store(entry, for: key)
    }

    /// Removes the entries, and returns `nil`.
    public func remove(url: String, checkingSince change: Int64) async throws -> Int64? {
        try await remove(url: url)
        return nil
    }

    /// Asks about every key; a store that can find a URL's does better.
    public func remove(url: String) async throws {
        try await removeAll { $0.url == url }
    }
}
