import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The properties that identical requests share.
///
/// It is a class, so that it is passed as one reference and its hash is computed once.
final class DeduplicationKey: Equatable, Sendable {
    let method: HTTPRequest.Method
    let url: DeduplicationURL
    private let fields: [HTTPField]
    private let body: RequestBody?
    let principal: Principal?
    private let options: ValueIdentities
    private let environment: ValueIdentities
    private let stack: Stack
    /// Whether the request has listeners that need events.
    ///
    /// Such requests share exchanges only with each other, so that other requests avoid the cost of events.
    let needsEvents: Bool
    let hash: Int

    /// The number of bytes of a body that the hash depends on; equality compares all of them.
    private static let hashedBytes = 64 << 10

    /// Creates the key of a request; `nil` if the request has a credential that cannot be compared.
    init?(_ request: HTTPRequestData, principal: Principal?, excluding excluded: Set<String>) {
        method = request.method
        url = DeduplicationURL(request)
        fields =
            request.headerFields.isEmpty
            ? [] : request.headerFields.filter { !excluded.contains($0.name.canonicalName) || $0.isCredential }
        body = request.body
        self.principal = principal
        needsEvents = request.progressHandler != nil || request.isObserved
        guard let options = request.optionIdentities else { return nil }
        self.options = options
        environment = NetworkEnvironment.current.identities
        stack = Stack(request)
        var hasher = Hasher()
        hasher.combine(url)
        hasher.combine(fields)
        hasher.combine(principal)
        if let body = body?.data {
            // A server receives its QUERY requests at few URLs, so their bodies have to distinguish them.
            body.prefix(Self.hashedBytes).withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        hash = hasher.finalize()
    }

    static func == (lhs: DeduplicationKey, rhs: DeduplicationKey) -> Bool {
        lhs === rhs
            || lhs.hash == rhs.hash && lhs.method == rhs.method && lhs.url == rhs.url && lhs.fields == rhs.fields
                && lhs.body == rhs.body && lhs.principal == rhs.principal && lhs.options == rhs.options
                && lhs.environment == rhs.environment && lhs.stack == rhs.stack
                && lhs.needsEvents == rhs.needsEvents
    }

    /// The work that modifiers further out do for the request, so that the parts further in leave it out.
    private struct Stack: Equatable {
        private let followsRedirects: Bool
        private let handlesCookies: Bool
        private let isAuthorized: Bool
        /// The limiters whose permits the request holds.
        ///
        /// A request with a permit must not wait for an exchange that waits for the same limiter.
        private let limits: HeldLimits?

        /// Reads the work from a request.
        init(_ request: HTTPRequestData) {
            followsRedirects = request.isHandled(.redirects)
            handlesCookies = request.areCookiesHandled
            isAuthorized = request.isHandled(.authorization)
            limits = request.heldLimits
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
