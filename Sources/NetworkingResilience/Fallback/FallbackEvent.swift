public import NetworkingCore

/// An event of `fallback`.
@nonexhaustive
public enum FallbackEvent: NetworkEvent {
    /// The attempt failed, and another response takes its place.
    indirect case used(Attempt)
    /// There is no other response, because of this error; the outcome of the call is the first failure.
    case failed(any Error)

    /// The mark of a fallback.
    public var mark: EventMark? {
        switch self {
        case .used: EventMark(.fallback)
        case .failed: EventMark(.fallback, detail: "failed")
        }
    }

    /// Returns the failed attempt, or the type of the error.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .used(let attempt): "falling back (\(attempt))"
        case .failed(let error): "no fallback (\(type(of: error)))"
        }
    }

    /// The event without secrets: `fallback(1: 503 after 0.1 ms)`.
    public var description: String {
        switch self {
        case .used(let attempt): "fallback(\(attempt))"
        case .failed(let error): "fallbackFailed(\(type(of: error)))"
        }
    }
}

extension EventMark.Kind {
    /// The call used another response in place of a failure, or found none; the detail is `failed` then.
    public static var fallback: EventMark.Kind { EventMark.Kind("fallback") }
}
