import NetworkingTesting
import TestSupport

/// A manual clock that moves before one of its reads.
///
/// It shows whether code measures a time from a read after other code can see that the time has begun. A test that
/// moves a clock then moves it before that read, and the time never ends.
final class MovingClock: Clock {
    typealias Instant = ManualClock.Instant

    private let base = ManualClock()
    private let move = Locked<(step: Duration, isDue: @Sendable () -> Bool)?>(nil)

    var minimumResolution: Duration {
        base.minimumResolution
    }

    var now: Instant {
        if move.withLock({ $0?.isDue }).map({ $0() }) == true { moveNow() }
        return base.now
    }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await base.sleep(until: deadline, tolerance: tolerance)
    }

    /// Moves the clock before the first read at which a condition is true.
    func move(by step: Duration, when isDue: @escaping @Sendable () -> Bool) {
        move.withLock { $0 = (step, isDue) }
    }

    /// Moves the clock before one of its reads.
    ///
    /// - Parameters:
    ///   - step: The time.
    ///   - read: The number of the read, from 1.
    ///   - isCounted: Whether a read counts.
    /// - Returns: The number of reads so far.
    func move(
        by step: Duration,
        beforeRead read: Int,
        if isCounted: @escaping @Sendable () -> Bool = { true }
    ) -> @Sendable () -> Int {
        let reads = Locked(0)
        move(by: step) {
            guard isCounted() else { return false }
            return reads.withLock { reads in
                reads += 1
                return reads == read
            }
        }
        return { reads.withLock { $0 } }
    }

    /// Moves at once, if that has not happened yet.
    func moveNow() {
        let step = move.withLock { move in
            defer { move = nil }
            return move?.step
        }
        if let step { base.advance(by: step) }
    }
}
