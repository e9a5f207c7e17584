import Networking
import Testing

@Suite
struct BackoffTests {
    /// Returns the delays of the first retries.
    ///
    /// Each delay is computed with the previous one.
    private func delays(_ backoff: Backoff, _ count: Int, seed: UInt64 = 1) -> [Duration] {
        var random = RandomSource.seeded(seed)
        var delays: [Duration] = []
        for retry in 1...count {
            delays.append(backoff.delay(beforeRetry: retry, after: delays.last, using: &random))
        }
        return delays
    }

    @Test(arguments: Backoff.Jitter.allCases, [1, 2, 3, 10])
    func delayStaysBetweenZeroAndTheCap(jitter: Backoff.Jitter, multiplier: Double) {
        let backoff = Backoff.exponential(multiplier: multiplier, cap: .seconds(20), jitter: jitter)
        for delay in delays(backoff, 2_000) {
            #expect(delay >= .zero)
            #expect(delay <= .seconds(20))
        }
    }

    @Test(arguments: Backoff.Jitter.allCases)
    func extremeSettingsDoNotCrash(jitter: Backoff.Jitter) {
        let backoff = Backoff.exponential(
            base: .seconds(Int64.max / 4),
            multiplier: 1e300,
            cap: .seconds(Int64.max / 4),
            jitter: jitter
        )
        for delay in delays(backoff, 2_000) {
            #expect(delay >= .zero)
            #expect(delay <= .seconds(Int64.max / 4))
        }
    }

    @Test func doublesWithoutJitter() {
        let backoff = Backoff.exponential(base: .milliseconds(200), cap: .seconds(3), jitter: .none)
        #expect(
            delays(backoff, 6) == [
                .milliseconds(200), .milliseconds(400), .milliseconds(800), .milliseconds(1_600), .seconds(3),
                .seconds(3),
            ]
        )
    }

    @Test func staysTheSameWhenConstant() {
        #expect(delays(.constant(.seconds(3)), 3) == [.seconds(3), .seconds(3), .seconds(3)])
        #expect(delays(.immediate, 3) == [.zero, .zero, .zero])
    }

    @Test(arguments: [(.full, 0, 1), (.equal, 0.5, 1)] as [(Backoff.Jitter, Double, Double)])
    func spreadsOverItsRange(jitter: Backoff.Jitter, least: Double, most: Double) throws {
        let backoff = Backoff.constant(.seconds(1), jitter: jitter)
        let delays = delays(backoff, 4_000).map { $0 / .seconds(1) }
        let (low, high) = (try #require(delays.min()), try #require(delays.max()))
        #expect(low >= least && low < least + 0.01)
        #expect(high <= most && high > most - 0.01)
        let mean = delays.reduce(0, +) / 4_000
        #expect(abs(mean - (least + most) / 2) < 0.02)
    }

    @Test func decorrelatedReachesThreeTimesThePreviousDelay() {
        let backoff = Backoff.exponential(base: .seconds(1), cap: .seconds(1_000), jitter: .decorrelated)
        var random = RandomSource { .max }
        #expect(backoff.delay(beforeRetry: 1, using: &random) == .seconds(3))
        #expect(backoff.delay(beforeRetry: 2, after: .seconds(5), using: &random) == .seconds(15))
    }

    @Test func decorrelatedGrowsFromThePreviousDelay() {
        let backoff = Backoff.exponential(base: .seconds(1), cap: .seconds(1_000), jitter: .decorrelated)
        var previous = Duration.seconds(1)
        for delay in delays(backoff, 1_000) {
            #expect(delay >= .seconds(1))
            #expect(delay <= min(.seconds(1_000), previous * 3 + .nanoseconds(1)))
            previous = delay
        }
    }

    @Test func decorrelatedStaysAroundAConstantDelay() throws {
        let delays = delays(.constant(.seconds(1), jitter: .decorrelated), 1_000)
        let (low, high) = (try #require(delays.min()), try #require(delays.max()))
        #expect(low >= .seconds(1) && low < .milliseconds(1_010))
        #expect(high <= .seconds(3) && high > .milliseconds(2_990))
    }

    @Test func closureComputesEachDelay() {
        let backoff = Backoff.custom { retry, previous, random in
            (previous ?? .seconds(1)) + .seconds(retry) + .milliseconds(.random(in: 0...500, using: &random))
        }
        let delays = delays(backoff, 2)
        #expect(delays[0] >= .seconds(2) && delays[0] <= .milliseconds(2_500))
        #expect(delays[1] >= delays[0] + .seconds(2) && delays[1] <= delays[0] + .milliseconds(2_500))
        #expect(self.delays(backoff, 2) == delays)
    }

    @Test func negativeDelayOfAClosureIsZero() {
        #expect(delays(.custom { _, _, _ in .seconds(-1) }, 2) == [.zero, .zero])
    }

    @Test func sameSeedRepeatsTheDelays() {
        let backoff = Backoff.exponential()
        #expect(delays(backoff, 5, seed: 7) == delays(backoff, 5, seed: 7))
        #expect(delays(backoff, 5, seed: 7) != delays(backoff, 5, seed: 8))
    }
}
