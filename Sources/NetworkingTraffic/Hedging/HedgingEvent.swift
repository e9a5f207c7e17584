public import NetworkingCore

/// An event of `hedged`.
@nonexhaustive
public enum HedgingEvent: NetworkEvent {
    /// The request is sent again, as the attempt with this number, because the others have had no answer so far.
    case hedging(attempt: Int)
    /// An extra attempt was due and is not made.
    case refused(HedgingRefusal)
    /// The response of an extra attempt is the response of the call.
    case won(attempt: Int)

    /// The record, as in `hedging(attempt: 2)`.
    public var record: EventRecord {
        switch self {
        case .hedging(let attempt):
            EventRecord("hedging", "attempt: \(attempt)", mark: EventMark(.hedge), attributes: [:]) { _ in
                "hedging (attempt \(attempt))"
            }
        case .refused(let refusal):
            EventRecord(
                "hedgeRefused",
                "\(refusal)",
                mark: EventMark(.hedgeRefused, detail: refusal.rawValue),
                attributes: ["networking.hedge.refusal": .word(refusal.rawValue)]
            ) { _ in "not hedged (\(refusal))" }
        case .won(let attempt):
            EventRecord("hedgeWon", "attempt: \(attempt)", mark: EventMark(.hedgeWon), attributes: [:]) { _ in
                "the hedge responded first (attempt \(attempt))"
            }
        }
    }
}

/// The reason why an extra attempt that was due is not made.
@nonexhaustive
public enum HedgingRefusal: String, Sendable, Hashable {
    /// The route has used up its extra load, or the stack its retry budget.
    case budget
    /// A limiter or a circuit breaker has no place for it at once.
    case rejected
    /// The server asked for a wait that is too long, or for no further requests.
    case retryAfter
    /// Another user has signed in since the call began.
    case anotherUser
    /// 10,000 attempts that lost have not ended yet.
    case tooManyLosers
}

extension EventMark.Kind {
    /// The call sent an extra attempt.
    public static var hedge: EventMark.Kind { EventMark.Kind("hedge") }
    /// The call made no extra attempt that was due; the detail is the reason.
    public static var hedgeRefused: EventMark.Kind { EventMark.Kind("hedgeRefused") }
    /// The response of an extra attempt was the response of the call.
    public static var hedgeWon: EventMark.Kind { EventMark.Kind("hedgeWon") }
}
