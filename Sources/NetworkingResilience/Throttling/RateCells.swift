import DequeModule
import NetworkingCore

/// The state of one key of a rate limiter.
protocol RateCell {
    /// When all permits will have come back.
    var emptyAt: Duration { get }

    /// How many requests wait.
    var waiting: Int { get }
}

/// The cells of a rate limiter by key, of which those at rest make room for new ones.
///
/// A new key looks at a few of the others and no more, so that finding room takes the same time however many there are.
struct RateCells<Cell: RateCell> {
    /// More than an app talks to.
    private let limit: Int
    /// How many keys are looked at for a new one.
    private let steps = 8

    private var cells: [String: Cell] = [:]
    /// Each key once; the next to look at comes first.
    private var keys: Deque<String> = []

    init(limit: Int = 10_000) {
        self.limit = limit
    }

    var count: Int {
        cells.count
    }

    /// How many requests wait, in all cells.
    var waiting: Int {
        cells.values.reduce(0) { $0 + $1.waiting }
    }

    mutating func withValue<Result>(
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

    mutating func withExistingValue<Result>(for key: String, _ body: (inout Cell) -> Result) -> Result? {
        guard let index = cells.index(forKey: key) else { return nil }
        return body(&cells.values[index])
    }

    /// Removes the cells at rest among the next few, or, if there are none, the one that will be at rest first, which
    /// lets a few more requests through.
    ///
    /// A cell in which requests wait stays, so there are more than the limit only as long as so many keys have waiting
    /// requests.
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
        keys.append(contentsOf: used.map(\.key))
    }
}
