import FoundationForNetworking
import HTTPTypes
public import NetworkingCore

/// A description of how a cache handled a request (RFC 9211), which prints as a member of a `Cache-Status` field.
///
/// ```swift
/// let response = try await network.data(request)
/// if let status = response.cacheStatus {
///     print(status)   // Networking; hit; ttl=42
/// }
/// ```
public struct CacheStatus: Sendable, Hashable {
    /// Whether the cache returned a response without sending the request to the server.
    public var isHit = false
    /// The reason why the cache forwarded the request to the server; `nil` for a hit.
    public var forward: Forward?
    /// The status of the server's response; `nil` if there was none.
    public var forwardStatus: Int?
    /// The number of seconds for which the response stays fresh, negative once it is stale; `nil` if it is unknown.
    public var lifetimeLeft: Int?
    /// Whether the response was stored.
    public var isStored = false
    /// The reason why the response was not stored, or the kind of the hit, in one word.
    public var detail: String?

    /// The reason why a cache forwards a request (RFC 9211 section 2.2).
    @nonexhaustive
    public enum Forward: String, Sendable, Hashable {
        /// The cache was configured not to look for a response.
        case bypass
        /// The cache does not serve this method.
        case method
        /// No response is stored for the URL.
        case uriMiss = "uri-miss"
        /// No stored response for the URL matches the request's header fields.
        case varyMiss = "vary-miss"
        /// The request does not allow the use of the stored response.
        case request
        /// The stored response is stale or must be validated.
        case stale
        /// The stored response does not contain all requested bytes.
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

/// The record that `cached` attaches to a response.
struct CacheRecord: Sendable {
    var status = CacheStatus()
    /// The age of the response in seconds, if it comes from the cache.
    var age: Double?
    /// The entry that the response comes from, and its key.
    var source: (key: CacheKey, entry: CachedEntry)?

    fileprivate enum Key: ResponseMetadata {
        static let defaultValue: CacheRecord? = nil
    }

    /// Creates the record for a response that came from the server.
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

    /// Whether the body comes from a cache of the stack; the server may have validated it.
    public var isCached: Bool {
        cacheRecord?.source != nil
    }

    /// The time since the server created the response, if it comes from a cache of the stack and the age is known.
    public var age: Duration? {
        cacheRecord?.age.map { .seconds($0) }
    }

    /// How the stack's `cached` handled the request; `nil` if no cache did, as for a stream.
    public var cacheStatus: CacheStatus? {
        cacheRecord?.status
    }

    /// The original request of a response that comes from a cache of the stack.
    ///
    /// It has the URL and the header fields that selected the response, except credentials. The cache stores nothing
    /// else of the request, and of the body of a QUERY only a digest.
    public var cachedOriginalRequest: HTTPRequestData? {
        guard let (key, entry) = cacheRecord?.source, let url = URL(string: key.url) else { return nil }
        var request = HTTPRequestData(url: url)
        if key.query != nil {
            request.method = .query
        }
        for vary in entry.facts.vary ?? [] where !vary.field.isCredential {
            guard let value = entry.varying[vary.name], !CredentialDigests.isDigest(value) else { continue }
            request.headerFields[vary.field] = value
        }
        return request
    }
}
