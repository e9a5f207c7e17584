import NetworkingCore

/// The state of one key of a rate limiter.
package protocol RateCell {
    /// The moment at which all permits are available again.
    var emptyAt: Duration { get }

    /// The number of waiting requests.
    var waiting: Int { get }
}

/// The cells of a rate limiter by key; idle cells make room for new ones.
///
/// Adding a key examines only a few of the others, so it takes the same time however many there are.
package struct RateCells<Cell: RateCell> {
    /// The maximum number of keys, which is more than an app is likely to use.
    private let limit: Int
    /// The number of keys to examine for each new key.
    private let steps = 8

    private var cells: [String: Cell] = [:]
    /// Each key once; the next one to examine comes first.
    private var keys: Queue<String> = []

    package init(limit: Int = 10_000) {
        self.limit = limit
    }

    package var count: Int {
        cells.count
    }

    /// The number of waiting requests in all cells.
    package var waiting: Int {
        cells.values.reduce(0) { $0 + $1.waiting }
    }

    package mutating func withValue<Result>(
        for key: String,
        at now: Duration,
        default new: @autoclosure () -> Cell,
        _ body: (inout Cell) -> Result
    ) -> Result {
        if let result = withExistingValue(for: key, body) { return result }
        makeRoom(at: now)
        keys.append(key)
        var cell = new()
        defer { cells[key] = cell }
        return body(&cell)
    }

    package mutating func withExistingValue<Result>(for key: String, _ body: (inout Cell) -> Result) -> Result? {
        guard let index = cells.index(forKey: key) else { return nil }
        return body(&cells.values[index])
    }

    /// Removes the idle cells among the next few, or the cell that will be idle first if none is.
    ///
    /// Removing a cell early lets a few more requests through. A cell with waiting requests stays, so the number of
    /// cells exceeds the limit only while that many keys have waiting requests.
    private mutating func makeRoom(at now: Duration) {
        guard cells.count >= limit else { return }
        var hasRoom = false
        var used: [(key: String, emptyAt: Duration)] = []
        for _ in 0..<min(steps, keys.count) {
            guard let key = keys.popFirst(), let cell = cells[key] else { continue }
            if cell.waiting > 0 {
                keys.append(key)
            } else if cell.emptyAt > now {
                used.append((key, cell.emptyAt))
            } else {
                cells[key] = nil
                hasRoom = true
            }
        }
        if !hasRoom, let first = used.indices.min(by: { used[$0].emptyAt < used[$1].emptyAt }) {
            cells[used.remove(at: first).key] = nil
        }
        for cell in used { keys.append(cell.key) }
    }
}

extension RateCells: Sendable where Cell: Sendable {}
