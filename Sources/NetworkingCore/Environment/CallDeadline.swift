/// The deadline of work: a fixed moment, or the latest deadline of the callers that share the work.
///
/// The latter changes when callers join and leave, so the moment is computed each time it is read.
final class CallDeadline: Sendable {
    private let moment: Duration?
    private let source: (any DeadlineSource)?
    /// The offset to add to the moments of the source, for work on another clock.
    private let offset: Duration

    private init(at moment: Duration?, of source: (any DeadlineSource)?, offset: Duration) {
        self.moment = moment
        self.source = source
        self.offset = offset
    }

    /// Creates the deadline of work that several callers share.
    convenience init(of source: any DeadlineSource) {
        self.init(at: nil, of: source, offset: .zero)
    }

    /// Creates a deadline.
    convenience init(at moment: Duration) {
        self.init(at: moment, of: nil, offset: .zero)
    }

    /// The current moment; `nil` if there is no deadline, because a caller that shares the work has none.
    var current: Duration? {
        guard let shared = source?.latestDeadline.map({ $0 + offset }) else { return moment }
        return min(shared, moment ?? shared)
    }

    /// Returns the same deadline, but not later than a moment.
    func limited(to moment: Duration) -> CallDeadline {
        CallDeadline(at: min(moment, self.moment ?? moment), of: source, offset: offset)
    }

    /// Returns the same deadline on another clock, on which a moment is later by the offset.
    func shifted(by offset: Duration) -> CallDeadline {
        CallDeadline(at: moment.map { $0 + offset }, of: source, offset: self.offset + offset)
    }
}

/// Work that knows the deadlines of the callers that share it.
protocol DeadlineSource: AnyObject, Sendable {
    /// The latest deadline of the callers; `nil` if a caller has none.
    var latestDeadline: Duration? { get }
}
