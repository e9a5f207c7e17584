import HTTPTypes
import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the head of a stored response says, read once and not at each use.
struct CacheFacts: Sendable {
    /// The directives of Cache-Control.
    let directives: CacheControl
    /// The directives for shared caches alone, which then count in place of the others (RFC 9213); nil without any.
    let targeted: CacheControl?
    /// How old it was when it came, in seconds (RFC 9111 section 4.2.3).
    let initialAge: Double
    /// For how long it is fresh, in seconds (section 4.2.1).
    let lifetime: Double
    /// For how long it is fresh in a shared cache, in seconds.
    let sharedLifetime: Double
    /// When it was made, by its server's clock, or came.
    let date: Date
    /// When the representation was changed, as far as is known.
    let lastModified: Date?
    /// Its entity tag.
    let tag: String?
    /// The request header fields that Vary names; nil when it says `*`, or what cannot be read.
    let vary: [Vary]?

    struct Vary: Sendable {
        let field: HTTPField.Name
        /// In lower case.
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
        // The first counts where there are several, and what is no number is none.
        let age = fields[values: .age].first.flatMap { $0.split(separator: ",").first }
        let stated = age.flatMap { CacheControl.deltaSeconds($0.trimmed) } ?? 0
        let apparent = date.map { max(0, responseDate.timeIntervalSince($0)) } ?? 0
        initialAge = max(apparent, stated + max(0, responseDate.timeIntervalSince(requestDate)))
        tag = fields[.eTag]
        lastModified = modified
        self.date = date ?? responseDate
        vary = Self.vary(of: response)

        let expiring = Self.expiring(response, date ?? responseDate, responseDate)
        // Section 4.2.2: a tenth of the time for which it has been as it is.
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

    /// The request header fields that Vary names; nil when it says `*`, or what cannot be read.
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

    /// The seconds that Expires gives; none when it cannot be read, and nil when it is not there.
    private static func expiring(_ response: HTTPResponse, _ date: Date, _ responseDate: Date) -> Double? {
        let values = response.headerFields[values: .expires]
        guard !values.isEmpty else { return nil }
        guard values.count == 1, let expires = Date(strictHTTPDate: values[0], now: responseDate) else { return 0 }
        return max(0, expires.timeIntervalSince(date))
    }
}

extension HTTPResponse {
    /// The date in a field; nil when there is none that can be read.
    fileprivate func date(_ name: HTTPField.Name, at now: Date) -> Date? {
        headerFields[values: name].first.flatMap { Date(httpDate: $0, now: now) }
    }
}

extension HTTPField.Name {
    // A valid name, so there is a value.
    static let cdnCacheControl = HTTPField.Name("CDN-Cache-Control")!
}
