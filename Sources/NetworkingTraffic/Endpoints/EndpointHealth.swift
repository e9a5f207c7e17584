/// The health of one endpoint: its latest failures, and its ejections.
struct EndpointHealth {
    /// The number of failures in succession that are a reason for an ejection.
    private static let consecutiveFailures = 5
    /// The minimum number of calls in ``window`` for the ratio of failures to count; half of them must fail.
    private static let minimumCalls = 10
    private static let windowLength = Duration.seconds(10)
    /// The duration of the first ejection; each further one is longer by the same duration.
    private static let ejection = Duration.seconds(30)
    private static let maximumEjection = Duration.seconds(300)
    /// The maximum extension of an ejection, as a fraction of it.
    private static let jitter = 0.1
    /// The time in service that reduces the number of counted ejections by one.
    private static let cleanInterval = Duration.seconds(10)
    /// The minimum time after which an unfinished probe counts as failed.
    static let probeLimit = Duration.seconds(10)

    let weight: Double
    var inFlight = 0
    /// Whether the endpoint would have been ejected if enough others were in service.
    var isFailing = false
    var probe: (number: UInt32, end: Duration)?
    /// The end of the ejection; `nil` for an endpoint in service.
    private(set) var ejectedUntil: Duration?
    /// The number of ejections and returns.
    private(set) var generation: UInt32 = 0
    private(set) var consecutiveFailures = 0
    private(set) var window = CallWindow(EndpointHealth.windowLength, at: .zero)
    /// The ejections that count for the duration of the next one.
    private var ejections = 0
    /// The moment from which the endpoint has been in service since its last ejection.
    private var returnedAt = Duration.zero

    init(weight: Double) {
        self.weight = weight
    }

    /// Counts a result, and returns whether it is a reason for an ejection.
    mutating func hasFailed(after isFailure: Bool, at now: Duration) -> Bool {
        window.advance(to: now)
        window.add(calls: 1, failures: isFailure ? 1 : 0)
        consecutiveFailures = isFailure ? consecutiveFailures + 1 : 0
        let (calls, failures) = (window.total.calls, window.total.failures)
        return isFailure
            && (consecutiveFailures >= Self.consecutiveFailures || calls >= Self.minimumCalls && failures * 2 >= calls)
    }

    /// Starts an ejection, or another one after it.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - jitter: Random bits for the duration.
    /// - Returns: The duration.
    mutating func eject(at now: Duration, jitter: UInt64) -> Duration {
        if ejectedUntil == nil {
            let clean = Int(min((now - returnedAt) / Self.cleanInterval, 1_000))
            ejections = max(0, ejections - clean)
        }
        ejections += 1
        let duration = min(Self.ejection * ejections, Self.maximumEjection)
        let time = duration + duration * (Self.jitter * Double(jitter >> 11) * 0x1p-53)
        ejectedUntil = now + time
        probe = nil
        generation &+= 1
        return time
    }

    /// Ends the ejection.
    mutating func restore(at now: Duration) {
        ejectedUntil = nil
        probe = nil
        returnedAt = now
        consecutiveFailures = 0
        window.removeAll(at: now)
        generation &+= 1
    }
}
