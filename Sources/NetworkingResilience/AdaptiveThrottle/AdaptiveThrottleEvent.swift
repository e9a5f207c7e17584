public import NetworkingCore

/// An event of `adaptiveThrottle`.
@nonexhaustive
public enum AdaptiveThrottleEvent: NetworkEvent {
    /// The request was not sent, because it is one of the share that is refused.
    case rejected(probability: Double)

    /// The mark of a refused request.
    public var mark: EventMark? {
        .event(description)
    }

    /// Returns the message: `not sent, as 45% of the requests to this server`.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .rejected(let probability): "not sent, as \(percent(probability)) of the requests to this server"
        }
    }

    /// The event: `throttled(45%)`.
    public var description: String {
        switch self {
        case .rejected(let probability): "throttled(\(percent(probability)))"
        }
    }

    private func percent(_ fraction: Double) -> String {
        "\(Int((fraction * 100).rounded()))%"
    }
}
