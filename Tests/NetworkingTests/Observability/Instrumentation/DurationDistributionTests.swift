import Networking
import Testing

struct DurationDistributionTests {
    @Test func emptyDistributionIsZero() {
        let distribution = DurationDistribution()
        #expect(distribution.count == 0)
        #expect(distribution.percentile(50) == .zero)
        #expect(distribution.mean == .zero)
        #expect(distribution.maximum == .zero)
    }

    @Test(arguments: [
        1, 31, 32, 33, 63, 64, 65, 1_000, 1_023, 1_024, 123_456, 999_999_999, 86_400_000_000_000, Int64.max,
    ])
    func singleValueIsReportedExactly(nanoseconds: Int64) {
        var distribution = DurationDistribution()
        distribution.add(.nanoseconds(nanoseconds))
        #expect(distribution.p50 == .nanoseconds(nanoseconds))
        #expect(distribution.percentile(0) == .nanoseconds(nanoseconds))
        #expect(distribution.percentile(100) == .nanoseconds(nanoseconds))
        #expect(distribution.mean == .nanoseconds(nanoseconds))
    }

    @Test func percentilesApproximateThoseOfTheSortedValues() {
        var generator = SeededGenerator(state: 7)
        var distribution = DurationDistribution()
        let values = (0..<10_000)
            .map { _ in
                // The values spread from a microsecond to a minute, with equal numbers in each doubling.
                Int64(1_000 * (1 << Int64.random(in: 0...25, using: &generator)))
                    + .random(in: 0..<1_000, using: &generator)
            }
            .sorted()
        for value in values.shuffled(using: &generator) {
            distribution.add(.nanoseconds(value))
        }
        for percent in stride(from: 1.0, through: 100, by: 0.5) {
            let exact = Duration.nanoseconds(values[max(1, Int((percent / 100 * 10_000).rounded(.up))) - 1])
            let found = distribution.percentile(percent)
            #expect(found >= exact && found <= exact * 1.016, "at \(percent)")
        }
        #expect(distribution.minimum == .nanoseconds(values[0]))
        #expect(distribution.maximum == .nanoseconds(values[9_999]))
    }

    @Test func mergedDistributionsEqualACombinedOne() {
        var (left, right, both) = (DurationDistribution(), DurationDistribution(), DurationDistribution())
        for value in 1...1_000 {
            let duration = Duration.microseconds(value * value)
            both.add(duration)
            if value.isMultiple(of: 3) { left.add(duration) } else { right.add(duration) }
        }
        left.merge(right)
        #expect(left.count == both.count)
        #expect(left.sum == both.sum)
        #expect((left.minimum, left.maximum) == (both.minimum, both.maximum))
        #expect((1...100).map { left.percentile(Double($0)) } == (1...100).map { both.percentile(Double($0)) })
    }

    @Test func negativeAndHugeDurationsAreClamped() {
        var distribution = DurationDistribution()
        distribution.add(.seconds(-1))
        distribution.add(.seconds(Int64.max))
        #expect(distribution.minimum == .zero)
        #expect(distribution.percentile(1) == .zero)
        #expect(distribution.maximum == .nanoseconds(Int64.max))
    }
}

/// A generator that draws the same numbers in each run.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 31)
    }
}
