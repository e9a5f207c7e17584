import Synchronization

/// The deadline of work: a fixed moment, or the latest deadline of the callers that share the work.
///
/// The latter changes when callers join and leave, so the moment is computed each time it is read.
///
/// A deadline ends with the operation that ``withEnvironment(_:isolation:_:)`` runs with it. A task that the operation
/// has started and does not await inherits the environment, but not the time limit of a call that has returned.
final class CallDeadline: Sendable {
    private let moment: Duration?
    private let source: (any DeadlineSource)?
    /// The deadline from which this one was derived, which also applies.
    private let origin: CallDeadline?
    /// The offset to add to the moments of the origin, for work on another clock.
    private let offset: Duration
    /// The number of operations in progress with this deadline; `overMark` after the last of them.
    private let operations = Atomic(0)
    private let left = Mutex<(any Sendable)?>(nil)

    /// The number of operations once all of them have returned.
    private static let overMark = Int.min

    private init(
        at moment: Duration? = nil,
        of source: (any DeadlineSource)? = nil,
        from origin: CallDeadline? = nil,
        offset: Duration = .zero
    ) {
        self.moment = moment
        self.source = source
        self.origin = origin
        self.offset = offset
    }

    /// Creates the deadline of work that several callers share.
    convenience init(of source: any DeadlineSource) {
        self.init(at: nil, of: source)
    }

    /// Creates a deadline.
    convenience init(at moment: Duration) {
        self.init(at: moment, of: nil)
    }

    /// The current moment; `nil` if there is no deadline, because a caller that shares the work has none, or because
    /// the operation with the deadline has returned.
    var current: Duration? {
        var earliest = operations.load(ordering: .acquiring) == Self.overMark ? nil : moment
        for other in [source?.latestDeadline, origin?.current.map { $0 + offset }] {
            guard let other else { continue }
            earliest = min(other, earliest ?? other)
        }
        return earliest
    }

    /// Returns the same deadline, but not later than a moment.
    func limited(to moment: Duration) -> CallDeadline {
        CallDeadline(at: moment, from: self)
    }

    /// Returns the same deadline on another clock, on which a moment is later by the offset.
    func shifted(by offset: Duration) -> CallDeadline {
        CallDeadline(from: self, offset: offset)
    }

    /// Records that an operation with this deadline begins.
    func begin() {
        change { $0 == Self.overMark ? 1 : $0 + 1 }
    }

    /// Records that an operation with this deadline has returned.
    func end() {
        change { $0 > 1 ? $0 - 1 : Self.overMark }
    }

    private func change(_ next: (Int) -> Int) {
        var current = operations.load(ordering: .relaxed)
        while true {
            let result = operations.weakCompareExchange(
                expected: current,
                desired: next(current),
                ordering: .acquiringAndReleasing
            )
            guard !result.exchanged else { return }
            current = result.original
        }
    }

    /// The report of the unfinished work, for the error of the deadline.
    var record: (any Sendable)? {
        left.withLock { $0 }
    }

    /// Replaces the report of the unfinished work, also for the callers that share the work.
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

    /// Replaces the report of the unfinished work for the deadlines of all callers.
    func leave(_ record: (any Sendable)?)
}

extension NetworkEnvironment {
    /// The report of the unfinished work upstream, for the error of the deadline; `nil` if there is none.
    ///
    /// At the deadline the work is cancelled, so its own error is only a cancellation. A modifier reports its attempts
    /// with ``leaveForDeadline(_:)``.
    package var leftForDeadline: (any Sendable)? {
        callDeadline?.record
    }

    /// Replaces the report of the unfinished work, for the error of the deadline.
    package func leaveForDeadline(_ record: (any Sendable)?) {
        callDeadline?.leave(record)
    }
}
