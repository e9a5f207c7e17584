public import NetworkingCore

/// An event of `deduplicated`.
@nonexhaustive
public enum DeduplicationEvent: NetworkEvent {
    /// The request shares the exchange of an identical one that is in flight.
    case shared

    /// The record.
    public var record: EventRecord {
        switch self {
        case .shared: EventRecord("shared", mark: .shared) { _ in "sharing the exchange of an identical request" }
        }
    }
}

extension Wait {
    /// `deduplicated` waits for an exchange that another request has started.
    public static let sharing = Wait("sharing")
}
