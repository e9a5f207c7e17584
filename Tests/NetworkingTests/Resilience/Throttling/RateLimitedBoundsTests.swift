import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The bounds of waits in a rate limiter, and the keys that the limiter stores.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RateLimitedBoundsTests {
    private let clock = ManualClock()

    private func place(
        _ limiter: RateLimiter,
        _ priority: RequestPriority = .normal,
        _ key: String = "",
        weight: Int = 1,
        upTo longest: Duration? = nil
    ) -> WaitPlace? {
        let decision = limiter.take(weight, priority, key, waitingUpTo: longest, on: .manual(clock))
        guard case .wait(let place, _) = decision else { return nil }
        return place
    }

    /// Advances the clock second by second, because an alarm that is one second late delays all waiting requests.
    private func passSeconds(_ count: Int) {
        for _ in 0..<count {
            clock.advance(by: .seconds(1))
        }
    }

    // MARK: Maximum wait

    @Test func urgentRequestsDoNotDelayAnotherBeyondItsMaximumWait() throws {
        let limiter = RateLimiter(1, per: .seconds(1))
        #expect(place(limiter) == nil)
        let low = try #require(place(limiter, .low, upTo: .seconds(3)))
        let high = try (0..<5).map { _ in try #require(place(limiter, .high)) }
        passSeconds(2)
        #expect(high.map(\.wait.isPending) == [false, false, true, true, true])
        #expect(low.wait.isPending)
        clock.advance(by: .seconds(1))
        #expect(!low.wait.isPending)
        passSeconds(3)
        #expect(high.allSatisfy { !$0.wait.isPending })
    }

    @Test(
        arguments: [
            (1, .seconds(31_556_952_000 as Int64), 1_000_000_000), (1, .nanoseconds(1), 1_000_000_000),
            (1_000_000_000, Duration(attoseconds: 1), 1),
        ] as [(Int, Duration, Int)]
    )
    func extremeLimitsDoNotOverflow(count: Int, period: Duration, burst: Int) async throws {
        let limiter = RateLimiter(count, per: period, burst: burst)
        let clock = NetworkClock.manual(clock)
        guard case .taken = limiter.take(burst, .normal, "", waitingUpTo: nil, on: clock) else {
            Issue.record("the burst is not allowed")
            return
        }
        var waits: [WaitPlace] = []
        for _ in 1...20 {
            if case .wait(let place, let duration) = limiter.take(burst, .normal, "", waitingUpTo: nil, on: clock) {
                waits.append(place)
                #expect(duration > .zero && duration.components.seconds > -1)
            }
        }
        if case .refused(let wait) = limiter.take(1, .high, "", waitingUpTo: .seconds(Int64.max), on: clock) {
            #expect(wait.components.seconds > 0)
        }
        for place in waits {
            limiter.left(place, "", on: clock)
        }
    }

    /// The caller is cancelled while its permit arrives.
    @Test func permitOfACancelledCallerGoesToTheNextRequest() throws {
        let limiter = RateLimiter(1, per: .seconds(1))
        #expect(place(limiter) == nil)
        let cancelled = try #require(place(limiter))
        cancelled.wait.resume(with: .failure(CancellationError()))
        clock.advance(by: .seconds(1))
        // The permit was not used, so it is free.
        #expect(place(limiter) == nil)
    }

    // MARK: Several clocks

    @Test func stacksWithDifferentClocksShareALimit() throws {
        let late = ManualClock()
        late.advance(by: .seconds(3 * 86_400))
        let limiter = RateLimiter(1, per: .seconds(10))
        func take(on clock: ManualClock) -> Duration? {
            switch limiter.take(1, .normal, "", waitingUpTo: .zero, on: .manual(clock)) {
            case .taken: nil
            case .refused(let wait): wait
            case .wait, .impossible: .seconds(-1)
            }
        }
        #expect(take(on: late) == nil)
        #expect(take(on: clock) == .seconds(10))
        clock.advance(by: .seconds(4))
        #expect(take(on: clock) == .seconds(6))
        // The time on either clock counts.
        #expect(take(on: late) == .seconds(6))
        late.advance(by: .seconds(6))
        #expect(take(on: late) == nil)
        #expect(take(on: clock) == .seconds(10))
    }

    @Test func requestsThatWaitOnDifferentClocksAreServed() throws {
        let other = ManualClock()
        other.advance(by: .seconds(1_000))
        let limiter = RateLimiter(1, per: .seconds(10))
        #expect(place(limiter) == nil)
        let first = try #require(place(limiter))
        guard case .wait(let second, _) = limiter.take(1, .normal, "", waitingUpTo: nil, on: .manual(other)) else {
            Issue.record("the request does not wait")
            return
        }
        other.advance(by: .seconds(10))
        #expect(!first.wait.isPending && second.wait.isPending)
        // The clock of the first stack also serves the request of the second.
        for _ in 1...2 where second.wait.isPending {
            clock.advance(by: .seconds(10))
        }
        #expect(!second.wait.isPending)
        #expect(limiter.waiting == 0)
    }

    @Test func deadlineLimitsTheWaitToo() async throws {
        let limiter = RateLimiter(1, per: .seconds(1))
        let limited = MockTransport { _ in .ok() }.rateLimited(by: limiter)
        let network = limited.environment(\.clock, .manual(clock))
        let hurried = limited.deadline(.milliseconds(2_500)).environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        let low = Task { try await hurried.data(.lawful.with { $0.priority = .low }) }
        try await eventually("limiter.waiting >= 1") { limiter.waiting >= 1 }
        let urgent = (1...3).map { _ in Task { try await network.data(.lawful.with { $0.priority = .high }) } }
        try await eventually("limiter.waiting >= 4") { limiter.waiting >= 4 }
        try await eventually("the alarm is set") { clock.nextDeadline?.offset == .seconds(1) }
        passSeconds(2)
        #expect(limiter.waiting == 2)
        #expect(try await low.value.status == .ok)
        passSeconds(2)
        for call in urgent {
            _ = try await call.value
        }
    }

    @Test(arguments: 1...20)
    func noRequestExceedsItsMaximumWait(seed: UInt64) throws {
        var random = RandomSource.seeded(seed)
        let burst = Int.random(in: 1...5, using: &random)
        let limiter = RateLimiter(10, per: .seconds(1), burst: burst)
        struct Waiting {
            let place: WaitPlace
            let latest: Duration
        }
        var waiting: [Waiting] = []
        var (admitted, late) = (0, 0)
        for _ in 0..<600 {
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let longest: Duration? =
                    Bool.random(using: &random) ? nil : .milliseconds(100 * Int.random(in: 0...30, using: &random))
                let entered = place(
                    limiter,
                    RequestPriority.allCases.randomElement(using: &random) ?? .normal,
                    weight: Int.random(in: 1...burst, using: &random),
                    upTo: longest
                )
                guard let entered, let longest else { continue }
                admitted += 1
                waiting.append(Waiting(place: entered, latest: clock.now.offset + longest))
            }
            if let index = waiting.indices.randomElement(using: &random), Int.random(in: 0...9, using: &random) == 0 {
                let place = waiting.remove(at: index).place
                if place.wait.resume(with: .failure(CancellationError())) {
                    limiter.left(place, "", on: .manual(clock))
                }
            }
            clock.advance(by: .milliseconds(100))
            late += waiting.count { $0.place.wait.isPending && clock.now.offset >= $0.latest }
            waiting.removeAll { !$0.place.wait.isPending }
        }
        #expect(admitted > 0)
        #expect(late == 0)
    }

    // MARK: Stored keys

    @Test func lateCancellationRemovesNoOtherCallerOfItsKey() throws {
        let limiter = RateLimiter(1, per: .seconds(1))
        #expect(place(limiter, .normal, "a") == nil)
        let late = try #require(place(limiter, .normal, "a"))
        late.wait.resume(with: .failure(CancellationError()))
        clock.advance(by: .seconds(1))
        clock.advance(by: .seconds(10))
        // Other keys evict its key.
        for number in 0..<10_000 {
            #expect(place(limiter, .normal, "\(number)") == nil)
        }
        #expect(place(limiter, .normal, "a") == nil)
        let waiter = try #require(place(limiter, .normal, "a"))
        limiter.left(late, "a", on: .manual(clock))
        #expect(limiter.waiting == 1)
        // A permit of the evicted key is not returned to the new key either.
        limiter.giveBack(late, "a", on: .manual(clock))
        #expect(waiter.wait.isPending)
        clock.advance(by: .seconds(1))
        #expect(!waiter.wait.isPending)
    }

    private struct CountedCell: RateCell {
        static let looks = Mutex(0)
        var emptyAt = Duration.zero

        var waiting: Int {
            Self.looks.withLock { $0 += 1 }
            return 0
        }
    }

    @Test func newKeyEvictsOneOfAFewOthers() {
        var cells = RateCells<CountedCell>(limit: 1_000)
        for number in 0..<1_000 {
            cells.withValue(for: "\(number)", at: .zero, default: CountedCell()) { $0.emptyAt = .seconds(number) }
        }
        let before = CountedCell.looks.withLock { $0 }
        for number in 1_000..<2_000 {
            cells.withValue(for: "\(number)", at: .zero, default: CountedCell()) { $0.emptyAt = .seconds(number) }
            #expect(cells.count == 1_000)
        }
        #expect(CountedCell.looks.withLock { $0 } - before <= 8 * 1_000)
    }

    @Test func keysWithWaitingRequestsAreNotEvicted() throws {
        let limiter = RateLimiter(1, per: .seconds(100))
        #expect(place(limiter, .normal, "a") == nil)
        let waiter = try #require(place(limiter, .normal, "a"))
        for number in 0..<10_500 {
            #expect(place(limiter, .normal, "\(number)") == nil)
        }
        #expect(limiter.keys <= 10_000)
        #expect(limiter.waiting == 1)
        clock.advance(by: .seconds(100))
        #expect(!waiter.wait.isPending)
    }
}
