import NetworkingTesting
import Synchronization

/// A clock that a test sets, also back, and on which no sleep ends.
final class AdjustedClock: Clock {
    private let time = Mutex(Duration.zero)

    var now: ManualClock.Instant {
        ManualClock.Instant(offset: time.withLock { $0 })
    }

    var minimumResolution: Duration {
        .nanoseconds(1)
    }

    func advance(by duration: Duration) {
        time.withLock { $0 += duration }
    }

    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }
}
