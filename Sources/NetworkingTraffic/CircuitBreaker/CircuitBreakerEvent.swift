public import NetworkingCore
import NetworkingResilience

/// An event of `circuitBreaker`.
///
/// A change of the state is reported by the request that caused it. ``CircuitBreaker/states`` has all changes.
@nonexhaustive
public enum CircuitBreakerEvent: NetworkEvent {
    /// The circuit of this key has changed its state.
    case changed(CircuitBreaker.Change)
    /// The request was not sent, because its circuit is not closed.
    case rejected(CircuitBreaker.Rejection)

    /// The record: `circuitChanged(api.example.com: open)`.
    public var record: EventRecord {
        switch self {
        case .changed(let change):
            EventRecord(
                "circuitChanged",
                "\(change)",
                mark: EventMark(.circuitChanged, detail: change.state.rawValue),
                attributes: ["networking.circuit.state": .word(change.state.rawValue)]
            ) { _ in "the circuit of \(change.key ?? "all servers") is now \(change.state)" }
        case .rejected(let rejection):
            .rejection(
                "circuitRejected",
                "\(rejection)",
                reason: "circuit-open",
                attributes: ["networking.circuit.state": .word(rejection.state.rawValue)]
            ) { _ in "not sent (\(rejection))" }
        }
    }
}

extension EventMark.Kind {
    /// The result of the request has changed the state of a circuit; the detail is the state.
    public static var circuitChanged: EventMark.Kind { EventMark.Kind("circuitChanged") }
}
