public import NetworkingCore

/// A policy for how the cache handles one request.
///
/// With `no-store` in its Cache-Control, a request neither gets a stored response nor stores one, whatever its mode.
public enum CacheMode: Sendable, Hashable {
    /// Follows HTTP.
    case standard
    /// Neither reads from the cache nor stores the response.
    case noStore
    /// Does not read from the cache, and stores the response.
    case reload
    /// Validates a stored response before each use, even if it is fresh.
    case noCache
    /// Uses a stored response of any age, and fetches one if none is stored.
    case forceCache
    /// Uses a stored response of any age, and returns a 504 response if none is stored.
    case onlyIfCached
    /// Follows HTTP, and stores no new response.
    case readOnly
    /// Does not read from the cache, and stores the response: the same as ``reload``.
    public static let writeOnly = CacheMode.reload
    /// Stores a successful response, and treats it as fresh for this duration, regardless of the server's directives.
    ///
    /// The duration starts when the response arrives.
    case fixed(Duration)

    var reads: Bool {
        switch self {
        case .noStore, .reload: false
        default: true
        }
    }

    var writes: Bool {
        switch self {
        case .noStore, .readOnly, .onlyIfCached: false
        default: true
        }
    }

    /// Whether the server's directives for storing and reusing a response are ignored.
    var overrulesServer: Bool {
        if case .fixed = self { return true }
        return ignoresAge
    }

    /// Whether the age of an entry is ignored.
    var ignoresAge: Bool {
        self == .forceCache || self == .onlyIfCached
    }
}

extension HTTPRequestData {
    /// The policy that the stack's `cached` applies to the request; ``CacheMode/standard`` by default.
    public var cacheMode: CacheMode {
        get { self[.cacheMode] }
        set { self[.cacheMode] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/cacheMode``.
    public static let cacheMode = RequestOption("cacheMode", default: CacheMode.standard, affects: .sending)
}
