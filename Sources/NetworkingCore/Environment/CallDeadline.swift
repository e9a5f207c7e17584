/// The deadline of work: a fixed moment, or the latest deadline of the callers that share the work.
///
/// The latter changes when callers join and leave, so the moment is computed each time it is read.
struct CallDeadline: Sendable {
    private var moment: Duration?
    private var source: (any DeadlineSource)?
    /// The offset to add to the moments of the source, for work on another clock.
    private var offset = Duration.zero

    /// Creates the deadline of work that several callers share.
    init(of source: any DeadlineSource) {
        self.source = source
    }

    /// Creates a deadline.
    init(at moment: Duration) {
        self.moment = moment
    }

    /// The current moment; `nil` if a caller that shares the work has no deadline.
    var current: Duration? {
        guard let shared = source?.latestDeadline.map({ $0 + offset }) else { return moment }
        return min(shared, moment ?? shared)
    }

    /// Sets a moment, unless an earlier one is set.
    mutating func limit(to moment: Duration) {
        self.moment = min(moment, self.moment ?? moment)
    }

    /// Returns the same deadline on another clock, on which a moment is later by the offset.
    func shifted(by offset: Duration) -> CallDeadline {
        var deadline = self
        deadline.moment = moment.map { $0 + offset }
        deadline.offset += offset
        return deadline
    }
}

/// Work that knows the deadlines of the callers that share it.
protocol DeadlineSource: AnyObject, Sendable {
    /// The latest deadline of the callers; `nil` if a caller has none.
    var latestDeadline: Duration? { get }
}
