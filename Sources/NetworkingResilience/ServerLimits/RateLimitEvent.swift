public import NetworkingCore

/// An event of `rateLimited` with a ``ServerRateLimiter`` or an ``AdaptiveRateLimiter``.
@nonexhaustive
public enum RateLimitEvent: NetworkEvent {
    /// The server reports that no request remains in this limit.
    indirect case exhausted(ServerLimit)
    /// The server has refused the request, so the rate to it falls.
    case reduced

    /// The event without the names and numbers of the server, so that metrics count few different ones.
    public var mark: EventMark? {
        switch self {
        case .exhausted: .event("rateLimitExhausted")
        case .reduced: .event("rateReduced")
        }
    }

    /// Returns the limit, or the fact that the rate falls.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .exhausted(let limit): "limit of the server is used up (\(limit))"
        case .reduced: "rate reduced"
        }
    }

    /// The event: `rateLimitExhausted("default": 0 of 100 requests, for 30.0 seconds)`.
    public var description: String {
        switch self {
        case .exhausted(let limit): "rateLimitExhausted(\(limit))"
        case .reduced: "rateReduced"
        }
    }
}
