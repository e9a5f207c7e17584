/// The limit on the requests in flight to one server, which follows the latency: a state machine without a clock.
///
/// The latency without load, the *baseline*, is measured from time to time with few requests in flight. At the end of
/// each window, the limit becomes g·L + √(g·L), where L is the limit and g is 1.25 × baseline / median latency. Above
/// the capacity of the server the latency grows, so g falls below 1, and the limit settles where the latency is about
/// 1.4 times the baseline. A baseline that is not measured, such as a mean of past latencies, would grow with the load,
/// and the limit with it.
struct Gradient {
    /// The result of a request that has ended, or whose head has arrived.
    enum Sample: Sendable {
        /// The time until the response.
        case latency(Duration)
        /// The server or the network dropped the request.
        case drop
    }

    /// The limit between measurements.
    private(set) var limit: Double
    /// The latency without load; `nil` until it has been measured.
    private(set) var baseline: Duration?

    /// The number of requests in flight.
    private(set) var inFlight = 0

    private let range: ClosedRange<Double>
    private let start: Double
    private let jitter: Double
    /// The moment at which the baseline has to be measured again.
    private var baselineEnd: Duration
    /// The end of the time for which the limit is low to measure the baseline; `nil` if it is not.
    private var holdEnd: Duration?
    private var quiet = Samples()

    private var window = Samples()
    private var windowStart: Duration
    private var results = 0
    private var hasDropped = false
    private var highestInFlight = 0
    /// The number of requests in this window whose latency is measured.
    private var measured = 0

    /// The number of results in a window and of latencies in a baseline.
    private static let minimumSamples = 25
    private static let minimumWindow = Duration.milliseconds(100)
    /// The number of requests in a window that are measured, which is enough for a median.
    private static let maximumMeasured = 50
    /// The age of a window from which all requests are measured, because the first ones have given too few results.
    private static let longWindow = Duration.seconds(1)
    /// The time for which a baseline is valid, of which up to 15 % are added or subtracted.
    private static let baselineTime = Duration.seconds(60)
    private static let quietLimit = 3.0
    private static let holdTime = Duration.seconds(1)

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - range: The lowest and the highest limit.
    ///   - start: The limit at first. Latencies below it are the first baseline.
    ///   - jitter: A fraction from 0 to 1, so that clients do not measure at the same time.
    ///   - now: The current moment.
    init(in range: ClosedRange<Int>, start: Int, jitter: Double, at now: Duration) {
        self.range = Double(range.lowerBound)...Double(range.upperBound)
        self.start = Double(start)
        self.jitter = jitter
        limit = Double(start)
        windowStart = now
        baselineEnd = now
    }

    /// The number of requests that may be in flight now.
    var allowed: Int {
        Int(holdEnd == nil ? limit : min(limit, Self.quietLimit))
    }

    /// Notes that a request is sent.
    mutating func begin() {
        inFlight += 1
        highestInFlight = max(highestInFlight, inFlight)
    }

    /// Returns whether the latency of the next request is needed, which costs more than to send it.
    mutating func measuresNext(at now: Duration) -> Bool {
        guard holdEnd == nil, now - windowStart < Self.longWindow else { return true }
        measured += 1
        return measured <= Self.maximumMeasured
    }

    /// The time for which the limit is still low to measure the baseline; `nil` if it is not.
    func holdTime(at now: Duration) -> Duration? {
        holdEnd.map { $0 - now }
    }

    /// Notes that a request has ended.
    mutating func end() {
        inFlight -= 1
    }

    /// Ends the measurement of the baseline when its time is over, and starts it when the baseline is old.
    mutating func advance(to now: Duration) {
        if let holdEnd {
            guard now >= holdEnd else { return }
            renewBaseline(at: now)
        } else if baseline != nil, now >= baselineEnd {
            holdEnd = now + Self.holdTime
        }
    }

    /// Adds a result.
    ///
    /// - Parameters:
    ///   - sample: The result.
    ///   - inFlight: The number of requests that were in flight when the request was sent, with itself.
    ///   - now: The current moment.
    mutating func add(_ sample: Sample, sentWith inFlight: Int, at now: Duration) {
        advance(to: now)
        results += 1
        switch sample {
        case .latency(let latency):
            window.add(latency)
            addToBaseline(latency, inFlight, at: now)
        case .drop:
            guard !hasDropped else { break }
            hasDropped = true
            limit = max(range.lowerBound, limit * 0.9)
        }
        // Few requests are in flight during a measurement, so their latencies say nothing about the limit.
        guard holdEnd == nil, results >= Self.minimumSamples, now - windowStart >= Self.minimumWindow else { return }
        endWindow(at: now)
    }

    private mutating func addToBaseline(_ latency: Duration, _ inFlight: Int, at now: Duration) {
        let maximum = baseline == nil ? start : max(Self.quietLimit, limit / 4)
        guard Double(inFlight) <= maximum else { return }
        quiet.add(latency)
        if quiet.count >= Self.minimumSamples {
            renewBaseline(at: now)
        }
    }

    /// Ends a measurement; without enough samples, the last baseline remains, and the next measurement adds to them.
    ///
    /// A service that takes longer than 120 ms gives fewer than 25 samples in a second, and may have become slower.
    private mutating func renewBaseline(at now: Duration) {
        if quiet.count >= Self.minimumSamples {
            if let median = quiet.median, median > .zero {
                baseline = median
            }
            quiet.removeAll()
        }
        baselineEnd = now + Self.baselineTime * (0.85 + 0.3 * jitter)
        guard holdEnd != nil else { return }
        holdEnd = nil
        startWindow(at: now)
    }

    private mutating func endWindow(at now: Duration) {
        if !hasDropped, let baseline, let median = window.median, median > .zero {
            let gradient = min(max(1.25 * (baseline / median), 0.5), 2) * limit
            let next = gradient + gradient.squareRoot()
            // A client that uses less than half of the limit learns nothing about a higher one.
            if next < limit || Double(highestInFlight) >= limit / 2 {
                limit = next
            }
        }
        limit = min(max(min(limit, 5 * Double(highestInFlight)), range.lowerBound), range.upperBound)
        startWindow(at: now)
    }

    private mutating func startWindow(at now: Duration) {
        window.removeAll()
        windowStart = now
        results = 0
        hasDropped = false
        measured = 0
        highestInFlight = inFlight
    }
}

/// Some latencies; above their maximum number, later ones replace the first.
private struct Samples: Sendable {
    private static let maximum = 100

    private var latencies: [Duration] = []
    private(set) var count = 0

    mutating func add(_ latency: Duration) {
        if latencies.count < Self.maximum {
            latencies.append(latency)
        } else {
            latencies[count % Self.maximum] = latency
        }
        count += 1
    }

    mutating func removeAll() {
        latencies.removeAll(keepingCapacity: true)
        count = 0
    }

    /// The median, which leaves the latencies in order.
    var median: Duration? {
        mutating get {
            latencies.sort()
            return latencies.isEmpty ? nil : latencies[latencies.count / 2]
        }
    }
}
