import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The rules of HTTP for storing and reusing responses (RFC 9111, 5861, 8246, 9213), without state, I/O or a clock.
struct CacheRules: Sendable, Hashable {
    /// Whether the cache serves many users, as a proxy does.
    var isShared = false

    // MARK: Directives

    /// The directives that apply to a response: those targeted at this kind of cache, if there are any (RFC 9213).
    func directives(of response: HTTPResponse) -> CacheControl {
        if isShared {
            if let targeted = CacheControl(structured: response.headerFields[values: .cdnCacheControl]) {
                return targeted
            }
        }
        return CacheControl(response.headerFields[values: .cacheControl])
    }

    /// The directives that apply to an entry.
    func directives(of entry: CachedEntry) -> CacheControl {
        isShared ? entry.facts.targeted ?? entry.facts.directives : entry.facts.directives
    }

    /// The directives of a request.
    static func directives(of request: HTTPRequestData) -> CacheControl {
        CacheControl(request.headerFields[values: .cacheControl])
    }

    // MARK: Storing

    /// Returns the reason why a response is not stored; `nil` if it can be stored (section 3).
    func refusal(toStore response: HTTPResponse, of request: HTTPRequestData) -> CacheBypass? {
        guard request.method.isStorable else { return .method }
        guard response.headerFields.count <= Self.maximumFields else { return .size }
        let directives = directives(of: response)
        if let refusal = absoluteRefusal(toStore: response, directives, of: request) { return refusal }
        if case .fixed = request.cacheMode, response.status.kind == .successful, response.status.code != 206 {
            return nil
        }
        let code = response.status.code
        // A 304 updates a stored entry, and a 206 must state its range.
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
        // Such a response has no lifetime and cannot be validated, so it would never be used.
        guard isExplicit || mayBeValidated || directives.contains(.noCache) || code == 206 || code == 200 else {
            return .status
        }
        return nil
    }

    /// Returns the reason why no mode may store a response, such as the risk that another user gets it; `nil` if there
    /// is none.
    private func absoluteRefusal(
        toStore response: HTTPResponse,
        _ directives: CacheControl,
        of request: HTTPRequestData
    ) -> CacheBypass? {
        if Self.directives(of: request).contains(.noStore) { return .request }
        if isShared {
            if directives.isUnqualified(.private) { return .response }
            // The rule of section 3.5 for Authorization applies to every credential: the response may be for one user
            // only.
            let isAllowed = directives.contains(anyOf: [.public, .mustRevalidate, .sMaxAge])
            if CredentialDigests.areNeeded(for: request), !isAllowed { return .response }
            // A cookie is for one user, and so may be the page that sets it (section 7.3).
            let isForAll = directives.contains(anyOf: [.public, .sMaxAge])
            if !isForAll, stored(response).headerFields.contains(.setCookie) { return .response }
        }
        return CacheFacts.vary(of: response) == nil ? .vary : nil
    }

    /// Whether a response states its lifetime.
    func saysHowLong(_ response: HTTPResponse) -> Bool {
        let directives = directives(of: response)
        return directives.contains(.maxAge) || isShared && directives.contains(.sMaxAge)
            || response.headerFields.contains(.expires)
    }

    /// The maximum number of header fields of a stored response, which also limits what validations can add.
    static let maximumFields = 1_000

    /// The statuses with a heuristic lifetime (RFC 9110 section 15.1).
    static let heuristic: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
    /// The statuses with caching rules that this library implements.
    private static let understood: Set<Int> = heuristic.union([302, 303, 307, 400, 401, 403, 500, 502, 503, 504])

    /// Returns a response with only the fields that are stored.
    ///
    /// Fields about the connection are removed (section 3.1). A shared cache also removes the fields for a single user
    /// (section 5.2.2.7).
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

    /// The range that a 206 response states.
    static func part(of response: HTTPResponse) -> CachedEntry.Part? {
        guard let content = response.contentRange, let first = Int(exactly: content.range.lowerBound),
            let end = Int(exactly: content.range.upperBound)
        else { return nil }
        return CachedEntry.Part(range: first..<end, length: content.length.flatMap { Int(exactly: $0) })
    }

