public import NetworkingCore

/// An event of `timeout`.
@nonexhaustive
public enum TimeoutEvent: NetworkEvent {
    /// The attempt was cancelled because it exceeded this time limit.
    case expired(after: Duration)

    /// The mark of a timeout.
    public var mark: EventMark? {
        .timeout
    }

    /// Returns the time limit: `timed out after 30.0 seconds`.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .expired(let limit): "timed out after \(limit.roundedText)"
        }
    }

    /// The event: `timedOut(after: 30.0 seconds)`.
    public var description: String {
        switch self {
        case .expired(let limit): "timedOut(after: \(limit.roundedText))"
        }
    }
}
