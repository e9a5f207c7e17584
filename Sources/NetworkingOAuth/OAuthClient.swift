#if Crypto
public import NetworkingAuthentication

/// Manages the OAuth tokens of one user of an app, or of the app itself.
///
/// ```swift
/// let client = OAuthClient(
///     .provider(issuer: "https://login.example.com", clientID: "shop", redirectURI: callback, scopes: ["orders"])
/// )
/// let network = URLSession.shared
///     .authenticated(oauth: client)
///     .retry()
///     .server(authority: "api.example.com")
///
/// try await network.oauth(client).signIn(with: .authorizationCode(browser))
/// let (orders, _) = try await network.value(.orders)
/// ```
///
/// A client represents one user at one provider. Several stacks may share it. Requests are sent with the access token.
/// The client renews the token before it expires and when the server rejects it, once for all waiting requests. If no
/// user is signed in, requests fail, unless the client has a grant that obtains tokens for them.
public final class OAuthClient: Sendable {
    /// The provider, and the app's registration there.
    public let system: OAuthSystem
    let tokens: TokenStore<Session>
    let service: TokenService

    /// Creates a client.
    ///
    /// ```swift
    /// let storage = FileSessionStorage(directory: folder)
    /// let client = OAuthClient(system, session: try storage.session(for: ""), in: storage)
    /// ```
    ///
    /// Use one storage for each client. An OAuth session has no user ID, so it is stored under an empty one.
    ///
    /// - Parameters:
    ///   - system: The provider, and the app's registration there.
    ///   - session: The stored session to start with; `nil` if no user is signed in.
    ///   - storage: The storage for the sessions of this client; `nil` to keep them in memory only.
    ///   - grant: The way requests obtain tokens if no user is signed in; `nil` if those requests fail. It is also the
    ///     default grant of `signIn`.
    ///   - leeway: The time before its expiration at which an access token is renewed; 30 seconds by default.
    ///   - signInTimeout: The maximum time a user may take to sign in; ten minutes by default.
    ///   - onStorageFailure: Called when a session cannot be stored or deleted; `nil` logs the failure as an error.
    public init(
        _ system: OAuthSystem,
        session: Session? = nil,
        in storage: (any SessionStorage)? = nil,
        grant: OAuthGrant? = nil,
        leeway: Duration = .seconds(30),
        signInTimeout: Duration = .seconds(600),
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) {
        service = TokenService(system, grant: grant, signInTimeout: signInTimeout)
        self.system = system
        let delegate = TokenServiceDelegate(service: service)
        let timeout = Self.timeout(for: grant, signInTimeout)
        tokens =
            if let storage {
                TokenStore(
                    session,
                    in: storage,
                    delegate: delegate,
                    leeway: leeway,
                    timeout: timeout,
                    onStorageFailure: onStorageFailure
                )
            } else {
                TokenStore(session, delegate: delegate, leeway: leeway, timeout: timeout)
            }
        service.fill(tokens)
    }

    /// Creates a client with the session that a storage shares between several machines.
    ///
    /// ```swift
    /// let client = try await OAuthClient(system, sharing: storage, grant: .clientCredentials)
    /// ```
    ///
    /// One machine at a time requests tokens, and the others use them. Use one storage for each client, for example
    /// with a namespace of its own.
    ///
    /// - Parameters:
    ///   - system: The provider, and the app's registration there.
    ///   - storage: The storage for the sessions of this client.
    ///   - grant: The way requests obtain tokens if no user is signed in; `nil` if those requests fail. It is also the
    ///     default grant of `signIn`.
    ///   - leeway: The time before its expiration at which an access token is renewed; 30 seconds by default.
    ///   - signInTimeout: The maximum time a user may take to sign in; ten minutes by default.
    ///   - onStorageFailure: Called when a session cannot be stored or deleted; `nil` logs the failure as an error.
    /// - Throws: The error of the storage if the session cannot be read.
    public init(
        _ system: OAuthSystem,
        sharing storage: any SharedSessionStorage,
        grant: OAuthGrant? = nil,
        leeway: Duration = .seconds(30),
        signInTimeout: Duration = .seconds(600),
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) async throws {
        service = TokenService(system, grant: grant, signInTimeout: signInTimeout)
        self.system = system
        tokens = try await TokenStore(
            for: "",
            sharing: storage,
            delegate: TokenServiceDelegate(service: service),
            leeway: leeway,
            timeout: Self.timeout(for: grant, signInTimeout),
            onStorageFailure: onStorageFailure
        )
        service.fill(tokens)
    }

    /// Returns the time limit of a refresh: a request that starts a sign-in waits at least until the sign-in times out.
    private static func timeout(for grant: OAuthGrant?, _ signInTimeout: Duration) -> Duration {
        grant?.needsUser == true ? signInTimeout + .seconds(60) : .seconds(60)
    }

    /// The current session; `nil` if no user is signed in.
    public var session: Session? {
        tokens.credentials
    }

    /// The changes of the session from now on, for any number of subscribers.
    ///
    /// Each subscriber receives every change, in order. The sequence ends only if the task that iterates it is
    /// cancelled.
    public var changes: AsyncStream<CredentialChange<Session>> {
        tokens.changes
    }

    /// Signs in with tokens from another source, such as another device or the app's own server.
    ///
    /// Cancels a sign-in that is in progress.
    ///
    /// - Parameter session: The tokens.
    public func set(_ session: Session) {
        service.abandonSignIn()
        tokens.set(session)
    }

    /// Signs out locally: deletes the tokens without revoking them at the provider.
    ///
    /// Use it when the app cannot wait for the network, or when the provider has ended the session already.
    public func remove() {
        service.abandonSignIn()
        tokens.remove()
    }

    /// `true` if the provider has ended the session, so that requests fail until the user signs in again.
    public var needsSignIn: Bool {
        session.map { service.isDead($0) } ?? false
    }
}

extension OAuthGrant {
    var needsUser: Bool {
        switch self {
        case .authorizationCode, .deviceCode: true
        case .clientCredentials: false
        }
    }
}

extension OAuthClient: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Whether a user is signed in, without the tokens.
    public var description: String {
        "OAuthClient(\(system), \(session == nil ? "signed out" : "signed in"))"
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["system": system, "isSignedIn": session != nil])
    }
}
#endif
