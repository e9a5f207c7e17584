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
            EventRecord(
                "limitChanged",
                "\(limit)",
                mark: EventMark(.limitChanged),
                attributes: ["networking.limit": .number(Double(limit))]
            ) { _ in "the server takes \(limit) requests at a time" }
        }
    }
}

extension EventMark.Kind {
    /// The number of requests that are sent to a server at a time has changed.
    public static var limitChanged: EventMark.Kind { EventMark.Kind("limitChanged") }
}
