#if Telemetry
/// The metrics that `telemetry` records, by their labels.
///
/// Times are in seconds. Those of `http.client` are OpenTelemetry's; those of `networking.client` are this library's
/// own.
@nonexhaustive
public enum TelemetryMetric: String, Sendable, Hashable, CaseIterable {
    /// How long an exchange took.
    case requestDuration = "http.client.request.duration"
    /// How many exchanges are under way; recorded only where the options ask for it.
    case activeRequests = "http.client.active_requests"
    /// How many bytes of body an exchange sent; recorded only where the options ask for it.
    case requestBodySize = "http.client.request.body.size"
    /// How many bytes of body an exchange received; recorded only where the options ask for it.
    case responseBodySize = "http.client.response.body.size"
    /// How long a call took, with all its exchanges and waits.
    case callDuration = "networking.client.call.duration"
    /// How many exchanges a call made.
    case callAttempts = "networking.client.call.attempts"
    /// Attempts that were made again, by what was wrong with the one before.
    case retries = "networking.client.retries"
    /// Attempts that were not made again though what was wrong may pass, by why not.
    case refusedRetries = "networking.client.retries.refused"
    /// Redirects that were followed.
    case redirects = "networking.client.redirects"
    /// How long a call waited, by why; backoffs, slots, permits, credentials and shared exchanges among them.
    case waitDuration = "networking.client.wait.duration"
    /// How many calls are waiting, by why: the length of the queue.
    case waiting = "networking.client.waiting"
    /// What the cache did, by what.
    case cacheOutcomes = "networking.client.cache.outcomes"
    /// Responses that left the cache to make room.
    case cacheEvictions = "networking.client.cache.evictions"
    /// Calls that shared an exchange that another had begun.
    case sharedCalls = "networking.client.shared_calls"
    /// Calls that had credentials renewed.
    case credentialRefreshes = "networking.client.credentials.refreshes"
    /// Limits of time that ran out, by whether it was an attempt's or the call's.
    case timeouts = "networking.client.timeouts"

    /// The bounds that OpenTelemetry advises for histograms of ``requestDuration``, in seconds; for backends that can
    /// be told.
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
        case .requestDuration, .requestBodySize, .responseBodySize, .callDuration, .callAttempts, .waitDuration:
            .distribution
        case .retries, .refusedRetries, .redirects, .cacheOutcomes, .cacheEvictions, .sharedCalls,
            .credentialRefreshes, .timeouts:
            .counter
        }
    }
}
#endif
