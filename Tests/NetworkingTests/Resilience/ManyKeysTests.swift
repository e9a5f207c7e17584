import Networking
import NetworkingCore
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience

/// A client that sends requests to 100,000 servers takes no more memory than one with a few.
@Suite(.timeLimit(.minutes(5)))
struct ManyKeysTests {
    private let clock = NetworkClock.manual(ManualClock())

    @Test func valuesInUseStayAndTheOthersMakeRoom() {
        var table = RecentTable<Bool>()
        for number in 0..<100 {
            _ = table.withValue(of: "used \(number)", adding: true) { _ in }
        }
        func add(_ key: String) -> Bool {
            let isAdded: Void? = table.withValue(of: key, mayRemove: { !$0 }, adding: false, { _ in })
            return isAdded != nil
        }
        for number in 0..<100_000 where !add("\(number)") {
            Issue.record("there is no room for \(number)")
        }
        let used = (0..<100).map { "used \($0)" }
        #expect(table.keys.count == RecentTable<Bool>.limit)
        #expect(Set(table.keys) == Set(used + (100_000 - RecentTable<Bool>.limit + 100..<100_000).map { "\($0)" }))
        // A value that is used often is never among the least recently used.
        for number in 0..<1_000 {
            _ = table.withValue(of: "99999") { _ in }
            #expect(add("new \(number)"))
        }
        #expect(table["99999"] == false)
    }

    @Test func throttleKeepsTheCountsOfItsLastServers() {
        let throttle = AdaptiveThrottle()
        for number in 0..<100_000 {
            throttle.count(.failure(.error(.connection)), "\(number)")
        }
        #expect(throttle.authorities == RecentTable<CallWindow>.limit)
        #expect(throttle.rejectionProbability(of: "99999") == 0.5)
        #expect(throttle.rejectionProbability(of: "0") == 0)
    }

    @Test func adaptiveLimitKeepsTheServersWithRequests() {
        let limiter = AdaptiveLimiter()
        func admit(_ key: String) -> Bool {
            let admission = limiter.admit(key, .normal, mayWait: false, jitter: { 0 }, on: clock)
            return if case .admitted = admission { true } else { false }
        }
        for number in 0..<100 {
            #expect(admit("busy \(number)"))
        }
        for number in 0..<100_000 {
            let key = "\(number)"
            #expect(admit(key))
            limiter.giveBack(key, on: clock)
        }
        #expect(limiter.authorities == RecentTable<AdaptivePermits>.limit)
        #expect(limiter.inFlight == 100)
    }

    @Test func hedgedKeepsItsLastRoutes() {
        let routes = HedgeRoutes(extraLoad: 1)
        var request = HTTPRequestData.lawful
        _ = routes.route(of: request).begin(at: 0)
        var highest = 0
        for number in 1...100_000 {
            request.route = "\(number)"
            _ = routes.route(of: request).begin(at: Int64(number))
            if number.isMultiple(of: 100) { highest = max(highest, routes.count) }
        }
        #expect((200...256).contains(highest))
        // The first route has lost what it has saved up, and the last one has not.
        #expect(routes.route(of: request).withdraw())
        #expect(!routes.route(of: .lawful).withdraw())
    }

    @Test func serverLimitsOfTheLastKeysStay() throws {
        let lines = GatedLines<ServerLimitGate>()
        let report = ServerLimitGate.Report(limits: [ServerLimit(remaining: 0, reset: .seconds(60))])
        try fill(lines, with: report)
        #expect((512...1_024).contains(lines.keys))
        #expect(lines.count == lines.keys)
        #expect(lines.wait(line(99_999), on: clock) == .seconds(60))
        #expect(lines.wait(line(0), on: clock) == .zero)
    }

    @Test func adaptiveRatesOfTheLastKeysStay() throws {
        let lines = GatedLines<AdaptiveRateGate>()
        try fill(lines, with: .throttled)
        #expect((512...1_024).contains(lines.keys))
        #expect(lines.wait(line(99_999), on: clock) == .seconds(2))
        #expect(lines.wait(line(0), on: clock) == .zero)
    }

    private func line(_ number: Int) -> LineKey {
        var key = LineKey(of: .lawful)
        key.group = "\(number)"
        return key
    }

    private func fill<Gate>(_ lines: GatedLines<Gate>, with report: Gate.Report) throws {
        let request = HTTPRequestData.lawful
        for number in 0..<100_000 {
            let key = line(number)
            guard case .passed(let ticket) = lines.enter(request, key, waitingUpTo: .zero, on: clock) else {
                Issue.record("the request of a new key does not pass")
                return
            }
            lines.end(ticket, key, with: report, on: clock)
        }
    }
}
