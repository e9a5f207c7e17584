import Synchronization

/// The deadline of work: a fixed moment, or the latest deadline of the callers that share the work.
///
/// The latter changes when callers join and leave, so the moment is computed each time it is read.
final class CallDeadline: Sendable {
    private let moment: Duration?
    private let source: (any DeadlineSource)?
    /// The offset to add to the moments of the source, for work on another clock.
    private let offset: Duration
    /// The deadline from which this one was derived.
    private let origin: CallDeadline?
    private let left = Mutex<(any Sendable)?>(nil)

    private init(at moment: Duration?, of source: (any DeadlineSource)?, offset: Duration, from origin: CallDeadline?) {
        self.moment = moment
        self.source = source
        self.offset = offset
        self.origin = origin
    }

    /// Creates the deadline of work that several callers share.
    convenience init(of source: any DeadlineSource) {
        self.init(at: nil, of: source, offset: .zero, from: nil)
    }

    /// Creates a deadline.
    convenience init(at moment: Duration) {
        self.init(at: moment, of: nil, offset: .zero, from: nil)
    }

    /// The current moment; `nil` if there is no deadline, because a caller that shares the work has none.
    var current: Duration? {
        guard let shared = source?.latestDeadline.map({ $0 + offset }) else { return moment }
        return min(shared, moment ?? shared)
    }

    /// Returns the same deadline, but not later than a moment.
    func limited(to moment: Duration) -> CallDeadline {
        CallDeadline(at: min(moment, self.moment ?? moment), of: source, offset: offset, from: self)
    }

    /// Returns the same deadline on another clock, on which a moment is later by the offset.
    func shifted(by offset: Duration) -> CallDeadline {
        CallDeadline(at: moment.map { $0 + offset }, of: source, offset: self.offset + offset, from: self)
    }

    /// What the work has left for the error of the deadline.
    var record: (any Sendable)? {
        left.withLock { $0 }
    }

    /// Replaces what the work has left, also for the callers that share the work.
    func leave(_ record: (any Sendable)?) {
        left.withLock { $0 = record }
        origin?.leave(record)
        source?.leave(record)
    }
}

/// Work that knows the deadlines of the callers that share it.
protocol DeadlineSource: AnyObject, Sendable {
    /// The latest deadline of the callers; `nil` if a caller has none.
    var latestDeadline: Duration? { get }

    /// Replaces what the work has left for the errors of the callers' deadlines.
    func leave(_ record: (any Sendable)?)
}

extension NetworkEnvironment {
    /// What the work upstream of the deadline has left for the deadline's error; `nil` if it has left nothing.
    ///
    /// At the deadline the work is cancelled, so that its own error is only a cancellation. A modifier that has
    /// something to report about the unfinished work, such as its attempts, leaves it with ``leaveForDeadline(_:)``.
    package var leftForDeadline: (any Sendable)? {
        callDeadline?.record
    }

    /// Replaces what the work has left for the error of the deadline.
    package func leaveForDeadline(_ record: (any Sendable)?) {
        callDeadline?.leave(record)
    }
}
