import HTTPTypes
public import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How a cache handled a request (RFC 9211): its description is a member of a `Cache-Status` field.
///
/// ```swift
/// let response = try await network.data(request)
/// if let status = response.cacheStatus {
///     print(status)   // Networking; hit; ttl=42
/// }
/// ```
public struct CacheStatus: Sendable, Hashable {
    /// Whether the cache answered without that the server was asked for this request.
    public var isHit = false
    /// Why the request went on to the server; nil for a hit.
    public var forward: Forward?
    /// The status that the server answered with; nil where it was not asked or did not answer.
    public var forwardStatus: Int?
    /// For how many more seconds the response is fresh, negative once it is stale; nil where nothing says so.
    public var lifetimeLeft: Int?
    /// Whether the response was put into the cache.
    public var isStored = false
    /// Why it was not, or which kind of hit it is, in one word.
    public var detail: String?

    /// Why a cache sends a request on (RFC 9211 section 2.2).
    @nonexhaustive
    public enum Forward: String, Sendable, Hashable {
        /// It was told not to look.
        case bypass
        /// The method is none that it answers.
        case method
        /// Nothing is stored for the URL.
        case uriMiss = "uri-miss"
        /// Nothing that is stored for the URL fits the request's header fields.
        case varyMiss = "vary-miss"
        /// What the request says does not let it use what is stored.
        case request
        /// What is stored is stale, or has to be validated.
        case stale
        /// What is stored does not have all of it.
        case partial
    }
}

extension CacheStatus: CustomStringConvertible {
    /// A member of a `Cache-Status` field.
    public var description: String {
        var text = "Networking"
        if isHit { text += "; hit" }
        if let forward { text += "; fwd=\(forward.rawValue)" }
        if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
        if let lifetimeLeft { text += "; ttl=\(lifetimeLeft)" }
        if isStored { text += "; stored" }
        if let detail { text += "; detail=\(detail)" }
        return text
    }
}

/// What `cached` leaves on a response.
struct CacheRecord: Sendable {
    var status = CacheStatus()
    /// How old the response is, in seconds, when it comes from the cache.
    var age: Double?
    /// What it comes from, and where that came from.
    var source: (key: CacheKey, entry: CachedEntry)?

    fileprivate enum Key: ResponseMetadata {
        static let defaultValue: CacheRecord? = nil
    }

    /// What is left on a response that the server was asked for.
    static func forwarded(
        _ reason: CacheStatus.Forward,
        _ status: HTTPResponse.Status,
        detail: CacheBypass? = nil
    ) -> CacheRecord {
        var record = CacheRecord()
        record.status.forward = reason
        record.status.forwardStatus = status.code
        record.status.detail = detail?.rawValue
        return record
    }
}

extension HTTPResponseData {
    var cacheRecord: CacheRecord? {
        get { self[metadata: CacheRecord.Key.self] }
        set { self[metadata: CacheRecord.Key.self] = newValue }
    }

    /// Whether its body comes from a cache of the stack; the server may have been asked whether it still holds.
    public var isCached: Bool {
        cacheRecord?.source != nil
    }

    /// How long ago the server made it, when it comes from a cache of the stack, as far as is known.
    public var age: Duration? {
        cacheRecord?.age.map { .seconds($0) }
    }

    /// How the stack's `cached` handled the request; nil without one.
    public var cacheStatus: CacheStatus? {
        cacheRecord?.status
    }

    /// The request that brought what comes from a cache of the stack.
    ///
    /// It has the URL and the header fields by which the response was chosen, except credentials. The cache keeps
    /// nothing else of the request.
    public var cachedOriginalRequest: HTTPRequestData? {
        guard let (key, entry) = cacheRecord?.source, let url = URL(string: key.url) else { return nil }
        var request = HTTPRequestData(url: url)
        for vary in entry.facts.vary ?? [] where !vary.field.isCredential {
            guard let value = entry.varying[vary.name], !CredentialDigests.isDigest(value) else { continue }
            request.headerFields[vary.field] = value
        }
        return request
    }
}
