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
/// One call at a time, whoever asks and however many. It belongs to none of them: it goes on when all who wait have been
/// cancelled, since a refresh token that was sent may be spent. What it sends, over `network` or over the whole stack,
/// passes `authenticated` without credentials of this store.
public protocol AuthenticationDelegate<Credentials>: Sendable {
    /// The credentials.
    associatedtype Credentials: AuthenticatingCredentials

    /// Gets credentials where there are none. By default there is no way to, and requests fail.
    ///
    /// - Parameter network: What lies upstream of `authenticated`, for requests with a URL of their own.
    /// - Returns: The credentials.
    /// - Throws: Why there are none. Every request that waits fails with
    ///   ``NetworkingError/Kind/unauthorized`` and this beneath it; the next tries again.
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

/// An error whose reason has no secret in it, so that it can be said in the words of another.
package protocol ReasonedError: Error {
    /// What happened and what to do about it.
    var reason: String { get }
    /// Whether it was clear without asking anybody, so that it does not count among the refreshes.
    var isForeseen: Bool { get }
}

extension NetworkingError: ReasonedError {
    package var isForeseen: Bool {
        false
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
