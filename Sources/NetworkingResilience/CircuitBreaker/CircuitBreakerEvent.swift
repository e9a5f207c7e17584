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

    /// The mark of a rejected request, or of a change.
    public var mark: EventMark? {
        switch self {
        case .changed: .event(description)
        case .rejected(let rejection): EventMark(.circuitOpen, detail: rejection.state.rawValue)
        }
    }

    /// Returns the message: `the circuit of api.example.com is open`.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .changed(let change): "the circuit of \(change.key ?? "all servers") is now \(change.state)"
        case .rejected(let rejection): "not sent (\(rejection))"
        }
    }

    /// The event: `circuitChanged(api.example.com: open)`.
    public var description: String {
        switch self {
        case .changed(let change): "circuitChanged(\(change))"
        case .rejected(let rejection): "circuitRejected(\(rejection))"
        }
    }
}

extension EventMark.Kind {
    /// The request was refused because the circuit of its server is not closed; the detail is the state.
    public static var circuitOpen: EventMark.Kind { EventMark.Kind("circuitOpen") }
}
