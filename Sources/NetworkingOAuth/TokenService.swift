#if Crypto
import FoundationForNetworking
import NetworkingAuthentication
import NetworkingCore
import Synchronization

/// Obtains, renews and revokes the tokens of one ``OAuthClient``.
final class TokenService: Sendable {
    let system: OAuthSystem
    /// The way requests obtain tokens if no user is signed in; `nil` if they fail.
    let grant: OAuthGrant?
    /// The proofs of the keys that tokens are bound to.
    let proofs = DPoPProofs()
    private let signInTimeout: Duration
    private let state = Mutex(State())

    private typealias SignIn = SharedOperation<Session>

    private struct State {
        weak var store: TokenStore<Session>?
        /// The metadata, once it has been loaded.
        var server: OAuthServer?
        var signIn: SignIn?
        /// The origin of the current session, if it was created by this service.
        var origin: Origin?
        /// The refresh token that the provider has rejected for good, so that it is not sent with every request.
        var deadToken: String?
        /// Whether the user has declined on a page that a request had opened.
        var isDenied = false
    }

    private enum Origin {
        case user, app
    }

    init(_ system: OAuthSystem, grant: OAuthGrant?, signInTimeout: Duration) {
        self.system = system
        self.grant = grant
        self.signInTimeout = signInTimeout
    }

    /// Sets the store for the sessions that this service creates.
    func fill(_ store: TokenStore<Session>) {
        state.withLock { $0.store = store }
    }

    // MARK: Signing in

    /// Starts a new sign-in and replaces one that is in progress.
    func signIn(
        by grant: OAuthGrant,
        _ parameters: [URLQueryItem],
        _ scopes: [String]?,
        over network: AnyNetworkingComponent
    ) async throws -> Session {
        let (signIn, former) = state.withLock { state in
            let former = state.signIn
            let signIn = SignIn()
            state.signIn = signIn
            state.isDenied = false
            return (signIn, former)
        }
        former?.end(with: .failure(OAuthError.superseded))
        start(signIn, by: grant, parameters, scopes, over: network)
        return try await signIn.valueForCreator(until: nil)
    }

    /// Joins the sign-in in progress, or starts one.
    func joinSignIn(by grant: OAuthGrant, over network: AnyNetworkingComponent) async throws -> Session {
        // A sign-out cancels the callers that wait for tokens, and they must not start a new sign-in afterwards.
        try Task.checkCancellation()
        let (signIn, waiter, isDenied) = state.withLock { state -> (SignIn, SignIn.Waiter?, Bool) in
            if let signIn = state.signIn, let waiter = signIn.join() { return (signIn, waiter, false) }
            let signIn = SignIn()
            guard !state.isDenied else { return (signIn, nil, true) }
            state.signIn = signIn
            return (signIn, nil, false)
        }
        // A page that the user has closed must not reappear with every request.
        guard !isDenied else { throw OAuthError.deniedBefore }
        if let waiter { return try await signIn.value(for: waiter, until: nil) }
        start(signIn, by: grant, [], nil, over: network)
        do {
            return try await signIn.valueForCreator(until: nil)
        } catch let error as OAuthError where error.isDenied {
            state.withLock { $0.isDenied = true }
            throw error
        }
    }

    /// Cancels a sign-in in progress, so that it cannot sign in later, and clears the state of the previous user.
    func abandonSignIn() {
        let signIn = state.withLock { state in
            defer { state.signIn = nil }
            state.deadToken = nil
            state.origin = nil
            state.isDenied = false
            return state.signIn
        }
        signIn?.end(with: .failure(OAuthError.superseded))
    }

    /// Ends a sign-in that takes too long, unless it has already completed.
    private func expire(_ signIn: SignIn) {
        state.withLock { state in
            if state.signIn === signIn { state.signIn = nil }
        }
        signIn.end(
            with: .failure(
                OAuthError(
                    .expired,
                    "The user did not sign in within \(signInTimeout.roundedText). Sign in again, or allow more time."
                )
            )
        )
    }

    private func start(
        _ signIn: SignIn,
        by grant: OAuthGrant,
        _ parameters: [URLQueryItem],
        _ scopes: [String]?,
        over network: AnyNetworkingComponent
    ) {
        signIn.start { [self] in
            let clock = NetworkEnvironment.current.clock
            // A page can stay open forever.
            let alarm = clock.alarm(at: clock.now + signInTimeout) { [self] in expire(signIn) }
            defer { alarm.cancel() }
            // The store is gone once the last reference to the client is released; then no session is needed.
            guard let store = state.withLock({ $0.store }) else { throw CancellationError() }
            // Requests that a user agent sends over the same stack must not wait for this sign-in.
            let new = try await store.withoutCredentials {
                try await session(by: grant, parameters, scopes, over: network)
            }
            try Task.checkCancellation()
            try land(new, in: store, of: signIn, by: grant)
            return new
        }
    }

