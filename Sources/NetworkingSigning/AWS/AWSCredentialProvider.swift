#if Crypto
import FoundationForNetworking
import NetworkingAuthentication
import NetworkingCore

/// Provides temporary AWS credentials: fetches them for the first request, and again before they expire.
///
/// ```swift
/// let role = AWSCredentialProvider {
///     let (role, _) = try await metadata.value(securityCredentials, as: RoleCredentials.self)
///     return AWSCredentials(
///         accessKeyID: role.accessKeyId,
///         secretAccessKey: role.secretAccessKey,
///         sessionToken: role.token,
///         expirationDate: role.expiration
///     )
/// }
/// let signer = AWSSigner(role, region: "eu-central-1", service: "dynamodb")
/// ```
///
/// Concurrent requests share one call of the closure, which continues if one of them is cancelled. If it fails, the
/// waiting requests fail with `NetworkingError.Kind.unauthorized`, or with the kind of the network's failure; the
/// closure's error is the underlying error. The next request tries again. If newer credentials cannot be fetched, the
/// current ones are used until they expire. They are also renewed if AWS reports that they have expired.
///
/// The standard `RefreshLimit` applies: the closure is called at most five times within 30 seconds if it fails or if
/// AWS accepts none of its credentials. AWS rejects credentials with 400 and 403 too, so a response with one of these
/// statuses is not an acceptance.
///
/// Requests that the closure sends over the waiting stack are not signed. Several signers may share a provider.
public struct AWSCredentialProvider: Sendable {
    private let source: Source
    /// The name of the owner of the credentials, for caches.
    let keyID: String

    private enum Source: Sendable {
        case fixed(AWSCredentials)
        case store(TokenStore<HeldCredentials>)
    }

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - keyID: The name of the owner of the credentials, for caches that outlive the process; a random name by
    ///     default.
    ///   - leeway: The time before their expiration at which credentials are renewed; 60 seconds by default.
    ///   - timeout: The maximum duration of the closure; 60 seconds by default.
    ///   - fetch: Fetches credentials.
    public init(
        keyID: String? = nil,
        leeway: Duration = .seconds(60),
        timeout: Duration = .seconds(60),
        fetch: @escaping @Sendable () async throws -> AWSCredentials
    ) {
        let store = TokenStore<HeldCredentials>(
            delegate: CredentialFetch(fetch: fetch),
            leeway: leeway,
            timeout: timeout
        )
        source = .store(store)
        self.keyID = keyID ?? store.principal.id
    }

    /// Creates a provider with fixed credentials.
    init(_ credentials: AWSCredentials) {
        source = .fixed(credentials)
        keyID = credentials.accessKeyID
    }

    /// Whether the caller is the provider's own closure.
    var isFetching: Bool {
        guard case .store(let store) = source else { return false }
        return store.isRenewing
    }

    /// Whether a request was signed with the current credentials.
    func hasSigned(_ request: HTTPRequestData) -> Bool {
        let credentials =
            switch source {
            case .fixed(let credentials): credentials as AWSCredentials?
            case .store(let store): store.credentials?.value
            }
        return credentials.map { request.isSigned(with: $0) } ?? false
    }

    /// Returns valid credentials.
    func credentials(for request: HTTPRequestData) async throws -> AWSCredentials {
        switch source {
        case .fixed(let credentials): credentials
        case .store(let store): try await store.grant(for: request, over: Self.nowhere).credentials.value
        }
    }

    /// Records that AWS has accepted the credentials of a request, so that their refresh does not count towards the
    /// limit.
    func accept(_ response: HTTPResponseData) {
        guard case .store(let store) = source else { return }
        store.acceptCurrent { response.sentRequest.isSigned(with: $0.value) }
    }

    /// Renews credentials that AWS has rejected; returns whether there are new ones.
    func renew(after response: HTTPResponseData) async throws -> Bool {
        guard case .store(let store) = source, !isFetching else { return false }
        let request = response.sentRequest
        let grant = try await store.grant(for: request, over: Self.nowhere)
        guard request.isSigned(with: grant.credentials.value) else { return true }
        return try await store.grant(after: grant, response, for: request, over: Self.nowhere) != nil
    }

    /// A network that the store does not use, because the closure has its own.
    private static var nowhere: UnimplementedTransport {
        UnimplementedTransport("the network of AWS credentials")
    }
}

/// The closure, as the delegate of a token store.
private struct CredentialFetch: AuthenticationDelegate {
    let fetch: @Sendable () async throws -> AWSCredentials

    func authorize(over network: any NetworkingComponent) async throws -> HeldCredentials {
        HeldCredentials(value: try await fetch())
    }
}

/// Credentials in a token store; they set no field, so applying them does not change a request.
private struct HeldCredentials: AuthenticatingCredentials {
    let value: AWSCredentials

    static var method: AuthenticationMethod {
        AuthenticationMethod(rawValue: AWSSigner.algorithm.lowercased())
    }

    var expirationDate: Date? {
        value.expirationDate
    }

    func apply(to request: inout HTTPRequestData) {}
}

extension HTTPRequestData {
    /// Whether the request was signed with these credentials.
    fileprivate func isSigned(with credentials: AWSCredentials) -> Bool {
        let key = "\(credentials.accessKeyID)/"
        return headerFields[.authorization]?.contains("Credential=\(key)") == true
            || query[AWSSigner.QueryItem.credential]?.hasPrefix(key) == true
    }
}
#endif
