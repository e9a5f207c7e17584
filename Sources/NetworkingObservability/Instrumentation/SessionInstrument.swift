import NetworkingCore
import Synchronization

/// What the calls of a session took, taken together; for `instrument`, and for several stacks that are one session.
///
/// ```swift
/// let instrument = SessionInstrument()
/// let network = URLSession.shared.retry().cached().instrument(instrument)
/// // … later:
/// let statistics = instrument.statistics
/// print(statistics.calls, statistics.durations.p95, statistics.cacheRatio ?? 0)
/// ```
///
/// It keeps counts and not calls, but for the last few. So it takes as much memory after a million calls as after a
/// thousand.
public final class SessionInstrument: Sendable {
    private let state: Mutex<State>
    private let mostRecent: Int

    /// Creates an instrument that has measured nothing.
    ///
    /// - Parameter recent: How many of the last calls to keep, for ``recent``.
    /// - Precondition: `recent` is not negative.
    public init(keeping recent: Int = 20) {
        precondition(recent >= 0, "recent must not be negative (is \(recent))")
        mostRecent = recent
        state = Mutex(State())
    }

    /// What the calls so far took together.
    public var statistics: SessionStatistics {
        state.withLock { $0.statistics }
    }

    /// The last calls, oldest first.
    public var recent: [CallMetrics] {
        state.withLock { Array($0.recent[$0.oldest...] + $0.recent[..<$0.oldest]) }
    }

    /// Forgets everything.
    public func reset() {
        state.withLock { $0 = State() }
    }

    func add(_ metrics: CallMetrics) {
        state.withLock { state in
            state.statistics.add(metrics)
            guard mostRecent > 0 else { return }
            if state.recent.count < mostRecent {
                state.recent.append(metrics)
            } else {
                state.recent[state.oldest] = metrics
                state.oldest = (state.oldest + 1) % mostRecent
            }
        }
    }

    private struct State {
        var statistics = SessionStatistics()
        /// A ring.
        var recent: [CallMetrics] = []
        var oldest = 0
    }
}
