import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What to do with a request, given what is stored.
enum CacheDecision: Sendable {
    /// Answer with an entry, and validate it afterwards if it is stale.
    case serve(CachedEntry, age: Double, isStale: Bool)
    /// Ask the server whether the entries still hold; the chosen one, if there is one, is what would be used.
    case validate([CachedEntry], chosen: CachedEntry?)
    /// Ask the server, for a reason.
    case forward(CacheStatus.Forward)
    /// Nothing is there, and nobody may be asked.
    case unsatisfiable
}

extension CacheRules {
    /// What to do with a request, given what is stored for its URL.
    func decide(
        about request: HTTPRequestData,
        _ credentials: CredentialDigests,
        entries: [CachedEntry],
        mode: CacheMode,
        now: Date
    ) -> CacheDecision {
        guard mode.reads else { return .forward(.bypass) }
        let wanted = Self.directives(of: request)
        let mayNotAsk = mode == .onlyIfCached || wanted.contains(.onlyIfCached)
        // Whether something is still as it was only its server knows (RFC 9111 section 4.3.2).
        let fields = request.headerFields
        let isForOrigin = !fields.isEmpty && (fields.contains(.ifMatch) || fields.contains(.ifUnmodifiedSince))
        guard !wanted.contains(.noStore), !isForOrigin else { return mayNotAsk ? .unsatisfiable : .forward(.request) }
        // The newest of those that fit (section 4).
        var fitting: CachedEntry?
        for entry in entries where matches(entry, request, credentials) {
            if let fitting, fitting.facts.date > entry.facts.date { continue }
            fitting = entry
        }
        guard let entry = fitting, Self.covers(entry, request), !entry.isRedirect || !request.followsRedirects else {
            if mayNotAsk { return .unsatisfiable }
            // Another variant may be what the server would send (section 4.3.1).
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
        // Kept for who overrules the server, and for nobody else.
        if !mode.overrulesServer, !mayBeKept(directives(of: entry)) { return .forward(.stale) }
        let variants = entries.filter { $0.id != entry.id && $0.part == nil && $0.facts.tag != nil }
        return .validate([entry] + variants, chosen: entry)
    }

    /// Whether an entry that may be used without asking is stale; nil when it may not.
    private func isStale(_ entry: CachedEntry, age: Double, _ wanted: CacheControl) -> Bool? {
        let directives = directives(of: entry)
        guard mayBeKept(directives) else { return nil }
        if directives.isUnqualified(.noCache) || wanted.contains(.noCache) { return nil }
        let lifetime = lifetime(of: entry)
        // What never changes while it is fresh need not be asked for again (RFC 8246).
        let isImmutable = directives.contains(.immutable) && lifetime > age
        if let limit = wanted.seconds(.maxAge), age > limit, !wanted.contains(.maxStale), !isImmutable {
            return nil
        }
        if lifetime > age {
            return lifetime - age >= wanted.seconds(.minFresh) ?? 0 ? false : nil
        }
        guard mayBeStale(directives) else { return nil }
        if wanted.contains(.maxStale) {
            // Without a number, any staleness will do.
            if wanted.isUnqualified(.maxStale) || age - lifetime <= wanted.seconds(.maxStale) ?? 0 { return false }
        }
        if let window = directives.seconds(.staleWhileRevalidate), age - lifetime <= window { return true }
        return nil
    }

    /// Whether a response may be kept for everybody; those that a request's mode has kept may not.
    private func mayBeKept(_ directives: CacheControl) -> Bool {
        !directives.contains(.noStore) || directives.contains(.mustUnderstand)
    }

    /// Whether a stale response may be used at all (section 4.2.4).
    private func mayBeStale(_ directives: CacheControl) -> Bool {
        !directives.contains(
            anyOf: isShared ? [.mustRevalidate, .noCache, .proxyRevalidate, .sMaxAge] : [.mustRevalidate, .noCache]
        )
    }

    /// Whether a stale entry may stand in for a server that fails (RFC 5861 section 4) or cannot be reached (RFC 9111
    /// section 4.2.4).
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

    /// Whether an entry has all that a request wants.
    static func covers(_ entry: CachedEntry, _ request: HTTPRequestData) -> Bool {
        guard let part = entry.part else { return true }
        // A store of somebody's own may have mixed them up.
        guard part.range.count == entry.body.count else { return false }
        guard let range = request.byteRange, request.ifRangeHolds(for: entry.response) else { return false }
        guard let wanted = range.bounds(of: part.length) else { return false }
        return part.range.lowerBound <= wanted.lowerBound && wanted.upperBound <= part.range.upperBound
    }
}

extension CachedEntry {
    /// Whether it sends elsewhere who follows redirects.
    fileprivate var isRedirect: Bool {
        [301, 302, 303, 307, 308].contains(response.status.code) && response.headerFields.contains(.location)
    }
}

extension HTTPRequestData {
    /// Whether what lies upstream would follow a redirect, so that the response is another's.
    fileprivate var followsRedirects: Bool {
        !state.contains(.hasRedirectsFollowed) && redirects.limit != nil
    }
}
