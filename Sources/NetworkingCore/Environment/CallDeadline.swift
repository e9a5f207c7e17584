/// When work has to be over: by a moment, and by the latest deadline of the callers that share it.
///
/// The latter moves as callers join and leave, so the moment is computed each time that it is read.
struct CallDeadline: Sendable {
    private var moment: Duration?
    private var source: (any DeadlineSource)?
    /// What is added to the moments of the source, for a clock other than the one that they are on.
    private var offset = Duration.zero

    /// Creates the deadline of work that several callers share.
    init(of source: any DeadlineSource) {
        self.source = source
    }

    /// Creates a deadline.
    init(at moment: Duration) {
        self.moment = moment
    }

    /// The moment as of now; `nil` if a caller that shares the work has no deadline.
    var current: Duration? {
        guard let shared = source?.latestDeadline.map({ $0 + offset }) else { return moment }
        return min(shared, moment ?? shared)
    }

    /// Sets a moment, unless an earlier one is set.
    mutating func limit(to moment: Duration) {
        self.moment = min(moment, self.moment ?? moment)
    }

    /// The same deadline on another clock, on which a moment is so much later.
    func shifted(by offset: Duration) -> CallDeadline {
        var deadline = self
        deadline.moment = moment.map { $0 + offset }
        deadline.offset += offset
        return deadline
    }
}

/// Work that knows the deadlines of the callers that share it.
protocol DeadlineSource: AnyObject, Sendable {
    /// The latest of the deadlines; `nil` if a caller has none.
    var latestDeadline: Duration? { get }
}
