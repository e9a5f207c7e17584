import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The time after which `hedged` sends a request again.
@Suite(.timeLimit(.minutes(20)))
struct HedgedDelayTests {
    private func window(
        tail: Double = 0.05,
        _ latencies: [Int64],
        censored: [Int64] = []
    ) -> HedgingPolicy.Latencies? {
        var window = LatencyWindow(tail: tail)
        for latency in latencies { window.add(latency, isCensored: false, at: 0) }
        for latency in censored { window.add(latency, isCensored: true, at: 0) }
        return window.latencies(at: 0)
    }

    @Test func fewLatenciesHaveNoPercentile() {
        #expect(window(Array(1...49)) == nil)
        #expect(window(Array(1...50)) != nil)
    }

    @Test func percentileIsExceededByThePartThatMayBeSentAgain() {
        #expect(window(Array(1...100)) == HedgingPolicy.Latencies(median: .nanoseconds(50), tail: .nanoseconds(95)))
        #expect(window(tail: 0.02, (1...1_000).shuffled())?.tail == .nanoseconds(980))
    }

    /// The percentile is computed again when a fiftieth of the latencies is new, at most ten times a second, and at
    /// least every ten seconds.
    @Test func percentileIsNotComputedForEachCall() {
        var window = LatencyWindow(tail: 0.01)
        for _ in 1...98 { window.add(10, isCensored: false, at: 0) }
        #expect(window.latencies(at: 0)?.tail == .nanoseconds(10))
        window.add(20, isCensored: false, at: 0)
        #expect(window.latencies(at: 9_999_999_999)?.tail == .nanoseconds(10))
        var (waiting, due) = (window, window)
        #expect(waiting.latencies(at: 10_000_000_000)?.tail == .nanoseconds(20))
        due.add(20, isCensored: false, at: 0)
        #expect(due.latencies(at: 99_999_999)?.tail == .nanoseconds(10))
        #expect(due.latencies(at: 100_000_000)?.tail == .nanoseconds(20))
    }

    @Test func cancelledAttemptsCountAsLongerThanTheirTime() {
        // Without the ten that were cancelled, the percentile would be 86.
        #expect(window(Array(1...90), censored: Array(repeating: 85, count: 10))?.tail == .nanoseconds(89))
        // The others do not reach the percentile.
        #expect(window(Array(1...50), censored: Array(repeating: 60, count: 50))?.tail == .nanoseconds(60))
    }

    @Test func clockThatIsSetBackMakesNoLatencyNegative() {
        #expect(window(Array(-100 ... -1)) == HedgingPolicy.Latencies(median: .zero, tail: .zero))
    }

    @Test func onlyTheLastThousandLatenciesOfTenMinutesCount() {
        var window = LatencyWindow(tail: 0.05)
        for _ in 0..<500 { window.add(1_000, isCensored: false, at: 0) }
        for _ in 0..<1_000 { window.add(10, isCensored: false, at: 1) }
        #expect(window.latencies(at: 1)?.tail == .nanoseconds(10))
        #expect(window.latencies(at: 600_000_000_001)?.tail == .nanoseconds(10))
        #expect(window.latencies(at: 610_000_000_001) == nil)
    }

    private func delay(_ policy: HedgingPolicy, tail: Duration, timeLeft: Duration? = nil) -> Duration? {
        let latencies = HedgingPolicy.Latencies(median: .milliseconds(20), tail: tail)
        return policy.delay(for: .lawful, latencies, timeLeft: timeLeft)
    }

    @Test func percentileHasToBeUsefulForAnExtraAttempt() {
        let policy = HedgingPolicy.percentile()
        #expect(delay(policy, tail: .milliseconds(9)) == nil)
        #expect(delay(policy, tail: .milliseconds(10)) == .milliseconds(10))
        #expect(delay(policy, tail: .seconds(2)) == .seconds(2))
        #expect(delay(policy, tail: .milliseconds(2_001)) == nil)
        #expect(policy.delay(for: .lawful, nil, timeLeft: nil) == nil)
    }

    @Test func callWithLittleTimeIsNotHedged() {
        for policy in [HedgingPolicy.percentile(), .after(.milliseconds(15)), .after { _, _ in .milliseconds(15) }] {
            #expect(delay(policy, tail: .milliseconds(15), timeLeft: .milliseconds(19)) == nil)
            #expect(delay(policy, tail: .milliseconds(15), timeLeft: .milliseconds(20)) == .milliseconds(15))
        }
    }

    @Test func closureDecidesByTheLatencies() {
        let policy = HedgingPolicy.after { request, latencies in
            request.priority == .high ? latencies?.median : nil
        }
        #expect(delay(policy, tail: .milliseconds(90)) == nil)
        let latencies = HedgingPolicy.Latencies(median: .milliseconds(20), tail: .milliseconds(90))
        let urgent = HTTPRequestData.lawful.with { $0.priority = .high }
        #expect(policy.delay(for: urgent, latencies, timeLeft: nil) == .milliseconds(20))
        #expect(HedgingPolicy.after { _, _ in .seconds(-1) }.delay(for: urgent, nil, timeLeft: nil) == .zero)
    }

    @Test func routesAreSeparateAndBounded() {
        let routes = HedgeRoutes(extraLoad: 1)
        let request = HTTPRequestData(authority: "a.example", path: "users/1").with { $0.route = "/users/{id}" }
        let route = routes.route(of: request)
        #expect(routes.route(of: request.with(path: "users/2")) === route)
        #expect(routes.route(of: request.with { $0.authority = "A.example:443" }) === route)
        #expect(routes.route(of: request.with { $0.route = "/groups/{id}" }) !== route)
        #expect(routes.route(of: request.with { $0.method = .head }) !== route)
        for number in 0..<20_000 {
            let other = routes.route(of: request.with { $0.route = "\(number)" })
            _ = other.begin(at: Int64(number))
            #expect(routes.count <= 256)
            if number.isMultiple(of: 20) { _ = route.begin(at: Int64(number)) }
        }
        #expect(routes.route(of: request) === route)
    }

    @Test func budgetOfARouteIsBounded() {
        let route = HedgeRoute(extraLoad: 0.5)
        #expect(!route.withdraw())
        for _ in 0..<1_000 { _ = route.begin(at: 0) }
        #expect((0..<20).filter { _ in route.withdraw() }.count == 10)
        route.refund()
        #expect((0..<20).filter { _ in route.withdraw() }.count == 1)
    }

    @Test func losersAreBounded() {
        let losers = HedgeLosers()
        var places = (0..<10_000).compactMap { _ in losers.place() }
        #expect(places.count == 10_000)
        #expect(losers.place() == nil)
        places.removeLast()
        #expect(losers.place() != nil)
        places = []
        #expect(losers.count == 0)
    }
}
