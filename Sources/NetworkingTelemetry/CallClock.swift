#if Telemetry
import FoundationForNetworking
import NetworkingCore
import Tracing

/// The timeline of a call's spans: the date of its start, plus the time that the monotonic clock measures.
///
/// Dates alone may jump, so that a child would start before its parent.
struct CallClock: Sendable {
    /// An instant on the timeline of spans.
    struct Moment: TracerInstant {
        let nanosecondsSinceEpoch: UInt64

        static func < (lhs: Moment, rhs: Moment) -> Bool {
            lhs.nanosecondsSinceEpoch < rhs.nanosecondsSinceEpoch
        }
    }

    private let clock: NetworkClock
    private let start: Duration
    private let startDate: UInt64

    init(_ clock: NetworkClock) {
        self.clock = clock
        start = clock.now
        startDate = UInt64(max(0, clock.date.bounded.timeIntervalSince1970) * 1e9)
    }

    /// The time since the start of the call.
    var elapsed: Duration {
        clock.now - start
    }

    /// Returns the instant at an offset from the start of the call.
    func moment(after elapsed: Duration) -> Moment {
        let (seconds, attoseconds) = elapsed.components
        return Moment(
            nanosecondsSinceEpoch: startDate + UInt64(max(0, seconds)) * 1_000_000_000
                + UInt64(max(0, attoseconds / 1_000_000_000))
        )
    }
}
#endif
