#if Crypto
public import Networking

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension NetworkingComponent {
    /// What signs in and out through this stack.
    ///
    /// ```swift
    /// let account = network.oauth(client)
    /// try await account.signIn(with: .authorizationCode(browser))
    /// try await account.signOut()
    /// ```
    ///
    /// Its requests to the provider pass the whole stack, so that they are logged, timed and measured as others, but
    /// neither `authenticated` nor `server` touches them.
    ///
    /// - Parameter client: The client of one of the stack's `authenticated(oauth:)`.
    /// - Returns: The proxy.
    public func oauth(_ client: OAuthClient) -> OAuthProxy {
        OAuthProxy(client: client, network: AnyNetworkingComponent(self))
    }
}

/// Signs in and out at a provider, through one stack.
public struct OAuthProxy: Sendable {
    /// Keeps the tokens.
    public let client: OAuthClient
    let network: AnyNetworkingComponent

    /// Signs in: has the provider ask the user, and keeps the tokens that it gives out.
    ///
    /// Whoever is about to sign in with this client ends with ``OAuthError/Kind/superseded``, so that a page that
    /// nobody finds any more does not stand in the way. A cancelled caller gets `CancellationError`, and the page goes.
    ///
    /// - Parameters:
    ///   - grant: How the tokens are come by; nil for the client's own.
    ///   - parameters: Further query items for the page, this time, such as `prompt` for another account.
    /// - Returns: The session, which the client has.
    /// - Throws: ``OAuthError``; `NetworkingError` when the provider cannot be reached; what the user agent throws.
    @discardableResult
    public func signIn(with grant: OAuthGrant? = nil, parameters: [URLQueryItem] = []) async throws -> Session {
        guard let grant = grant ?? client.service.grant else {
            throw OAuthError(
                .misconfigured,
                "It is not said how to sign in. Name a grant: signIn(with: .authorizationCode(browser))."
            )
        }
        return try await withEnvironment(network.environmentOfCredentials) {
            try await client.service.signIn(by: grant, parameters, over: network)
        }
    }

    /// Signs out: forgets the tokens, and then has the provider void them (RFC 7009), where it can.
    ///
    /// Requests that wait for tokens fail, and who is about to sign in is not any more. The user is signed out here at
    /// once, whatever comes of the rest; a caller that is cancelled leaves the tokens good at the provider.
    /// ``OAuthClient/remove()`` does without the provider.
    ///
    /// With a client whose grant asks the user, the next request asks again.
    ///
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/revocation`` when the provider could not be told, and
    ///   `CancellationError`.
    public func signOut() async throws {
        client.service.abandonSignIn()
        guard let session = client.tokens.takeOut() else { return }
        try await withEnvironment(network.environmentOfCredentials) {
            try await client.service.revoke(session, over: network)
        }
    }

    /// A session whose access token is good now, for what is no request of a stack: a socket, a web view, somebody's
    /// library.
    ///
    /// It is renewed where it has to be, as for a request.
    ///
    /// - Returns: The session.
    /// - Throws: What a request throws that gets no token.
    public func validSession() async throws -> Session {
        try await withEnvironment(network.environmentOfCredentials) {
            let request = HTTPRequestData(method: .get, path: "/")
            return try await client.tokens.grant(for: request, over: network).credentials
        }
    }

    /// Signs in with tokens that come from elsewhere.
    ///
    /// - Parameter session: The tokens.
    public func set(_ session: Session) {
        client.set(session)
    }

    /// Who is signed in; nil for nobody.
    public var session: Session? {
        client.session
    }

    /// What happens to the session from now on, for as many subscribers as there are.
    public var changes: AsyncStream<CredentialChange<Session>> {
        client.changes
    }
}
#endif
