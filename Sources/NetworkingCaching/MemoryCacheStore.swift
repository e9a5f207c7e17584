import NetworkingCore
import Synchronization

/// Keeps entries in memory, up to a cost and a count; the keys that were used longest ago go first.
///
/// On Apple's platforms half of it goes when the system warns of low memory, and all when that is critical; elsewhere
/// ``trim(toCost:)`` does so by hand.
public final class MemoryCacheStore: CacheStore {
    /// The most bytes that an entry may take.
    public let entryCostLimit: Int
    /// More variants of one URL come from a server that varies by something without end.
    static let maximumVariants = 32

    private let key = CacheDigestKey()
    private let state: Mutex<State>
    private let pressure = Mutex<MemoryPressure?>(nil)

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - costLimit: The most bytes of all entries; 64 MiB by default.
    ///   - countLimit: The most entries; 10,000 by default.
    ///   - entryCostLimit: The most bytes of one; 8 MiB by default.
    public init(costLimit: Int = 64 << 20, countLimit: Int = 10_000, entryCostLimit: Int = 8 << 20) {
        self.costLimit = max(0, costLimit)
        self.entryCostLimit = max(0, min(entryCostLimit, costLimit))
        state = Mutex(State(costLimit: max(0, costLimit), countLimit: max(0, countLimit)))
        let pressure = MemoryPressure { [weak self] isCritical in
            guard let self else { return }
            trim(toCost: isCritical ? 0 : cost / 2)
        }
        self.pressure.withLock { $0 = pressure }
    }

    /// The most bytes of all entries.
    let costLimit: Int

    /// How many entries there are.
    public var count: Int {
        state.withLock { $0.count }
    }

    /// How many bytes they take.
    public var cost: Int {
        state.withLock { $0.cost }
    }

    /// Returns the random key that the store was created with.
    public func digestKey() -> CacheDigestKey? {
        key
    }

    /// All entries of a key, which counts as used now.
    public func entries(for key: CacheKey) -> [CachedEntry] {
        state.withLock { $0.entries(for: key) }
    }

    /// Keeps an entry, unless it costs more than one may; a key's oldest variant goes when there are more than 32.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: How many others went to make room for it.
    @discardableResult
    public func store(_ entry: CachedEntry, for key: CacheKey) -> Int {
        guard entry.cost <= entryCostLimit else {
            remove(entry.id, for: key)
            return 0
        }
        return state.withLock { $0.store(entry, for: key) }
    }

    /// Keeps all entries of a key, or none of them where that would be too much.
    func replace(_ entries: [CachedEntry], for key: CacheKey) {
        let cost = entries.reduce(0) { $0 + $1.cost }
        let fits =
            cost <= costLimit && entries.count <= Self.maximumVariants
            && entries.allSatisfy { $0.cost <= entryCostLimit }
        state.withLock { state in
            state.remove(nil, for: key)
            guard fits, entries.count <= state.countLimit else { return }
            for entry in entries {
                _ = state.store(entry, for: key)
            }
        }
    }

    /// Removes an entry, or all of a key.
    public func remove(_ id: CachedEntry.ID?, for key: CacheKey) {
        state.withLock { $0.remove(id, for: key) }
    }

    /// Removes all entries of a URL.
    public func remove(url: String) {
        state.withLock { state in
            for place in state.places[url]?.values.map({ $0 }) ?? [] {
                state.remove(place)
            }
        }
    }

    /// Removes the entries of all keys that a closure names.
    public func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) {
        // The closure is asked outside the lock.
        let unwanted = state.withLock { $0.nodes.compactMap { $0?.key } }.filter(isUnwanted)
        for key in unwanted {
            remove(nil, for: key)
        }
    }

    /// Removes what was used longest ago, until the rest takes no more than a number of bytes.
    ///
    /// - Parameter cost: How many bytes may stay.
    public func trim(toCost cost: Int) {
        state.withLock { _ = $0.trim(toCost: cost, count: .max) }
    }
}