    /// Stores a session, unless a sign-out or another sign-in has replaced this one.
    private func land(
        _ session: Session,
        in store: TokenStore<Session>,
        of signIn: SignIn,
        by grant: OAuthGrant
    ) throws {
        var isWanted = false
        store.set(session) {
            // Checked while the store changes, so that a sign-out happens either before or after and wins in both
            // cases.
            isWanted = state.withLock { state in
                guard state.signIn === signIn, !signIn.isAbandoned else { return false }
                state.signIn = nil
                state.deadToken = nil
                state.origin = grant.needsUser ? .user : .app
                return true
            }
            return isWanted
        }
        guard isWanted else { throw OAuthError.superseded }
    }

    // MARK: Grants

    /// Obtains a session with a grant.
    ///
    /// - Parameters:
    ///   - grant: The grant.
    ///   - parameters: Additional query items for the page.
    ///   - scopes: The scopes to request instead of those of the system; `nil` for those.
    ///   - oldKey: The key of the session that the new one replaces; `nil` for a new key.
    ///   - network: Sends the requests.
    /// - Returns: The session, with its key if its tokens are bound to one.
    /// - Throws: ``OAuthError``; `NetworkingError` if the provider cannot be reached; errors of the user agent.
    func session(
        by grant: OAuthGrant,
        _ parameters: [URLQueryItem] = [],
        _ scopes: [String]? = nil,
        keeping oldKey: DPoPKey? = nil,
        over network: AnyNetworkingComponent
    ) async throws -> Session {
        let server = try await server(over: network)
        var system = system
        system.scopes = scopes ?? system.scopes
        let key = try oldKey ?? system.newKey(at: server)
        switch grant {
        case .authorizationCode(let agent):
            let authorization = try OAuthAuthorization(for: system, at: server, parameters, boundTo: key)
            let callback = try await agent.authorize(authorization)
            try Task.checkCancellation()
            guard callback.authorization.isSame(as: authorization) else {
                throw OAuthError(
                    .invalidCallback,
                    "The user agent returned the callback of another page. Sign in again."
                )
            }
            let code = try callback.authorization.code(of: callback.url)
            let fields = [
                URLQueryItem(name: "code", value: code),
                URLQueryItem(name: "redirect_uri", value: callback.authorization.redirectURI.absoluteString),
                URLQueryItem(name: "code_verifier", value: authorization.proofKey.verifier),
            ]
            return try await endpoint(of: server, boundTo: key, over: network).tokens(for: "authorization_code", fields)
                .session(asking: system.scopes)
        case .deviceCode(let show):
            let flow = DeviceFlow(system: system, server: server, network: network, proofs: proofs, key: key)
            return try await flow.session(showing: show)
        case .clientCredentials:
            let scope = system.scopes.joined(separator: " ")
            let fields = scope.isEmpty ? [] : [URLQueryItem(name: "scope", value: scope)]
            var endpoint = endpoint(of: server, boundTo: key, over: network)
            endpoint.isRenewing = oldKey != nil
            return try await endpoint.tokens(for: "client_credentials", fields).session(asking: system.scopes)
        }
    }

    /// Renews a session with its refresh token (RFC 6749 section 6).
    func renewed(_ session: Session, over network: AnyNetworkingComponent) async throws -> Session {
        guard let token = session.refreshToken else {
            // The app's own token is renewed by requesting a new one. It must not replace the token of a user.
            let isApps =
                switch state.withLock({ $0.origin }) {
                case .app: true
                case .user: false
                case nil: grant.map { !$0.needsUser } ?? false
                }
            if isApps {
                return try await self.session(by: .clientCredentials, keeping: session.dpopKey, over: network)
            }
            throw OAuthError.signInRequired(because: "and there is no refresh token to renew it")
        }
        guard state.withLock({ $0.deadToken != token }) else { throw Self.refused(nil) }
        do {
            // The provider has bound the refresh token of an app without a secret to the key (RFC 9449 section 5).
            let key = try proofs.key(of: session)
            guard key != nil || system.dpop != .required else {
                throw OAuthError.signInRequired(because: "and its session has no key, which dpop = .required demands")
            }
            var endpoint = try await endpoint(of: server(over: network), boundTo: key, over: network)
            endpoint.isRenewing = true
            let fields = [URLQueryItem(name: "refresh_token", value: token)]
            return try await endpoint.tokens(for: "refresh_token", fields).renewing(session)
        } catch let error as OAuthError where error.code == "invalid_grant" {
            state.withLock { $0.deadToken = token }
            throw Self.refused(error)
        }
    }

