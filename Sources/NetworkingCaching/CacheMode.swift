public import NetworkingCore

/// How a request uses the cache, whatever its fields and the responses say.
public enum CacheMode: Sendable, Hashable {
    /// As HTTP says.
    case standard
    /// Nothing is read or stored.
    case noStore
    /// Nothing is read; what comes is stored.
    case reload
    /// What is there is validated before it is used, also while it is fresh.
    case noCache
    /// What is there is used, however old; what is not there is fetched.
    case forceCache
    /// What is there is used, however old; what is not there is an answer of 504.
    case onlyIfCached
    /// As HTTP says, and nothing new is stored.
    case readOnly
    /// Nothing is read and what comes is stored: the same as ``reload``.
    public static let writeOnly = CacheMode.reload
    /// Whatever the server says, a success is fresh for this long.
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

    /// Whether what the server says of keeping and using a response does not matter.
    var overrulesServer: Bool {
        if case .fixed = self { return true }
        return ignoresAge
    }

    /// Whether age does not matter.
    var ignoresAge: Bool {
        self == .forceCache || self == .onlyIfCached
    }
}

extension HTTPRequestData {
    fileprivate enum CacheModeOption: RequestOption {
        static let defaultValue = CacheMode.standard
        static let name = "cacheMode"

        static func identity(of value: CacheMode) -> (any Hashable & Sendable)? {
            value
        }
    }

    /// How the request uses the stack's `cached`.
    public var cacheMode: CacheMode {
        get { self[option: CacheModeOption.self] }
        set { self[option: CacheModeOption.self] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/cacheMode``.
    public static let cacheMode = RequestOptionKey(HTTPRequestData.CacheModeOption.self)
}
