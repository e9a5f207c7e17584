public import NetworkingCore

/// An event of `whenOffline`.
@nonexhaustive
public enum OfflineEvent: NetworkEvent {
    /// The request is not sent, because there is no network that it may use.
    case refused
    /// The request is not sent, and a cache is asked for a stored response.
    case usesStoredResponse

    /// The event: `offline(refused)`.
    public var description: String {
        switch self {
        case .refused: "offline(refused)"
        case .usesStoredResponse: "offline(uses a stored response)"
        }
    }
}
