import Synchronization

/// The deadlines of a call that sends its request several times, such as an event stream that reconnects.
///
/// A `deadline` in the stack counts from the first time that the request reached it, and not again from each time.
package final class SpanningDeadline: Sendable {
    private struct Deadline {
        let limit: Duration
        let moment: Duration
        let clock: NetworkClock
    }

    // A stack rarely has more than one. Their limits distinguish them, because modifiers have no identity.
    private let deadlines = Mutex<[Deadline]>([])

    package init() {}

    /// Returns the moment at which a limit of the stack ends, on its clock.
    fileprivate func moment(of limit: Duration, on clock: NetworkClock) -> Duration {
        let deadline = Deadline(limit: limit, moment: clock.now + limit, clock: clock)
        return deadlines.withLock { deadlines in
            if let known = deadlines.first(where: { $0.limit == limit }) { return known.moment }
            deadlines.append(deadline)
            return deadline.moment
        }
    }

    /// The limit that ends first and the time that is left until then; `nil` if the stack has no deadline.
    package var next: (limit: Duration, timeLeft: Duration)? {
        deadlines.withLock { $0 }.map { ($0.limit, $0.moment - $0.clock.now) }.min { $0.timeLeft < $1.timeLeft }
    }
}

extension HTTPRequestData {
    /// The deadlines that this request shares with earlier requests of the same call; `nil` for the only request of a
    /// call.
    package var spanningDeadline: SpanningDeadline? {
        get { self[.spanningDeadline] }
        set { self[.spanningDeadline] = newValue }
    }

    /// Returns the moment at which a call ends that may take a time from now on, or from its first request on.
    package func deadline(after limit: Duration, on clock: NetworkClock) -> Duration {
        spanningDeadline?.moment(of: limit, on: clock) ?? clock.now + limit
    }
}

extension RequestOptionKey {
    // Not compared, because a shared exchange has no time limit of one caller.
    fileprivate static let spanningDeadline = RequestOption<SpanningDeadline?>(
        "spanningDeadline",
        default: nil,
        affects: .nothing,
        isSetByStack: true
    )
}
