public import NetworkingCore

/// Gets credentials and renews them, for a ``TokenStore``.
///
/// ```swift
/// struct Login: AuthenticationDelegate {
///     func refresh(
///         _ session: Session,
///         after response: HTTPResponseData?,
///         over network: any NetworkingComponent
///     ) async throws -> Session {
///         let request = HTTPRequestData(
///             method: .post,
///             url: URL(string: "https://api.example.com/auth/refresh")!,
///             body: .json(Renewal(refreshToken: session.refreshToken))
///         )
///         let (tokens, _) = try await network.value(request, as: Tokens.self)
///         return session.renewed(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
///     }
/// }
/// ```
///
/// The store makes one call at a time for all requests. The call belongs to none of them: it continues when all waiting
/// requests have been cancelled, since a refresh token that was sent may be spent.
///
/// The requests that the delegate sends, over `network` or over the whole stack, pass `authenticated` without
/// credentials of this store, and pass `throttled` and `rateLimited` without waiting, since the requests that wait for
/// the delegate may hold all permits (``NetworkEnvironment/isThrottled``).
public protocol AuthenticationDelegate<Credentials>: Sendable {
    /// The credentials.
    associatedtype Credentials: AuthenticatingCredentials

    /// Gets credentials where there are none. By default there is no way to, and requests fail.
    ///
    /// - Parameter network: What lies upstream of `authenticated`, for requests with a URL of their own.
    /// - Returns: The credentials.
    /// - Throws: Why there are none. Every waiting request fails with this as the underlying error, and the next
    ///   request tries again. A `NetworkingError` of the network, of a server that is down or of a body that does not
    ///   decode passes its kind on, and so does a `DecodingError`; the kind for any other error is
    ///   ``NetworkingError/Kind/unauthorized``.
    func authorize(over network: any NetworkingComponent) async throws -> Credentials

    /// Renews credentials. By default that is to get new ones.
    ///
    /// - Parameters:
    ///   - credentials: Those that have run out, or that the server refused.
    ///   - response: The response with which it did; nil when they have run out.
    ///   - network: What lies upstream of `authenticated`, for requests with a URL of their own.
    /// - Returns: The new credentials, of the same user.
    /// - Throws: Why they cannot be renewed, as for ``authorize(over:)``.
    func refresh(
        _ credentials: Credentials,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Credentials
}

extension AuthenticationDelegate {
    /// Says that nobody is signed in.
    public func authorize(over network: any NetworkingComponent) async throws -> Credentials {
        throw SignedOut()
    }

    /// Gets new credentials.
    public func refresh(
        _ credentials: Credentials,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Credentials {
        try await authorize(over: network)
    }
}

/// Nobody is signed in, and there is no way to change that without somebody.
struct SignedOut: Error {}

/// An error of a delegate whose reason holds no secret, so that the errors of the requests that wait for the delegate
/// can repeat it.
package protocol ReasonedError: Error {
    /// What happened and what to do about it.
    var reason: String { get }
    /// Whether it was clear without asking a server, so that it does not count among the refreshes.
    var isForeseen: Bool { get }
    /// Method and URL of the request that failed, without secrets; `nil` if it is not about a request.
    var failedRequest: String? { get }
    /// The kind of the errors of the requests that got no credentials.
    var kindOfRefusedRequests: NetworkingError.Kind { get }
}

extension ReasonedError {
    package var failedRequest: String? {
        nil
    }

    package var kindOfRefusedRequests: NetworkingError.Kind {
        .unauthorized
    }
}

extension NetworkingError: ReasonedError {
    package var isForeseen: Bool {
        false
    }

    package var failedRequest: String? {
        "\(request)"
    }

    package var kindOfRefusedRequests: NetworkingError.Kind {
        switch kind {
        // A status of 400, 401 or 403 refuses to renew the session.
        case .status: response?.status.isOutage == true ? .status : .unauthorized
        default: kind
        }
    }
}

/// A delegate that asks a closure for a token.
struct TokenProvider: AuthenticationDelegate {
    let token: @Sendable () async throws -> String

    func authorize(over network: any NetworkingComponent) async throws -> BearerCredentials {
        let token = try await token()
        return BearerCredentials(token: token, expirationDate: JSONWebToken.expirationDate(of: token))
    }
}
