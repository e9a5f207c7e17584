#if Telemetry
import HTTPTypes
import NetworkingAuthentication
import NetworkingCore
import NetworkingResilience
import NetworkingCaching
import Tracing

extension NetworkEvent {
    /// The metric, count and dimensions of the event; `nil` if it is not counted.
    var counted: (TelemetryMetric, Double, Dimensions)? {
        switch self as any NetworkEvent {
        case RetryEvent.retrying(let attempt): (.retries, 1, Dimensions(errorType: attempt.errorType))
        case RetryEvent.refused(let refusal):
            (.refusedRetries, 1, Dimensions("networking.retry.refusal", refusal.rawValue))
        case RedirectEvent.redirected: (.redirects, 1, Dimensions())
        case CacheEvent.evicted(let count): (.cacheEvictions, Double(count), Dimensions())
        case DeduplicationEvent.shared: (.sharedCalls, 1, Dimensions())
        case AuthenticationEvent.refreshing: (.credentialRefreshes, 1, Dimensions())
        case TimeoutEvent.expired: (.timeouts, 1, Dimensions("networking.timeout.scope", "attempt"))
        case DeadlineEvent.exceeded: (.timeouts, 1, Dimensions("networking.timeout.scope", "call"))
        default: cacheOutcome.map { (.cacheOutcomes, 1, Dimensions("networking.cache.outcome", $0)) }
        }
    }

    /// The event in the call's span: numbers and words from bounded sets, never text of a server or a caller.
    var shown: (name: String, attributes: SpanAttributes)? {
        switch self as any NetworkEvent {
        case WaitEvent.waited(let wait, let duration):
            (
                "networking.wait",
                ["networking.wait.reason": .string(wait.name), "networking.wait.duration": .double(duration.inSeconds)]
            )
        case RetryEvent.retrying(let attempt): ("networking.retry", ["error.type": .string(attempt.errorType)])
        case RetryEvent.refused(let refusal):
            ("networking.retry.refused", ["networking.retry.refusal": .string(refusal.rawValue)])
        case RedirectEvent.redirected: ("networking.redirect", [:])
        case RedirectEvent.refused(let refusal):
            ("networking.redirect.refused", ["networking.redirect.refusal": .string(refusal.rawValue)])
        case DeduplicationEvent.shared: ("networking.shared", [:])
        case AuthenticationEvent.refreshing: ("networking.credentials.refresh", [:])
        case CredentialsEvent.withheld: ("networking.credentials.withheld", [:])
        case TimeoutEvent.expired(let limit):
            ("networking.timeout", ["networking.timeout.limit": .double(limit.inSeconds)])
        case DeadlineEvent.exceeded(let limit):
            ("networking.deadline", ["networking.timeout.limit": .double(limit.inSeconds)])
        default: cacheOutcome.map { ("networking.cache", ["networking.cache.outcome": .string($0)]) }
        }
    }

    /// The cache's outcome for a call; `nil` for other events.
    private var cacheOutcome: String? {
        switch self as any NetworkEvent {
        case CacheEvent.hit(let hit): "\(hit.rawValue)"
        case CacheEvent.missed: "missed"
        case CacheEvent.bypassed: "bypassed"
        case CacheEvent.failed: "failed"
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
