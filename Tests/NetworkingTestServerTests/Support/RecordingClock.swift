#if TestServer
import Synchronization

/// A clock that records its sleeps and ends them at once, so that a test of delays takes no time.
final class RecordingClock: Clock, Sendable {
    typealias Duration = Swift.Duration

    struct Instant: InstantProtocol {
        var offset = Duration.zero

        func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        static func < (left: Instant, right: Instant) -> Bool {
            left.offset < right.offset
        }
    }

    private let state = Mutex((now: Instant(), sleeps: [Duration]()))

    var now: Instant {
        state.withLock { $0.now }
    }

    let minimumResolution = Duration.nanoseconds(1)

    /// The duration of each sleep.
    var sleeps: [Duration] {
        state.withLock { $0.sleeps }
    }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        state.withLock { state in
            state.sleeps.append(state.now.duration(to: deadline))
            state.now = max(state.now, deadline)
        }
    }
}
#endif
