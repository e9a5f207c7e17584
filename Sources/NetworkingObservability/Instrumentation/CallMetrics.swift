public import FoundationForNetworking
public import NetworkingCore

/// The duration of one call, and its breakdown.
///
/// ```swift
/// let response = try await network.data(request)
/// print(response.metrics?.waterfall() ?? "")
/// for part in response.metrics?.breakdown ?? [] {
///     print(part.kind, part.duration)
/// }
/// ```
///
/// The metrics cover the components upstream of `instrument`. Times are those of the environment's clock. Of the
/// request, the metrics keep only the method, URL, route and id. They print these redacted; the properties of
/// ``request`` are not redacted.
public struct CallMetrics: Sendable {
    /// The result of a call.
    @nonexhaustive
    public enum Outcome: Sendable, Hashable {
        /// A response with this status code.
        case response(Int)
        /// An error of this kind; `nil` for an error of another type.
        case failure(NetworkingError.Kind?)
        /// A cancellation by the caller.
        case cancelled
    }

    /// An event in a call that took no time itself.
    public typealias Mark = EventMark

    private let content: Content

    /// The parts of the request that are kept: method, URL, route and id.
    public var request: HTTPRequestData { content.request }
    /// The date at which the call began.
    public var date: Date { content.date }
    /// The total elapsed time.
    public var duration: Duration { .nanoseconds(log.end - log.start) }
    /// The result of the call.
    public var outcome: Outcome { content.outcome }
    /// The status code of the response that the call returned or that its error is about; `nil` if there was none.
    public var statusCode: Int? { content.statusCode }
    /// The number of exchanges that transports made, including redirects and exchanges after a refresh.
    public var attempts: Int { log.tally.attempts }
    /// The number of body bytes sent in successful exchanges.
    public var sentBytes: Int64 { log.tally.sentBytes }
    /// The number of body bytes received in successful exchanges, after decompression.
    public var receivedBytes: Int64 { log.tally.receivedBytes }
    /// The result of the cache; `nil` without `cached` or another cache upstream.
    public var cache: Mark? { log.tally.cache }
    /// Whether the call shared the exchange of an identical request.
    public var isShared: Bool { log.tally.shared > 0 }

    /// The number of body bytes that the caller received without a separate network transfer: from the cache or a
    /// shared exchange.
    public var savedBytes: Int64 {
        let isFromCache = cache?.kind == .cacheHit
        return isFromCache || isShared ? max(0, content.bodyLength - receivedBytes) : 0
    }

    init(
        _ log: CallLog,
        of request: HTTPRequestData,
        at date: Date,
        outcome: Outcome,
        statusCode: Int?,
        bodyLength: Int64
    ) {
        content = Content(
            log: log,
            request: request.compact,
            date: date,
            outcome: outcome,
            statusCode: statusCode,
            bodyLength: bodyLength
        )
    }

    var log: CallLog { content.log }

    /// The approximate size of the metrics in memory, in bytes, without their request.
    package var byteCount: Int { log.byteCount }

    /// A class, so that a response carries a single reference.
    private final class Content: Sendable {
        let log: CallLog
        let request: HTTPRequestData
        let date: Date
        let outcome: Outcome
        let statusCode: Int?
        let bodyLength: Int64

        init(
            log: CallLog,
            request: HTTPRequestData,
            date: Date,
            outcome: Outcome,
            statusCode: Int?,
            bodyLength: Int64
        ) {
            self.log = log
            self.request = request
            self.date = date
            self.outcome = outcome
            self.statusCode = statusCode
            self.bodyLength = bodyLength
        }
    }
}

extension CallMetrics: CustomStringConvertible, CustomReflectable {
    /// The call in one line: `GET https://api.example.com/users/42 → 200 in 34.5 ms`.
    public var description: String {
        "\(request) → \(outcome) in \(duration.milliseconds)"
    }

    /// A mirror without secrets, for dumps.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "request": request.description,
                "outcome": "\(outcome)",
                "duration": duration,
                "attempts": attempts,
                "sentBytes": sentBytes,
                "receivedBytes": receivedBytes,
            ]
        )
    }
}

extension CallMetrics.Outcome: CustomStringConvertible {
    /// The status code, or the kind of the failure.
    public var description: String {
        switch self {
        case .response(let code): "\(code)"
        case .failure(let kind): kind.map { "failed (\($0))" } ?? "failed"
        case .cancelled: "cancelled"
        }
    }
}

extension HTTPResponseData {
    /// The metrics of the response's call; `nil` without `instrument` in the stack.
    public internal(set) var metrics: CallMetrics? {
        get { self[metadata: CallMetricsKey.self] }
        set { self[metadata: CallMetricsKey.self] = newValue }
    }
}

extension NetworkingError {
    /// The metrics of the failed call; `nil` without `instrument` in the stack.
    public internal(set) var metrics: CallMetrics? {
        get { self[metadata: CallMetricsKey.self] }
        set { self[metadata: CallMetricsKey.self] = newValue }
    }
}

private enum CallMetricsKey: ResponseMetadata {
    static let defaultValue: CallMetrics? = nil
}
