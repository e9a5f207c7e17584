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

    /// Moves at once, if that has not happened yet.
    func moveNow() {
        let step = move.withLock { move in
            defer { move = nil }
            return move?.step
        }
        if let step { base.advance(by: step) }
    }
}
