import Foundation
import NetworkingTesting
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The limit in front of a model of a server that receives four times as many requests as it can process.
///
/// A response takes 10 ms as long as no more requests are in flight than the capacity, and longer in proportion to their
/// number beyond it (processor sharing). The times vary by 15 %. A response is good if it takes at most three times as
/// long as without load. Requests always wait, so as many are in flight as the limit allows.
@Suite(.timeLimit(.minutes(20)))
struct AdaptiveLimitSimulationTests {
    /// A limit as the model sees it.
    private protocol LoadLimit {
        var allowed: Int { get }
        mutating func add(_ latency: Duration, sentWith inFlight: Int, at now: Duration)
    }

    private struct Measured: LoadLimit {
        var gradient: Gradient

        var allowed: Int { gradient.allowed }

        mutating func add(_ latency: Duration, sentWith inFlight: Int, at now: Duration) {
            while gradient.inFlight < inFlight { gradient.begin() }
            while gradient.inFlight > inFlight { gradient.end() }
            gradient.add(.latency(latency), sentWith: inFlight, at: now)
        }
    }

    /// The algorithm of Netflix's concurrency-limits, which compares the latency with a mean of past ones.
    private struct Gradient2: LoadLimit {
        private var limit = 20.0
        private var mean = 0.0
        private var count = 0
        private var window: [Double] = []

        var allowed: Int { Int(limit) }

        mutating func add(_ latency: Duration, sentWith inFlight: Int, at now: Duration) {
            window.append(latency / .seconds(1))
            guard window.count == 25 else { return }
            let short = window.reduce(0, +) / 25
            window.removeAll()
            count += 1
            let factor = count < 10 ? 1 / Double(count) : 2 / 601
            mean += (short - mean) * factor
            if mean / short > 2 { mean *= 0.95 }
            let gradient = max(0.5, min(1, 1.5 * mean / short))
            limit = min(max(20, limit * 0.8 + (limit * gradient + 4) * 0.2), 200)
        }
    }

    private struct Figures {
        /// The share of the capacity that gives good responses, for each second.
        var goodput: [Double] = []
        /// The limit at the end of each second.
        var limits: [Int] = []

        func mean(_ seconds: Range<Int>) -> Double {
            goodput[seconds].reduce(0, +) / Double(seconds.count)
        }
    }

    private func simulate(
        _ limit: some LoadLimit,
        minutes: Int = 60,
        seed: UInt64,
        capacity: (_ second: Int) -> Double
    ) -> Figures {
        var limit = limit
        var state = seed
        func random() -> Double {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double((state >> 11) | 1) * 0x1p-53
        }
        var figures = Figures()
        for second in 0..<minutes * 60 {
            let capacity = capacity(second)
            var good = 0.0
            for sample in 0..<250 {
                let now = Duration.milliseconds(second * 1_000 + sample * 4)
                let inFlight = limit.allowed
                let noise = exp(0.15 * (-2 * log(random())).squareRoot() * cos(2 * .pi * random()))
                let factor = max(1, Double(inFlight) / capacity) * noise
                good += factor <= 3 ? min(Double(inFlight), capacity) / capacity : 0
                limit.add(Duration.milliseconds(10) * factor, sentWith: inFlight, at: now)
            }
            figures.goodput.append(good / 250)
            figures.limits.append(limit.allowed)
        }
        return figures
    }

    private var measured: Measured {
        Measured(gradient: Gradient(in: 1...200, start: 6, jitter: 0.5, at: .zero))
    }

    @Test(arguments: [8.0, 50.0], [1, 2, 3] as [UInt64])
    func goodputStaysAboveNineTenthsForAnHour(capacity: Double, seed: UInt64) {
        let figures = simulate(measured, seed: seed) { _ in capacity }
        let context: Comment = "capacity \(capacity), seed \(seed)"
        // The start is cold, so the first seconds are those in which the limit grows.
        for minute in 0..<60 {
            let start = minute * 60 + (minute == 0 ? 10 : 0)
            #expect(figures.mean(start..<minute * 60 + 60) >= 0.9, "\(context), minute \(minute)")
        }
        #expect(figures.mean(0..<3_600) >= 0.9, context)
        #expect((figures.limits.suffix(600).max() ?? 0) <= Int(2.5 * capacity), context)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func limitFollowsTheCapacityWithinThirtySeconds(seed: UInt64) {
        let figures = simulate(measured, minutes: 30, seed: seed) { (600..<1_200).contains($0) ? 25 : 50 }
        let context: Comment = "seed \(seed)"
        #expect((figures.limits[590..<600].max() ?? 0) >= 50, context)
        #expect((figures.limits[630..<1_200].max() ?? 0) <= 55, context)
        #expect(figures.mean(630..<690) >= 0.9, context)
        #expect((figures.limits[1_225..<1_230].max() ?? 0) >= 50, context)
        #expect(figures.mean(1_230..<1_290) >= 0.9, context)
    }

    /// In the second of a measurement, three requests at a time give fewer than 25 latencies of a slow service.
    @Test func baselineOfASlowServiceIsMeasuredInSeveralSteps() {
        var limit = measured
        for _ in 0..<25 { limit.add(.milliseconds(400), sentWith: 1, at: .zero) }
        #expect(limit.gradient.baseline == .milliseconds(400))
        // The service becomes slower for good, and the limit is always used up.
        var now = Duration.zero
        while now < .seconds(600) {
            now += .milliseconds(270)
            limit.add(.milliseconds(800), sentWith: limit.allowed, at: now)
        }
        #expect(limit.gradient.baseline == .milliseconds(800))
        #expect(limit.allowed > 6)
    }

    /// The counter-example: without a measured baseline, the limit grows to its maximum.
    @Test(arguments: [8.0, 50.0])
    func gradientWithoutAMeasuredBaselineFails(capacity: Double) {
        let figures = simulate(Gradient2(), seed: 1) { _ in capacity }
        #expect(figures.mean(3_000..<3_600) < 0.5)
        #expect(figures.limits.last == 200)
    }
}
