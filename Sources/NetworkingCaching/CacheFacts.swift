import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The facts in the head of a stored response, parsed once instead of at each use.
struct CacheFacts: Sendable {
    /// The directives of Cache-Control.
    let directives: CacheControl
    /// The directives targeted at shared caches, which replace the others (RFC 9213); `nil` if there are none.
    let targeted: CacheControl?
    /// The age at arrival, in seconds (RFC 9111 section 4.2.3).
    let initialAge: Double
    /// The freshness lifetime, in seconds (section 4.2.1).
    let lifetime: Double
    /// The freshness lifetime in a shared cache, in seconds.
    let sharedLifetime: Double
    /// The server's date for the response, or else the date of its arrival.
    let date: Date
    /// The date of the last change of the representation, if it is known.
    let lastModified: Date?
    /// The entity tag.
    let tag: String?
    /// The request header fields that Vary names; `nil` if it contains `*` or is malformed.
    let vary: [Vary]?
    /// The query parameters that select the response; `nil` if only the exact URL does.
    let search: SearchVariance?
    /// The groups of the response (RFC 9875).
    let groups: Set<String>

    struct Vary: Sendable {
        let field: HTTPField.Name
        /// The name in lower case.
        let name: String

        init?(_ name: String) {
            guard name != "*", let field = HTTPField.Name(name) else { return nil }
            self.name = name
            self.field = field
        }
    }

    init(_ response: HTTPResponse, requestDate: Date, responseDate: Date) {
        let fields = response.headerFields
        let directives = CacheControl(fields[values: .cacheControl])
        self.directives = directives
        targeted = CacheControl(structured: fields[values: .cdnCacheControl])
        let date = response.date(.date, at: responseDate)
        let modified = response.date(.lastModified, at: responseDate)
        // The first of several values counts, and a value that is not a number is ignored.
        let age = fields[values: .age].first.flatMap { $0.split(separator: ",").first }
        let stated = age.flatMap { CacheControl.deltaSeconds($0.trimmed) } ?? 0
        let apparent = date.map { max(0, responseDate.timeIntervalSince($0)) } ?? 0
        initialAge = max(apparent, stated + max(0, responseDate.timeIntervalSince(requestDate)))
        tag = fields[singleton: .eTag]
        lastModified = modified
        self.date = date ?? responseDate
        vary = Self.vary(of: response)
        search = SearchVariance(response)
        groups = CacheGroups.names(.cacheGroups, in: response)

        let expiring = Self.expiring(response, date ?? responseDate, responseDate)
        // Section 4.2.2: a tenth of the time since the last change.
        let heuristic = modified.map { max(0, (date ?? responseDate).timeIntervalSince($0) / 10) } ?? 0
        func lifetime(_ directives: CacheControl, _ expiring: Double?) -> Double {
            let mayGuess = CacheRules.heuristic.contains(response.status.code) || directives.contains(.public)
            return directives.seconds(.maxAge) ?? expiring ?? (mayGuess ? heuristic : 0)
        }
        self.lifetime = lifetime(directives, expiring)
        sharedLifetime =
            targeted.map { $0.seconds(.sMaxAge) ?? lifetime($0, nil) }
            ?? directives.seconds(.sMaxAge) ?? self.lifetime
    }

    /// Returns the request header fields that Vary names; `nil` if it contains `*` or is malformed.
    static func vary(of response: HTTPResponse) -> [Vary]? {
        var fields: [Vary] = []
        for name in response.headerFields[values: .vary].flatMap({ $0.split(separator: ",") }) {
            let name = name.trimmed.lowercased()
            guard !name.isEmpty else { continue }
            guard let field = Vary(name) else { return nil }
            fields.append(field)
        }
        return fields
    }

    /// Returns the lifetime in seconds according to Expires: zero if it is malformed, `nil` if it is missing.
    private static func expiring(_ response: HTTPResponse, _ date: Date, _ responseDate: Date) -> Double? {
        guard response.headerFields.contains(.expires) else { return nil }
        guard let text = response.headerFields[singleton: .expires],
            let expires = Date(strictHTTPDate: text, now: responseDate)
        else { return 0 }
        return max(0, expires.timeIntervalSince(date))
    }
}

extension HTTPResponse {
    /// Returns the date in a field; `nil` if the field is missing or malformed.
    fileprivate func date(_ name: HTTPField.Name, at now: Date) -> Date? {
        headerFields[values: name].first.flatMap { Date(httpDate: $0, now: now) }
    }
}

extension HTTPField.Name {
    // The name is valid, so the initializer returns a value.
    static let cdnCacheControl = HTTPField.Name("CDN-Cache-Control")!
}
