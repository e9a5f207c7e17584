public import NetworkingCore

/// An event about a failed attempt.
@nonexhaustive
public enum RetryEvent: NetworkEvent {
    /// An attempt failed, and the request is sent again after the attempt's backoff.
    indirect case retrying(Attempt)
    /// An attempt failed with a transient error, and the request is not sent again.
    case refused(RetryRefusal)

    /// The mark of a retry, or of the reason against one.
    public var mark: EventMark? {
        switch self {
        case .retrying: .retry
        case .refused(let refusal): .retryRefused(refusal)
        }
    }

    /// Returns the failed attempt, or the reason why no other one follows.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .retrying(let attempt): "retrying (attempt \(attempt))"
        case .refused(let refusal): "not retried (\(refusal))"
        }
    }

    /// The event without secrets: `retrying(1: 503 after 0.1 ms, waited 200.0 ms)`.
    public var description: String {
        switch self {
        case .retrying(let attempt): "retrying(\(attempt))"
        case .refused(let refusal): "retryRefused(\(refusal))"
        }
    }
}

extension EventMark {
    /// Returns the mark of a request that is not retried.
    ///
    /// - Parameter refusal: The reason.
    /// - Returns: A mark of kind ``EventMark/Kind/retryRefused``.
    public static func retryRefused(_ refusal: RetryRefusal) -> EventMark {
        EventMark(.retryRefused, detail: refusal.rawValue)
    }

    /// The reason why the request was not retried; `nil` for another mark, or a detail of another modifier.
    public var retryRefusal: RetryRefusal? {
        kind == .retryRefused ? detail.flatMap { RetryRefusal(rawValue: $0) } : nil
    }
}

extension Wait {
    /// `retry` waits before the next attempt.
    public static let backoff = Wait("backoff", isTimed: true)
}
