import NetworkingCore
import Synchronization

/// A store in memory with a maximum cost and count, which evicts the least recently used keys first.
///
/// On Apple's platforms, the store evicts half of its contents at a memory warning, and all at a critical one. On other
/// platforms, call ``trim(toCost:)``.
public final class MemoryCacheStore: CacheStore {
    /// The maximum size of an entry, in bytes.
    public let entryCostLimit: Int
    /// The maximum number of variants of a key; more mean that the server varies by a field with unlimited values.
    static let maximumVariants = 32

    private let key = CacheDigestKey()
    private let state: Mutex<State>
    private let pressure = Mutex<MemoryPressure?>(nil)

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - costLimit: The maximum size of all entries in bytes; 64 MiB by default.
    ///   - countLimit: The maximum number of entries; 10,000 by default.
    ///   - entryCostLimit: The maximum size of one entry in bytes; 8 MiB by default, and at most `costLimit`.
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

    /// The maximum size of all entries, in bytes.
    let costLimit: Int

    /// The number of entries.
    public var count: Int {
        state.withLock { $0.count }
    }

    /// The size of all entries, in bytes.
    public var cost: Int {
        state.withLock { $0.cost }
    }

    /// Returns `true`.
    public var isInMemory: Bool {
        true
    }

    /// Returns the random key that the store was created with.
    public func digestKey() -> CacheDigestKey? {
        key
    }

    /// Returns all entries of a key, and marks the key as used.
    public func entries(for key: CacheKey) -> [CachedEntry] {
        state.withLock { $0.entries(for: key) }
    }

    /// Stores an entry, unless it is too large, and evicts the oldest variant of a key that has more than 32.
    ///
    /// If the entry is too large, the stored entry with the same id is removed.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its key.
    /// - Returns: The number of other entries that were evicted to make room.
    @discardableResult
    public func store(_ entry: CachedEntry, for key: CacheKey) -> Int {
        guard entry.cost <= entryCostLimit else {
            remove(entry.id, for: key)
            return 0
        }
        return state.withLock { $0.store(entry, for: key) }
    }

    /// Replaces all entries of a key, or removes them if the new ones do not fit.
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

    /// Removes one entry of a key, or all of them.
    public func remove(_ id: CachedEntry.ID?, for key: CacheKey) {
        state.withLock { $0.remove(id, for: key) }
    }

    /// Removes all entries of a URL.
    public func remove(url: String) {
        state.withLock { state in
            for place in state.places(of: url) {
                state.remove(place)
            }
        }
    }

    /// Removes the entries of all keys that match a predicate.
    public func removeAll(where isUnwanted: @Sendable (CacheKey) -> Bool) {
        // The predicate is called outside the lock.
        let unwanted = state.withLock { $0.nodes.compactMap { $0?.key } }.filter(isUnwanted)
        for key in unwanted {
            remove(nil, for: key)
        }
    }

    /// Removes the entries that belong to any of several groups.
    public func remove(groups: Set<String>, at scope: CacheGroupScope) {
        state.withLock { state in
            for group in groups {
                for place in state.groups[Group(origin: scope.origin, name: group)] ?? [] {
                    guard let node = state.nodes[place], scope.contains(node.key) else { continue }
                    for entry in node.entries where entry.groups.contains(group) {
                        state.remove(entry.id, for: node.key)
                    }
                }
            }
        }
    }

    /// Evicts the least recently used entries until the rest is within a size.
    ///
    /// - Parameter cost: The maximum size of the remaining entries, in bytes.
    public func trim(toCost cost: Int) {
        state.withLock { _ = $0.trim(toCost: cost, count: .max) }
    }
}

extension MemoryCacheStore {
    /// A group of an origin.
    private struct Group: Hashable {
        let origin: String
        let name: String
    }

    /// The parts of a key besides its URL.
    private struct Owner: Hashable {
        let principal: Principal?
        let query: String?

        init(_ key: CacheKey) {
            (principal, query) = (key.principal, key.query)
        }
    }

