public import NetworkingCore

/// An event of `rateLimited` with a ``ServerRateLimiter`` or an ``AdaptiveRateLimiter``, or with a limit that several
/// processes share.
@nonexhaustive
public enum RateLimitEvent: NetworkEvent {
    /// The server reports that no request remains in this limit.
    indirect case exhausted(ServerLimit)
    /// The server has refused the request, so the rate to it falls.
    case reduced
    /// The store of a shared limit fails, so the request was sent at the local share of this process.
    case localShare

    /// The record, with a mark without the names and numbers of the server, so that metrics count few different ones.
    public var record: EventRecord {
        switch self {
        case .exhausted(let limit):
            change("exhausted", "rateLimitExhausted", "\(limit)") { _ in "limit of the server is used up (\(limit))" }
        case .reduced: change("reduced", "rateReduced") { _ in "rate reduced" }
        case .localShare:
            change("local-share", "rateLocalShare") { _ in "rate limit without its store" }
        }
    }

    private func change(
        _ change: String,
        _ name: String,
        _ details: @autoclosure @escaping @Sendable () -> String? = nil,
        logMessage: @escaping @Sendable (Redaction) -> String?
    ) -> EventRecord {
        EventRecord(
            name,
            details(),
            mark: EventMark(.serverLimit, detail: change),
            attributes: ["networking.server_limit.change": .word(change)],
            logMessage: logMessage
        )
    }
}

extension EventMark.Kind {
    /// A response has exhausted a limit of the server or reduced the rate to it, or a request is sent at the local
    /// share of a limit; the detail is the change.
    public static var serverLimit: EventMark.Kind { EventMark.Kind("serverLimit") }
}
