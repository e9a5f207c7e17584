import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Sends requests with the credentials of a store, which renews them when they expire or are refused.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .authenticated(with: TokenStore(session, delegate: Login()))
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// A request gets the credentials if its ``HTTPRequestData/authenticationMethod`` matches their method or is not
    /// set. `.anonymous` excludes one request, `isExempt` excludes routes, and a request that already has credentials
    /// keeps them.
    ///
    /// The credentials go to the server that the stack names next to this modifier, and to `authorities`. That server
    /// is the nearest `server` outside of it, or the nearest one inside if there is none outside. Requests to other
    /// servers, such as absolute URLs or a second `server` further out, are sent without them, and
    /// ``CredentialsEvent/withheld(_:)`` reports it.
    ///
    /// When the server returns 401, as a response or in an error, the request is sent again with refreshed credentials.
    /// If the credentials have been renewed in the meantime, it is sent again without another refresh. All other
    /// responses and errors are passed on unchanged. A 401 is passed on, too, if
    /// - its challenges are only for other schemes,
    /// - it says that the token is valid but its scope is too small (`insufficient_scope`),
    /// - the body can be sent only once,
    /// - the sink has received a body and cannot restart,
    /// - the user has signed out, or another user has signed in.
    ///
    /// A request belongs to the user who was signed in when the call began. If another user has signed in by the time
    /// the credentials are added, it fails with ``NetworkingError/isOfAnotherUser``, and nothing is sent.
    ///
    /// Place it inside `retry`, `cached` and `deduplicated`, so that they know which user a response belongs to, and
    /// outside `timeout`, which then limits each attempt. A cancelled caller gets `CancellationError` at once, even
    /// while it waits for a refresh. The refresh continues for the other callers.
    ///
    /// - Parameters:
    ///   - store: The store of the credentials.
    ///   - authorities: Hosts that receive the credentials in addition to that server, each with its port unless that
    ///     is the default of the scheme.
    ///   - preemptive: Whether the credentials are sent at once; `true` by default. If `false`, each request is first
    ///     sent without them. After a 401, it is sent again with the strongest scheme that the server names and the
    ///     stack has credentials for.
    ///   - isExempt: Returns `true` for requests that are sent without credentials. It must not have side effects.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/unauthorized`` if there
    ///   are no credentials or the delegate cannot refresh them. If the refresh failed because of the network or
    ///   because a server was down, the error has the kind of that failure. The delegate's error is the underlying one.
    ///   In a stack that names no server, without `authorities`, the kind is ``NetworkingError/Kind/invalidRequest``.
    public func authenticated<Credentials>(
        with store: TokenStore<Credentials>,
        at authorities: [String] = [],
        preemptive: Bool = true,
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent {
        modified(
            Authenticated(
                store: store,
                method: Credentials.method,
                scope: CredentialScope(authorities),
                isPreemptive: preemptive,
                presenter: nil,
                isExempt: isExempt
            )
        )
    }

    /// Sends requests with the credentials of a store, for credentials that a request selects by their own method.
    ///
    /// With a presenter, the modifier follows redirects instead of the transport, because each URL needs a presentation
    /// of its own.
    package func authenticated<Credentials>(
        with store: TokenStore<Credentials>,
        as method: AuthenticationMethod,
        at authorities: [String],
        preemptive: Bool,
        presentedBy presenter: (any CredentialPresenter<Credentials>)?,
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)?
    ) -> some NetworkingComponent {
        modified(
            Authenticated(
                store: store,
                method: method,
                scope: CredentialScope(authorities),
                isPreemptive: preemptive,
                presenter: presenter,
                isExempt: isExempt
            )
        )
    }

    /// Sends requests with credentials that never change.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .authenticated(with: BasicCredentials(user: "emily", password: password))
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// It works like the overload with a store, except that a 401 is returned without a refresh.
    ///
    /// - Parameters:
    ///   - credentials: The credentials.
    ///   - authorities: Hosts that receive the credentials in addition to the stack's server.
    ///   - preemptive: Whether the credentials are sent at once.
    ///   - isExempt: Returns `true` for requests that are sent without credentials.
    /// - Returns: A component that sends requests with the credentials.
    public func authenticated(
        with credentials: some AuthenticatingCredentials,
        at authorities: [String] = [],
        preemptive: Bool = true,
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent {
        authenticated(with: TokenStore(credentials), at: authorities, preemptive: preemptive, except: isExempt)
    }

    /// Sends requests with credentials that a delegate fetches for the first request and renews later.
    ///
    /// It works like the overload with a store, and creates the store itself.
    ///
    /// - Parameters:
    ///   - delegate: The delegate that fetches and renews credentials.
    ///   - authorities: Hosts that receive the credentials in addition to the stack's server.
    ///   - isExempt: Returns `true` for requests that are sent without credentials.
    /// - Returns: A component that sends requests with the credentials.
    public func authenticated<Delegate: AuthenticationDelegate>(
        with delegate: Delegate,
        at authorities: [String] = [],
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent {
        authenticated(with: TokenStore<Delegate.Credentials>(delegate: delegate), at: authorities, except: isExempt)
    }

    /// Sends requests with a bearer token that a closure returns.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .authenticated(withBearer: { try await account.idToken() })
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// The closure is called for the first request, and after the server has refused the token. If the token is a JSON
    /// Web Token, its expiration date counts, too: the first request within the last 30 seconds before it calls the
    /// closure in the background, and a request with an expired token waits for a new one. In all other respects, it
    /// works like the overload with a store.
    ///
    /// - Parameters:
    ///   - token: Returns a token that is currently valid.
    ///   - authorities: Hosts that receive the token in addition to the stack's server.
    ///   - isExempt: Returns `true` for requests that are sent without the token.
    /// - Returns: A component that sends requests with the token.
    public func authenticated(
        withBearer token: @escaping @Sendable () async throws -> String,
        at authorities: [String] = [],
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent {
        authenticated(with: TokenProvider(token: token), at: authorities, except: isExempt)
    }
}

struct Authenticated<Credentials: AuthenticatingCredentials>: UpstreamLimited, CustomStringConvertible {
    let store: TokenStore<Credentials>
    let method: AuthenticationMethod
    let scope: CredentialScope
    let isPreemptive: Bool
    /// Adds the credentials to each request; `nil` if they add themselves.
    let presenter: (any CredentialPresenter<Credentials>)?
    let isExempt: (@Sendable (HTTPRequestData) -> Bool)?

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard presenter != nil else { return try await sendHop(request, upstream: upstream) }
        // A transport that follows redirects would send the proof for another URL.
        let principal = { (hop: HTTPRequestData) in self.principal(for: hop, upstream: upstream) }
        return try await request.takingOverRedirects(for: principal, over: upstream) { hop in
            try await sendHop(hop, upstream: upstream)
        }
    }

    private func sendHop(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        guard wants(request) else { return try await upstream.send(request) }
        guard scope.admits(request) else {
            try scope.withhold("\(method.rawValue) credentials are", from: request)
            return try await upstream.send(request)
        }
        guard isPreemptive else { return try await sendAfterChallenge(to: request, upstream: upstream) }
        return try await authenticate(request, upstream: upstream)
    }

    func resolve(_ request: inout HTTPRequestData) {
        scope.resolve(&request)
        store.noteUser(of: &request)
        // Components further out must redact the key too, because a server may repeat it in a redirect.
        if Credentials.self == APIKeyCredentials.self, let key = store.credentials as? APIKeyCredentials,
            case .query(let name) = key.place
        {
            request.markSecret(queryItem: name)
        }
    }

    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        guard wants(request), scope.admits(request) else { return upstream.principal(for: request) }
        return upstream.principal(for: claimed(request)).joined(by: store.user(of: request))
    }

    // MARK: Matching requests

    /// Whether these credentials apply to a request, wherever it is sent.
    private func wants(_ request: HTTPRequestData) -> Bool {
        guard request.authenticationMethod.map({ $0 == method }) ?? true else { return false }
        // A request has one Authorization field, and the outermost credentials use it. An API key in another field can
        // be added.
        let hasField = request.isHandled(.authorization) || request.headerFields.contains(.authorization)
        return !(Credentials.scheme != nil && hasField) && !store.isRenewing && isExempt?(request) != true
    }

    /// Returns the request with its Authorization field marked as used, for components further in.
    private func claimed(_ request: HTTPRequestData) -> HTTPRequestData {
        guard Credentials.scheme != nil else { return request }
        var request = request
        request.handle(.authorization)
        return request
    }

    // MARK: Sending

    private func authenticate(
        _ request: HTTPRequestData,
        _ sinkUse: SinkUse? = nil,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var request = claimed(request)
        let sinkUse = sinkUse ?? request.observeSink()
        try Task.checkCancellation()
        var grant =
            if let good = store.goodGrant { good } else { try await store.grant(for: request, over: upstream) }
        var result = try await attempt(request, sinkUse, with: grant, upstream: upstream)
        // Other requests may renew the credentials between two checks, so the number of attempts is limited.
        for _ in 0..<3 {
            guard let refusal = refusal(in: result, of: request), mayMend(refusal, of: request, sinkUse, grant) else {
                break
            }
            guard let next = try await store.grant(after: grant, refusal, for: request, over: upstream) else { break }
            grant = next
            try request.checkCancellation()
            // The sink asks only for the bytes that it does not have yet.
            request.sink?.prepare(&request)
            result = try await attempt(request, sinkUse, with: grant, upstream: upstream)
        }
        return try result.get()
    }

    /// Sends a request with credentials, and once more if the server wants the same ones in another form.
    private func attempt(
        _ request: HTTPRequestData,
        _ sinkUse: SinkUse?,
        with grant: TokenStore<Credentials>.Grant,
        upstream: some NetworkingComponent
    ) async throws -> Result<HTTPResponseData, any Error> {
        let result = try await exchange(request, with: grant, upstream: upstream)
        guard let presenter, let refusal = refusal(in: result, of: request),
            presenter.asksForRepetition(refusal, with: grant.credentials), request.canBeSentAgain(sinkUse)
        else { return result }
        try request.checkCancellation()
        var request = request
        request.sink?.prepare(&request)
        return try await exchange(request, with: grant, upstream: upstream)
    }

    private func exchange(
        _ request: HTTPRequestData,
        with grant: TokenStore<Credentials>.Grant,
        upstream: some NetworkingComponent
    ) async throws -> Result<HTTPResponseData, any Error> {
        // The app may have changed the server while the request waited, and the credentials may belong to the new
        // server.
        guard scope.admits(request) else {
            try scope.withhold("\(method.rawValue) credentials are", from: request)
            return try await upstream.outcome(of: request)
        }
        // Another user may have signed in since the call began, wherever the request has waited.
        try store.checkUser(of: request, for: grant)
        var request = request
        let bare = request
        if let presenter {
            try presenter.apply(grant.credentials, to: &request)
        } else {
            try grant.credentials.apply(to: &request)
        }
        request.recordCredentials(of: grant.principal, since: bare)
        let result = try await upstream.outcome(of: request).belonging(to: grant.principal)
        if let presenter, let response = request.response(in: result), scope.admits(response.sentRequest) {
            presenter.learn(from: response, with: grant.credentials)
        }
        if grant.isUnproven, let response = request.response(in: result), response.status.showsAcceptance,
            scope.admits(response.sentRequest)
        {
            store.accept(grant)
        }
        return result
    }

    /// Returns the 401 response, also from an error, unless a redirect led to another server that sent it.
    private func refusal(
        in result: Result<HTTPResponseData, any Error>,
        of request: HTTPRequestData
    ) -> HTTPResponseData? {
        guard let response = request.response(in: result), response.status == .unauthorized,
            scope.admits(response.sentRequest)
        else { return nil }
        return response
    }

    /// Whether other credentials of the same kind may help, and the request can be sent again.
    private func mayMend(
        _ response: HTTPResponseData,
        of request: HTTPRequestData,
        _ sinkUse: SinkUse?,
        _ grant: TokenStore<Credentials>.Grant
    ) -> Bool {
        guard request.canBeSentAgain(sinkUse) else { return false }
        let challenges = response.challenges
        let scheme = if let presenter { presenter.scheme(of: grant.credentials) } else { Credentials.scheme }
        guard let scheme, !challenges.isEmpty else { return true }
        // RFC 6750 section 3.1: another token of the same kind does not help if the scope of a valid token is too
        // small. RFC 9449 section 7.1: nor does it if the proof was refused.
        let others: Set = ["insufficient_scope", "invalid_dpop_proof", "use_dpop_nonce"]
        return challenges.contains { $0.isOf(scheme: scheme) && !others.contains($0["error"] ?? "") }
    }

    // MARK: Challenges

    private func sendAfterChallenge(
        to request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var request = request
        let sinkUse = request.observeSink()
        var bare = request
        if let scheme = Credentials.scheme {
            bare.offer(scheme)
        }
        var principal: Principal?
        if let user = request.notedUser(of: store) {
            // It has no credentials yet, but a server may set cookies of the user before it asks for them.
            bare.recordCredentials(of: user, since: bare)
            principal = self.principal(for: request, upstream: upstream)
        }
        let result = try await upstream.outcome(of: bare)
        guard let refusal = refusal(in: result, of: bare), bare.isAsked(for: Credentials.scheme, by: refusal),
            request.canBeSentAgain(sinkUse)
        else {
            return try result.unchallenged(for: principal).get()
        }
        try request.checkCancellation()
        request.sink?.prepare(&request)
        return try await authenticate(request, sinkUse, upstream: upstream)
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.authentication],
            options: [.authenticationMethod],
            rules: presenter == nil ? [scope.rule] : [scope.rule, .ofProofs]
        )
    }

    var description: String {
        var settings = ["with: \(Credentials.self)"]
        if method != Credentials.method {
            settings.append("as: \(method.rawValue)")
        }
        if let places = scope.setting {
            settings.append(places)
        }
        if !isPreemptive {
            settings.append("preemptive: false")
        }
        return "authenticated(\(settings.joined(separator: ", ")))"
    }
}

