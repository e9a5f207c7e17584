import NetworkingCore
import Synchronization

/// The aggregated measurements of a session's calls, for `instrument`; several stacks can share one instrument.
///
/// ```swift
/// let instrument = SessionInstrument()
/// let network = URLSession.shared.retry().cached().instrument(instrument)
/// // … later:
/// let statistics = instrument.statistics
/// print(statistics.calls, statistics.durations.p95, statistics.cacheRatio ?? 0)
/// ```
///
/// It keeps counts, and only the last few calls. It therefore needs as much memory after a million calls as after a
/// thousand.
public final class SessionInstrument: Sendable {
    private let state: Mutex<State>
    private let maximumRecent: Int

    /// Creates an instrument without measurements.
    ///
    /// - Parameter recent: The maximum number of calls in ``recent``; 20 by default.
    /// - Precondition: `recent` is not negative.
    public init(keeping recent: Int = 20) {
        precondition(recent >= 0, "recent must not be negative (is \(recent))")
        maximumRecent = recent
        state = Mutex(State())
    }

    /// The statistics of all calls so far.
    public var statistics: SessionStatistics {
        state.withLock { $0.statistics }
    }

    /// The last calls, oldest first.
    public var recent: [CallMetrics] {
        state.withLock { Array($0.recent[$0.oldest...] + $0.recent[..<$0.oldest]) }
    }

    /// Deletes all measurements.
    public func reset() {
        state.withLock { $0 = State() }
    }

    func add(_ metrics: CallMetrics) {
        state.withLock { state in
            state.statistics.add(metrics)
            guard maximumRecent > 0 else { return }
            if state.recent.count < maximumRecent {
                state.recent.append(metrics)
            } else {
                state.recent[state.oldest] = metrics
                state.oldest = (state.oldest + 1) % maximumRecent
            }
        }
    }

    private struct State {
        var statistics = SessionStatistics()
        /// A ring buffer.
        var recent: [CallMetrics] = []
        var oldest = 0
    }
}
