public import NetworkingCore

/// An event about the credentials of a request.
@nonexhaustive
public enum AuthenticationEvent: NetworkEvent {
    /// A request starts a refresh of the credentials, or fetches the first ones.
    case refreshing

    /// The record.
    public var record: EventRecord {
        switch self {
        case .refreshing: EventRecord("refreshingCredentials", mark: .refresh) { _ in "refreshing credentials" }
        }
    }
}

extension Wait {
    /// `authenticated` waits for a refresh of the credentials, which this request or another one has started.
    public static let credentials = Wait("credentials")
}
