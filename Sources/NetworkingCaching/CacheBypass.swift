import NetworkingCore

/// The reason why `cached` bypasses the cache for a request or a response.
@nonexhaustive
public enum CacheBypass: String, Sendable, Hashable {
    /// The request has its own Authorization field, or a component below the cache has added a credential without
    /// naming a principal.
    case credentials
    /// The cache does not support the request's method.
    case method
    /// The request forbids caching: with `no-store`, or with ``CacheMode/noStore``.
    case request
    /// The header fields of the response do not permit this cache to store it.
    case response
    /// The request has a body that is not part of its cache key: it is a GET, or a QUERY whose body is not in memory or
    /// larger than 1 MiB.
    case body
    /// The response's status cannot be cached, or needs header fields that the response does not have.
    case status
    /// The response's Vary prevents its use for any other request, or names a field that a component below the cache
    /// has set.
    case vary
    /// The response is larger than the limit for an entry, or its body did not pass through the cache.
    case size
    /// The response body is shorter than its Content-Length, or does not match its Content-Range.
    case incomplete
    /// The response was fetched for a principal other than that of the lookup.
    case principal
    /// The response comes from another URL, after redirects.
    ///
    /// Put `redirected` outside `cached` to cache each step.
    case redirected
    /// While the response was in flight, its resource was changed, its URL was removed from the cache, or the response
    /// to a later request was stored.
    case outdated
    /// The store failed.
    case store
}
