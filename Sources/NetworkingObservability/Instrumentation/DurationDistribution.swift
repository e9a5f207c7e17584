import NetworkingCore

/// How long things took: how many, and how they are spread, to within 2 %.
///
/// It counts in classes that grow with what they hold, so that it stays small however many it has seen.
public struct DurationDistribution: Sendable {
    /// How many there were.
    public private(set) var count = 0
    // Nanoseconds, since the arithmetic of durations takes longer than all else here; their sum may be more than 292
    // years.
    private var total: Int128 = 0
    private var least: Int64 = 0
    private var most: Int64 = 0
    /// How many there are in each class.
    private var classes: [Int] = []

    /// Each doubling has so many classes.
    private static let steps = 64

    /// Creates one of nothing.
    public init() {}

    /// What they took together.
    public var sum: Duration { .nanoseconds(total) }
    /// The shortest; zero where there is none.
    public var minimum: Duration { .nanoseconds(least) }
    /// The longest; zero where there is none.
    public var maximum: Duration { .nanoseconds(most) }

    /// What they took on average; zero where there is none.
    public var mean: Duration {
        count == 0 ? .zero : .nanoseconds(total / Int128(count))
    }

    /// What half of them took at most.
    public var p50: Duration { percentile(50) }
    /// What nine in ten took at most.
    public var p90: Duration { percentile(90) }
    /// What nineteen in twenty took at most.
    public var p95: Duration { percentile(95) }
    /// What ninety-nine in a hundred took at most.
    public var p99: Duration { percentile(99) }

    /// What a part of them took at most, by the nearest rank.
    ///
    /// - Parameter percent: The part in percent.
    /// - Returns: The time, at most 2 % longer than the one at that rank; zero where there is none.
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

    /// Counts one more.
    ///
    /// - Parameter duration: How long it took; less than zero is zero, and more than 292 years are that.
    public mutating func add(_ duration: Duration) {
        add(nanoseconds: duration.nanoseconds)
    }

    mutating func add(nanoseconds: Int64) {
        let nanoseconds = max(0, nanoseconds)
        least = count == 0 ? nanoseconds : min(least, nanoseconds)
        most = max(most, nanoseconds)
        count += 1
        total += Int128(nanoseconds)
        let index = Self.class(of: UInt64(nanoseconds))
        makeRoom(for: index)
        classes[index] += 1
    }

    /// Counts what another one has.
    ///
    /// - Parameter other: The other one.
    public mutating func merge(_ other: DurationDistribution) {
        guard other.count > 0 else { return }
        least = count == 0 ? other.least : min(least, other.least)
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
        classes.append(contentsOf: repeatElement(0, count: index + 1 - classes.count))
    }

    /// The class of a time: the doubling of a nanosecond that it is in, and the step in that.
    private static func `class`(of nanoseconds: UInt64) -> Int {
        guard nanoseconds >= UInt64(steps) else { return Int(nanoseconds) }
        let doubling = 63 - nanoseconds.leadingZeroBitCount
        let step = Int(nanoseconds >> UInt64(doubling - 6)) - steps
        return (doubling - 5) * steps + step
    }

    /// The longest time in a class.
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
