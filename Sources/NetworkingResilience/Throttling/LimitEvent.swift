public import NetworkingCore

/// An event of the limits `throttled`, `rateLimited` and `adaptiveLimit`; their waits are those of `WaitEvent`.
@nonexhaustive
public enum LimitEvent: NetworkEvent, Hashable {
    /// The request was not sent, because it would wait for this limit too long, or too many requests are waiting.
    case rejected(Wait)

    /// The record: `limitRejected(rate-limit)`.
    public var record: EventRecord {
        switch self {
        case .rejected(let limit):
            .rejection("limitRejected", limit.name, reason: limit.name) { _ in "not sent (\(limit))" }
        }
    }
}

extension EventMark.Kind {
    /// A part of the stack did not send the request; the detail is the reason.
    ///
    /// An event of your own with the attribute `networking.rejection.reason` is counted like those of the library.
    public static var rejected: EventMark.Kind { EventMark.Kind("rejected") }
}

extension EventRecord {
    /// Creates the record of a request that a part of the stack did not send.
    package static func rejection(
        _ name: String,
        _ details: @autoclosure @escaping @Sendable () -> String? = nil,
        reason: String,
        attributes: [String: EventValue] = [:],
        logMessage: (@Sendable (Redaction) -> String?)? = nil
    ) -> EventRecord {
        EventRecord(
            name,
            details(),
            mark: EventMark(.rejected, detail: reason),
            attributes: attributes.merging(["networking.rejection.reason": .word(reason)]) { $1 },
            logMessage: logMessage
        )
    }
}

extension HTTPRequestData {
    /// Reports that a limit does not send the request, and returns its error.
    package func rejected(by limit: Wait, reason: String, retryAfter: Duration? = nil) -> NetworkingError {
        emit(LimitEvent.rejected(limit))
        return NetworkingError(.rejected, request: self, reason: reason, retryAfter: retryAfter)
    }
}
