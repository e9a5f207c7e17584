import NetworkingCore

/// A limit on how often a ``TokenStore`` refreshes credentials that no server accepts.
///
/// The default is five times within 30 seconds. Without a limit, the store would refresh for ever if a server refuses
/// the credentials that it has just issued. Only unsuccessful refreshes count: refreshes that the token server refused
/// or answered with an unusable response, and refreshes with credentials that no server has accepted. A request is
/// accepted if its response has any status except 401, 429 and 5xx. So tokens that are valid for one second may be
/// refreshed every second, and a refresh that got no response, such as one without a network, does not count.
///
/// At the limit, requests that need a refresh fail at once, and ``NetworkingError/retryAfter`` says when the next
/// refresh may start.
public struct RefreshLimit: Sendable, Hashable {
    /// The number of refreshes within the interval.
    public let count: Int
    /// The interval.
    public let interval: Duration

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - count: The number of refreshes within the interval; at least one.
    ///   - interval: The interval.
    public init(_ count: Int, per interval: Duration) {
        self.count = max(1, count)
        self.interval = interval
    }

    /// Five refreshes within 30 seconds.
    public static let standard = RefreshLimit(5, per: .seconds(30))
}

/// The refreshes that count towards a limit, oldest first.
struct RefreshTally: Sendable {
    private struct Refresh {
        let start: Duration
        /// The generation of the credentials that it started from.
        let generation: UInt64
        var failure: RefreshFailure?
    }

    private var refreshes: [Refresh] = []

    /// A refresh that the limit does not allow yet.
    struct Refusal: Sendable {
        /// The time until a refresh may start.
        let delay: Duration
        /// The failure of the last refresh; `nil` if it returned credentials.
        let failure: RefreshFailure?
    }

    /// Whether no refresh counts towards the limit.
    var isEmpty: Bool {
        refreshes.isEmpty
    }

    /// Returns the reason why another refresh must not start; `nil` if it may.
    mutating func refusal(under limit: RefreshLimit, at now: Duration) -> Refusal? {
        refreshes.removeAll { now - $0.start >= limit.interval || $0.start > now }
        guard refreshes.count >= limit.count, let first = refreshes.first else { return nil }
        return Refusal(delay: first.start + limit.interval - now, failure: refreshes.last?.failure)
    }

    mutating func begin(from generation: UInt64, at now: Duration) {
        refreshes.append(Refresh(start: now, generation: generation))
    }

    /// Records that the last refresh has failed.
    mutating func end(with failure: RefreshFailure) {
        guard let last = refreshes.popLast(), failure.counts else { return }
        refreshes.append(Refresh(start: last.start, generation: last.generation, failure: failure))
    }

    /// Removes the refreshes that led to credentials of a generation.
    mutating func removeAll(upTo generation: UInt64) {
        refreshes.removeAll { $0.generation < generation }
    }
}
