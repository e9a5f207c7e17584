public import NetworkingCore

/// An event about a failed attempt.
@nonexhaustive
public enum RetryEvent: NetworkEvent {
    /// An attempt failed, and the request is sent again after the attempt's backoff.
    indirect case retrying(Attempt)
    /// An attempt failed with a transient error, and the request is not sent again.
    case refused(RetryRefusal)

    /// The record, without secrets.
    public var record: EventRecord {
        switch self {
        case .retrying(let attempt):
            EventRecord(
                "retrying",
                "\(attempt)",
                mark: .retry,
                attributes: ["error.type": .word(attempt.errorType)]
            ) { _ in "retrying (attempt \(attempt))" }
        case .refused(let refusal):
            EventRecord(
                "retryRefused",
                "\(refusal)",
                mark: .retryRefused(refusal),
                attributes: ["networking.retry.refusal": .word(refusal.rawValue)]
            ) { _ in "not retried (\(refusal))" }
        }
    }
}

extension Attempt {
    /// The reason why the attempt failed.
    fileprivate var errorType: String {
        error?.telemetryType ?? response.map { "\($0.status.code)" } ?? "_OTHER"
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
