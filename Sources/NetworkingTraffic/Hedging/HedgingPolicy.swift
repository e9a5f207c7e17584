public import NetworkingCore

/// When `hedged` sends a request a second time, and how many requests it may add.
///
/// ```swift
/// let network = URLSession.shared.hedged(.after(.milliseconds(300), extraLoad: 0.05))
/// ```
public struct HedgingPolicy: Sendable {
    /// The latencies of a route, from the last 1,000 attempts of 10 minutes.
    public struct Latencies: Sendable, Hashable {
        /// The time within which half of the attempts receive the head of their response.
        public let median: Duration
        /// The time within which all attempts but a part of ``HedgingPolicy/extraLoad`` receive it.
        public let tail: Duration
    }

    enum Delay: Sendable {
        case percentile
        case fixed(Duration)
        case custom(@Sendable (HTTPRequestData, Latencies?) -> Duration?)
    }

    /// The part of the calls of a route that may be sent again, from 0 to 1.
    public let extraLoad: Double

    /// The maximum number of extra attempts of a call, from 1 to 4; 1 by default.
    public var maximumHedges = 1 {
        didSet {
            precondition((1...4).contains(maximumHedges), "maximumHedges must be 1 to 4 (is \(maximumHedges))")
        }
    }

    let delay: Delay
    /// The time that the other attempts have after the response of one; `nil` cancels them.
    private(set) var timeForLosers: Duration?

    private init(_ delay: Delay, extraLoad: Double) {
        precondition((0...1).contains(extraLoad), "extraLoad must be 0 to 1 (is \(extraLoad))")
        self.extraLoad = extraLoad
        self.delay = delay
    }

    /// Sends an extra attempt once a request takes longer than all but a part of the others of its route.
    ///
    /// A route is an authority, a method and a ``HTTPRequestData/route``. No extra attempt is sent while fewer than 50
    /// latencies are known, or if the percentile is shorter than 10 ms or longer than 2 s.
    ///
    /// - Parameter extraLoad: The part of the calls that may be sent again: 0.02 sends at most 2 % more requests, and
    ///   waits for the 98th percentile.
    /// - Returns: The policy.
    /// - Precondition: `extraLoad` is 0 to 1.
    public static func percentile(extraLoad: Double = 0.02) -> HedgingPolicy {
        HedgingPolicy(.percentile, extraLoad: extraLoad)
    }

    /// Sends an extra attempt after the same time for each request.
    ///
    /// - Parameters:
    ///   - delay: The time without an answer.
    ///   - extraLoad: The part of the calls that may be sent again.
    /// - Returns: The policy.
    /// - Precondition: `delay` is not negative, and `extraLoad` is 0 to 1.
    public static func after(_ delay: Duration, extraLoad: Double = 0.02) -> HedgingPolicy {
        precondition(delay >= .zero, "delay must not be negative (is \(delay))")
        return HedgingPolicy(.fixed(delay.bounded), extraLoad: extraLoad)
    }

    /// Sends an extra attempt after a time that a closure computes.
    ///
    /// ```swift
    /// let policy = HedgingPolicy.after(extraLoad: 0.05) { request, latencies in
    ///     request.priority == .high ? latencies?.median : latencies?.tail
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - extraLoad: The part of the calls that may be sent again.
    ///   - delay: Returns the time, from the request and the latencies of its route, which are `nil` while fewer than
    ///     50 are known. With `nil`, no extra attempt is sent. A negative time counts as zero.
    /// - Returns: The policy.
    /// - Precondition: `extraLoad` is 0 to 1.
    public static func after(
        extraLoad: Double = 0.02,
        _ delay: @escaping @Sendable (_ request: HTTPRequestData, _ latencies: Latencies?) -> Duration?
    ) -> HedgingPolicy {
        HedgingPolicy(.custom(delay), extraLoad: extraLoad)
    }

    /// Lets the other attempts of a call finish after one of them has its response, instead of cancelling them.
    ///
    /// Over HTTP/1.1, cancelling an exchange closes its connection. With this policy the connection can be used again,
    /// and the latency of the slower attempt is known. Each call that an extra attempt may follow then runs in a task
    /// of its own.
    ///
    /// - Parameter limit: The time after which they are cancelled.
    /// - Returns: The policy.
    /// - Precondition: `limit` is greater than zero.
    public func losersMayFinish(within limit: Duration) -> HedgingPolicy {
        precondition(limit > .zero, "limit must be greater than zero (is \(limit))")
        var policy = self
        policy.timeForLosers = limit.bounded
        return policy
    }
}

extension HedgingPolicy {
    private static let (shortestTail, longestTail) = (Duration.milliseconds(10), Duration.seconds(2))

    /// Returns the time after which an extra attempt is sent; `nil` for none.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - latencies: The latencies of its route.
    ///   - timeLeft: The time until the deadline of the call.
    /// - Returns: The time, from the start of the attempt before it.
    func delay(for request: HTTPRequestData, _ latencies: Latencies?, timeLeft: Duration?) -> Duration? {
        // An attempt that has less time than most attempts need is not worth sending.
        if let timeLeft, let median = latencies?.median, timeLeft < median { return nil }
        let delay: Duration
        switch self.delay {
        case .percentile:
            guard let tail = latencies?.tail, tail >= Self.shortestTail, tail <= Self.longestTail else { return nil }
            delay = tail
        case .fixed(let duration):
            delay = duration
        case .custom(let compute):
            guard let duration = compute(request.besideStack, latencies) else { return nil }
            delay = max(.zero, duration).bounded
        }
        return timeLeft.map { delay < $0 } ?? true ? delay : nil
    }

    /// Whether the head of a response need not be observed, because the whole response is too fast for an extra
    /// attempt.
    func neverHedges(_ latencies: Latencies?) -> Bool {
        guard case .percentile = delay, let latencies else { return false }
        return latencies.tail < Self.shortestTail
    }
}

extension HedgingPolicy: CustomStringConvertible {
    /// The delay and the extra load, for the stack's outline.
    public var description: String {
        let start =
            switch delay {
            case .percentile: ""
            case .fixed(let duration): "after: \(duration), "
            case .custom: "after: a closure, "
            }
        return start + "extraLoad: \(extraLoad)" + (maximumHedges == 1 ? "" : ", maximumHedges: \(maximumHedges)")
            + (timeForLosers.map { ", losersMayFinish: \($0)" } ?? "")
    }
}