extension StackRule {
    /// A proof is for the method and the URL of one request.
    fileprivate static let ofProofs = StackRule { place in
        let roles: Set<StackRole> = [.retry, .hedging, .fallback, .resending]
        return place.inner.first { !$0.stackPart.roles.isDisjoint(with: roles) }
            .map { part in
                "\(place.name) is outside \(part.outlineName), whose requests have the proof of another one, which a "
                    + "server refuses. Put it inside."
            }
    }
}

extension Result<HTTPResponseData, any Error> {
    /// Returns the result of an exchange in which the server asked for no credentials, which is for their user in any
    /// case.
    ///
    /// - Parameter principal: The principal as the parts further out know it; `nil` if no user was signed in.
    /// - Returns: The result with that principal, unless a part further in has added credentials.
    fileprivate func unchallenged(for principal: Principal?) -> Self {
        guard let principal else { return self }
        switch self {
        case .success(var response) where !response.sentRequest.headerFields.contains(.authorization):
            response.principal = principal
            return .success(response)
        case .failure(var error as NetworkingError)
        where error.response?.sentRequest.headerFields.contains(.authorization) != true:
            error.principal = principal
            return .failure(error)
        default:
            return self
        }
    }

    /// Returns the same result, marked as also belonging to the principal of the request's credentials.
    package func belonging(to principal: Principal) -> Self {
        switch self {
        case .success(var response):
            response.principal = response.principal.joined(by: principal)
            return .success(response)
        case .failure(var error as NetworkingError):
            error.principal = error.principal.joined(by: principal)
            return .failure(error)
        case .failure(let error):
            return .failure(error)
        }
    }
}

