public import NetworkingCore
public import NetworkingResilience

/// An event of `fallback`.
@nonexhaustive
public enum FallbackEvent: NetworkEvent {
    /// The attempt failed, and another response takes its place.
    indirect case used(Attempt)
    /// There is no other response, because of this error; the outcome of the call is the first failure.
    case failed(any Error)

    /// The record, without secrets: `fallback(1: 503 after 0.1 ms)`.
    public var record: EventRecord {
        switch self {
        case .used(let attempt):
            EventRecord(
                "fallback",
                "\(attempt)",
                mark: EventMark(.fallback),
                attributes: ["networking.fallback.outcome": .word("used")]
            ) { _ in "falling back (\(attempt))" }
        case .failed(let error):
            EventRecord(
                "fallbackFailed",
                "\(type(of: error))",
                mark: EventMark(.fallback, detail: "failed"),
                attributes: ["networking.fallback.outcome": .word("failed")]
            ) { _ in "no fallback (\(type(of: error)))" }
        }
    }
}

extension EventMark.Kind {
    /// The call used another response in place of a failure, or found none; the detail is `failed` then.
    public static var fallback: EventMark.Kind { EventMark.Kind("fallback") }
}
