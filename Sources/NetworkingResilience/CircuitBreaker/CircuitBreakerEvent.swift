public import NetworkingCore

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
            EventRecord("circuitChanged", "\(change)", attributes: ["networking.circuit": .word(change.state.rawValue)])
            {
                _ in "the circuit of \(change.key ?? "all servers") is now \(change.state)"
            }
        case .rejected(let rejection):
            EventRecord(
                "circuitRejected",
                "\(rejection)",
                mark: EventMark(.circuitOpen, detail: rejection.state.rawValue),
                attributes: ["networking.circuit": .word(rejection.state.rawValue)]
            ) { _ in "not sent (\(rejection))" }
        }
    }
}

extension EventMark.Kind {
    /// The request was refused because the circuit of its server is not closed; the detail is the state.
    public static var circuitOpen: EventMark.Kind { EventMark.Kind("circuitOpen") }
}
