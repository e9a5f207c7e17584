import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The queues of waiting callers in limiters.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct WaitQueueTests {
    /// A host without requests is forgotten before a cancelled caller has left its queue.
    @Test func lateCancellationRemovesNoOtherCallerOfItsHost() throws {
        let limiter = ConcurrencyLimiter(maxPerHost: 1)
        #expect(limiter.takeIfFree("a"))
        let late = try #require(limiter.enqueue(.normal, "a"))
        late.wait.resume(with: .failure(CancellationError()))
        limiter.giveBack("a")
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))

        #expect(limiter.takeIfFree("a"))
        let waiter = try #require(limiter.enqueue(.normal, "a"))
        limiter.left(late, "a")
        #expect(limiter.waiting == 1)
        limiter.giveBack("a")
        #expect(!waiter.wait.isPending)
        limiter.giveBack("a")
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))
    }

    @Test func everyCallerEndsAfterRandomCancellations() async {
        let limiter = ConcurrencyLimiter(maxPerHost: 1)
        let network = MockTransport { _ in .ok() }.throttled(by: limiter)
        await withTaskGroup { group in
            for number in 0..<2_000 {
                group.addTask {
                    let request = HTTPRequestData(authority: "\(number % 3).example")
                        .with { $0.priority = RequestPriority.allCases[number % 3] }
                    let call = Task { try await network.data(request) }
                    if !number.isMultiple(of: 3) {
                        for _ in 0..<number % 7 {
                            await Task.yield()
                        }
                        call.cancel()
                    }
                    _ = await call.result
                }
            }
        }
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))
    }

    @Test func queuesShareAscendingNumbers() {
        var numbers = WaitNumbers()
        var (one, other) = (WaitQueue(), WaitQueue())
        let first = one.enter(.normal, numbered: &numbers)
        let second = other.enter(.normal, numbered: &numbers)
        other.leave(first)
        #expect(other.count == 1)
        other.leave(second)
        #expect(other.count == 0)
        #expect(other.first() == nil)
    }

    @Test(arguments: [(RequestPriority.low, 5), (.normal, 4), (.high, 2)])
    func callersOfAtLeastAPriorityAreCounted(priority: RequestPriority, count: Int) {
        var numbers = WaitNumbers()
        var queue = WaitQueue()
        for priority in [.low, .high, .normal, .high, .normal] as [RequestPriority] {
            _ = queue.enter(priority, numbered: &numbers)
        }
        #expect(queue.count(from: priority) == count)
        queue.leave(queue.enter(.high, numbered: &numbers))
        #expect(queue.count(from: priority) == count)
    }

    // MARK: Overtaking

    @Test func waiterIsOvertakenWithinItsSlack() {
        var numbers = WaitNumbers()
        var queue = WaitQueue()
        let low = queue.enter(.low, slack: 2, numbered: &numbers)
        let high = (0..<5).map { _ in queue.enter(.high, numbered: &numbers) }
        var served: [UInt64] = []
        while let place = queue.serve() {
            served.append(place.number)
        }
        #expect(served == [high[0].number, high[1].number, low.number] + high[2...].map(\.number))
    }

    @Test func waiterThatLeftDoesNotPreventOvertaking() {
        var numbers = WaitNumbers()
        var queue = WaitQueue()
        let strict = queue.enter(.low, slack: 0, numbered: &numbers)
        let low = queue.enter(.low, numbered: &numbers)
        let high = queue.enter(.high, numbered: &numbers)
        #expect(queue.first()?.number == strict.number)
        queue.leave(strict)
        #expect(queue.serve()?.number == high.number)
        #expect(queue.serve()?.number == low.number)
    }

    @Test func limitsOfWaitersThatLeftAreRemoved() {
        var numbers = WaitNumbers()
        var queue = WaitQueue()
        let stays = queue.enter(.low, slack: 1_000_000, numbered: &numbers)
        for _ in 0..<10_000 {
            queue.leave(queue.enter(.normal, slack: 1_000_001, numbered: &numbers))
        }
        #expect(queue.count == 1)
        #expect(queue.limitCount <= 2 + 64)
        #expect(queue.serve()?.number == stays.number)
    }
}
