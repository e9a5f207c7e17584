public import NetworkingCore

/// An event of `adaptiveLimit`; its waits are those of ``WaitEvent``.
@nonexhaustive
public enum AdaptiveLimitEvent: NetworkEvent {
    /// The result of the request has changed the limit of its server.
    case changed(limit: Int)

    /// The mark of a change.
    public var mark: EventMark? {
        .event(description)
    }

    /// Returns the message: `the server takes 12 requests at a time`.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .changed(let limit): "the server takes \(limit) requests at a time"
        }
    }

    /// The event: `limitChanged(12)`.
    public var description: String {
        switch self {
        case .changed(let limit): "limitChanged(\(limit))"
        }
    }
}
