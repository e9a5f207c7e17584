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

    /// The result of the cache; `nil` for other events.
    public var mark: EventMark? {
        switch self {
        case .hit(let hit): .cacheHit(hit)
        case .missed: .cacheMiss
        case .bypassed(let reason): .cacheBypass(reason)
        case .stored, .evicted, .revalidated, .failed: nil
        }
    }

    /// Returns a message for a hit, a bypass or a failure; `nil` for other events.
    public func logMessage(redactedBy redaction: Redaction) -> String? {
        switch self {
        case .hit(let hit): "served from the cache (\(hit))"
        case .bypassed(let reason): "not cached (\(reason))"
        case .failed(let error): "the cache failed (\(type(of: error)))"
        case .missed, .stored, .evicted, .revalidated: nil
        }
    }

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

extension EventMark {
    /// Returns the mark of a response from the cache.
    ///
    /// - Parameter hit: The kind of the response.
    /// - Returns: A mark of kind ``EventMark/Kind/cacheHit``.
    public static func cacheHit(_ hit: CacheHit) -> EventMark {
        EventMark(.cacheHit, detail: hit.rawValue)
    }

    /// Returns the mark of a request that bypassed the cache.
    ///
    /// - Parameter reason: The reason.
    /// - Returns: A mark of kind ``EventMark/Kind/cacheBypass``.
    public static func cacheBypass(_ reason: CacheBypass) -> EventMark {
        EventMark(.cacheBypass, detail: reason.rawValue)
    }

    /// The kind of the response from the cache; `nil` for another mark, or a detail of another cache.
    public var cacheHit: CacheHit? {
        kind == .cacheHit ? detail.flatMap { CacheHit(rawValue: $0) } : nil
    }

    /// The reason why the request bypassed the cache; `nil` for another mark, or a detail of another cache.
    public var cacheBypass: CacheBypass? {
        kind == .cacheBypass ? detail.flatMap { CacheBypass(rawValue: $0) } : nil
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
