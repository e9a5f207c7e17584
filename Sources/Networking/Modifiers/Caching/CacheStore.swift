import Synchronization

/// Where a ``ResponseCache`` keeps its entries.
///
/// ``MemoryCacheStore`` is one. What a store throws is never the caller's: the cache goes on without it, and tells.
public protocol CacheStore: Sendable {
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
    /// - Throws: What keeps it from doing so.
    func store(_ entry: CachedEntry, for key: CacheKey) async throws

    /// Removes the entry of an id, or all of a key.
    ///
    /// - Parameters:
    ///   - id: The id; nil for all.
    ///   - key: The key.
    /// - Throws: What keeps it from doing so.
    func remove(_ id: CachedEntry.ID?, for key: CacheKey) async throws

    /// Removes the entries of all keys that a closure names.
    ///
    /// - Parameter isUnwanted: Names them.
    /// - Throws: What keeps it from doing so.
    func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) async throws
}

extension CachedEntry: Identifiable {}

/// Keeps entries in memory, up to a cost and a count; those that were used longest ago go first.
public final class MemoryCacheStore: CacheStore {
    private let state: Mutex<State>

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - costLimit: The most bytes of all entries; 64 MiB by default.
    ///   - countLimit: The most entries; 10,000 by default.
    ///   - entryCostLimit: The most bytes of one; 8 MiB by default.
    public init(costLimit: Int = 64 << 20, countLimit: Int = 10_000, entryCostLimit: Int = 8 << 20) {
        state = Mutex(
            State(costLimit: max(0, costLimit), countLimit: max(0, countLimit), entryCostLimit: max(0, entryCostLimit))
        )
    }

    /// How many entries there are.
    public var count: Int {
        state.withLock { $0.places.count }
    }

    /// How many bytes they take.
    public var cost: Int {
        state.withLock { $0.cost }
    }

    /// All entries of a key, which count as used now.
    public func entries(for key: CacheKey) -> [CachedEntry] {
        state.withLock { $0.entries(for: key) }
    }

    /// Keeps an entry, unless it costs more than one may.
    public func store(_ entry: CachedEntry, for key: CacheKey) {
        state.withLock { $0.store(entry, for: key) }
    }

    /// Removes an entry, or all of a key.
    public func remove(_ id: CachedEntry.ID?, for key: CacheKey) {
        state.withLock { state in
            for place in state.keys[key] ?? [] where id == nil || state.nodes[place].entry?.id == id {
                state.remove(place)
            }
        }
    }

    /// Removes the entries of all keys that a closure names.
    public func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) {
        // The closure is asked outside the lock.
        let unwanted = state.withLock { Array($0.keys.keys) }.filter(isUnwanted)
        for key in unwanted {
            remove(nil, for: key)
        }
    }

    /// Entries in a list from the newest use to the oldest, whose nodes lie in an array.
    private struct State {
        struct Node {
            var entry: CachedEntry?
            var key: CacheKey
            var newer: Int?
            var older: Int?
        }

        let costLimit: Int
        let countLimit: Int
        let entryCostLimit: Int
        private(set) var cost = 0
        private(set) var nodes: [Node] = []
        private(set) var keys: [CacheKey: [Int]] = [:]
        private(set) var places: [CachedEntry.ID: Int] = [:]
        private var free: [Int] = []
        private var newest: Int?
        private var oldest: Int?

        init(costLimit: Int, countLimit: Int, entryCostLimit: Int) {
            self.costLimit = costLimit
            self.countLimit = countLimit
            self.entryCostLimit = entryCostLimit
        }

        mutating func entries(for key: CacheKey) -> [CachedEntry] {
            guard let places = keys[key] else { return [] }
            return places.compactMap { place in
                touch(place)
                return nodes[place].entry
            }
        }

        mutating func store(_ entry: CachedEntry, for key: CacheKey) {
            if let place = places[entry.id] {
                remove(place)
            }
            guard entry.cost <= min(entryCostLimit, costLimit), countLimit > 0 else { return }
            let place: Int
            if let last = free.popLast() {
                place = last
                nodes[place] = Node(entry: entry, key: key)
            } else {
                place = nodes.count
                nodes.append(Node(entry: entry, key: key))
            }
            places[entry.id] = place
            keys[key, default: []].append(place)
            cost += entry.cost
            link(place)
            while cost > costLimit || places.count > countLimit, let oldest {
                remove(oldest)
            }
        }

        mutating func remove(_ place: Int) {
            guard let entry = nodes[place].entry else { return }
            unlink(place)
            cost -= entry.cost
            places[entry.id] = nil
            let key = nodes[place].key
            keys[key]?.removeAll { $0 == place }
            if keys[key]?.isEmpty == true {
                keys[key] = nil
            }
            nodes[place].entry = nil
            free.append(place)
        }

        private mutating func touch(_ place: Int) {
            guard newest != place else { return }
            unlink(place)
            link(place)
        }

        private mutating func link(_ place: Int) {
            nodes[place].newer = nil
            nodes[place].older = newest
            if let newest {
                nodes[newest].newer = place
            }
            newest = place
            oldest = oldest ?? place
        }

        private mutating func unlink(_ place: Int) {
            let (newer, older) = (nodes[place].newer, nodes[place].older)
            if let newer { nodes[newer].older = older } else { newest = older }
            if let older { nodes[older].newer = newer } else { oldest = newer }
        }
    }
}
