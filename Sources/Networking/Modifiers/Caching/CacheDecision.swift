import HTTPTypes

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
    /// Ask the server.
    case forward
    /// Nothing is there, and nobody may be asked.
    case unsatisfiable
}

extension CacheRules {
    /// What to do with a request, given what is stored for its URL.
    func decide(about request: HTTPRequestData, entries: [CachedEntry], mode: CacheMode, now: Date) -> CacheDecision {
        let wanted = Self.directives(of: request)
        // Whether something is still as it was only its server knows (RFC 9111 section 4.3.2).
        let isForOrigin = request.headerFields.contains(.ifMatch) || request.headerFields.contains(.ifUnmodifiedSince)
        guard mode.reads, !wanted.contains("no-store"), !isForOrigin else { return .forward }
        let mayNotAsk = mode == .onlyIfCached || wanted.contains("only-if-cached")
        // The newest of those that fit (section 4).
        let fitting = entries.filter { Self.matches($0, request) }
            .max { $0.response.dateOrArrival($0) < $1.response.dateOrArrival($1) }
        guard let entry = fitting, Self.covers(entry, request) else {
            if mayNotAsk { return .unsatisfiable }
            // Another variant may be what the server would send (section 4.3.1).
            let others = entries.filter { $0.part == nil && $0.response.headerFields.contains(.eTag) }
            return fitting == nil && !others.isEmpty && request.headerFields[.range] == nil
                ? .validate(others, chosen: nil) : .forward
        }
        let age = age(of: entry, at: now)
        if mode.ignoresAge { return .serve(entry, age: age ?? 0, isStale: false) }
        if let age, case .fixed(let duration) = mode {
            let isFresh = now.timeIntervalSince(entry.responseDate) < duration / .seconds(1)
            if isFresh { return .serve(entry, age: age, isStale: false) }
        }
        if let age, mode != .noCache, let isStale = isStale(entry, age: age, wanted) {
            return .serve(entry, age: age, isStale: isStale)
        }
        if mayNotAsk { return .unsatisfiable }
        let variants = entries.filter {
            $0.id != entry.id && $0.part == nil && $0.response.headerFields.contains(.eTag)
        }
        return .validate([entry] + variants, chosen: entry)
    }

    /// Whether an entry that may be used without asking is stale; nil when it may not.
    private func isStale(_ entry: CachedEntry, age: Double, _ wanted: CacheControl) -> Bool? {
        let directives = directives(of: entry.response)
        if directives.isUnqualified("no-cache") || wanted.contains("no-cache") { return nil }
        let lifetime = lifetime(of: entry.response, at: entry.responseDate)
        // What never changes while it is fresh need not be asked for again (RFC 8246).
        let isImmutable = directives.contains("immutable") && lifetime > age
        if let limit = wanted.seconds("max-age"), age > limit, !wanted.contains("max-stale"), !isImmutable {
            return nil
        }
        if lifetime > age {
            return lifetime - age >= wanted.seconds("min-fresh") ?? 0 ? false : nil
        }
        guard mayBeStale(directives) else { return nil }
        if wanted.contains("max-stale") {
            // Without a number, any staleness will do.
            if wanted.isUnqualified("max-stale") || age - lifetime <= wanted.seconds("max-stale") ?? 0 { return false }
        }
        if let window = directives.seconds("stale-while-revalidate"), age - lifetime <= window { return true }
        return nil
    }

    /// Whether a stale response may be used at all (section 4.2.4).
    private func mayBeStale(_ directives: CacheControl) -> Bool {
        let forbidding = ["must-revalidate", "no-cache"] + (isShared ? ["proxy-revalidate", "s-maxage"] : [])
        return !forbidding.contains { directives.contains($0) }
    }

    /// Whether a stale entry may stand in for a server that fails (RFC 5861 section 4) or cannot be reached (RFC 9111
    /// section 4.2.4).
    func mayStandIn(_ entry: CachedEntry, for request: HTTPRequestData, unreachable: Bool, at now: Date) -> Bool {
        let directives = directives(of: entry.response)
        let wanted = Self.directives(of: request)
        guard mayBeStale(directives), !wanted.contains("no-cache"), let age = age(of: entry, at: now) else {
            return false
        }
        let windows = [directives, wanted].compactMap { $0.seconds("stale-if-error") }
        if let window = windows.max() {
            return age - lifetime(of: entry.response, at: entry.responseDate) <= window
        }
        return unreachable
    }

