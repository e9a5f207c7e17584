public import NetworkingCore

/// An event of `adaptiveLimit`; its waits are those of ``WaitEvent``.
@nonexhaustive
public enum AdaptiveLimitEvent: NetworkEvent {
    /// The result of the request has changed the limit of its server.
    case changed(limit: Int)

    /// The record: `limitChanged(12)`.
    public var record: EventRecord {
        switch self {
        case .changed(let limit):
            EventRecord("limitChanged", "\(limit)", attributes: ["networking.limit": .number(Double(limit))]) { _ in
                "the server takes \(limit) requests at a time"
            }
        }
    }
}
