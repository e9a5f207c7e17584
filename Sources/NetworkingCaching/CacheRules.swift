import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What HTTP says of storing and reusing a response (RFC 9111, 5861, 8246, 9213): no state, no I/O, no clock of its
/// own.
struct CacheRules: Sendable, Hashable {
    /// Whether it serves many users, as a proxy does.
    var isShared = false

    // MARK: Directives

    /// The directives that count for a response: those for this kind of cache, where there are such (RFC 9213).
    func directives(of response: HTTPResponse) -> CacheControl {
        if isShared {
            if let targeted = CacheControl(structured: response.headerFields[values: .cdnCacheControl]) {
                return targeted
            }
        }
        return CacheControl(response.headerFields[values: .cacheControl])
    }

    /// The directives that count for an entry.
    func directives(of entry: CachedEntry) -> CacheControl {
        isShared ? entry.facts.targeted ?? entry.facts.directives : entry.facts.directives
    }

    /// The directives of a request.
    static func directives(of request: HTTPRequestData) -> CacheControl {
        CacheControl(request.headerFields[values: .cacheControl])
    }

    // MARK: Storing

    /// Why a response is not stored; nil when it is (section 3).
    func refusal(toStore response: HTTPResponse, of request: HTTPRequestData) -> CacheBypass? {
        guard request.method == .get else { return .method }
        let directives = directives(of: response)
        if let refusal = absoluteRefusal(toStore: response, directives, of: request) { return refusal }
        if case .fixed = request.cacheMode, response.status.kind == .successful, response.status.code != 206 {
            return nil
        }
        let code = response.status.code
        // 304 updates what is there, and 206 needs to say what part it is.
        guard 200..<600 ~= code, code != 304 else { return .status }
        if directives.contains(.noStore), !(directives.contains(.mustUnderstand) && Self.understood.contains(code)) {
            return .response
        }
        if directives.contains(.mustUnderstand), !Self.understood.contains(code) { return .response }
        if code == 206, Self.part(of: response) == nil { return .status }
        let isExplicit =
            saysHowLong(response) || directives.contains(.public) || !isShared && directives.contains(.private)
        let mayBeValidated =
            response.headerFields.contains(.eTag) || response.headerFields.contains(.lastModified)
        guard isExplicit || Self.heuristic.contains(code) else { return .status }
        // Nothing says how long, and nothing could be asked: it would never be used.
        guard isExplicit || mayBeValidated || directives.contains(.noCache) || code == 206 || code == 200 else {
            return .status
        }
        return nil
    }

    /// Why a response is not stored whatever the request's mode says: it would be returned to another user.
    private func absoluteRefusal(
        toStore response: HTTPResponse,
        _ directives: CacheControl,
        of request: HTTPRequestData
    ) -> CacheBypass? {
        if Self.directives(of: request).contains(.noStore) { return .request }
        if isShared {
            if directives.isUnqualified(.private) { return .response }
            // What section 3.5 says of Authorization holds for each credential: the response may be its owner's alone.
            let isAllowed = directives.contains(anyOf: [.public, .mustRevalidate, .sMaxAge])
            if CredentialDigests.areNeeded(for: request), !isAllowed { return .response }
            // A cookie is for one user, and so may be the page that sets it (section 7.3).
            let isForAll = directives.contains(anyOf: [.public, .sMaxAge])
            if !isForAll, stored(response).headerFields.contains(.setCookie) { return .response }
        }
        return CacheFacts.vary(of: response) == nil ? .vary : nil
    }

    /// Whether a response says for how long it may be used.
    func saysHowLong(_ response: HTTPResponse) -> Bool {
        let directives = directives(of: response)
        return directives.contains(.maxAge) || isShared && directives.contains(.sMaxAge)
            || response.headerFields.contains(.expires)
    }

    /// RFC 9110 section 15.1.
    static let heuristic: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
    /// The statuses whose caching this library knows.
    private static let understood: Set<Int> = heuristic.union([302, 303, 307, 400, 401, 403, 500, 502, 503, 504])

    /// The fields of a response that are stored: not those about its connection (section 3.1), nor in a shared cache
    /// those for one user alone (section 5.2.2.7).
    func stored(_ response: HTTPResponse) -> HTTPResponse {
        var names = Self.connectionFields(of: response)
        if isShared {
            names.formUnion(directives(of: response).fieldNames(.private))
        }
        var stored = response
        stored.headerFields = HTTPFields(response.headerFields.filter { !names.contains($0.name.canonicalName) })
        return stored
    }

    static func connectionFields(of response: HTTPResponse) -> Set<String> {
        var names: Set<String> = [
            "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
            "proxy-authentication-info", "proxy-authorization",
        ]
        for value in response.headerFields[values: .connection] {
            names.formUnion(value.split(separator: ",").map { $0.trimmed.lowercased() })
        }
        return names
    }

    /// The part that a 206 says it brings.
    static func part(of response: HTTPResponse) -> CachedEntry.Part? {
        guard let content = response.contentRange, let first = Int(exactly: content.range.lowerBound),
            let end = Int(exactly: content.range.upperBound)
        else { return nil }
        return CachedEntry.Part(range: first..<end, length: content.length.flatMap { Int(exactly: $0) })
    }

