public import NetworkingCore

/// An event of `rateLimited` with a ``ServerRateLimiter`` or an ``AdaptiveRateLimiter``, or with a limit that several
/// processes share.
@nonexhaustive
public enum RateLimitEvent: NetworkEvent {
    /// The server reports that no request remains in this limit.
    indirect case exhausted(ServerLimit)
    /// The server has refused the request, so the rate to it falls.
    case reduced
    /// The store of a shared limit fails, so the request was sent at the local share of this process.
    case localShare

    /// The record, with a mark without the names and numbers of the server, so that metrics count few different ones.
    public var record: EventRecord {
        switch self {
        case .exhausted(let limit):
            EventRecord("rateLimitExhausted", "\(limit)", mark: .event("rateLimitExhausted"), attributes: [:]) { _ in
                "limit of the server is used up (\(limit))"
            }
        case .reduced: EventRecord("rateReduced", attributes: [:]) { _ in "rate reduced" }
        case .localShare: EventRecord("rateLocalShare", attributes: [:]) { _ in "rate limit without its store" }
        }
    }
}
