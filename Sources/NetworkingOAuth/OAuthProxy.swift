#if Crypto
public import FoundationForNetworking
public import NetworkingAuthentication
public import NetworkingCore

extension NetworkingComponent {
    /// Returns a proxy that signs in and out through this stack.
    ///
    /// ```swift
    /// let account = network.oauth(client)
    /// try await account.signIn(with: .authorizationCode(browser))
    /// try await account.signOut()
    /// ```
    ///
    /// Its requests to the provider pass through the whole stack. They are logged, timed and measured like other
    /// requests, but `authenticated` and `server` do not modify them.
    ///
    /// - Parameter client: The client of an `authenticated(oauth:)` in the stack.
    /// - Returns: The proxy.
    public func oauth(_ client: OAuthClient) -> OAuthProxy {
        OAuthProxy(client: client, network: AnyNetworkingComponent(self))
    }
}

/// Signs in to a provider, and out of it, through one stack.
public struct OAuthProxy: Sendable {
    /// The client that manages the tokens.
    public let client: OAuthClient
    let network: AnyNetworkingComponent

    /// Signs in: obtains tokens from the provider, usually by asking the user, and stores them.
    ///
    /// A sign-in of this client that is already in progress ends with ``OAuthError/Kind/superseded``, so that a
    /// forgotten page does not block a new one. If the caller is cancelled, it gets `CancellationError` and the page
    /// closes.
    ///
    /// - Parameters:
    ///   - grant: The way to obtain the tokens; `nil` for the grant of the client.
    ///   - parameters: Additional query items for the page of this sign-in, such as `prompt` to choose another account.
    ///   - scopes: The scopes to request in this sign-in; `nil` for those of the system.
    /// - Returns: The session, which the client has already stored.
    /// - Throws: ``OAuthError``; `NetworkingError` if the provider cannot be reached; errors of the user agent.
    @discardableResult
    public func signIn(
        with grant: OAuthGrant? = nil,
        parameters: [URLQueryItem] = [],
        scopes: [String]? = nil
    ) async throws -> Session {
        guard let grant = grant ?? client.service.grant else {
            throw OAuthError(
                .misconfigured,
                "No grant is set. Pass one: signIn(with: .authorizationCode(browser))."
            )
        }
        return try await withEnvironment(network.environmentOfCredentials) {
            try await client.service.signIn(by: grant, parameters, scopes, over: network)
        }
    }

    /// Signs out: deletes the tokens and then revokes them at the provider (RFC 7009), if it supports that.
    ///
    /// Requests that wait for tokens fail, and a sign-in in progress is cancelled. The user is signed out locally at
    /// once, even if the revocation fails. If the caller is cancelled, the tokens remain valid at the provider.
    /// ``OAuthClient/remove()`` signs out without contacting the provider.
    ///
    /// If the client has a grant that asks the user, the next request asks again.
    ///
    /// - Throws: ``OAuthError`` of the kind ``OAuthError/Kind/revocation`` if the tokens could not be revoked, and
    ///   `CancellationError`.
    public func signOut() async throws {
        client.service.abandonSignIn()
        guard let session = client.tokens.takeOut() else { return }
        try await withEnvironment(network.environmentOfCredentials) {
            try await client.service.revoke(session, over: network)
        }
    }

    /// Returns a session with a valid access token, for code outside the stack such as a socket, a web view or another
    /// library.
    ///
    /// The session is renewed if necessary, as for a request.
    ///
    /// - Returns: The session.
    /// - Throws: `NetworkingError`, as for a request that cannot obtain a token, and `CancellationError`.
    public func validSession() async throws -> Session {
        try await withEnvironment(network.environmentOfCredentials) {
            let request = HTTPRequestData(method: .get, path: "/")
            return try await client.tokens.grant(for: request, over: network).credentials
        }
    }

    /// Signs in with tokens from another source.
    ///
    /// - Parameter session: The tokens.
    public func set(_ session: Session) {
        client.set(session)
    }

    /// The current session; `nil` if no user is signed in.
    public var session: Session? {
        client.session
    }

    /// The changes of the session from now on, for any number of subscribers.
    public var changes: AsyncStream<CredentialChange<Session>> {
        client.changes
    }
}
#endif
