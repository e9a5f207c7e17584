public import NetworkingCore

/// An event of `whenOffline`.
@nonexhaustive
public enum OfflineEvent: NetworkEvent {
    /// The request is not sent, because there is no network that it may use.
    case refused
    /// The request is not sent, and a cache is asked for a stored response.
    case usesStoredResponse

    /// The record: `offline(refused)`.
    public var record: EventRecord {
        switch self {
        case .refused: EventRecord("offline", "refused")
        case .usesStoredResponse: EventRecord("offline", "uses a stored response")
        }
    }
}
