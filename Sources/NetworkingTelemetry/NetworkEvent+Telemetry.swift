#if Telemetry
import HTTPTypes
import NetworkingAuthentication
import NetworkingCore
import NetworkingResilience
import NetworkingCaching
import Tracing

extension NetworkEvent {
    /// The metric, count and dimensions of the event; `nil` if it is not counted.
    func counted(as mark: EventMark?) -> (TelemetryMetric, Double, Dimensions)? {
        switch self as any NetworkEvent {
        case RetryEvent.retrying(let attempt): (.retries, 1, Dimensions(errorType: attempt.errorType))
        case RetryEvent.refused(let refusal):
            (.refusedRetries, 1, Dimensions("networking.retry.refusal", refusal.rawValue))
        case CacheEvent.evicted(let count): (.cacheEvictions, Double(count), Dimensions())
        case CacheEvent.failed: (.cacheOutcomes, 1, Dimensions("networking.cache.outcome", "failed"))
        default: mark.flatMap(\.counted)
        }
    }

    /// The event in the call's span: numbers and words from bounded sets, never text of a server or a caller.
    func shown(as mark: EventMark?) -> (name: String, attributes: SpanAttributes)? {
        switch self as any NetworkEvent {
        case WaitEvent.waited(let wait, let duration):
            (
                "networking.wait",
                ["networking.wait.reason": .string(wait.name), "networking.wait.duration": .double(duration.inSeconds)]
            )
        case RetryEvent.retrying(let attempt): ("networking.retry", ["error.type": .string(attempt.errorType)])
        case RetryEvent.refused(let refusal):
            ("networking.retry.refused", ["networking.retry.refusal": .string(refusal.rawValue)])
        case RedirectEvent.refused(let refusal):
            ("networking.redirect.refused", ["networking.redirect.refusal": .string(refusal.rawValue)])
        case CredentialsEvent.withheld: ("networking.credentials.withheld", [:])
        case TimeoutEvent.expired(let limit):
            ("networking.timeout", ["networking.timeout.limit": .double(limit.inSeconds)])
        case DeadlineEvent.exceeded(let limit):
            ("networking.deadline", ["networking.timeout.limit": .double(limit.inSeconds)])
        case CacheEvent.failed: ("networking.cache", ["networking.cache.outcome": .string("failed")])
        default: mark.flatMap(\.shown)
        }
    }
}

// The events of other packages count by their marks, like those of the library. Their details are left out, because
// they are not from a bounded set.
extension EventMark {
    fileprivate var counted: (TelemetryMetric, Double, Dimensions)? {
        switch kind {
        case .retry: (.retries, 1, Dimensions())
        case .retryRefused: (.refusedRetries, 1, Dimensions())
        case .redirect: (.redirects, 1, Dimensions())
        case .shared: (.sharedCalls, 1, Dimensions())
        case .refresh: (.credentialRefreshes, 1, Dimensions())
        case .timeout: (.timeouts, 1, Dimensions("networking.timeout.scope", "attempt"))
        case .deadline: (.timeouts, 1, Dimensions("networking.timeout.scope", "call"))
        default: cacheOutcome.map { (.cacheOutcomes, 1, Dimensions("networking.cache.outcome", $0)) }
        }
    }

    fileprivate var shown: (name: String, attributes: SpanAttributes)? {
        switch kind {
        case .retry: ("networking.retry", [:])
        case .retryRefused: ("networking.retry.refused", [:])
        case .redirect: ("networking.redirect", [:])
        case .shared: ("networking.shared", [:])
        case .refresh: ("networking.credentials.refresh", [:])
        case .timeout: ("networking.timeout", [:])
        case .deadline: ("networking.deadline", [:])
        default: cacheOutcome.map { ("networking.cache", ["networking.cache.outcome": .string($0)]) }
        }
    }

    /// The result of a cache for a call; `nil` for other marks.
    private var cacheOutcome: String? {
        switch kind {
        case .cacheHit: cacheHit?.rawValue ?? "hit"
        case .cacheMiss: "missed"
        case .cacheBypass: "bypassed"
        default: nil
        }
    }
}

extension Attempt {
    /// The reason why the attempt failed.
    fileprivate var errorType: String {
        error?.telemetryType ?? response.map { "\($0.status.code)" } ?? "_OTHER"
    }
}
#endif
