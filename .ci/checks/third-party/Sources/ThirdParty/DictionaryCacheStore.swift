import Networking

/// A store of responses in a dictionary that evicts the oldest key when there are too many.
public actor DictionaryCacheStore: CacheStore {
    /// The maximum number of bytes of an entry.
    public nonisolated let entryCostLimit: Int
    private let maximumKeys: Int
    private var entries: [CacheKey: [CachedEntry]] = [:]
    /// The keys, the oldest first.
    private var keys: [CacheKey] = []

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - maximumKeys: The maximum number of keys, greater than zero.
    ///   - entryCostLimit: The maximum number of bytes of an entry.
    public init(maximumKeys: Int = 100, entryCostLimit: Int = 1 << 20) {
        precondition(maximumKeys > 0, "maximumKeys must be greater than zero (is \(maximumKeys))")
        self.maximumKeys = maximumKeys
        self.entryCostLimit = entryCostLimit
    }

    /// The number of entries.
    public var count: Int {
        entries.values.reduce(0) { $0 + $1.count }
    }

    /// Returns the entries of a key.
    public func entries(for key: CacheKey) -> [CachedEntry] {
        entries[key] ?? []
    }

    /// Stores an entry in place of the one with its id, and returns the number of entries that were evicted.
    @discardableResult
    public func store(_ entry: CachedEntry, for key: CacheKey) -> Int {
        if entries[key] == nil {
            keys.append(key)
        }
        entries[key, default: []].removeAll { $0.id == entry.id }
        entries[key, default: []].append(entry)
        guard keys.count > maximumKeys else { return 0 }
        return entries.removeValue(forKey: keys.removeFirst())?.count ?? 0
    }

    /// Removes an entry, or all entries of a key.
    public func remove(_ id: CachedEntry.ID?, for key: CacheKey) {
        entries[key]?.removeAll { id == nil || $0.id == id }
        if entries[key]?.isEmpty == true {
            entries[key] = nil
            keys.removeAll { $0 == key }
        }
    }

    /// Removes the entries of the keys that a closure selects.
    public func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) {
        for key in keys.filter(isUnwanted) {
            remove(nil, for: key)
        }
    }
}