    /// A linked list of keys from the most to the least recently used, with its nodes in an array.
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
        /// The place of one key of each URL; most URLs have no other, so that they take no dictionary of their own.
        private var places: [String: Int] = [:]
        /// The places of the other keys of URLs with several.
        private var others: [String: [Owner: Int]] = [:]
        /// The places of the keys with entries of each group.
        private(set) var groups: [Group: Set<Int>] = [:]
        private var free: [Int] = []
        private var newest: Int?
        private var oldest: Int?

        init(costLimit: Int, countLimit: Int) {
            self.costLimit = costLimit
            self.countLimit = countLimit
        }

        private func place(of key: CacheKey) -> Int? {
            guard let place = places[key.url], let node = nodes[place] else { return nil }
            return node.key.principal == key.principal && node.key.query == key.query
                ? place : others.isEmpty ? nil : others[key.url]?[Owner(key)]
        }

        func places(of url: String) -> [Int] {
            [places[url]].compactMap { $0 } + (others[url] ?? [:]).values
        }

        mutating func entries(for key: CacheKey) -> [CachedEntry] {
            guard let place = place(of: key) else { return [] }
            touch(place)
            return nodes[place]?.entries ?? []
        }

        mutating func store(_ entry: CachedEntry, for key: CacheKey) -> Int {
            remove(entry.id, for: key)
            let place = place(of: key) ?? add(key)
            touch(place)
            nodes[place]?.entries.append(entry)
            for group in entry.groups {
                groups[Group(origin: key.origin, name: group), default: []].insert(place)
            }
            cost += entry.cost
            count += 1
            var evicted = 0
            if let variants = nodes[place]?.entries, variants.count > MemoryCacheStore.maximumVariants {
                forget(variants[0], at: place)
                evicted = 1
            }
            // The key's own variants are evicted before other keys.
            while let variants = nodes[place]?.entries, variants.count > 1,
                variants.reduce(0, { $0 + $1.cost }) > costLimit
            {
                forget(variants[0], at: place)
                evicted += 1
            }
            evicted += trim(toCost: costLimit, count: countLimit)
            // If the key alone exceeds the limit, the new entry is among the evicted ones.
            return self.place(of: key) == nil ? max(0, evicted - 1) : evicted
        }

        mutating func remove(_ id: CachedEntry.ID?, for key: CacheKey) {
            guard let place = place(of: key) else { return }
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
            if let node = nodes[place] {
                leave(entry.groups.filter { name in !node.entries.contains { $0.groups.contains(name) } }, node, place)
            }
        }

        /// Removes a key from groups of which it has no more entries.
        private mutating func leave(_ names: Set<String>, _ node: Node, _ place: Int) {
            guard !names.isEmpty else { return }
            let origin = node.key.origin
            for name in names {
                let group = Group(origin: origin, name: name)
                groups[group]?.remove(place)
                if groups[group]?.isEmpty == true {
                    groups[group] = nil
                }
            }
        }

        /// Returns the number of evicted entries.
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
            for entry in node.entries {
                leave(entry.groups, node, place)
            }
            if places[node.key.url] == place {
                places[node.key.url] = takeOther(of: node.key.url)
            } else {
                _ = takeOther(of: node.key.url, Owner(node.key))
            }
            nodes[place] = nil
            free.append(place)
        }

        /// Removes the place of one of the other keys of a URL, or of any of them, and returns it.
        private mutating func takeOther(of url: String, _ owner: Owner? = nil) -> Int? {
            guard !others.isEmpty, let owner = owner ?? others[url]?.first?.key else { return nil }
            let place = others[url]?.removeValue(forKey: owner)
            if others[url]?.isEmpty == true {
                others[url] = nil
            }
            return place
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
            if places[key.url] == nil {
                places[key.url] = place
            } else {
                others[key.url, default: [:]][Owner(key)] = place
            }
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
            // Only the links, because a copy of the node would retain its contents.
            guard let (newer, older) = nodes[place].map({ ($0.newer, $0.older) }) else { return }
            if let newer { nodes[newer]?.older = older } else { newest = older }
            if let older { nodes[older]?.newer = newer } else { oldest = newer }
        }
    }
}
