import Networking
import Testing

@testable import Networking

@Suite
struct RetryBudgetTests {
    private let server = "api.example.com"

    /// How many retries a budget allows at a moment.
    private func allowed(
        _ budget: RetryBudget,
        at now: Duration = .zero,
        after failure: RetryBudget.Failure = .other
    ) -> Int {
        var count = 0
        while count < 10_000 {
            budget.note(server, at: now)
            guard budget.withdraw(server, after: failure, at: now) else { break }
            count += 1
        }
        return count
    }

    private func calls(_ count: Int, _ budget: RetryBudget, at now: Duration = .zero) {
        for _ in 0..<count {
            budget.begin(server, at: now)
        }
    }

    // MARK: A part of the calls

    @Test func aPartOfTheCallsAndAReserve() {
        let budget = RetryBudget(.ratio(0.2, reserve: 10, over: .seconds(10)))
        calls(100, budget)
        #expect(allowed(budget) == 30)
    }

    @Test func theReserveIsThereWithoutCalls() {
        #expect(allowed(RetryBudget(.ratio(0.2, reserve: 3))) == 3)
        #expect(allowed(RetryBudget(.ratio(0.2, reserve: 0))) == 0)
    }

    @Test func callsAndRetriesAreForgottenAfterTheWhile() {
        let budget = RetryBudget(.ratio(0.2, reserve: 1, over: .seconds(10)))
        calls(50, budget)
        #expect(allowed(budget) == 11)
        calls(50, budget, at: .seconds(5))
        #expect(allowed(budget, at: .seconds(5)) == 10)
        // What was deposited and taken at first is forgotten; the ten of the middle are still spent.
        #expect(allowed(budget, at: .milliseconds(10_500)) == 1)
        #expect(allowed(budget, at: .seconds(100)) == 1)
    }

    @Test func aClockThatJumpsDoesNoHarm() {
        let budget = RetryBudget(.ratio(0.2, reserve: 1))
        calls(10, budget, at: .seconds(1_000_000))
        #expect(allowed(budget, at: .zero) == 3)
        #expect(allowed(budget, at: .seconds(1_000_000_000)) == 1)
    }

    // MARK: Other models

    @Test func failuresThrottleAndSuccessesRelease() {
        let budget = RetryBudget(.throttle(tokens: 10, ratio: 0.5))
        #expect(allowed(budget) == 4)
        for _ in 0..<20 {
            budget.begin(server, at: .zero)
            budget.end(server, .init(isSuccess: true, retries: 0), at: .zero)
        }
        #expect(allowed(budget) == 4)
    }

    @Test func aPartOfWhatIsUnderWay() {
        let budget = RetryBudget(.concurrency(0.2, floor: 3))
        calls(10, budget)
        #expect(allowed(budget) == 3)
        calls(30, budget)
        #expect(allowed(budget) == 5)
        for _ in 0..<4 {
            budget.end(server, .init(isSuccess: true, retries: 2), at: .zero)
        }
        #expect(allowed(budget) == 3)
    }

    /// A call makes its retries one after the other, so it counts as one however many they are.
    @Test func aCallThatRetriesOftenCountsOnce() {
        let budget = RetryBudget(.concurrency(0.2, floor: 1))
        calls(1, budget)
        #expect(budget.withdraw(server, after: .other, isFirst: true, at: .zero))
        #expect(budget.withdraw(server, after: .other, isFirst: false, at: .zero))
        #expect(budget.withdraw(server, after: .other, isFirst: false, at: .zero))
        #expect(!budget.withdraw(server, after: .other, isFirst: true, at: .zero))
    }

    @Test func failuresThatAreNotTriedAgainThrottleToo() {
        let budget = RetryBudget(.throttle(tokens: 10, ratio: 0.5))
        for _ in 0..<5 {
            budget.note(server, at: .zero)
        }
        #expect(allowed(budget) == 0)
    }

    @Test func aStockFromWhichRetriesTake() {
        let budget = RetryBudget(.quota(stock: 50, cost: 5, timeoutCost: 10))
        #expect(budget.withdraw(server, after: .timeout, at: .zero))
        #expect(allowed(budget) == 8)
        budget.end(server, .init(isSuccess: true, retries: 1, lastFailure: .timeout), at: .zero)
        #expect(allowed(budget) == 2)
        for _ in 0..<5 {
            budget.end(server, .init(isSuccess: true, retries: 0), at: .zero)
        }
        #expect(allowed(budget) == 1)
    }

    @Test func withoutALimitThereIsNone() {
        #expect(allowed(.unlimited) == 10_000)
    }

    // MARK: Accounts

    @Test func eachServerHasItsOwn() {
        let budget = RetryBudget(.ratio(0, reserve: 1))
        #expect(allowed(budget) == 1)
        #expect(budget.withdraw("other.example", after: .other, at: .zero))
        #expect(!budget.withdraw("other.example", after: .other, at: .zero))
        #expect(budget.withdraw(nil, after: .other, at: .zero))
    }

    @Test func accountsThatWereNotUsedForLongestMakeRoom() {
        let budget = RetryBudget(.ratio(0, reserve: 1))
        for number in 0..<1_000 {
            #expect(budget.withdraw("\(number).example", after: .other, at: .nanoseconds(number)))
        }
        // A new one: the oldest tenth goes, and begins anew when it comes back.
        #expect(budget.withdraw("new.example", after: .other, at: .nanoseconds(2_000)))
        #expect(!budget.withdraw("999.example", after: .other, at: .nanoseconds(2_000)))
        #expect(budget.withdraw("0.example", after: .other, at: .nanoseconds(2_000)))
    }
}
