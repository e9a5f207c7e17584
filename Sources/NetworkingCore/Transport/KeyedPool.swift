/// Resources that are created on first use, shared by all users of a key, and removed if too many are unused.
///
/// An unused resource counts as many times as it had users at the same time, because each of them may have left a
/// connection in it.
///
/// The owner keeps it under a lock, and closes the resources that it removes outside of that lock.
package struct KeyedPool<Key: Hashable, Resource> {
    private struct Entry {
        let resource: Resource
        /// The number of current users.
        var users = 0
        /// The maximum number of users at the same time so far.
        var peak = 0
        /// The sequence number of the last use.
        var lastUse: UInt64 = 0
    }

    /// The maximum count of unused resources.
    private let maximumIdle: Int
    private var entries: [Key: Entry] = [:]
    private var idleCount = 0
    private var useCount: UInt64 = 0

    /// Creates a pool without resources.
    ///
    /// - Parameter maximumIdle: The maximum count of resources that are kept without a user.
    package init(maximumIdle: Int) {
        self.maximumIdle = maximumIdle
    }

    /// The resources of the pool, in any order.
    package var resources: [Resource] {
        entries.values.map(\.resource)
    }

    /// Returns the resource of a key, which is kept until it is given back.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - make: Creates the resource if there is none. It runs under the owner's lock.
    /// - Returns: The resource. Each call needs one call of ``giveBack(_:)``.
    package mutating func borrow(_ key: Key, make: () -> Resource) -> Resource {
        var entry = entries[key] ?? Entry(resource: make())
        if entry.users == 0, entry.lastUse > 0 {
            idleCount -= idleCount(of: entry)
        }
        useCount += 1
        entry.users += 1
        entry.peak = max(entry.peak, entry.users)
        entry.lastUse = useCount
        entries[key] = entry
        return entry.resource
    }

    /// Ends the use of a key's resource.
    ///
    /// - Parameter key: The key.
    /// - Returns: The resources that have been unused longest, which the caller closes, if there were too many.
    package mutating func giveBack(_ key: Key) -> [Resource] {
        guard var entry = entries[key] else { return [] }
        entry.users -= 1
        entries[key] = entry
        guard entry.users == 0 else { return [] }
        idleCount += idleCount(of: entry)
        var surplus: [Resource] = []
        while idleCount > maximumIdle,
            let oldest = entries.filter({ $0.value.users == 0 }).min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            idleCount -= idleCount(of: oldest.value)
            entries[oldest.key] = nil
            surplus.append(oldest.value.resource)
        }
        return surplus
    }

    /// Returns the count of an unused resource, which one resource alone does not bring above the maximum.
    private func idleCount(of entry: Entry) -> Int {
        max(1, min(entry.peak, maximumIdle))
    }

    /// Removes and returns all resources, including those in use.
    package mutating func removeAll() -> [Resource] {
        defer {
            entries = [:]
            idleCount = 0
        }
        return resources
    }
}
