import HTTPTypes
import NetworkingCore

/// What identical requests have in common.
///
/// A class, so that it is passed along as one reference, with its hash computed once.
final class DeduplicationKey: Hashable, Sendable {
    let method: HTTPRequest.Method
    let url: DeduplicationURL
    private let fields: [HTTPField]
    private let body: RequestBody?
    let principal: Principal?
    private let options: Options?
    /// Requests that somebody listens to are shared among each other, so that the others cost nothing for it.
    let hasListeners: Bool
    private let hash: Int

    /// Reads the key of a request; nil when it has an option that cannot be compared.
    init?(_ request: HTTPRequestData, principal: Principal?, excluding excluded: Set<String>) {
        method = request.method
        url = DeduplicationURL(request)
        fields =
            request.headerFields.isEmpty
            ? [] : request.headerFields.filter { !excluded.contains($0.name.canonicalName) || $0.isCredential }
        body = request.body
        self.principal = principal
        hasListeners = request.progressHandler != nil || request.isObserved
        if let settings = request.box?.value {
            guard request.retryPolicy == nil, let options = Options(settings) else { return nil }
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
                && lhs.hasListeners == rhs.hasListeners
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
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
        /// An urgent request must not wait for one that lets others pass.
        private let priority: RequestPriority
        private let identities: [ObjectIdentifier: Identity]

        init?(_ settings: RequestSettings) {
            // Closures and strategies are not equal to anything, nor are credentials without an identity.
            guard settings.redirects?.decide == nil, !settings.custom.hasAnonymousCredentials else { return nil }
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
            priority = settings.priority
            identities = settings.custom.identities
        }
    }
}

/// The URL by which requests are compared: scheme, host and port without regard to case and to what the scheme implies,
/// path and query to the byte.
struct DeduplicationURL: Hashable, Sendable {
    private let isPlain: Bool
    private let authority: String
    private let target: String

    init(_ request: HTTPRequestData) {
        let isPlain = request.scheme.map { $0.utf8.count == 4 } ?? false
        var authority = request.authority ?? ""
        // Most are, and a string that needs no change needs no memory.
        if authority.withUTF8({ $0.contains { 0x41...0x5A ~= $0 } }) {
            authority = authority.lowercased()
        }
        if authority.utf8.last == UInt8(ascii: isPlain ? "0" : "3"), authority.hasSuffix(isPlain ? ":80" : ":443") {
            authority.removeLast(isPlain ? 3 : 4)
        }
        self.isPlain = isPlain
        self.authority = authority
        target = request.closedTarget
    }
}
