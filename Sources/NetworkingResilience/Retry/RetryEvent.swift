public import NetworkingCore

/// An event about a failed attempt.
@nonexhaustive
public enum RetryEvent: NetworkEvent {
    /// An attempt failed, and the request is sent again after the attempt's backoff.
    indirect case retrying(Attempt)
    /// An attempt failed with a transient error, and the request is not sent again.
    case refused(RetryRefusal)

    /// The event without secrets: `retrying(1: 503 after 0.1 ms, waited 200.0 ms)`.
    public var description: String {
        switch self {
        case .retrying(let attempt): "retrying(\(attempt))"
        case .refused(let refusal): "retryRefused(\(refusal))"
        }
    }
}

extension Wait {
    /// `retry` waits before the next attempt.
    public static let backoff = Wait("backoff", isTimed: true)
}
