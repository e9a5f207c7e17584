import NetworkingCore

/// The waits for a count to reach a number.
///
/// A lock protects it as part of a larger state. The caller resumes the returned waits after it has released the lock.
struct CountWaits {
    private struct Entry {
        let id: Int
        let count: Int
        let wait: Suspension<Void>
    }

    private var entries: [Entry] = []
    private var lastID = 0

    /// Adds a wait until a count is reached, or resumes it immediately if it already is.
    ///
    /// - Parameters:
    ///   - wait: A wait that no task has begun yet, so that it can be resumed under the lock.
    ///   - count: The count to wait for.
    ///   - current: The current count.
    /// - Returns: The id for removing the wait.
    mutating func add(_ wait: Suspension<Void>, until count: Int, current: Int) -> Int {
        lastID += 1
        if current >= count {
            wait.resume()
        } else {
            entries.append(Entry(id: lastID, count: count, wait: wait))
        }
        return lastID
    }

    /// Removes the wait of a cancelled task.
    mutating func remove(_ id: Int) {
        entries.removeAll { $0.id == id }
    }

    /// Removes and returns the waits for a count of at most this.
    mutating func takeReached(_ count: Int) -> [Suspension<Void>] {
        guard entries.contains(where: { $0.count <= count }) else { return [] }
        let reached = entries.filter { $0.count <= count }
        entries.removeAll { $0.count <= count }
        return reached.map(\.wait)
    }
}
