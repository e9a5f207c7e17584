import NetworkingCore
import Synchronization

/// A store in memory over a slower one: what is used often is read from memory, and everything is kept in the other.
///
/// ```swift
/// let disk = SQLiteCacheStore(file: file)
/// let network = URLSession.shared.cached(in: StackedCacheStore(over: disk))
/// ```
///
/// The memory is this process's own: what another process changes in the other store is seen here once memory has let
/// go of it.
public final class StackedCacheStore: CacheStore {
    private let memory: MemoryCacheStore
    private let store: any CacheStore
    /// How often something was stored or removed; what was read before that must not come into memory after it.
    private let changes = Mutex<UInt64>(0)

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - memory: The store in memory; nobody else may use it.
    ///   - store: The store that has everything.
    public init(_ memory: MemoryCacheStore = MemoryCacheStore(), over store: any CacheStore) {
        self.memory = memory
        self.store = store
    }

    /// The other store's limit; what is too large for memory is kept there alone.
    public var entryCostLimit: Int {
        store.entryCostLimit
    }

    /// Returns the key of the other store, whose entries are those in memory.
    ///
    /// - Returns: The key; `nil` if the other store has none.
    /// - Throws: The other store's error.
    public func digestKey() async throws -> CacheDigestKey? {
        try await store.digestKey()
    }

    /// All entries of a key, from memory where that has them.
    ///
    /// - Parameter key: The key.
    /// - Returns: The entries.
    /// - Throws: What the other store throws.
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

    /// Keeps an entry in the other store; memory has it after its first use.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: How many others left the other store.
    /// - Throws: What the other store throws.
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

    /// Stores an entry in the other store, unless its URL was removed there after a change.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    ///   - change: A number that ``changeNumber()`` has returned.
    /// - Returns: The number of entries that the other store has evicted; `nil` if the entry is not stored.
    /// - Throws: The other store's error.
    public func store(_ entry: CachedEntry, for key: CacheKey, ifUnchangedSince change: Int64) async throws -> Int? {
        try await changing(
            { memory.remove(nil, for: key) },
            { try await store.store(entry, for: key, ifUnchangedSince: change) }
        )
    }

    /// Removes all entries of a URL from both, and checks whether the URL was removed from the other store before.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - change: A number that ``changeNumber()`` has returned.
    /// - Returns: The number of this removal; `nil` if the URL was also removed after the change.
    /// - Throws: The other store's error.
    public func remove(url: String, checkingSince change: Int64) async throws -> Int64? {
        try await changing(
            { memory.remove(url: url) },
            { try await store.remove(url: url, checkingSince: change) }
        )
    }

    /// Removes an entry, or all of a key, from both.
    ///
    /// - Parameters:
    ///   - id: The id; nil for all.
    ///   - key: The key.
    /// - Throws: What the other store throws.
    public func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws {
        try await changing(
            { memory.remove(nil, for: key) },
            { try await store.remove(id, for: key) }
        )
    }

    /// Removes all entries of a URL from both.
    ///
    /// - Parameter url: The URL.
    /// - Throws: What the other store throws.
    public func remove(url: String) async throws {
        try await changing(
            { memory.remove(url: url) },
            { try await store.remove(url: url) }
        )
    }

    /// Removes the entries of all keys that a closure names from both.
    ///
    /// - Parameter isUnwanted: Names them.
    /// - Throws: What the other store throws.
    public func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws {
        try await changing(
            { memory.removeAll(where: isUnwanted) },
            { try await store.removeAll(where: isUnwanted) }
        )
    }

    /// Changes the other store, with memory forgetting before and after: what is read meanwhile may be from before the
    /// change.
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
