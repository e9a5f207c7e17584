/// Values by key: a bounded number, of which the least recently used make room for new ones.
struct RecentTable<Value> {
    /// The maximum number of values.
    static var limit: Int { 256 }

    private var entries: [Entry] = []
    private var slots: [String: Int] = [:]
    /// The slot of the last use, because most clients talk to a single server.
    private var lastSlot = 0
    private var uses: UInt64 = 0

    fileprivate struct Entry {
        var key: String
        var value: Value
        var lastUse: UInt64
    }

    var keys: [String] {
        entries.map(\.key)
    }

    var values: [Value] {
        entries.map(\.value)
    }

    /// Returns the value of a key, without a use.
    subscript(key: String) -> Value? {
        slot(of: key).map { entries[$0].value }
    }

    /// Runs a closure with the value of a key, which is added if there is none.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - mayRemove: Returns whether a value may make room for a new one.
    ///   - value: The value to add.
    ///   - body: The closure.
    /// - Returns: The result of the closure; `nil` if there is no room.
    mutating func withValue<Result>(
        of key: String,
        mayRemove: (Value) -> Bool = { _ in true },
        adding value: @autoclosure () -> Value,
        _ body: (inout Value) -> Result
    ) -> Result? {
        guard let slot = slot(of: key) ?? add(key, value, mayRemove) else { return nil }
        return withValue(in: slot, body)
    }

    /// Runs a closure with the value of a key, if there is one.
    mutating func withValue<Result>(of key: String, _ body: (inout Value) -> Result) -> Result? {
        guard let slot = slot(of: key) else { return nil }
        return withValue(in: slot, body)
    }

    private mutating func withValue<Result>(in slot: Int, _ body: (inout Value) -> Result) -> Result {
        uses += 1
        lastSlot = slot
        entries[slot].lastUse = uses
        return body(&entries[slot].value)
    }

    private func slot(of key: String) -> Int? {
        if lastSlot < entries.count, entries[lastSlot].key == key { return lastSlot }
        return slots[key]
    }

    private mutating func add(_ key: String, _ value: () -> Value, _ mayRemove: (Value) -> Bool) -> Int? {
        guard entries.count >= Self.limit else {
            slots[key] = entries.count
            entries.append(Entry(key: key, value: value(), lastUse: uses))
            return entries.count - 1
        }
        let removable = entries.indices.filter { mayRemove(entries[$0].value) }
        guard let slot = removable.min(by: { entries[$0].lastUse < entries[$1].lastUse }) else { return nil }
        slots[entries[slot].key] = nil
        slots[key] = slot
        entries[slot] = Entry(key: key, value: value(), lastUse: uses)
        return slot
    }
}

extension RecentTable: Sendable where Value: Sendable {}
extension RecentTable.Entry: Sendable where Value: Sendable {}
