/// The results of the calls of a sliding window, in buckets.
struct CallWindow {
    /// The results of some calls.
    struct Counts: Hashable {
        var calls = 0
        var failures = 0
        var slow = 0

        fileprivate static func -= (counts: inout Counts, other: Counts) {
            counts.calls -= other.calls
            counts.failures -= other.failures
            counts.slow -= other.slow
        }
    }

    /// The results in the window.
    private(set) var total = Counts()
    private var buckets: [Counts]
    private var current = 0
    private var currentEnd: Duration
    private let bucketLength: Duration

    init(_ length: Duration, buckets count: Int = 10, at now: Duration) {
        buckets = Array(repeating: Counts(), count: count)
        bucketLength = length / count
        currentEnd = now + bucketLength
    }

    /// Removes the results that are older than the window.
    mutating func advance(to now: Duration) {
        guard now >= currentEnd else { return }
        for _ in buckets.indices where now >= currentEnd {
            current = (current + 1) % buckets.count
            total -= buckets[current]
            buckets[current] = Counts()
            currentEnd += bucketLength
        }
        if now >= currentEnd {
            currentEnd = now + bucketLength
        }
    }

    mutating func add(calls: Int = 0, failures: Int = 0, slow: Int = 0) {
        buckets[current].calls += calls
        buckets[current].failures += failures
        buckets[current].slow += slow
        total.calls += calls
        total.failures += failures
        total.slow += slow
    }

    mutating func removeAll(at now: Duration) {
        total = Counts()
        for index in buckets.indices {
            buckets[index] = Counts()
        }
        currentEnd = now + bucketLength
    }
}
