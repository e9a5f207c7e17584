import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Sends requests with the credentials of a store, and has them renewed when they run out or are refused.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .authenticated(with: TokenStore(session, delegate: Login()))
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// A request gets the credentials when its ``HTTPRequestData/authenticationMethod`` is theirs, or is left open.
    /// `.anonymous` keeps them off a request, `isExempt` off routes, and a request with credentials of its own keeps
    /// those.
    ///
    /// The credentials go to the server that the stack names next to this modifier, and to `authorities`. That server
    /// is the nearest `server` outside of it, or the nearest one inside if there is none outside. Requests to other
    /// servers, such as absolute URLs or a second `server` further out, are sent without them, and
    /// ``CredentialsEvent/withheld(_:)`` reports it.
    ///
    /// A response of 401, or an error with one, is answered once: with a refresh and the request again, or with the
    /// request alone when the credentials have been renewed since. Everything else passes as it is. So does a 401 that
    /// cannot be mended: whose challenges are for other schemes or say that the token is good but too weak
    /// (`insufficient_scope`), whose body can be sent only once, whose sink has taken a body and cannot restart, or
    /// whose user has gone.
    ///
    /// Inside of `retry`, `cached` and `deduplicated`, which learn from it whose response it is; outside of `timeout`,
    /// which then counts for each attempt. A cancelled caller gets `CancellationError` at once, also while it waits for
    /// a refresh, which goes on for the others.
    ///
    /// - Parameters:
    ///   - store: Where the credentials are.
    ///   - authorities: Hosts, with their ports if those are not the scheme's own, that get them besides that server.
    ///   - preemptive: Whether they are sent at once; else each request first goes without, and a 401 decides: the
    ///     strongest scheme that it names, and that the stack has, is used.
    ///   - isExempt: Tells requests that go without. It must not have effects.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/unauthorized`` if there
    ///   are no credentials or the delegate cannot refresh them, and of the kind of the failure if the refresh failed
    ///   because of the network or because a server was down. The delegate's error is the underlying one.
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
                isExempt: isExempt
            )
        )
    }

    /// The form with a store for credentials that a request names by a method of their own.
    package func authenticated<Credentials>(
        with store: TokenStore<Credentials>,
        as method: AuthenticationMethod,
        at authorities: [String],
        preemptive: Bool,
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)?
    ) -> some NetworkingComponent {
        modified(
            Authenticated(
                store: store,
                method: method,
                scope: CredentialScope(authorities),
                isPreemptive: preemptive,
                isExempt: isExempt
            )
        )
    }

    /// Sends requests with credentials that stay as they are.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .authenticated(with: BasicCredentials(user: "emily", password: password))
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// For the rest it is the form with a store; a 401 is the answer.
    ///
    /// - Parameters:
    ///   - credentials: The credentials.
    ///   - authorities: Hosts that get them besides that server.
    ///   - preemptive: Whether they are sent at once.
    ///   - isExempt: Tells requests that go without.
    /// - Returns: A component that sends requests with them.
    public func authenticated(
        with credentials: some AuthenticatingCredentials,
        at authorities: [String] = [],
        preemptive: Bool = true,
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent {
        authenticated(with: TokenStore(credentials), at: authorities, preemptive: preemptive, except: isExempt)
    }

    /// Sends requests with credentials that a delegate gets when the first is sent, and renews.
    ///
    /// For the rest it is the form with a store, with a store of its own.
    ///
    /// - Parameters:
    ///   - delegate: Gets credentials and renews them.
    ///   - authorities: Hosts that get them besides that server.
    ///   - isExempt: Tells requests that go without.
    /// - Returns: A component that sends requests with them.
    public func authenticated<Delegate: AuthenticationDelegate>(
        with delegate: Delegate,
        at authorities: [String] = [],
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent {
        authenticated(with: TokenStore<Delegate.Credentials>(delegate: delegate), at: authorities, except: isExempt)
    }

    /// Sends requests with a bearer token that a closure knows.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .authenticated(withBearer: { try await account.idToken() })
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// The closure is called when the first request is sent, in the background half a minute before the token expires
    /// if it is a JSON Web Token, and when the server refuses the token. For the rest it is the form with a store.
    ///
    /// - Parameters:
    ///   - token: Gives out a token that is good now.
    ///   - authorities: Hosts that get it besides the stack's server.
    ///   - isExempt: Tells requests that go without.
    /// - Returns: A component that sends requests with it.
    public func authenticated(
        withBearer token: @escaping @Sendable () async throws -> String,
        at authorities: [String] = [],
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent {
        authenticated(with: TokenProvider(token: token), at: authorities, except: isExempt)
    }
}

struct Authenticated<Credentials: AuthenticatingCredentials>: NetworkingModifier, CustomStringConvertible {
    let store: TokenStore<Credentials>
    let method: AuthenticationMethod
    let scope: CredentialScope
    let isPreemptive: Bool
    let isExempt: (@Sendable (HTTPRequestData) -> Bool)?

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard wants(request) else { return try await upstream.send(request) }
        guard scope.admits(request) else {
            try scope.withhold("\(method.rawValue) credentials are", from: request)
            return try await upstream.send(request)
        }
        guard isPreemptive else { return try await answerChallenge(to: request, upstream: upstream) }
        return try await authenticate(request, upstream: upstream)
    }

    func resolve(_ request: inout HTTPRequestData) {
        scope.resolve(&request)
        // So that it is redacted by the parts outside, too, where a server repeats it in a redirect.
        if Credentials.self == APIKeyCredentials.self, let key = store.credentials as? APIKeyCredentials,
            case .query(let name) = key.place
        {
            request.settings.secretQueryItems.insert(name.lowercased())
        }
    }

    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        guard wants(request), scope.admits(request) else { return upstream.principal(for: request) }
        return upstream.principal(for: claimed(request)).joined(by: store.principal)
    }

    // MARK: Which requests

    /// Whether a request is one for these credentials, wherever it goes.
    private func wants(_ request: HTTPRequestData) -> Bool {
        guard request.authenticationMethod.map({ $0 == method }) ?? true else { return false }
        // There is one Authorization field, and whoever came first has it; a key in a field of its own goes with it.
        let isTaken =
            Credentials.scheme != nil && (request.isAuthorized || request.headerFields.contains(.authorization))
        return !isTaken && !store.isRenewing && isExempt?(request) != true
    }

    /// The request with its Authorization field taken, for those further in.
    private func claimed(_ request: HTTPRequestData) -> HTTPRequestData {
        guard Credentials.scheme != nil else { return request }
        var request = request
        request.state.insert(.isAuthorized)
        return request
    }

    // MARK: What is done with them

    private func authenticate(
        _ request: HTTPRequestData,
        _ sinkUse: SinkUse? = nil,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var request = claimed(request)
        let sinkUse = sinkUse ?? request.observeSink()
        var grant = try await belonging(request, upstream) { try await store.grant(for: request, over: upstream) }
        var result = try await attempt(request, with: grant, upstream: upstream)
        // Others may renew the credentials between two looks at them, but that does not go on without end.
        for _ in 0..<3 {
            guard let refusal = refusal(in: result), mayMend(refusal, of: request, sinkUse) else { break }
            let next = try await belonging(request, upstream) { [grant] in
                try await store.grant(after: grant, refusal, for: request, over: upstream)
            }
            guard let next else { break }
            grant = next
            // What the sink has need not be sent again.
            request.sink?.prepare(&request)
            result = try await attempt(request, with: grant, upstream: upstream)
        }
        return try result.get()
    }

    /// Asks the store for credentials.
    ///
    /// The error of a refresh that failed belongs to the user for whom the request waited, so that a `retry` further
    /// out does not send the request for another user.
    private func belonging<Grant>(
        _ request: HTTPRequestData,
        _ upstream: some NetworkingComponent,
        _ grant: nonisolated(nonsending) () async throws -> Grant
    ) async throws -> Grant {
        let owner = store.owner
        do {
            return try await grant()
        } catch var error as NetworkingError where error.isRefreshFailure {
            error.principal = owner.map { upstream.principal(for: request).joined(by: $0) }
            throw error
        }
    }

    private func attempt(
        _ request: HTTPRequestData,
        with grant: TokenStore<Credentials>.Grant,
        upstream: some NetworkingComponent
    ) async throws -> Result<HTTPResponseData, any Error> {
        var request = request
        try grant.credentials.apply(to: &request)
        let result = try await upstream.outcome(of: request).belonging(to: grant.principal)
        if grant.isUnproven, let response = result.response, response.status.showsAcceptance,
            scope.admits(response.sentRequest)
        {
            store.accept(grant)
        }
        return result
    }

    /// The response of 401, as an answer or within an error, unless it is another server's, to which a redirect led.
    private func refusal(in result: Result<HTTPResponseData, any Error>) -> HTTPResponseData? {
        guard let response = result.response, response.status == .unauthorized, scope.admits(response.sentRequest)
        else { return nil }
        return response
    }

    /// Whether other credentials of the same kind may help, and the request can be sent again.
    private func mayMend(
        _ response: HTTPResponseData,
        of request: HTTPRequestData,
        _ sinkUse: SinkUse?
    ) -> Bool {
        guard request.canBeSentAgain(sinkUse) else { return false }
        let challenges = response.challenges
        guard let scheme = Credentials.scheme, !challenges.isEmpty else { return true }
        // RFC 6750 section 3.1: a token that is good and not enough is not made better by another of its kind.
        return challenges.contains { $0.isOf(scheme: scheme) && $0["error"] != "insufficient_scope" }
    }

    // MARK: Credentials that wait to be asked for

    private func answerChallenge(
        to request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var request = request
        let sinkUse = request.observeSink()
        var bare = request
        if let scheme = Credentials.scheme {
            bare.offer(scheme)
        }
        let result = try await upstream.outcome(of: bare)
        guard let refusal = refusal(in: result), bare.isAsked(for: Credentials.scheme, by: refusal),
            request.canBeSentAgain(sinkUse)
        else {
            return try result.get()
        }
        request.sink?.prepare(&request)
        return try await authenticate(request, sinkUse, upstream: upstream)
    }

    var roles: Set<StackRole> { [.authentication] }
    var requestOptions: Set<RequestOptionKey> { [.authenticationMethod] }

    func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        scope.diagnostics(about: self, in: stack)
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

extension Result<HTTPResponseData, any Error> {
    /// The response, as an answer or within an error.
    package var response: HTTPResponseData? {
        switch self {
        case .success(let response): response
        case .failure(let error): (error as? NetworkingError)?.response
        }
    }

    /// The same, as what belongs to one whose credentials the request had, too.
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
    /// Tells those further in that there are credentials for a scheme, which wait for the server to ask for them.
    package mutating func offer(_ scheme: String) {
        settings.offeredSchemes.append(scheme.lowercased())
    }

    /// Whether a scheme is what the server asks for, and nothing stronger that it asks for has been tried, or is
    /// offered.
    package func isAsked(for scheme: String?, by response: HTTPResponseData) -> Bool {
        guard let scheme else { return true }
        let tried = response.sentRequest.headerFields[.authorization]?.prefix { $0 != " " }.lowercased()
        // Also where the refusal does not name it any more: whoever wants the password would leave it out.
        if let tried, AuthenticationChallenge.strength(of: tried) > AuthenticationChallenge.strength(of: scheme) {
            return false
        }
        let challenges = response.challenges.filter {
            let named = $0.scheme.lowercased()
            return named == tried || settings.offeredSchemes.contains(named)
        }
        return challenges.max { $0.strength < $1.strength }?.isOf(scheme: scheme) ?? response.challenges.isEmpty
    }

    /// Whether neither its body nor its sink has been used up.
    package func canBeSentAgain(_ sinkUse: SinkUse?) -> Bool {
        body?.isReplayable ?? true && sinkUse?.canStartOver ?? true
    }
}
