import NetworkingAuthentication
public import NetworkingCaching
public import NetworkingCore
public import NetworkingResilience

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What one call took, and what it was spent on.
///
/// ```swift
/// let response = try await network.data(request)
/// print(response.metrics?.waterfall() ?? "")
/// for part in response.metrics?.breakdown ?? [] {
///     print(part.kind, part.duration)
/// }
/// ```
///
/// It covers what lies upstream of `instrument`. Times are those of the environment's clock. It shows no secrets: of
/// the request it keeps method, URL and label, and prints them redacted.
public struct CallMetrics: Sendable {
    /// What came of a call.
    @nonexhaustive
    public enum Outcome: Sendable, Hashable {
        /// A response with this status code.
        case response(Int)
        /// An error of this kind; nil for somebody else's error.
        case failure(NetworkingError.Kind?)
        /// Its caller was cancelled.
        case cancelled
    }

    /// Something that happened in a call and took no time of its own.
    @nonexhaustive
    public enum Mark: Sendable, Hashable {
        /// The response came from the cache.
        case cacheHit(CacheHit)
        /// The cache had nothing fit.
        case cacheMiss
        /// The cache let it pass.
        case cacheBypass(CacheBypass)
        /// It shared the exchange of an identical request.
        case shared
        /// Another attempt was decided upon.
        case retry
        /// No other attempt was made, and why.
        case retryRefused(RetryRefusal)
        /// A redirect was followed.
        case redirect
        /// It had the credentials renewed.
        case refresh
        /// An attempt's time ran out.
        case timeout
        /// Its own time ran out.
        case deadline
        /// An event of another package or a note, by its description.
        indirect case event(String)
    }

    private let content: Content

    /// The request, as far as it is kept: method, URL, route and label.
    public var request: HTTPRequestData { content.request }
    /// When it began.
    public var date: Date { content.date }
    /// The whole elapsed time.
    public var duration: Duration { .nanoseconds(log.end - log.start) }
    /// What came of it.
    public var outcome: Outcome { content.outcome }
    /// How many exchanges transports made, redirects and those after a refresh included.
    public var attempts: Int { log.tally.attempts }
    /// How many bytes of bodies went out in exchanges that ended well.
    public var sentBytes: Int64 { log.tally.sentBytes }
    /// How many bytes of bodies came in, decompressed, in exchanges that ended well.
    public var receivedBytes: Int64 { log.tally.receivedBytes }
    /// What the cache made of it; nil without `cached` upstream.
    public var cache: Mark? { log.tally.cache }
    /// Whether it shared the exchange of an identical request.
    public var isShared: Bool { log.tally.shared > 0 }

    /// How many bytes of the body that the caller got did not come over the network for it: from the cache, or by
    /// sharing.
    public var savedBytes: Int64 {
        let isFromCache =
            switch cache {
            case .cacheHit?: true
            default: false
            }
        return isFromCache || isShared ? max(0, content.bodyLength - receivedBytes) : 0
    }

    init(_ log: CallLog, of request: HTTPRequestData, at date: Date, outcome: Outcome, bodyLength: Int64) {
        content = Content(log: log, request: request.compact, date: date, outcome: outcome, bodyLength: bodyLength)
    }

    var log: CallLog { content.log }

    /// About how many bytes of memory the metrics take, without their request.
    package var byteCount: Int { log.byteCount }

    /// Behind one reference, since responses carry it.
    private final class Content: Sendable {
        let log: CallLog
        let request: HTTPRequestData
        let date: Date
        let outcome: Outcome
        let bodyLength: Int64

        init(log: CallLog, request: HTTPRequestData, date: Date, outcome: Outcome, bodyLength: Int64) {
            self.log = log
            self.request = request
            self.date = date
            self.outcome = outcome
            self.bodyLength = bodyLength
        }
    }
}

extension CallMetrics.Mark {
    /// The longest description of an event that is kept.
    private static let maximumDescription = 200

    /// What of an event is kept.
    init?(_ event: any NetworkEvent) {
        switch event {
        case let event as CacheEvent: self.init(event)
        case let event as RetryEvent: self.init(event)
        case RedirectEvent.redirected: self = .redirect
        case is RedirectEvent: return nil
        case is DeduplicationEvent: self = .shared
        case is AuthenticationEvent: self = .refresh
        case is TimeoutEvent: self = .timeout
        case is DeadlineEvent: self = .deadline
        default: self = .event(String(PrintableText.singleLine(event.description).prefix(Self.maximumDescription)))
        }
    }

    private init?(_ event: CacheEvent) {
        switch event {
        case .hit(let hit): self = .cacheHit(hit)
        case .missed: self = .cacheMiss
        case .bypassed(let reason): self = .cacheBypass(reason)
        case .stored, .evicted, .revalidated, .failed: return nil
        }
    }

    private init(_ event: RetryEvent) {
        switch event {
        case .retrying: self = .retry
        case .refused(let refusal): self = .retryRefused(refusal)
        }
    }
}

extension CallMetrics: CustomStringConvertible, CustomReflectable {
    /// The call in a line: `GET https://api.example.com/users/42 → 200 in 34.5 ms`.
    public var description: String {
        "\(request) → \(outcome) in \(duration.milliseconds)"
    }

    /// What a dump shows: no secret.
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
    /// The status code, or what went wrong.
    public var description: String {
        switch self {
        case .response(let code): "\(code)"
        case .failure(let kind): kind.map { "failed (\($0))" } ?? "failed"
        case .cancelled: "cancelled"
        }
    }
}

extension HTTPResponseData {
    /// What its call took and did; nil without `instrument` in the stack.
    public internal(set) var metrics: CallMetrics? {
        get { self[metadata: CallMetricsKey.self] }
        set { self[metadata: CallMetricsKey.self] = newValue }
    }
}

extension NetworkingError {
    /// What its call took and did; nil without `instrument` in the stack.
    public internal(set) var metrics: CallMetrics? {
        get { self[metadata: CallMetricsKey.self] }
        set { self[metadata: CallMetricsKey.self] = newValue }
    }
}

private enum CallMetricsKey: ResponseMetadata {
    static let defaultValue: CallMetrics? = nil
}
