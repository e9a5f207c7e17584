import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The way to handle a request, given the stored entries.
enum CacheDecision: Sendable {
    /// Return an entry; if `isStale` is `true`, also validate it in the background.
    case serve(CachedEntry, age: Double, isStale: Bool)
    /// Ask the server whether the entries are still valid; the chosen entry, if any, is the one for the response.
    case validate([CachedEntry], chosen: CachedEntry?)
    /// Send the request to the server, for a reason.
    case forward(CacheStatus.Forward)
    /// No entry is usable, and the request must not be sent.
    case unsatisfiable

    /// Whether an entry is returned.
    var isHit: Bool {
        if case .serve = self { true } else { false }
    }
}

extension CacheRules {
    /// Decides how to handle a request, given the entries that are stored for its URL.
    func decide(
        about request: HTTPRequestData,
        _ credentials: CredentialDigests,
        entries: [CachedEntry],
        mode: CacheMode,
        now: Date
    ) -> CacheDecision {
        guard mode.reads else { return .forward(.bypass) }
        let wanted = Self.directives(of: request)
        let mayNotAsk = mayNotAsk(mode, wanted)
        // Only the origin server can evaluate these conditions (RFC 9111 section 4.3.2).
        let fields = request.headerFields
        let isForOrigin = !fields.isEmpty && (fields.contains(.ifMatch) || fields.contains(.ifUnmodifiedSince))
        guard !wanted.contains(.noStore), !isForOrigin else { return mayNotAsk ? .unsatisfiable : .forward(.request) }
        // The newest of the matching entries (section 4).
        var fitting: CachedEntry?
        for entry in entries where matches(entry, request, credentials) {
            if let fitting, fitting.facts.date > entry.facts.date { continue }
            fitting = entry
        }
        guard let entry = fitting, Self.covers(entry, request), !entry.isRedirect || !request.followsRedirects else {
            if mayNotAsk { return .unsatisfiable }
            // The server may select another stored variant (section 4.3.1).
            let others = entries.filter { $0.part == nil && $0.facts.tag != nil }
            if fitting == nil, !others.isEmpty, request.headerFields[.range] == nil {
                return .validate(others, chosen: nil)
            }
            return .forward(fitting != nil ? .partial : entries.isEmpty ? .uriMiss : .varyMiss)
        }
        let age = age(of: entry, at: now)
        if mode.ignoresAge { return .serve(entry, age: age ?? 0, isStale: false) }
        if let age, case .fixed(let duration) = mode {
            let isFresh = now.timeIntervalSince(entry.responseDate) < duration / .seconds(1)
            if isFresh { return .serve(entry, age: age, isStale: false) }
        } else if let age, mode != .noCache, let isStale = isStale(entry, age: age, wanted) {
            return .serve(entry, age: age, isStale: isStale && !mayNotAsk)
        }
        if mayNotAsk { return .unsatisfiable }
        // The entry was stored against the server's directives, so only modes that override the server may use it.
        if !mode.overrulesServer, !mayBeKept(directives(of: entry)) { return .forward(.stale) }
        let variants = entries.filter { $0.id != entry.id && $0.part == nil && $0.facts.tag != nil }
        return .validate([entry] + variants, chosen: entry)
    }

    /// Whether a request with a mode and directives must not be sent (section 5.2.1.7).
    ///
    /// A mode that does not use the cache sends the request with its directives.
    func mayNotAsk(_ mode: CacheMode, _ wanted: CacheControl) -> Bool {
        mode == .onlyIfCached || mode.reads && wanted.contains(.onlyIfCached)
    }

    /// Whether an entry should be validated in the background after its use; `nil` if it must be validated before.
    ///
    /// A stale entry that the request accepts with `max-stale` is used without validation.
    private func isStale(_ entry: CachedEntry, age: Double, _ wanted: CacheControl) -> Bool? {
        let directives = directives(of: entry)
        guard mayBeKept(directives) else { return nil }
        if directives.isUnqualified(.noCache) || wanted.contains(.noCache) { return nil }
        let lifetime = lifetime(of: entry)
        // An immutable response needs no validation while it is fresh (RFC 8246).
        let isImmutable = directives.contains(.immutable) && lifetime > age
        if let limit = wanted.seconds(.maxAge), age > limit, !wanted.contains(.maxStale), !isImmutable {
            return nil
        }
        if lifetime > age {
            return lifetime - age >= wanted.seconds(.minFresh) ?? 0 ? false : nil
        }
        guard mayBeStale(directives) else { return nil }
        // Without a number, any staleness is accepted.
        if let limit = wanted.seconds(.maxStale), wanted.isUnqualified(.maxStale) || age - lifetime <= limit {
            return false
        }
        if let window = directives.seconds(.staleWhileRevalidate), age - lifetime <= window { return true }
        return nil
    }

    /// Whether a response may be stored for all requests; `false` if only a request's mode allowed it.
    private func mayBeKept(_ directives: CacheControl) -> Bool {
        !directives.contains(.noStore) || directives.contains(.mustUnderstand)
    }

    /// Whether a stale response may be used at all (section 4.2.4).
    private func mayBeStale(_ directives: CacheControl) -> Bool {
        !directives.contains(
            anyOf: isShared ? [.mustRevalidate, .noCache, .proxyRevalidate, .sMaxAge] : [.mustRevalidate, .noCache]
        )
    }

    /// Whether a stale entry may replace the response of a server that fails (RFC 5861 section 4) or cannot be reached
    /// (RFC 9111 section 4.2.4).
    func mayStandIn(_ entry: CachedEntry, for request: HTTPRequestData, unreachable: Bool, at now: Date) -> Bool {
        let directives = directives(of: entry)
        let wanted = Self.directives(of: request)
        guard mayBeStale(directives), mayBeKept(directives), !wanted.contains(.noCache), request.cacheMode != .noCache,
            let age = age(of: entry, at: now)
        else {
            return false
        }
        let windows = [directives, wanted].compactMap { $0.seconds(.staleIfError) }
        if let window = windows.max() {
            return age - lifetime(of: entry) <= window
        }
        return unreachable
    }

    /// Whether an entry contains all the bytes that a request asks for.
    static func covers(_ entry: CachedEntry, _ request: HTTPRequestData) -> Bool {
        guard let part = entry.part else { return true }
        // A range is defined for GET (RFC 9110 section 14.2) and QUERY (RFC 10008 section 2.8).
        guard request.method.isStorable else { return false }
        // A custom store may return inconsistent entries.
        guard part.range.count == entry.body.count else { return false }
        guard let range = request.byteRange, request.ifRangeHolds(for: entry.response) else { return false }
        guard let wanted = range.bounds(of: part.length) else { return false }
        return part.range.lowerBound <= wanted.lowerBound && wanted.upperBound <= part.range.upperBound
    }
}

extension CachedEntry {
    /// Whether the response is a redirect that a client can follow.
    fileprivate var isRedirect: Bool {
        [301, 302, 303, 307, 308].contains(response.status.code) && response.headerFields.contains(.location)
    }
}

extension HTTPRequestData {
    /// Whether the upstream components would follow a redirect, so that the response comes from another URL.
    fileprivate var followsRedirects: Bool {
        !isHandled(.redirects) && redirects.limit != nil
    }
}
