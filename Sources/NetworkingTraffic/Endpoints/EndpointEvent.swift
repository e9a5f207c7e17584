public import NetworkingCore
import NetworkingResilience

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
    /// The attempt was not sent, because each usable endpoint already has an attempt of this call.
    case noneLeft

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
            change(
                "ejected",
                "endpointEjected",
                "\(Redaction.standard.authority(authority)), \(time.roundedText)"
            ) { redaction in "ejected \(redaction.authority(authority)) for \(time.roundedText)" }
        case .returned(let authority):
            change("returned", "endpointReturned", Redaction.standard.authority(authority)) { redaction in
                "\(redaction.authority(authority)) is in service again"
            }
        case .panicked:
            change("panicked", "endpointsPanicked") { _ in "no endpoint works, so all are used" }
        case .noneLeft:
            .rejection("noEndpointLeft", reason: "endpoints") { _ in "not sent (no endpoint is left)" }
        }
    }

    /// Creates the record of a change of the endpoints in service.
    private func change(
        _ change: String,
        _ name: String,
        _ details: @autoclosure @escaping @Sendable () -> String? = nil,
        logMessage: @escaping @Sendable (Redaction) -> String?
    ) -> EventRecord {
        EventRecord(
            name,
            details(),
            mark: EventMark(.endpointChanged, detail: change),
            attributes: ["networking.endpoint.change": .word(change)],
            logMessage: logMessage
        )
    }
}

extension EventMark.Kind {
    /// An endpoint was ejected or has returned, or all ejected ones are used; the detail is the change.
    public static var endpointChanged: EventMark.Kind { EventMark.Kind("endpointChanged") }
}
