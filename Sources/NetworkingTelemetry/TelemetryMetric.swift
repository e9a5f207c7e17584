#if Telemetry
/// The metrics that `telemetry` records, by their labels.
///
/// Times are in seconds. Metrics in `http.client` are defined by OpenTelemetry, those in `networking.client` by this
/// library.
@nonexhaustive
public enum TelemetryMetric: String, Sendable, Hashable, CaseIterable {
    /// The duration of an exchange.
    case requestDuration = "http.client.request.duration"
    /// The number of exchanges in flight; recorded only if the options request it.
    case activeRequests = "http.client.active_requests"
    /// The number of body bytes that an exchange sent; recorded only if the options request it.
    case requestBodySize = "http.client.request.body.size"
    /// The number of body bytes that an exchange received; recorded only if the options request it.
    case responseBodySize = "http.client.response.body.size"
    /// The duration of a call, with all its exchanges and waits.
    case callDuration = "networking.client.call.duration"
    /// The number of exchanges of a call.
    case callAttempts = "networking.client.call.attempts"
    /// The number of retries, by the failure of the previous attempt.
    case retries = "networking.client.retries"
    /// The number of transient failures that were not retried, by reason.
    case refusedRetries = "networking.client.retries.refused"
    /// The number of redirects that were followed.
    case redirects = "networking.client.redirects"
    /// The time that a call waited, by reason, such as backoff, permits, credentials and shared exchanges.
    case waitDuration = "networking.client.wait.duration"
    /// The number of waiting calls, by reason: the length of the queue.
    case waiting = "networking.client.waiting"
    /// The number of cache lookups, by outcome.
    case cacheOutcomes = "networking.client.cache.outcomes"
    /// The number of responses that the cache evicted.
    case cacheEvictions = "networking.client.cache.evictions"
    /// The number of calls that shared an exchange started by another call.
    case sharedCalls = "networking.client.shared_calls"
    /// The number of calls that caused credentials to be renewed.
    case credentialRefreshes = "networking.client.credentials.refreshes"
    /// The number of expired time limits, by scope: an attempt or the call.
    case timeouts = "networking.client.timeouts"
    /// The number of times that a part of the stack did not send a request, by reason, such as an open circuit.
    case rejections = "networking.client.rejections"
    /// The number of changes of circuits, by the new state.
    case circuitChanges = "networking.client.circuit.changes"
    /// The new values of the limit of `adaptiveLimit`, by server.
    case concurrencyLimit = "networking.client.concurrency.limit"
    /// The number of responses that exhausted a limit of a server or reduced the rate to it, and of requests that were
    /// sent at the local share of a limit.
    case serverLimits = "networking.client.server_limits"
    /// The number of changes of the endpoints in service, by change: an ejection, a return, or a panic.
    case endpointChanges = "networking.client.endpoint.changes"
    /// The number of extra attempts that `hedged` sent.
    case hedges = "networking.client.hedges"
    /// The number of extra attempts whose response was the response of the call.
    case wonHedges = "networking.client.hedges.won"
    /// The number of extra attempts that were due and not made, by reason.
    case refusedHedges = "networking.client.hedges.refused"
    /// The number of failures that `fallback` replaced by another response, or could not replace, by outcome.
    case fallbacks = "networking.client.fallbacks"

    /// The histogram bounds that OpenTelemetry recommends for ``requestDuration``, in seconds; for backends with
    /// configurable bounds.
    public static let durationBuckets: [Double] = [
        0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
    ]

    enum Kind {
        case counter
        case level
        case distribution
    }

    var kind: Kind {
        switch self {
        case .activeRequests, .waiting: .level
        case .requestDuration, .requestBodySize, .responseBodySize, .callDuration, .callAttempts, .waitDuration,
            .concurrencyLimit:
            .distribution
        case .retries, .refusedRetries, .redirects, .cacheOutcomes, .cacheEvictions, .sharedCalls,
            .credentialRefreshes, .timeouts, .rejections, .circuitChanges, .serverLimits, .endpointChanges, .hedges,
            .wonHedges, .refusedHedges, .fallbacks:
            .counter
        }
    }
}
#endif
