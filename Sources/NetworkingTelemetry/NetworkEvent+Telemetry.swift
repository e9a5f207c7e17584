#if Telemetry
import Networking
import Tracing

extension NetworkEvent {
    /// Whether it says that time ran out.
    var isTimeout: Bool {
        switch self {
        case .timedOut, .deadlineExceeded: true
        default: false
        }
    }

    /// What counts it, and by what it is told apart.
    var counted: (TelemetryMetric, Double, Dimensions)? {
        switch self {
        case .retrying(let attempt): (.retries, 1, [("error.type", attempt.errorType)])
        case .retryRefused(let refusal): (.refusedRetries, 1, [("networking.retry.refusal", refusal.rawValue)])
        case .redirected: (.redirects, 1, [])
        case .cacheEvicted(let count): (.cacheEvictions, Double(count), [])
        case .shared: (.sharedCalls, 1, [])
        case .refreshingCredentials: (.credentialRefreshes, 1, [])
        case .timedOut: (.timeouts, 1, [("networking.timeout.scope", "attempt")])
        case .deadlineExceeded: (.timeouts, 1, [("networking.timeout.scope", "call")])
        default: cacheOutcome.map { (.cacheOutcomes, 1, [("networking.cache.outcome", $0)]) }
        }
    }

    /// What the call's span says of it: words from bounded sets and numbers, never what a server or a caller wrote.
    var shown: (name: String, attributes: SpanAttributes)? {
        switch self {
        case .waited(let wait, let duration):
            (
                "networking.wait",
                ["networking.wait.reason": "\(wait.rawValue)", "networking.wait.duration": .double(duration.inSeconds)]
            )
        case .retrying(let attempt): ("networking.retry", ["error.type": .string(attempt.errorType)])
        case .retryRefused(let refusal):
            ("networking.retry.refused", ["networking.retry.refusal": .string(refusal.rawValue)])
        case .redirected: ("networking.redirect", [:])
        case .redirectRefused(let refusal):
            ("networking.redirect.refused", ["networking.redirect.refusal": .string(refusal.rawValue)])
        case .shared: ("networking.shared", [:])
        case .refreshingCredentials: ("networking.credentials.refresh", [:])
        case .credentialsWithheld: ("networking.credentials.withheld", [:])
        case .timedOut(let limit): ("networking.timeout", ["networking.timeout.limit": .double(limit.inSeconds)])
        case .deadlineExceeded(let limit):
            ("networking.deadline", ["networking.timeout.limit": .double(limit.inSeconds)])
        default: cacheOutcome.map { ("networking.cache", ["networking.cache.outcome": .string($0)]) }
        }
    }

    /// What the cache did for a call; nil for what is no answer to it.
    private var cacheOutcome: String? {
        switch self {
        case .cacheHit(let hit): "\(hit.rawValue)"
        case .cacheMissed: "missed"
        case .cacheBypassed: "bypassed"
        case .cacheFailed: "failed"
        default: nil
        }
    }
}

extension Attempt {
    /// What was wrong with it.
    fileprivate var errorType: String {
        error?.telemetryType ?? response.map { "\($0.status.code)" } ?? "_OTHER"
    }
}
#endif
