import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

@Suite(.tags(.concurrency))
struct RetryBudgetTests {
    private let server = AuthorityKey("api.example.com")

    /// Returns the number of retries that a budget allows at a moment.
    private func allowed(_ budget: RetryBudget, at now: Duration = .zero) -> Int {
        var count = 0
        while count < 10_000 {
            budget.note(server, at: now)
            guard budget.withdraw(server, at: now) != nil else { break }
            count += 1
        }
        return count
    }

    private func calls(_ count: Int, _ budget: RetryBudget, at now: Duration = .zero) {
        for _ in 0..<count {
            budget.begin(server, at: now)
        }
    }

    // MARK: Share of the calls

    @Test func ratioAllowsAShareOfTheCallsAndAReserve() {
        let budget = RetryBudget(.ratio(0.2, reserve: 10, over: .seconds(10)))
        calls(100, budget)
        #expect(allowed(budget) == 30)
    }

    @Test func reserveIsAvailableWithoutCalls() {
        #expect(allowed(RetryBudget(.ratio(0.2, reserve: 3))) == 3)
        #expect(allowed(RetryBudget(.ratio(0.2, reserve: 0))) == 0)
    }

    @Test func callsAndRetriesExpireAfterTheWindow() {
        let budget = RetryBudget(.ratio(0.2, reserve: 1, over: .seconds(10)))
        calls(50, budget)
        #expect(allowed(budget) == 11)
        calls(50, budget, at: .seconds(5))
        #expect(allowed(budget, at: .seconds(5)) == 10)
        // The first deposits and retries have expired. The ten retries of the middle still count.
        #expect(allowed(budget, at: .milliseconds(10_500)) == 1)
        #expect(allowed(budget, at: .seconds(100)) == 1)
    }

    @Test func callCountsForOneWindow() {
        let budget = RetryBudget(.ratio(1, reserve: 0, over: .seconds(10)))
        calls(1, budget)
        calls(2, budget, at: .milliseconds(1_500))
        #expect(budget.allows(server, at: .seconds(9)))
        // The first call has expired, and the retry counts against the other two.
        #expect(allowed(budget, at: .seconds(10)) == 1)
    }

    @Test func clockThatJumpsDoesNotBreakTheBudget() {
        let budget = RetryBudget(.ratio(0.2, reserve: 1))
        calls(10, budget, at: .seconds(1_000_000))
        #expect(allowed(budget, at: .zero) == 3)
        #expect(allowed(budget, at: .seconds(1_000_000_000)) == 1)
    }

    /// The reserve is spent, so the account has no deposit from which a start could be taken.
    @Test func unsentCallsAllowNoRetry() {
        let budget = RetryBudget(.ratio(0.2, reserve: 5, over: .seconds(10)))
        for _ in 0..<3 {
            #expect(budget.withdraw(server, at: .zero) != nil)
        }
        for second in 0..<9 {
            budget.begin(server, at: .seconds(second))
            budget.cancelBegin(server, startedAt: .seconds(second), at: .seconds(second + 1))
        }
        #expect(allowed(budget, at: .seconds(9)) == 2)
        // The start has left the window.
        budget.cancelBegin(server, startedAt: .seconds(9), at: .seconds(100))
        #expect(allowed(budget, at: .seconds(100)) == 5)
    }

    // MARK: Other models

    @Test func failuresThrottleAndSuccessesRelease() {
        let budget = RetryBudget(.throttle(tokens: 10, ratio: 0.5))
        #expect(allowed(budget) == 4)
        for _ in 0..<20 {
            budget.endSuccessfully(server, at: .zero)
        }
        #expect(allowed(budget) == 4)
        for _ in 0..<20 {
            budget.note(server, at: .zero)
        }
        for successes in 1...11 {
            budget.endSuccessfully(server, at: .zero)
            #expect(budget.allows(server, at: .zero) == (successes == 11))
        }
    }

    @Test func failuresWithoutARetryThrottleToo() {
        let budget = RetryBudget(.throttle(tokens: 10, ratio: 0.5))
        for _ in 0..<5 {
            budget.note(server, at: .zero)
        }
        #expect(allowed(budget) == 0)
    }

