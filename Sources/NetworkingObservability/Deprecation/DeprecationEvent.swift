import FoundationForNetworking
public import NetworkingCore

/// An event of `deprecationsReported`.
@nonexhaustive
public enum DeprecationEvent: NetworkEvent {
    /// The server announces that the resource is deprecated or ends, for the first time for its route.
    case announced(Deprecation)

    /// The record: `deprecated(since 2026-06-30, ends on 2027-06-30)`.
    ///
    /// Logs get no line of it, because the modifier writes one to the environment's logger.
    public var record: EventRecord {
        switch self {
        case .announced(let deprecation):
            EventRecord(
                "deprecated",
                deprecation.dates,
                mark: .deprecated,
                attributes: [
                    "networking.deprecation.date": deprecation.date,
                    "networking.sunset.date": deprecation.sunset,
                ]
                .compactMapValues { $0.map { .number($0.timeIntervalSince1970) } }
            ) { _ in nil }
        }
    }
}

extension EventMark.Kind {
    /// The server announced that the resource is deprecated or ends.
    public static var deprecated: EventMark.Kind { EventMark.Kind("deprecated") }
}

extension EventMark {
    /// The server announced that the resource is deprecated or ends.
    public static let deprecated = EventMark(.deprecated)
}
