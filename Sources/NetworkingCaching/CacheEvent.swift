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

    /// The record, without secrets.
    ///
    /// The result of the cache has a mark.
    public var record: EventRecord {
        switch self {
        case .hit(let hit):
            EventRecord(
                "cacheHit",
                "\(hit)",
                mark: .cacheHit(hit),
                attributes: ["networking.cache.outcome": .word(hit.rawValue)]
            ) { _ in "served from the cache (\(hit))" }
        case .missed: EventRecord("cacheMissed", mark: .cacheMiss) { _ in nil }
        case .stored: .unmarked("cacheStored")
        case .evicted(let count):
            EventRecord(
                "cacheEvicted",
                "count: \(count)",
                mark: nil,
                attributes: ["networking.cache.evicted": .number(Double(count))]
            ) { _ in nil }
        case .revalidated: .unmarked("cacheRevalidated")
        case .bypassed(let reason):
            EventRecord("cacheBypassed", "\(reason)", mark: .cacheBypass(reason)) { _ in "not cached (\(reason))" }
        case .failed(let error):
            EventRecord("cacheFailed", "\(type(of: error))", mark: nil, attributes: [:]) { _ in
                "the cache failed (\(type(of: error)))"
            }
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
