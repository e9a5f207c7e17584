import NetworkingCore

/// Why `cached` lets a request or a response pass.
@nonexhaustive
public enum CacheBypass: String, Sendable, Hashable {
    /// The request has an Authorization field of its own, or a component below the cache has added a credential without
    /// naming a principal.
    case credentials
    /// Its method is none that is cached.
    case method
    /// The request says so.
    case request
    /// The response says so.
    case response
    /// It has a body, which no key holds.
    case body
    /// Its status is none that is cached, or says too little.
    case status
    /// Its Vary says that no other request gets the same.
    case vary
    /// It is longer than an entry may be, or went past.
    case size
    /// Its body ended early, or nobody brought it.
    case incomplete
    /// It was fetched for somebody else than it was looked up for.
    case principal
    /// It comes from elsewhere, by redirects: put `redirected` outside `cached`, and each step is cached for itself.
    case redirected
    /// Its URL was changed, or removed from the cache, while it was on its way.
    case outdated
    /// The store has failed.
    case store
}
