public import NetworkingCore

/// An event of `deduplicated`.
@nonexhaustive
public enum DeduplicationEvent: NetworkEvent {
    /// The request shares the exchange of an identical one that is in flight.
    case shared

    /// The mark of a shared exchange.
    public var mark: EventMark? {
        .shared
    }

    /// Returns the message: `sharing the exchange of an identical request`.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .shared: "sharing the exchange of an identical request"
        }
    }

    /// The event: `shared`.
    public var description: String {
        switch self {
        case .shared: "shared"
        }
    }
}

extension Wait {
    /// `deduplicated` waits for an exchange that another request has started.
    public static let sharing = Wait("sharing")
}
