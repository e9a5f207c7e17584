import HTTPTypes
import NetworkingCore

/// The properties that identical requests share.
///
/// It is a class, so that it is passed as one reference and its hash is computed once.
final class DeduplicationKey: Hashable, Sendable {
    let method: HTTPRequest.Method
    let url: DeduplicationURL
    private let fields: [HTTPField]
    private let body: RequestBody?
    let principal: Principal?
    private let options: Options?
    /// Whether the request has listeners that need events.
    ///
    /// Such requests share exchanges only with each other, so that other requests avoid the cost of events.
    let needsEvents: Bool
    private let hash: Int

    /// Creates the key of a request; `nil` if the request has an option that cannot be compared.
    init?(_ request: HTTPRequestData, principal: Principal?, excluding excluded: Set<String>) {
        method = request.method
        url = DeduplicationURL(request)
        fields =
            request.headerFields.isEmpty
            ? [] : request.headerFields.filter { !excluded.contains($0.name.canonicalName) || $0.isCredential }
        body = request.body
        self.principal = principal
        needsEvents = request.progressHandler != nil || request.isObserved
        if request.box != nil {
            guard request.retryPolicy == nil, let options = Options(request) else { return nil }
            self.options = options == Options.defaults ? nil : options
        } else {
            options = nil
        }
        var hasher = Hasher()
        hasher.combine(url)
        hasher.combine(fields)
        hasher.combine(principal)
        hash = hasher.finalize()
    }

    static func == (lhs: DeduplicationKey, rhs: DeduplicationKey) -> Bool {
        lhs === rhs
            || lhs.hash == rhs.hash && lhs.method == rhs.method && lhs.url == rhs.url && lhs.fields == rhs.fields
                && lhs.body == rhs.body && lhs.principal == rhs.principal && lhs.options == rhs.options
                && lhs.needsEvents == rhs.needsEvents
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }

    /// The options that can affect a response.
    private struct Options: Equatable {
        static let defaults = Options()

        private var timeout, deadline, connectTimeout, headTimeout, idleTimeout: Duration?
        private var acceptedStatuses = RequestSettings.defaults.acceptedStatuses
        private var maximumResponseBytes = RequestSettings.defaults.maximumResponseBytes
        private var decompressionLimit = RequestSettings.defaults.decompressionLimit
        private var redirects: String?
        private var authenticationMethod: AuthenticationMethod?
        private var allowsPlaintextCredentials = false
        private var isThrottled = true
        private var isIdempotent: Bool?
        /// An urgent request must not join an exchange of low priority, because other requests may overtake that.
        private var priority = RequestPriority.normal
        private var identities: [ObjectIdentifier: Identity] = [:]

        private init() {}

        init?(_ request: HTTPRequestData) {
            let redirects = request.box?.value.redirects
            let custom = request.box?.value.custom
            // Closures and strategies cannot be compared, nor can credentials without an identity.
            guard redirects?.decide == nil, custom?.hasAnonymousCredentials != true else { return nil }
            timeout = request.timeout
            deadline = request.deadline
            connectTimeout = request.connectTimeout
            headTimeout = request.headTimeout
            idleTimeout = request.idleTimeout
            acceptedStatuses = request.acceptedStatuses
            maximumResponseBytes = request.maximumResponseBytes
            decompressionLimit = request.decompressionLimit
            self.redirects = redirects.map { "\($0) \($0.credentials.sorted())" }
            authenticationMethod = request.authenticationMethod
            allowsPlaintextCredentials = request.allowsPlaintextCredentials
            isThrottled = request.isThrottled
            isIdempotent = request.isIdempotent
            priority = request.priority
            identities = custom?.identities ?? [:]
        }
    }
}

/// The URL for comparing requests.
///
/// Scheme, host and port are compared without regard to case and to the scheme's default port; path and query are
/// compared byte by byte.
struct DeduplicationURL: Hashable, Sendable {
    private let isPlain: Bool
    private let authority: AuthorityKey
    private let target: String

    init(_ request: HTTPRequestData) {
        isPlain = request.scheme.map { $0.utf8.count == 4 } ?? false
        authority = AuthorityKey(request.authority ?? "", isPlain: isPlain)
        target = request.closedTarget
    }
}
