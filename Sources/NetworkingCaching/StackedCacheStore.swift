import NetworkingCore
import Synchronization

/// A memory store in front of a slower store: entries in frequent use are read from memory, and the slower store has
/// all entries.
///
/// ```swift
/// let disk = SQLiteCacheStore(file: file)
/// let network = URLSession.shared.cached(in: StackedCacheStore(over: disk))
/// ```
///
/// The memory belongs to this process. A change that another process makes in the other store is visible here once the
/// memory store has evicted the entry.
public final class StackedCacheStore: CacheStore {
    private let memory: MemoryCacheStore
    private let store: any CacheStore
    /// The number of changes; entries that were read before a change must not be cached in memory after it.
    private let changes = Mutex<UInt64>(0)

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - memory: The store in memory. No other component may use it.
    ///   - store: The store that has all entries.
    public init(_ memory: MemoryCacheStore = MemoryCacheStore(), over store: any CacheStore) {
        self.memory = memory
        self.store = store
    }

    /// The other store's limit; entries that are too large for memory are stored only there.
    public var entryCostLimit: Int {
        store.entryCostLimit
    }

    /// Returns the key of the other store, because both have the same entries.
    ///
    /// - Returns: The key; `nil` if the other store has none.
    /// - Throws: The other store's error.
    public func digestKey() async throws -> CacheDigestKey? {
        try await store.digestKey()
    }

    /// Returns all entries of a key, from memory if they are there.
    ///
    /// - Parameter key: The key.
    /// - Returns: The entries.
    /// - Throws: The other store's error.
    public func entries(for key: CacheKey) async throws -> [CachedEntry] {
        // Memory has all entries of a key or none.
        let known = memory.entries(for: key)
        guard known.isEmpty else { return known }
        let before = changes.withLock { $0 }
        let entries = try await store.entries(for: key)
        changes.withLock { changes in
            guard changes == before else { return }
            memory.replace(entries, for: key)
        }
        return entries
    }

    /// Stores an entry in the other store; memory caches it at its first use.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: The number of entries that the other store has evicted.
    /// - Throws: The other store's error.
    @discardableResult
    public func store(_ entry: CachedEntry, for key: CacheKey) async throws -> Int {
        try await changing(
            { memory.remove(nil, for: key) },
            { try await store.store(entry, for: key) }
        )
    }

    /// Returns the number of the other store's latest removal.
    ///
    /// - Returns: The number; `nil` if the other store has none.
    /// - Throws: The other store's error.
    public func changeNumber() async throws -> Int64? {
        try await store.changeNumber()
    }

    /// Returns the number of the other store's latest removal that concerns a URL.
    ///
    /// - Parameter url: The URL.
    /// - Returns: The number; `nil` if the other store has none.
    /// - Throws: The other store's error.
    public func changeNumber(of url: String) async throws -> Int64? {
        try await store.changeNumber(of: url)
    }

    /// Stores an entry in the other store, unless its URL has been removed there since a given change.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    ///   - change: A number that ``changeNumber(of:)`` has returned for the URL.
    /// - Returns: The number of entries that the other store has evicted; `nil` if the entry is not stored.
    /// - Throws: The other store's error.
    public func store(_ entry: CachedEntry, for key: CacheKey, ifUnchangedSince change: Int64) async throws -> Int? {
        try await changing(
            { memory.remove(nil, for: key) },
            { try await store.store(entry, for: key, ifUnchangedSince: change) }
        )
    }

    /// Removes all entries of a URL from both stores, and checks whether the other store had removed the URL since a
    /// given change.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - change: A number that ``changeNumber(of:)`` has returned for the URL.
    /// - Returns: The number of this removal; `nil` if the URL was also removed between that change and this removal.
    /// - Throws: The other store's error.
    public func remove(url: String, checkingSince change: Int64) async throws -> Int64? {
        try await changing(
            { memory.remove(url: url) },
            { try await store.remove(url: url, checkingSince: change) }
        )
    }

    /// Removes one entry of a key, or all of them, from both stores.
    ///
    /// - Parameters:
    ///   - id: The id; `nil` for all entries of the key.
    ///   - key: The key.
    /// - Throws: The other store's error.
    public func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
        try await changing(
            { memory.remove(nil, for: key) },
            { try await store.remove(id, for: key) }
        )
    }

    /// Removes all entries of a URL from both stores.
    ///
    /// - Parameter url: The URL.
    /// - Throws: The other store's error.
    public func remove(url: String) async throws {
        try await changing(
            { memory.remove(url: url) },
            { try await store.remove(url: url) }
        )
    }

    /// Removes the entries of all keys that match a predicate from both stores.
    ///
    /// - Parameter isUnwanted: Returns `true` for the keys to remove.
    /// - Throws: The other store's error.
    public func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
        try await changing(
            { memory.removeAll(where: isUnwanted) },
            { try await store.removeAll(where: isUnwanted) }
        )
    }

    /// Removes the entries of groups from both stores.
    ///
    /// - Parameters:
    ///   - groups: The names of the groups.
    ///   - scope: The origin and the principals.
    /// - Throws: The other store's error.
    public func remove(groups: Set<String>, at scope: CacheGroupScope) async throws {
        try await changing(
            { memory.remove(groups: groups, at: scope) },
            { try await store.remove(groups: groups, at: scope) }
        )
    }

    /// Returns whether the other store lets this process revalidate an entry.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: `false` if another process revalidates the entry.
    /// - Throws: The other store's error.
    public func claimRevalidation(of entry: CachedEntry, for key: CacheKey) async throws -> Bool {
        try await store.claimRevalidation(of: entry, for: key)
    }

    /// Changes the other store, and clears the entries in memory before and after.
    ///
    /// A read during the change may return entries from before it.
    private func changing<Value>(
        _ forget: () -> Void,
        _ change: () async throws -> Value
    ) async throws -> Value {
        func outdate() {
            changes.withLock { $0 += 1 }
            forget()
        }
        defer { outdate() }
        outdate()
        return try await change()
    }
}
