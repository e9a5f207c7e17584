public import NetworkingCore
import NetworkingResilience

/// An event of `adaptiveThrottle`.
@nonexhaustive
public enum AdaptiveThrottleEvent: NetworkEvent {
    /// The request was not sent, because it is one of the share that is refused.
    case rejected(probability: Double)

    /// The record: `throttled(45%)`.
    public var record: EventRecord {
        switch self {
        case .rejected(let probability):
            .rejection(
                "throttled",
                percent(probability),
                reason: "adaptive-throttle",
                attributes: ["networking.throttle.probability": .number(probability)]
            ) { _ in "not sent, as \(percent(probability)) of the requests to this server" }
        }
    }

    private func percent(_ fraction: Double) -> String {
        "\(Int((fraction * 100).rounded()))%"
    }
}
