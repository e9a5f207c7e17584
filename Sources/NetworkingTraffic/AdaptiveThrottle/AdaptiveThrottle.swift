import NetworkingCore

/// The results of calls by authority, for ``NetworkingComponent/adaptiveThrottle(by:)``.
///
/// Share one instance between stacks to share the counts. It stores those of at most 256 authorities; the least
/// recently used one makes room for a new one.
public final class AdaptiveThrottle: Sendable {
    let held = HeldLimits()
    private let successRatio: Double
    private let maximumRejection: Double
    private let window: Duration
    private let windows = ClockedMutex(RecentTable<CallWindow>())

    private static let bucketCount = 20

    /// Creates a throttle without counts.
    ///
    /// - Parameters:
    ///   - successRatio: The share of successful calls below which requests are refused.
    ///   - maximumRejection: The maximum share of requests that is refused.
    ///   - window: The length of the sliding window in which calls are counted.
    /// - Precondition: `successRatio` is greater than 0 and at most 1, `maximumRejection` is from 0 to less than 1, and
    ///   `window` is 1 ms to 1 day.
    public init(successRatio: Double = 0.9, maximumRejection: Double = 0.9, window: Duration = .seconds(60)) {
        precondition(
            successRatio > 0 && successRatio <= 1,
            "successRatio must be greater than 0 and at most 1 (is \(successRatio))"
        )
        precondition(
            maximumRejection >= 0 && maximumRejection < 1,
            "maximumRejection must be from 0 to less than 1 (is \(maximumRejection))"
        )
        precondition(
            window >= .milliseconds(1) && window <= .seconds(86_400),
            "window must be 1 ms to 1 day (is \(window))"
        )
        self.successRatio = successRatio
        self.maximumRejection = maximumRejection
        self.window = window
    }

    /// Returns the probability with which the next request to a server is refused.
    ///
    /// - Parameter authority: The authority, in lower case and without the default port.
    /// - Returns: The probability; 0 for a server without calls in the window.
    public func rejectionProbability(of authority: String) -> Double {
        windows.withValue { [self] windows, now in probability(&windows, authority, at: now) }
    }

    func rejectionProbability(of key: String, on clock: NetworkClock) -> Double {
        windows.withValue(on: clock) { [self] windows, now in probability(&windows, key, at: now) }
    }

    private func probability(_ windows: inout RecentTable<CallWindow>, _ key: String, at now: Duration) -> Double {
        windows.withValue(of: key) { window in
            window.advance(to: now)
            let calls = Double(window.total.calls)
            let successes = calls - Double(window.total.failures)
            return min(max(0, (calls - successes / successRatio) / (calls + 1)), maximumRejection)
        } ?? 0
    }

    /// Counts a result, in the bucket of the last request: reading a clock takes longer than the rest.
    func count(_ result: CircuitResult, _ key: String) {
        guard result.isCounted else { return }
        windows.withLatest { [self] windows, now in
            _ = windows.withValue(of: key, adding: CallWindow(window, buckets: Self.bucketCount, at: now)) { window in
                window.advance(to: now)
                window.add(calls: 1, failures: result.isFailure ? 1 : 0)
            }
        }
    }

    /// The number of authorities in memory.
    var authorities: Int {
        windows.withLatest { windows, _ in windows.keys.count }
    }
}

extension AdaptiveThrottle: CustomStringConvertible {
    /// The rule, for the stack's outline: `below 90.0% of successes in 60.0 seconds`.
    public var description: String {
        "below \((successRatio * 1_000).rounded() / 10)% of successes in \(window)"
    }
}
