import NetworkingCore

/// The counts of a call, available without reading its log.
struct CallTally: Sendable, Hashable {
    var attempts = 0
    var retries = 0
    var redirects = 0
    var refreshes = 0
    var shared = 0
    var sentBytes: Int64 = 0
    var receivedBytes: Int64 = 0
    /// The last result of the cache; after a miss, a later attempt may be a hit.
    var cache: CallMetrics.Mark?
    /// The number of results of the cache.
    var cacheWords = 0

    mutating func add(_ change: CallLog.Change) {
        switch change {
        case .attemptStarted: attempts += 1
        case .attemptEnded(let traffic):
            sentBytes += traffic.sent
            receivedBytes += traffic.received
        case .mark(let mark): add(mark)
        default: break
        }
    }

    private mutating func add(_ mark: CallMetrics.Mark) {
        switch mark.kind {
        case .cacheHit, .cacheMiss, .cacheBypass:
            cache = mark
            cacheWords += 1
        case .shared: shared += 1
        case .retry: retries += 1
        case .redirect: redirects += 1
        case .refresh: refreshes += 1
        default: break
        }
    }

    static func += (tally: inout CallTally, other: CallTally) {
        tally.attempts += other.attempts
        tally.retries += other.retries
        tally.redirects += other.redirects
        tally.refreshes += other.refreshes
        tally.shared += other.shared
        tally.sentBytes += other.sentBytes
        tally.receivedBytes += other.receivedBytes
        tally.cache = other.cache ?? tally.cache
        tally.cacheWords += other.cacheWords
    }

    static func - (tally: CallTally, earlier: CallTally) -> CallTally {
        var rest = tally
        rest.attempts -= earlier.attempts
        rest.retries -= earlier.retries
        rest.redirects -= earlier.redirects
        rest.refreshes -= earlier.refreshes
        rest.shared -= earlier.shared
        rest.sentBytes -= earlier.sentBytes
        rest.receivedBytes -= earlier.receivedBytes
        rest.cacheWords -= earlier.cacheWords
        // The earlier result belongs to a downstream cache, or to another attempt.
        if rest.cacheWords == 0 { rest.cache = nil }
        return rest
    }
}
