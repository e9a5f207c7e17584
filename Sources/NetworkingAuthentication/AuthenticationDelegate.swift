public import NetworkingCore

/// Fetches and renews the credentials of a ``TokenStore``.
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
///             body: .json(["refreshToken": session.refreshToken])
///         )
///         let tokens = try await network.request(request, as: TokenResponse.self)
///         return session.renewed(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
///     }
/// }
/// ```
///
/// The store makes one call at a time for all requests. The call does not belong to any of them: it continues when all
/// waiting requests have been cancelled, because a refresh token that was sent may no longer be valid.
///
/// The requests that the delegate sends, over `network` or over the whole stack, pass `authenticated` without
/// credentials of this store. They pass `throttled` and `rateLimited` without waiting, because the requests that wait
/// for the delegate may hold all permits (``NetworkEnvironment/isThrottled``).
public protocol AuthenticationDelegate<Credentials>: Sendable {
    /// The credentials.
    ///
    /// The compiler infers the type from the methods. It is ``UnresolvedCredentials`` if none has the right signature.
    associatedtype Credentials: AuthenticatingCredentials = UnresolvedCredentials

    /// Fetches credentials if there are none; by default it throws, and the requests fail.
    ///
    /// - Parameter network: The components upstream of `authenticated`, for requests with a complete URL.
    /// - Returns: The credentials.
    /// - Throws: The reason why there are none. Every waiting request fails with it as the underlying error, and the
    ///   next request tries again. If it is a `NetworkingError`, such as a network failure or a server that is down,
    ///   the requests fail with its kind, and for a `DecodingError` with ``NetworkingError/Kind/decoding``. For any
    ///   other error, and for a status other than 429 and 5xx, the kind is ``NetworkingError/Kind/unauthorized``.
    func authorize(over network: any NetworkingComponent) async throws -> Credentials

    /// Renews credentials; by default it fetches new ones.
    ///
    /// - Parameters:
    ///   - credentials: The credentials that have expired, or that the server refused.
    ///   - response: The response with which the server refused them; `nil` if they have expired.
    ///   - network: The components upstream of `authenticated`, for requests with a complete URL.
    /// - Returns: The new credentials, of the same user.
    /// - Throws: The reason why they cannot be renewed, as for ``authorize(over:)``.
    func refresh(
        _ credentials: Credentials,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Credentials
}

extension AuthenticationDelegate {
    /// Throws an error that says that no user is signed in.
    public func authorize(over network: any NetworkingComponent) async throws -> Credentials {
        throw SignedOut(delegate: "\(Self.self)")
    }

    /// Fetches new credentials.
    public func refresh(
        _ credentials: Credentials,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Credentials {
        do {
            return try await authorize(over: network)
        } catch is SignedOut {
            throw DelegateWithoutMethods(delegate: "\(Self.self)")
        }
    }
}

/// No user is signed in, and the store cannot sign in without the user.
struct SignedOut: Error {
    /// The type of a delegate that does not implement `authorize(over:)`; `nil` if there is no delegate.
    var delegate: String?
}

/// The delegate implements neither of its two methods, usually because a signature differs from the protocol's.
struct DelegateWithoutMethods: ReasonedError {
    let delegate: String

    var reason: String {
        "\(delegate) implements neither authorize(over:) nor refresh(_:after:over:) of AuthenticationDelegate. A "
            + "method with other parameters does not count, so compare its signature with the protocol's."
    }

    var countsAsRefusal: Bool { false }
    var kindOfRefusedRequests: NetworkingError.Kind { .unimplemented }
}

/// An error of a delegate with a reason that contains no secrets.
///
/// The errors of the requests that wait for the delegate can repeat the reason.
package protocol ReasonedError: Error {
    /// The error and what to do about it.
    var reason: String { get }
    /// Whether a server refused the refresh or sent an unusable response, so that it counts towards the refresh limit.
    ///
    /// `false` for a failure that was certain without asking a server, and for one without a response.
    var countsAsRefusal: Bool { get }
    /// The method and URL of the request that failed, without secrets; `nil` if the error is not about a request.
    var failedRequest: String? { get }
    /// The kind of error for requests that received no credentials.
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
    package var countsAsRefusal: Bool {
        switch kind.meaning {
        case .answered, .unusable: true
        default: false
        }
    }

    package var failedRequest: String? {
        "\(request)"
    }

    package var kindOfRefusedRequests: NetworkingError.Kind {
        switch kind {
        // A status that reports no outage, such as 400 or 401, is a refusal to renew the session.
        case .status: response?.status.isOutage == true ? .status : .unauthorized
        default: kind
        }
    }
}

/// A delegate that gets its tokens from a closure.
struct TokenProvider: AuthenticationDelegate {
    let token: @Sendable () async throws -> String

    func authorize(over network: any NetworkingComponent) async throws -> BearerCredentials {
        let token = try await token()
        return BearerCredentials(token: token, expirationDate: JSONWebToken.expirationDate(of: token))
    }
}
