public import NetworkingCore

/// An event of `cookies(in:)`.
@nonexhaustive
public enum CookieEvent: NetworkEvent {
    /// The request is sent with cookies of the jar.
    case added(count: Int)
    /// The response has set cookies, and the jar stores them.
    case stored(count: Int)
    /// The response has set a cookie that the jar does not store.
    case rejected(CookieRejection)

    /// The record without names and values: `cookiesAdded(2)`.
    public var record: EventRecord {
        switch self {
        case .added(let count): EventRecord("cookiesAdded", "\(count)")
        case .stored(let count): EventRecord("cookiesStored", "\(count)")
        case .rejected(let reason): EventRecord("cookieRejected", reason.rawValue)
        }
    }
}
