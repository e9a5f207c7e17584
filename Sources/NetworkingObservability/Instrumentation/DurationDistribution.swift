import NetworkingCore

/// The distribution of durations, accurate to within 2 %.
///
/// It counts durations in classes that become wider with the duration. Its size does not depend on the number of
/// durations.
public struct DurationDistribution: Sendable {
    /// The number of durations.
    public private(set) var count = 0
    // Nanoseconds, because the arithmetic of durations is slower than everything else here. Their sum may exceed 292
    // years.
    private var total: Int128 = 0
    private var smallest: Int64 = 0
    private var most: Int64 = 0
    /// The number of durations in each class.
    private var classes: [Int] = []

    /// The number of classes for each doubling of the duration.
    private static let steps = 64

    /// Creates an empty distribution.
    public init() {}

    /// The sum of all durations.
    public var sum: Duration { .nanoseconds(total) }
    /// The shortest duration; zero if there is none.
    public var minimum: Duration { .nanoseconds(smallest) }
    /// The longest duration; zero if there is none.
    public var maximum: Duration { .nanoseconds(most) }

    /// The average duration; zero if there is none.
    public var mean: Duration {
        count == 0 ? .zero : .nanoseconds(total / Int128(count))
    }

    /// The median: half of the durations are at most this long.
    public var p50: Duration { percentile(50) }
    /// The 90th percentile.
    public var p90: Duration { percentile(90) }
    /// The 95th percentile.
    public var p95: Duration { percentile(95) }
    /// The 99th percentile.
    public var p99: Duration { percentile(99) }

    /// Returns a percentile of the durations, by the nearest rank.
    ///
    /// - Parameter percent: The rank in percent.
    /// - Returns: The duration, at most 2 % longer than the one at that rank; zero if there is none.
    /// - Precondition: `percent` is from 0 to 100.
    public func percentile(_ percent: Double) -> Duration {
        precondition((0...100).contains(percent), "percent must be from 0 to 100 (is \(percent))")
        let rank = max(1, Int((percent / 100 * Double(count)).rounded(.up)))
        var seen = 0
        for (index, count) in classes.enumerated() {
            seen += count
            if seen >= rank { return min(max(Self.end(of: index), minimum), maximum) }
        }
        return maximum
    }

    /// Adds a duration.
    ///
    /// - Parameter duration: The duration. A negative one counts as zero, and one above 292 years counts as 292 years.
    public mutating func add(_ duration: Duration) {
        add(nanoseconds: duration.nanoseconds)
    }

    mutating func add(nanoseconds: Int64) {
        let nanoseconds = max(0, nanoseconds)
        smallest = count == 0 ? nanoseconds : min(smallest, nanoseconds)
        most = max(most, nanoseconds)
        count += 1
        total += Int128(nanoseconds)
        let index = Self.class(of: UInt64(nanoseconds))
        makeRoom(for: index)
        classes[index] += 1
    }

    /// Adds all durations of another distribution.
    ///
    /// - Parameter other: The other distribution.
    public mutating func merge(_ other: DurationDistribution) {
        guard other.count > 0 else { return }
        smallest = count == 0 ? other.smallest : min(smallest, other.smallest)
        most = max(most, other.most)
        count += other.count
        total += other.total
        makeRoom(for: other.classes.count - 1)
        for (index, count) in other.classes.enumerated() {
            classes[index] += count
        }
    }

    private mutating func makeRoom(for index: Int) {
        guard index >= classes.count else { return }
        classes += Array(repeating: 0, count: index + 1 - classes.count)
    }

    /// Returns the class of a duration, from its power of two in nanoseconds and the step above that power.
    private static func `class`(of nanoseconds: UInt64) -> Int {
        guard nanoseconds >= UInt64(steps) else { return Int(nanoseconds) }
        let doubling = 63 - nanoseconds.leadingZeroBitCount
        let step = Int(nanoseconds >> UInt64(doubling - 6)) - steps
        return (doubling - 5) * steps + step
    }

    /// Returns the longest duration in a class.
    private static func end(of index: Int) -> Duration {
        guard index >= steps else { return .nanoseconds(Int64(index)) }
        let doubling = index / steps + 5
        let step = index % steps
        let end = (UInt64(steps + step + 1) << UInt64(doubling - 6)) - 1
        return .nanoseconds(Int64(clamping: end))
    }
}

extension DurationDistribution: CustomStringConvertible {
    /// The count and the usual percentiles.
    public var description: String {
        """
        \(count) calls, p50 \(p50.milliseconds), p90 \(p90.milliseconds), p99 \(p99.milliseconds), \
        max \(maximum.milliseconds)
        """
    }
}