extension HTTPRequestData {
    /// Announces to components further in that credentials for a scheme are available if the server asks for them.
    package mutating func offer(_ scheme: String) {
        offeredSchemes.append(scheme.lowercased())
    }

    /// Whether the server asks for a scheme, and does not ask for a stronger one that was tried or is offered.
    package func isAsked(for scheme: String?, by response: HTTPResponseData) -> Bool {
        guard let scheme else { return true }
        let tried = response.sentRequest.headerFields[.authorization]?.prefix { $0 != " " }.lowercased()
        // This holds even if the refusal no longer names the stronger scheme, because an attacker could omit it to get
        // the password.
        if let tried, AuthenticationChallenge.strength(of: tried) > AuthenticationChallenge.strength(of: scheme) {
            return false
        }
        let challenges = response.challenges.filter {
            let named = $0.scheme.lowercased()
            return named == tried || offeredSchemes.contains(named)
        }
        return challenges.max { $0.strength < $1.strength }?.isOf(scheme: scheme) ?? response.challenges.isEmpty
    }

    /// The schemes, in lower case, of the credentials that wait for a challenge, outermost first.
    private var offeredSchemes: [String] {
        get { self[.offeredSchemes] }
        set { self[.offeredSchemes] = newValue }
    }
}

extension RequestOptionKey {
    fileprivate static let offeredSchemes = RequestOption<[String]>(
        "offeredSchemes",
        default: [],
        affects: .sending,
        isSetByStack: true
    )
}