    /// What of a representation so many bytes of a response are; nil where the server has counted wrongly.
    static func part(of response: HTTPResponse, with count: Int, for request: HTTPRequestData) -> CachedEntry.Part? {
        guard var part = part(of: response) else {
            // A coding that the transport has decoded makes a body longer, or shorter.
            let length = response.headerFields[.contentEncoding] == nil ? response.headerFields[.contentLength] : nil
            guard (length.flatMap { Int($0) } ?? 0) <= count else { return nil }
            return CachedEntry.Part(range: 0..<count, length: count)
        }
        if let length = part.length, part.range.count != count,
            let wanted = request.byteRange?.bounds(of: length), wanted.count == count
        {
            // What was asked for, whatever it says.
            part.range = wanted
        }
        return part.range.count == count ? part : nil
    }

    // MARK: Age and freshness

    /// How old an entry is, in seconds (section 4.2.3); nil when the clock says that it has not come yet.
    func age(of entry: CachedEntry, at now: Date) -> Double? {
        let resident = now.timeIntervalSince(entry.responseDate)
        return resident >= 0 ? entry.facts.initialAge + resident : nil
    }

    /// For how long an entry is fresh, in seconds (section 4.2.1).
    func lifetime(of entry: CachedEntry) -> Double {
        isShared ? entry.facts.sharedLifetime : entry.facts.lifetime
    }

    // MARK: Choosing

    /// Whether an entry was chosen by header fields that a request has too (section 4.1).
    func matches(_ entry: CachedEntry, _ request: HTTPRequestData, _ credentials: CredentialDigests) -> Bool {
        // An entry with a Vary that cannot be read matches no request.
        guard let vary = entry.facts.vary else { return false }
        if vary.isEmpty, isShared || credentials.isEmpty { return entry.varying.isEmpty }
        return entry.varying == varying(vary, request, credentials)
    }

    /// The header fields of a request by which a response is chosen.
    func varying(
        _ response: HTTPResponse,
        _ request: HTTPRequestData,
        _ credentials: CredentialDigests
    ) -> [String: String] {
        varying(CacheFacts.vary(of: response) ?? [], request, credentials)
    }

    /// The fields that Vary names, and in a private cache all credentials.
    ///
    /// A cookie or an API key tells whose response it is, whether Vary names it or not. No credential is kept, only its
    /// digest.
    private func varying(
        _ names: [CacheFacts.Vary],
        _ request: HTTPRequestData,
        _ credentials: CredentialDigests
    ) -> [String: String] {
        var fields = isShared ? [:] : credentials.byName
        for vary in names {
            if let digest = credentials.byName[vary.name] {
                fields[vary.name] = digest
                continue
            }
            let values = request.headerFields[values: vary.field]
            guard !values.isEmpty else { continue }
            fields[vary.name] = Self.normalized(values, vary.name)
        }
        return fields
    }

    /// Whether an entry was fetched with the same credentials as a request has, so that what the server says of the
    /// entry holds for the request.
    func isForTheSameUser(_ entry: CachedEntry, _ credentials: CredentialDigests) -> Bool {
        guard !isShared, !(entry.varying.isEmpty && credentials.isEmpty) else { return true }
        return CredentialDigests.digests(in: entry.varying) == credentials.byName
    }

    /// An id that entries have in common when they answer the same requests, so that the last takes the place of the
    /// others.
    ///
    /// Where two variants got the same, one would replace the other, and neither would answer for it.
    static func id(of varying: [String: String]) -> UUID {
        var digest = StableDigest()
        for (name, value) in varying.sorted(by: { $0.key < $1.key }) {
            digest.add(name)
            digest.add(value)
        }
        let numbers = [digest.numbers.0, digest.numbers.1]
        return numbers.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// A field's value without what makes no difference: blanks around commas, and for languages and codings case and
    /// order.
    private static func normalized(_ values: [String], _ name: String) -> String {
        var items = values.flatMap { $0.split(separator: ",") }.map { String($0.trimmed) }
        if ["accept", "accept-language", "accept-encoding", "accept-charset"].contains(name) {
            items = items.map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
            // Without weights, the order says nothing (RFC 9110 section 12.4.2).
            if !items.contains(where: { $0.contains(";") }) {
                items.sort()
            }
        }
        return items.joined(separator: ", ")
    }
}

extension Date {
    /// Reads a date that is written exactly as HTTP says, except for its case.
    ///
    /// Returns `nil` for every other date, which then counts as long past, because it limits how long a response is
    /// used.
    init?(strictHTTPDate text: String, now: Date) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        let time = words.first { $0.contains(":") } ?? ""
        guard time.utf8.count == 8 else { return nil }
        let isGMT = words.last?.lowercased() == "gmt"
        switch words.count {
        // Sun, 06 Nov 1994 08:49:37 GMT
        case 6 where isGMT && words[0].hasSuffix(",") && words[1].utf8.count == 2 && words[3].utf8.count == 4: break
        // Sunday, 06-Nov-94 08:49:37 GMT
        case 4 where isGMT && words[0].hasSuffix("day,") && words[1].utf8.count == 9: break
        // Sun Nov  6 08:49:37 1994, with two blanks before a single digit
        case 6 where words[2].isEmpty && words[3].utf8.count == 1: break
        case 5 where words[2].utf8.count == 2 && words[4].utf8.count == 4: break
        default: return nil
        }
        self.init(httpDate: isGMT ? text.dropLast(3) + "GMT" : text, now: now)
    }
}
