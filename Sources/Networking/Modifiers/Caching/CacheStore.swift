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
    /// A store that outlives the process, or that several ``ResponseCache`` objects use, needs a key of its own: a random
    /// ``CacheDigestKey`` that is kept with the entries, so that it is the same for as long as they are. A store over
    /// another one returns the key of that one. With another key, entries for requests with credentials are not found; no request
    /// gets an entry that belongs to other credentials.
    ///
    /// - Returns: The key; `nil`, the default, for a store without one. Each ``ResponseCache`` then uses a random key of its own.
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

    /// Asks about every key; a store that can find a URL's does better.
    public func remove(url: String) async throws {
        try await removeAll { $0.url == url }
    }
}
