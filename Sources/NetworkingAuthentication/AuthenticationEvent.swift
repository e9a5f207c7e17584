public import NetworkingCore

/// An event about the credentials of a request.
@nonexhaustive
public enum AuthenticationEvent: NetworkEvent {
    /// A request starts a refresh of the credentials, or fetches the first ones.
    case refreshing

    /// The mark of a refresh.
    public var mark: EventMark? {
        .refresh
    }

    /// Returns the message: `refreshing credentials`.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .refreshing: "refreshing credentials"
        }
    }

    /// The event: `refreshingCredentials`.
    public var description: String {
        switch self {
        case .refreshing: "refreshingCredentials"
        }
    }
}

extension Wait {
    /// `authenticated` waits for a refresh of the credentials, which this request or another one has started.
    public static let credentials = Wait("credentials")
}
