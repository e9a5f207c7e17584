public import NetworkingCore

/// An action of `cached` for a request or its response.
@nonexhaustive
public enum CacheEvent: NetworkEvent {
    /// The response comes from the cache.
    case hit(CacheHit)
    /// The cache has no response that fits the request.
    case missed
    /// The cache has stored a response.
    case stored
    /// The cache has removed this number of other responses to make room.
    case evicted(count: Int)
    /// The server has confirmed a stored response.
    case revalidated
    /// The cache does not serve the request, or does not store its response.
    case bypassed(CacheBypass)
    /// The cache's store failed, and the request continues without it.
    case failed(any Error)

    /// The event without secrets: `cacheHit(fresh)`.
    public var description: String {
        switch self {
        case .hit(let hit): "cacheHit(\(hit))"
        case .missed: "cacheMissed"
        case .stored: "cacheStored"
        case .evicted(let count): "cacheEvicted(count: \(count))"
        case .revalidated: "cacheRevalidated"
        case .bypassed(let reason): "cacheBypassed(\(reason))"
        case .failed(let error): "cacheFailed(\(type(of: error)))"
        }
    }
}

/// The kind of a response from the cache.
@nonexhaustive
public enum CacheHit: String, Sendable, Hashable {
    /// A fresh response, or a stale one that the request accepts without validation.
    case fresh
    /// A stale response, which the cache validates in the background.
    case stale
    /// A stored response, because the server failed or could not be reached.
    case standIn
    /// A response that the server has confirmed.
    case revalidated
    /// A response of any age for a request that may not be sent, for example while there is no network.
    case offline
}