    /// Returns the range that a body of a given length covers; `nil` if the length contradicts the head.
    static func part(of response: HTTPResponse, with count: Int, for request: HTTPRequestData) -> CachedEntry.Part? {
        guard var part = part(of: response) else {
            // If the transport has decoded the body, its length differs from Content-Length.
            let length =
                response.headerFields[.contentEncoding] == nil ? response.headerFields[singleton: .contentLength] : nil
            guard (length.flatMap { Int($0) } ?? 0) <= count else { return nil }
            return CachedEntry.Part(range: 0..<count, length: count)
        }
        if let length = part.length, part.range.count != count,
            let wanted = request.byteRange?.bounds(of: length), wanted.count == count
        {
            // The body has the length of the requested range, so the stated range is wrong.
            part.range = wanted
        }
        return part.range.count == count ? part : nil
    }

    // MARK: Age and freshness

    /// The age of an entry in seconds (section 4.2.3); `nil` if the clock is before the entry's arrival.
    func age(of entry: CachedEntry, at now: Date) -> Double? {
        let resident = now.timeIntervalSince(entry.responseDate)
        return resident >= 0 ? entry.facts.initialAge + resident : nil
    }

    /// The freshness lifetime of an entry, in seconds (section 4.2.1).
    func lifetime(of entry: CachedEntry) -> Double {
        isShared ? entry.facts.sharedLifetime : entry.facts.lifetime
    }

    // MARK: Choosing

    /// Whether a request has the header fields that selected an entry (section 4.1).
    func matches(_ entry: CachedEntry, _ request: HTTPRequestData, _ credentials: CredentialDigests) -> Bool {
        // An entry matches no request if its Vary is malformed or contains `*`.
        guard let vary = entry.facts.vary else { return false }
        if vary.isEmpty, credentials.isEmpty { return entry.varying.isEmpty }
        return entry.varying == varying(vary, request, credentials)
    }

    /// The header fields of a request that select a response.
    func varying(
        _ response: HTTPResponse,
        _ request: HTTPRequestData,
        _ credentials: CredentialDigests
    ) -> [String: String] {
        varying(CacheFacts.vary(of: response) ?? [], request, credentials)
    }

    /// Returns the fields that Vary names, the values of the environment and of options, and in a private cache all
    /// credentials.
    ///
    /// A cookie or an API key identifies the user, even if Vary does not name it. Only the digests of credentials and
    /// values are stored.
    private func varying(
        _ names: [CacheFacts.Vary],
        _ request: HTTPRequestData,
        _ credentials: CredentialDigests
    ) -> [String: String] {
        var fields = credentials.selecting(inSharedCache: isShared)
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

    /// Whether an entry was fetched with the credentials of a request, so that the server's statements about the entry
    /// apply to the request too.
    func isForTheSameUser(_ entry: CachedEntry, _ credentials: CredentialDigests) -> Bool {
        guard !(entry.varying.isEmpty && credentials.isEmpty) else { return true }
        let selecting = credentials.selecting(inSharedCache: isShared)
        // In a shared cache, further digests are those of credentials that Vary names.
        guard !isShared else {
            return selecting == CredentialDigests.values(in: entry.varying)
        }
        return CredentialDigests.digests(in: entry.varying) == selecting
    }

    /// Returns an id that depends only on the selecting fields, so that an entry replaces an older one for the same
    /// requests.
    ///
    /// If two variants had the same id, each would replace the other in the store.
    static func id(of varying: [String: String]) -> UUID {
        let numbers = StableDigest.numbers(of: varying.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] })
        return withUnsafeBytes(of: numbers) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// Returns a field's value without insignificant differences: blanks around commas, and for languages and codings
    /// also case and order.
    static func normalized(_ values: [String], _ name: String) -> String {
        var items = values.flatMap { $0.split(separator: ",") }.map { String($0.trimmed) }
        if ["accept", "accept-language", "accept-encoding", "accept-charset"].contains(name) {
            items = items.map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
            // Without weights, the order has no meaning (RFC 9110 section 12.4.2).
            if !items.contains(where: { $0.contains(";") }) {
                items.sort()
            }
        }
        return items.joined(separator: ", ")
    }
}

extension Date {
    /// Parses a date in exactly the formats of HTTP, ignoring case.
    ///
    /// Returns `nil` for every other date. A response with such a date in Expires has already expired (RFC 9111 section
    /// 5.3).
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