    /// Whether an entry has all that a request wants.
    static func covers(_ entry: CachedEntry, _ request: HTTPRequestData) -> Bool {
        guard let part = entry.part else { return true }
        guard let range = request.byteRange, request.ifRangeHolds(for: entry.response) else { return false }
        guard let wanted = range.bounds(of: part.length) else { return false }
        return part.range.lowerBound <= wanted.lowerBound && wanted.upperBound <= part.range.upperBound
    }
}

extension HTTPResponse {
    func dateOrArrival(_ entry: CachedEntry) -> Date {
        date(.date, at: entry.responseDate) ?? entry.responseDate
    }
}

// MARK: - Ranges and conditions

/// A single range of bytes that a request wants (RFC 9110 section 14.1.2).
enum ByteRange: Sendable, Equatable {
    case from(Int, through: Int?)
    case last(Int)

    init?(_ field: String) {
        let parts = field.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, parts[0].trimmed.lowercased() == "bytes", !parts[1].contains(",") else { return nil }
        let bounds = parts[1].trimmed.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return nil }
        switch (Int(bounds[0]), Int(bounds[1])) {
        case (let first?, let last?) where first >= 0 && last >= first && last < .max:
            self = .from(first, through: last)
        case (let first?, nil) where bounds[1].isEmpty && first >= 0: self = .from(first, through: nil)
        case (nil, let count?) where bounds[0].isEmpty && count > 0: self = .last(count)
        default: return nil
        }
    }

    /// Its bytes in a representation of a length; nil where that is not known and matters, or there are none.
    func bounds(of length: Int?) -> Range<Int>? {
        switch self {
        case .from(let first, through: let last?):
            let end = min(last + 1, length ?? .max)
            return first < end ? first..<end : nil
        case .from(let first, through: nil):
            guard let length, first < length else { return nil }
            return first..<length
        case .last(let count):
            guard let length, length > 0 else { return nil }
            return max(0, length - count)..<length
        }
    }
}

extension HTTPRequestData {
    /// The one range that it wants; nil for all, and for what cannot be read.
    var byteRange: ByteRange? {
        headerFields[.range].flatMap { ByteRange($0) }
    }

    /// Whether a range of a stored response is what it wants (RFC 9110 section 13.1.5).
    func ifRangeHolds(for response: HTTPResponse) -> Bool {
        guard let condition = headerFields[.ifRange] else { return true }
        if condition.hasPrefix("\"") { return response.headerFields[.eTag] == condition }
        return response.headerFields[.lastModified] == condition
    }

    var isConditional: Bool {
        [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince]
            .contains {
                headerFields.contains($0)
            }
    }

    /// Whether the caller has what is stored, so that a 304 says all (RFC 9110 section 13.2.2).
    func alreadyHas(_ entry: CachedEntry) -> Bool {
        let tags = headerFields[values: .ifNoneMatch].flatMap { $0.entityTags }
        if !tags.isEmpty {
            guard let tag = entry.response.headerFields[.eTag] else { return tags.contains("*") }
            return tags.contains("*") || tags.contains { $0.isWeaklyEqual(to: tag) }
        }
        guard let since = headerFields[.ifModifiedSince].flatMap({ Date(httpDate: $0, now: entry.responseDate) }) else {
            return false
        }
        let modified =
            entry.response.date(.lastModified, at: entry.responseDate)
            ?? entry.response.date(.date, at: entry.responseDate)
        return modified.map { $0 <= since } ?? false
    }
}

extension String {
    /// The entity tags of a list; they may hold commas.
    var entityTags: [String] {
        var tags: [String] = []
        var rest = self[...].trimmed
        while !rest.isEmpty {
            if rest.hasPrefix("*") { return ["*"] }
            let isWeak = rest.hasPrefix("W/")
            let opaque = isWeak ? rest.dropFirst(2) : rest
            guard opaque.hasPrefix("\""), let end = opaque.dropFirst().firstIndex(of: "\"") else {
                // One without quotes, up to the next comma.
                let piece = rest.prefix { $0 != "," }
                if !piece.trimmed.isEmpty { tags.append(String(piece.trimmed)) }
                rest = rest.dropFirst(piece.count + 1).trimmed
                continue
            }
            tags.append((isWeak ? "W/" : "") + opaque[...end])
            rest = opaque[opaque.index(after: end)...].drop { $0 == "," || $0 == " " || $0 == "\t" }
        }
        return tags
    }

    /// RFC 9110 section 8.8.3.2.
    func isWeaklyEqual(to other: String) -> Bool {
        func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
        return opaque(self) == opaque(other)
    }
}
