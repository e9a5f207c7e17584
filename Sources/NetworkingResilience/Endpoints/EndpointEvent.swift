public import NetworkingCore

/// An event of `server(endpoints:)`.
@nonexhaustive
public enum EndpointEvent: NetworkEvent, Hashable {
    /// The attempt is sent to an endpoint.
    case picked(String)
    /// The attempt is sent to an endpoint whose ejection is over, to find out whether it works.
    case probing(String)
    /// An endpoint gets no requests for a time, because it fails.
    case ejected(String, for: Duration)
    /// An endpoint is in service again.
    case returned(String)
    /// No endpoint works, so ejected ones are used too.
    case panicked

    /// The mark of a change of the endpoints; `nil` for an attempt, because its exchange has a mark.
    public var mark: EventMark? {
        switch self {
        case .picked: nil
        case .probing, .ejected, .returned, .panicked: .event(description)
        }
    }

    /// Returns the endpoint and what happened to it: `ejected eu1.example.com for 30.0 seconds`.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .picked(let authority): "sending to \(redaction.authority(authority))"
        case .probing(let authority): "probing \(redaction.authority(authority))"
        case .ejected(let authority, let time): "ejected \(redaction.authority(authority)) for \(time.roundedText)"
        case .returned(let authority): "\(redaction.authority(authority)) is in service again"
        case .panicked: "no endpoint works, so all are used"
        }
    }

    /// The event with its endpoint: `endpointEjected(eu1.example.com, 30.0 seconds)`.
    public var description: String {
        let redaction = Redaction.standard
        return switch self {
        case .picked(let authority): "endpointPicked(\(redaction.authority(authority)))"
        case .probing(let authority): "endpointProbing(\(redaction.authority(authority)))"
        case .ejected(let authority, let time):
            "endpointEjected(\(redaction.authority(authority)), \(time.roundedText))"
        case .returned(let authority): "endpointReturned(\(redaction.authority(authority)))"
        case .panicked: "endpointsPanicked"
        }
    }
}
