import Foundation
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

@Suite struct RateLimitStateTests {
    private func demand(
        _ permits: Int,
        spare: Int = 0,
        returned: Int = 0,
        burst: Int = 10,
        lead: Duration = .milliseconds(100)
    ) -> RateLimitDemand {
        RateLimitDemand(
            key: "a",
            permits: permits,
            spare: spare,
            returned: returned,
            interval: .milliseconds(10),
            burst: burst,
            lead: lead
        )
    }

    @Test func grantsTheBurstAndThenPermitsAheadOfTheirTime() {
        var state = RateLimitState()
        #expect(state.take(demand(10), at: .seconds(5)) == RateLimitGrant(permits: 10, wait: .zero))
        #expect(state.take(demand(1), at: .seconds(5)) == RateLimitGrant(permits: 1, wait: .milliseconds(10)))
        #expect(state.take(demand(100), at: .seconds(5)) == RateLimitGrant(permits: 9, wait: .milliseconds(100)))
        #expect(state.take(demand(1), at: .seconds(5)) == RateLimitGrant(permits: 0, wait: .milliseconds(10)))
        // The next process has the turn behind.
        #expect(state.take(demand(1), at: .seconds(5)) == RateLimitGrant(permits: 0, wait: .milliseconds(20)))
    }

    @Test func withoutLeadItGrantsFreePermitsOnly() {
        var state = RateLimitState()
        let demand = demand(5, burst: 3, lead: .zero)
        #expect(state.take(demand, at: .zero) == RateLimitGrant(permits: 3, wait: .zero))
        #expect(state.take(demand, at: .zero) == RateLimitGrant(permits: 0, wait: .milliseconds(10)))
        #expect(state.take(demand, at: .milliseconds(10)) == RateLimitGrant(permits: 1, wait: .zero))
    }

    @Test func sparePermitsAreHalfOfThoseThatAreFree() {
        var state = RateLimitState()
        #expect(state.take(demand(2, spare: 100), at: .zero) == RateLimitGrant(permits: 6, wait: .zero))
        #expect(state.take(demand(1, spare: 1), at: .zero) == RateLimitGrant(permits: 2, wait: .zero))
        // Only one is free, and those that are granted ahead are for requests that wait.
        #expect(state.take(demand(1, spare: 100), at: .zero) == RateLimitGrant(permits: 1, wait: .zero))
        #expect(state.take(demand(1, spare: 100), at: .zero) == RateLimitGrant(permits: 1, wait: .zero))
        #expect(state.take(demand(1, spare: 100), at: .zero) == RateLimitGrant(permits: 1, wait: .milliseconds(10)))
        #expect(
            state.take(demand(100, spare: 100), at: .seconds(1))
                == RateLimitGrant(permits: 20, wait: .milliseconds(100))
        )
        // Numbers at the end of their range.
        #expect(state.take(demand(.max, spare: .max, returned: .max), at: .seconds(1)).permits == 20)
        #expect(!RateLimitGrant(permits: 6, wait: .zero).answers(demand(2, spare: 3)))
        #expect(RateLimitGrant(permits: 5, wait: .zero).answers(demand(2, spare: 3)))
        #expect(RateLimitGrant(permits: .max, wait: .zero).answers(demand(.max, spare: .max)))
    }

    @Test func returnedPermitsAreGrantedAgain() {
        var state = RateLimitState()
        #expect(state.take(demand(10), at: .zero).permits == 10)
        #expect(state.take(demand(0, returned: 4), at: .zero) == RateLimitGrant(permits: 0, wait: .zero))
        #expect(state.take(demand(4), at: .zero) == RateLimitGrant(permits: 4, wait: .zero))
        #expect(state.take(demand(1), at: .zero) == RateLimitGrant(permits: 1, wait: .milliseconds(10)))
        // More than were taken do not raise the burst.
        #expect(state.take(demand(0, returned: .max), at: .zero).permits == 0)
        #expect(state.take(demand(.max), at: .zero) == RateLimitGrant(permits: 20, wait: .milliseconds(100)))
    }

    @Test func clockThatGoesBackNeitherStopsNorFloods() {
        var state = RateLimitState()
        _ = state.take(demand(20), at: .seconds(1_000_000))
        // The remaining times stay the same.
        #expect(state.take(demand(1), at: .zero) == RateLimitGrant(permits: 0, wait: .milliseconds(10)))
        #expect(state.take(demand(5), at: .milliseconds(50)).permits == 5)
        // A clock that goes ahead allows one burst.
        #expect(state.take(demand(1_000), at: .seconds(2_000_000)).permits == 20)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .nanoseconds(Int64.max), .zero])
    func damagedStateIsLimited(value: Duration) {
        for moment in [Duration.zero, value] {
            var state = RateLimitState(moment: moment, reserved: value, turns: value)
            let grant = state.take(demand(1), at: .seconds(1_800_000_000))
            #expect(grant.wait <= .milliseconds(10) + RateLimitDemand.longestTurn)
            #expect(state.take(demand(1), at: .seconds(1_800_000_001)).permits == 1)
        }
    }

    @Test func stateIsIdleWhenNothingOfItRemains() {
        var state = RateLimitState()
        #expect(state.isIdle(at: .zero))
        _ = state.take(demand(3), at: .zero)
        #expect(!state.isIdle(at: .milliseconds(29)))
        #expect(state.isIdle(at: .milliseconds(30)))
    }

    /// Whatever processes ask for and give back, no more than the limit is used.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func neverGrantsMoreThanTheLimit(seed: UInt64) {
        var random = RandomSource.seeded(seed)
        let burst = Int.random(in: 1...20, using: &random)
        var state = RateLimitState()
        var (now, granted) = (Duration.zero, 0)
        for _ in 0..<2_000 {
            now += .microseconds(Int.random(in: 0...5_000, using: &random))
            let returns = Int.random(in: 0...3, using: &random) == 0
            let returned = returns ? Int.random(in: 0...min(3, granted), using: &random) : 0
            let demand = demand(
                Int.random(in: 0...8, using: &random),
                spare: Int.random(in: 0...4, using: &random),
                returned: returned,
                burst: burst
            )
            let grant = state.take(demand, at: now)
            granted += grant.permits - returned
            #expect(grant.answers(demand))
            let limit = burst + Int((now + grant.wait) / .milliseconds(10)) + 1
            #expect(granted <= limit + 10)
        }
        // Asked for more than enough, so nothing of the rate was lost.
        #expect(Double(granted) >= now / .milliseconds(10) * 0.98)
    }
}
