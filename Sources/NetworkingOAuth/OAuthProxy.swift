#if Crypto
public import Networking

extension NetworkingComponent {
    /// What signs in and out through this stack.
    ///
    /// ```swift
    /// let account = network.oauth(client)
    /// try await account.signIn(with: .authorizationCode(browser))
    /// try await account.signOut()
    /// ```
    ///
    /// Its requests to the provider pass the whole stack, so that they are logged, timed and measured as others, but neither
    /// `authenticated` nor `server` touches them.
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
    /// Whoever is about to sign in with this client ends with ``OAuthError/Kind/superseded``, so that a page that nobody finds any
    /// more does not stand in the way. A cancelled caller gets `CancellationError`, and the page goes.
    ///
    /// - Parameter grant: How the tokens are come by; nil for the client's own.
    /// - Returns: The session, which the client has.
    /// - Throws: ``OAuthError``; `NetworkingError` when the provider cannot be reached; what the user agent throws.
    @discardableResult
    public func signIn(with grant: OAuthGrant? = nil) async throws -> Session {
        guard let grant = grant ?? client.service.grant else {
            throw OAuthError(
                .misconfigured,
                "It is not said how to sign in. Name a grant: signIn(with: .authorizationCode(browser))."
            )
        }
        return try await withEnvironment(network.environmentOfCredentials) {
            try await client.service.signIn(by: grant, over: network)
        }
    }

    /// Signs out: forgets the tokens, and then has the provider void them (RFC 7009), where it can.
    ///
    /// Requests that wait for tokens fail, and who is about to sign in is not any more. The user is signed out here at once, whatever comes
    /// of the rest.
    ///
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/revocation`` when the provider could not be told, and
    ///   `CancellationError`.
    public func signOut() async throws {
        client.service.abandonSignIn()
        let session = client.session
        client.tokens.remove()
        guard let session else { return }
        try await withEnvironment(network.environmentOfCredentials) {
            try await client.service.revoke(session, over: network)
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
