#if Crypto
import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Brings temporary AWS credentials when the first request needs them, and again before they run out.
///
/// ```swift
/// let role = AWSCredentialProvider {
///     let (answer, _) = try await metadata.value(securityCredentials, as: RoleAnswer.self)
///     return AWSCredentials(
///         accessKeyID: answer.accessKeyId,
///         secretAccessKey: answer.secretAccessKey,
///         sessionToken: answer.token,
///         expirationDate: answer.expiration
///     )
/// }
/// let signer = AWSSigner(role, region: "eu-central-1", service: "dynamodb")
/// ```
///
/// However many requests need them, the closure is called once, and belongs to none of them: it goes on when one is
/// cancelled. When it fails, those that wait fail with `NetworkingError.Kind.unauthorized`, or as the network did, with
/// its error beneath; the next request tries again. Credentials that have not run out are used on when newer ones
/// cannot be had, and renewed when AWS says that they have run out.
///
/// Fetches in vain are limited as in `RefreshLimit`. AWS refuses credentials with 400 and 403 too, so these statuses do
/// not show that it has accepted them.
///
/// What the closure sends over the stack that waits for it goes unsigned. Several signers may have the same provider.
public struct AWSCredentialProvider: Sendable {
    private let source: Source
    /// Names whose they are, for caches.
    let keyID: String

    private enum Source: Sendable {
        case fixed(AWSCredentials)
        case store(TokenStore<HeldCredentials>)
    }

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - keyID: Names whose credentials they are, for caches that outlive the process; a random name by default.
    ///   - leeway: How long before they run out credentials are renewed.
    ///   - timeout: The longest that the closure may take.
    ///   - fetch: Gets credentials.
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

    /// Credentials that stay as they are.
    init(_ credentials: AWSCredentials) {
        source = .fixed(credentials)
        keyID = credentials.accessKeyID
    }

    /// Whether the caller is its own closure.
    var isFetching: Bool {
        guard case .store(let store) = source else { return false }
        return store.isRenewing
    }

    /// Whether a request was signed with the credentials that are there.
    func hasSigned(_ request: HTTPRequestData) -> Bool {
        let credentials =
            switch source {
            case .fixed(let credentials): credentials as AWSCredentials?
            case .store(let store): store.credentials?.value
            }
        return credentials.map { request.isSigned(with: $0) } ?? false
    }

    /// Credentials that are good now.
    func credentials(for request: HTTPRequestData) async throws -> AWSCredentials {
        switch source {
        case .fixed(let credentials): credentials
        case .store(let store): try await store.grant(for: request, over: Self.nowhere).credentials.value
        }
    }

    /// Notes that AWS has accepted the credentials of a request, so that their refresh does not count towards the
    /// limit.
    func accept(_ response: HTTPResponseData) {
        guard case .store(let store) = source else { return }
        store.acceptCurrent { response.sentRequest.isSigned(with: $0.value) }
    }

    /// Renews credentials that AWS has refused; whether there are others now.
    func renew(after response: HTTPResponseData) async throws -> Bool {
        guard case .store(let store) = source, !isFetching else { return false }
        let request = response.sentRequest
        let grant = try await store.grant(for: request, over: Self.nowhere)
        guard request.isSigned(with: grant.credentials.value) else { return true }
        return try await store.grant(after: grant, response, for: request, over: Self.nowhere) != nil
    }

    /// The closure has a network of its own.
    private static var nowhere: UnimplementedTransport {
        UnimplementedTransport("the network of AWS credentials")
    }
}

/// The closure, as what a store asks.
private struct CredentialFetch: AuthenticationDelegate {
    let fetch: @Sendable () async throws -> AWSCredentials

    func authorize(over network: any NetworkingComponent) async throws -> HeldCredentials {
        HeldCredentials(value: try await fetch())
    }
}

/// Credentials, as what a store keeps: they are no field, so they put nothing onto a request by themselves.
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
    /// Whether these were the credentials that it was signed with.
    fileprivate func isSigned(with credentials: AWSCredentials) -> Bool {
        let key = "\(credentials.accessKeyID)/"
        return headerFields[.authorization]?.contains("Credential=\(key)") == true
            || query[AWSSigner.QueryItem.credential]?.hasPrefix(key) == true
    }
}
#endif