extension MemoryCacheStore {
    /// Keys in a list from the newest use to the oldest, whose nodes lie in an array.
    private struct State {
        struct Node {
            let key: CacheKey
            var entries: [CachedEntry]
            var newer: Int?
            var older: Int?
        }

        let costLimit: Int
        let countLimit: Int
        private(set) var cost = 0
        private(set) var count = 0
        private(set) var nodes: [Node?] = []
        private(set) var places: [String: [Principal?: Int]] = [:]
        private var free: [Int] = []
        private var newest: Int?
        private var oldest: Int?

        init(costLimit: Int, countLimit: Int) {
            self.costLimit = costLimit
            self.countLimit = countLimit
        }

        mutating func entries(for key: CacheKey) -> [CachedEntry] {
            guard let place = places[key.url]?[key.principal] else { return [] }
            touch(place)
            return nodes[place]?.entries ?? []
        }

        mutating func store(_ entry: CachedEntry, for key: CacheKey) -> Int {
            remove(entry.id, for: key)
            let place = places[key.url]?[key.principal] ?? add(key)
            touch(place)
            nodes[place]?.entries.append(entry)
            cost += entry.cost
            count += 1
            var evicted = 0
            if let variants = nodes[place]?.entries, variants.count > MemoryCacheStore.maximumVariants {
                forget(variants[0], at: place)
                evicted = 1
            }
            // Its own variants before what others use.
            while let variants = nodes[place]?.entries, variants.count > 1,
                variants.reduce(0, { $0 + $1.cost }) > costLimit
            {
                forget(variants[0], at: place)
                evicted += 1
            }
            evicted += trim(toCost: costLimit, count: countLimit)
            // It may be among those itself, when its key alone is too much.
            return places[key.url]?[key.principal] == nil ? max(0, evicted - 1) : evicted
        }

        mutating func remove(_ id: CachedEntry.ID?, for key: CacheKey) {
            guard let place = places[key.url]?[key.principal] else { return }
            guard let id else { return remove(place) }
            guard let entry = nodes[place]?.entries.first(where: { $0.id == id }) else { return }
            forget(entry, at: place)
            if nodes[place]?.entries.isEmpty == true {
                remove(place)
            }
        }

        private mutating func forget(_ entry: CachedEntry, at place: Int) {
            nodes[place]?.entries.removeAll { $0.id == entry.id }
            cost -= entry.cost
            count -= 1
        }

        /// Returns how many entries went.
        mutating func trim(toCost most: Int, count maximumEntries: Int) -> Int {
            let before = count
            while cost > most || count > maximumEntries, let oldest {
                remove(oldest)
            }
            return before - count
        }

        mutating func remove(_ place: Int) {
            guard let node = nodes[place] else { return }
            unlink(place)
            cost -= node.entries.reduce(0) { $0 + $1.cost }
            count -= node.entries.count
            places[node.key.url]?[node.key.principal] = nil
            if places[node.key.url]?.isEmpty == true {
                places[node.key.url] = nil
            }
            nodes[place] = nil
            free.append(place)
        }

        private mutating func add(_ key: CacheKey) -> Int {
            let node = Node(key: key, entries: [])
            let place: Int
            if let last = free.popLast() {
                place = last
                nodes[place] = node
            } else {
                place = nodes.count
                nodes.append(node)
            }
            places[key.url, default: [:]][key.principal] = place
            link(place)
            return place
        }

        private mutating func touch(_ place: Int) {
            guard newest != place else { return }
            unlink(place)
            link(place)
        }

        private mutating func link(_ place: Int) {
            nodes[place]?.newer = nil
            nodes[place]?.older = newest
            if let newest {
                nodes[newest]?.newer = place
            }
            newest = place
            oldest = oldest ?? place
        }

        private mutating func unlink(_ place: Int) {
            guard let node = nodes[place] else { return }
            if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
            if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
        }
    }
}
