import HTTPTypes

/// What identical requests have in common.
struct FlightKey: Hashable, Sendable {
    private let method: HTTPRequest.Method
    let url: String
    private let fields: [HTTPField]
    private let body: RequestBody?
    let principal: Principal?
    private let options: Options?
    /// Requests that somebody listens to are shared among each other, so that the others cost nothing for it.
    let hasListeners: Bool

    /// Reads the key of a request; nil when it has an option that cannot be compared.
    init?(_ request: HTTPRequestData, principal: Principal?, excluding excluded: Set<String>) {
        method = request.method
        url = Self.url(of: request)
        fields = request.headerFields.filter { !excluded.contains($0.name.canonicalName) }
        body = request.body
        self.principal = principal
        hasListeners = request.progressHandler != nil || request.isObserved
        if let settings = request.box?.value {
            guard let options = Options(settings) else { return nil }
            self.options = options == Options.defaults ? nil : options
        } else {
            options = nil
        }
    }

    /// The URL by which requests are compared: scheme, host and port without regard to case and to what the scheme
    /// implies, path and query to the byte.
    static func url(of request: HTTPRequestData) -> String {
        let scheme = request.scheme?.lowercased() ?? "https"
        var authority = request.authority?.lowercased() ?? ""
        let port = scheme == "http" ? ":80" : ":443"
        if authority.hasSuffix(port) {
            authority.removeLast(port.count)
        }
        return "\(scheme)://\(authority)\(request.closedTarget)"
    }

    /// The options by which a response may differ.
    private struct Options: Hashable {
        static let defaults = Options(RequestSettings.defaults)

        private let durations: [Duration?]
        private let acceptedStatuses: StatusSet
        private let maximumResponseBytes: Int64
        private let decompressionLimit: DecompressionLimit
        private let redirects: String?
        private let authenticationMethod: AuthenticationMethod?
        private let flags: [Bool?]
        private let identities: [ObjectIdentifier: Identity]

        init?(_ settings: RequestSettings) {
            // Closures and strategies are not equal to anything.
            guard settings.retryPolicy == nil, settings.redirects?.decide == nil else { return nil }
            durations = [
                settings.timeout, settings.deadline, settings.connectTimeout, settings.headTimeout,
                settings.idleTimeout,
            ]
            acceptedStatuses = settings.acceptedStatuses
            maximumResponseBytes = settings.maximumResponseBytes
            decompressionLimit = settings.decompressionLimit
            redirects = settings.redirects.map { "\($0) \($0.credentials.sorted())" }
            authenticationMethod = settings.authenticationMethod
            flags = [settings.allowsPlaintextCredentials, settings.isThrottled, settings.isIdempotent]
            identities = settings.custom.identities
        }
    }
}
