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

    /// The record, as in `endpointEjected(eu1.example.com, 30.0 seconds)`.
    ///
    /// An attempt has no mark, because its exchange has one.
    public var record: EventRecord {
        switch self {
        case .picked(let authority):
            EventRecord("endpointPicked", Redaction.standard.authority(authority), mark: nil) { redaction in
                "sending to \(redaction.authority(authority))"
            }
        case .probing(let authority):
            EventRecord("endpointProbing", Redaction.standard.authority(authority), attributes: [:]) { redaction in
                "probing \(redaction.authority(authority))"
            }
        case .ejected(let authority, let time):
            EventRecord(
                "endpointEjected",
                "\(Redaction.standard.authority(authority)), \(time.roundedText)",
                attributes: [:]
            ) { redaction in "ejected \(redaction.authority(authority)) for \(time.roundedText)" }
        case .returned(let authority):
            EventRecord("endpointReturned", Redaction.standard.authority(authority), attributes: [:]) { redaction in
                "\(redaction.authority(authority)) is in service again"
            }
        case .panicked:
            EventRecord("endpointsPanicked", attributes: [:]) { _ in "no endpoint works, so all are used" }
        }
    }
}
