#if Crypto
public import Networking

/// Keeps the tokens that a provider gives an app for one of its users, or for itself.
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
/// It is one user's at one provider; several stacks may have the same. Requests are sent with the access token, which
/// is renewed before it runs out and when the server refuses it, once for all who need it. Where nobody is signed in
/// they fail, or, with a grant, come by tokens by themselves.
public final class OAuthClient: Sendable {
    /// The provider, and what it knows the app by.
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
    /// A storage is one client's: its session has no user's id, so it is kept under an empty one.
    ///
    /// - Parameters:
    ///   - system: The provider, and what it knows the app by.
    ///   - session: The session to begin with, which was kept; nil when nobody is signed in.
    ///   - storage: Where sessions are kept, one for this client; nil for nowhere.
    ///   - grant: How requests come by tokens where nobody is signed in; nil when they fail. `signIn` uses it, too.
    ///   - leeway: How long before it runs out an access token is renewed.
    ///   - signInTimeout: How long a user may take to sign in.
    ///   - onStorageFailure: Hears of sessions that could not be kept or forgotten; nil logs it as an error.
    public init(
        _ system: OAuthSystem,
        session: Session? = nil,
        in storage: (any SessionStorage)? = nil,
        grant: OAuthGrant? = nil,
        leeway: Duration = .seconds(30),
        signInTimeout: Duration = .seconds(600),
        onStorageFailure: (@Sendable (any Error) -> Void)? = nil
    ) {
        self.system = system
        service = TokenService(system, grant: grant, signInTimeout: signInTimeout)
        let delegate = TokenServiceDelegate(service: service)
        // A request that has a user sign in waits as long as that may take.
        let timeout = grant?.needsUser == true ? signInTimeout + .seconds(60) : .seconds(60)
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

    /// Who is signed in; nil for nobody.
    public var session: Session? {
        tokens.credentials
    }

    /// What happens to the session from now on, for as many subscribers as there are.
    ///
    /// Each gets every change, in order. The sequence does not end.
    public var changes: AsyncStream<CredentialChange<Session>> {
        tokens.changes
    }

    /// Signs in with tokens that come from elsewhere: another device, a server of the app's.
    ///
    /// Whoever is about to sign in is not any more.
    ///
    /// - Parameter session: The tokens.
    public func set(_ session: Session) {
        service.abandonSignIn()
        tokens.set(session)
    }

    /// Signs out here alone: forgets the tokens, and leaves them good at the provider.
    ///
    /// For what cannot wait for a network, and for sessions that the provider has ended.
    public func remove() {
        service.abandonSignIn()
        tokens.remove()
    }

    /// Whether the provider has ended the session, so that requests fail until the user signs in anew.
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
    /// Whether somebody is signed in, and nothing of the tokens.
    public var description: String {
        "OAuthClient(\(system), \(session == nil ? "signed out" : "signed in"))"
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["system": system, "isSignedIn": session != nil])
    }
}
#endif