    /// Whether the provider has permanently ended a session.
    func isDead(_ session: Session) -> Bool {
        // Its tokens are of no use without their key.
        if session.isBoundToKey, session.dpopKey == nil { return true }
        guard let token = session.refreshToken else { return false }
        return state.withLock { $0.deadToken == token }
    }

    private static func refused(_ error: OAuthError?) -> OAuthError {
        .signInRequired(because: "and the provider refused to renew it (invalid_grant)", code: "invalid_grant", error)
    }

    /// Revokes the tokens of a session, if the provider has an endpoint for that.
    func revoke(_ session: Session, over network: AnyNetworkingComponent) async throws {
        let url: URL?
        do {
            url = try await server(over: network).revocationEndpoint
        } catch let error where !(error is CancellationError) {
            throw OAuthError(
                .revocation,
                underlying: error,
                "The user is signed out here, but the provider's endpoint for revoking the tokens could not be loaded. "
                    + "They stay valid until they expire."
            )
        }
        guard let url else { return }
        let endpoint = TokenEndpoint(system: system, url: url, network: network, purpose: .revocation, proofs: proofs)
        try await Revocation(endpoint: endpoint).revoke(session)
    }

    private func endpoint(
        of server: OAuthServer,
        boundTo key: DPoPKey?,
        over network: AnyNetworkingComponent
    ) -> TokenEndpoint {
        TokenEndpoint(
            system: system,
            url: server.tokenEndpoint,
            network: network,
            purpose: .token,
            proofs: proofs,
            key: key
        )
    }

    /// Returns the provider's endpoints.
    ///
    /// Loaded metadata is kept. Two concurrent callers may both load it.
    private func server(over network: AnyNetworkingComponent) async throws -> OAuthServer {
        switch system.source {
        case .known(let server):
            try server.checkEndpoints()
            return server
        case .discovered(let issuer):
            if let server = state.withLock({ $0.server }) { return server }
            let server = try await OAuthServer.discovered(from: issuer, over: network)
            try server.checkEndpoints()
            state.withLock { $0.server = server }
            return server
        }
    }
}

extension OAuthError {
    fileprivate static var noSignedInUser: OAuthError {
        OAuthError(
            .signInRequired,
            countsAsRefusal: false,
            "No user is signed in, so the request was not sent. Sign in with network.oauth(client).signIn(with:), "
                + "give the client a grant, or set the request's authenticationMethod to .anonymous."
        )
    }

    fileprivate static var deniedBefore: OAuthError {
        OAuthError(
            .denied,
            countsAsRefusal: false,
            "The user closed the sign-in page before, and requests do not open it again. Call signIn when the user "
                + "wants to sign in."
        )
    }

    static var superseded: OAuthError {
        OAuthError(.superseded, "The user signed out, or started another sign-in, before this one was complete.")
    }

    fileprivate static func signInRequired(
        because reason: String,
        code: String? = nil,
        _ underlying: OAuthError? = nil
    ) -> OAuthError {
        OAuthError(
            .signInRequired,
            code: code,
            statusCode: underlying?.statusCode,
            underlying: underlying,
            countsAsRefusal: underlying != nil,
            "The access token has expired or was refused, \(reason). Ask the user to sign in again."
        )
    }
}

/// Obtains tokens when a request needs them.
struct TokenServiceDelegate: AuthenticationDelegate {
    let service: TokenService

    func authorize(over network: any NetworkingComponent) async throws -> Session {
        guard let grant = service.grant else { throw OAuthError.noSignedInUser }
        let network = AnyNetworkingComponent(network)
        // The app's own tokens do not sign in a user.
        if case .clientCredentials = grant { return try await service.session(by: grant, over: network) }
        return try await service.joinSignIn(by: grant, over: network)
    }

    func refresh(
        _ session: Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Session {
        try await service.renewed(session, over: AnyNetworkingComponent(network))
    }
}
#endif