    @Test func unlimitedBudgetAllowsAllRetries() {
        #expect(allowed(.unlimited) == 10_000)
    }

    // MARK: Accounts

    @Test func eachServerHasItsOwnBudget() {
        let budget = RetryBudget(.ratio(0, reserve: 1))
        #expect(allowed(budget) == 1)
        #expect(budget.allows(AuthorityKey("other.example"), at: .zero))
        #expect(!budget.allows(AuthorityKey("other.example"), at: .zero))
        #expect(budget.allows(nil, at: .zero))
    }

    @Test func leastRecentlyUsedAccountsAreRemoved() {
        let budget = RetryBudget(.ratio(0, reserve: 1))
        for number in 0..<1_000 {
            #expect(budget.allows(AuthorityKey("\(number).example"), at: .nanoseconds(number)))
        }
        #expect(!budget.allows(AuthorityKey("1.example"), at: .nanoseconds(1_500)))
        // A new account removes the oldest tenth. A removed account starts from zero.
        #expect(budget.allows(AuthorityKey("new.example"), at: .nanoseconds(2_000)))
        #expect(!budget.allows(AuthorityKey("1.example"), at: .nanoseconds(2_000)))
        #expect(!budget.allows(AuthorityKey("999.example"), at: .nanoseconds(2_000)))
        #expect(budget.allows(AuthorityKey("0.example"), at: .nanoseconds(2_000)))
        #expect(budget.allows(AuthorityKey("100.example"), at: .nanoseconds(2_000)))
        #expect(!budget.allows(AuthorityKey("101.example"), at: .nanoseconds(2_000)))
    }

    // MARK: Unused retries

    @Test func unusedRetryIsReturned() throws {
        let budget = RetryBudget(.ratio(0.2, reserve: 3))
        let permits = try (0..<3).map { _ in try #require(budget.withdraw(server, at: .zero)) }
        #expect(budget.withdraw(server, at: .zero) == nil)
        for permit in permits {
            budget.refund(permit, server, at: .zero)
        }
        #expect(allowed(budget) == 3)
    }

    @Test(arguments: [9, 10, 11, 20])
    func retryReturnedAfterTheIntervalDoesNotCountTwice(end: Int) throws {
        let budget = RetryBudget(.ratio(0.2, reserve: 2, over: .seconds(10)))
        let permit = try #require(budget.withdraw(server, at: .seconds(1)))
        budget.refund(permit, server, at: .seconds(end))
        #expect(allowed(budget, at: .seconds(end)) == 2)
    }

    @Test func callThatWasNotSentAllowsNoRetry() {
        let budget = RetryBudget(.ratio(0.5, reserve: 0, over: .seconds(10)))
        for _ in 1...4 {
            calls(1, budget)
            budget.cancelBegin(server, startedAt: .zero, at: .zero)
        }
        calls(3, budget)
        #expect(allowed(budget) == 1)
    }

    @Test(arguments: ["API.example.com", "api.example.com:443"])
    func serverHasOneAccountInAnySpelling(authority: String) async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = transport.retry(.immediate(), budget: RetryBudget(.ratio(0, reserve: 1, over: .seconds(3_600))))
        #expect(try await network.data(HTTPRequestData(authority: "api.example.com")).retryRefusal == .budget)
        #expect(try await network.data(HTTPRequestData(authority: authority)).retryRefusal == .budget)
        #expect(transport.requests.count == 3)
    }

    @Test func callsCancelledInTheirBackoffReturnTheirRetries() async throws {
        let clock = ManualClock()
        let budget = RetryBudget(.ratio(0, reserve: 1))
        let network = MockTransport { _ in .status(.serviceUnavailable) }
            .retry(.constant(.seconds(1)), budget: budget).environment(\.clock, .manual(clock))
        for _ in 1...3 {
            let call = Task { try await network.data(.lawful) }
            try await clock.waitForSleepers()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(try await call.value.retryRefusal == .budget)
    }
}

extension RetryBudget {
    fileprivate func allows(_ server: AuthorityKey?, at now: Duration) -> Bool {
        withdraw(server, at: now) != nil
    }
}
