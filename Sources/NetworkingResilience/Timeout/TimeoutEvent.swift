public import NetworkingCore

/// An event of `timeout`.
@nonexhaustive
public enum TimeoutEvent: NetworkEvent {
    /// The attempt was cancelled because it exceeded this time limit.
    case expired(after: Duration)

    /// The record with the time limit.
    public var record: EventRecord {
        switch self {
        case .expired(let limit):
            EventRecord(
                "timedOut",
                "after: \(limit.roundedText)",
                mark: .timeout,
                attributes: ["networking.timeout.limit": .number(limit.inSeconds)]
            ) { _ in "timed out after \(limit.roundedText)" }
        }
    }
}
