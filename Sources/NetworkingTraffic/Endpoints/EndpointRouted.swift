public import NetworkingCore
import NetworkingResilience

extension NetworkingComponent {
    /// Sends each attempt to one of several endpoints of a server, and leaves out those that fail.
    ///
    /// ```swift
    /// let endpoints = ServerEndpoints(
    ///     "api.example.com",
    ///     groups: [["eu1.example.com", "eu2.example.com"], ["us.example.com"]]
    /// )
    /// let network = URLSession.shared
    ///     .timeout(.seconds(5))
    ///     .server(endpoints: endpoints)
    ///     .authenticated(with: tokens)
    ///     .retry()
    ///     .cached()
    /// ```
    ///
    /// It names the server like `server(authority:)`, so no other modifier needs to. The whole stack outside of it
    /// knows the server under that one name: URLs, cache keys, cookies and redirects have it. It belongs inside
    /// `retry`, `cached`, `cookies` and `authenticated`, so that each attempt can have another endpoint, and outside
    /// `signed` and `timeout`, so that signatures are for the endpoint and an endpoint that hangs is recognized. An
    /// `authenticated(oauth:)` with DPoP belongs inside, because its proofs are for the endpoint, too.
    ///
    /// Of the first group with a usable endpoint, two are drawn by their weights, and the one with fewer attempts in
    /// flight is picked. A further attempt of a call is sent to an endpoint that the call has not used. After all
    /// usable ones, a retry starts over, and an attempt beside another one fails with
    /// ``NetworkingError/Kind/rejected``. A
    /// request with an unsafe method moves on only if it has an `Idempotency-Key`, or if nothing was sent.
    /// ``HTTPResponseData/endpoint`` and ``NetworkingError/endpoint`` name the endpoint. ``ServerEndpoints`` describes
    /// when an endpoint is left out.
    ///
    /// A request with its own authority is sent there. The stack's credentials are sent to the server's name and to its
    /// endpoints, and to no other server. A redirect to another endpoint is a redirect to another origin, which is
    /// followed without credentials.
    ///
    /// - Parameter endpoints: The endpoints. Several stacks may share them.
    /// - Returns: A component that sends requests to the endpoints.
    public func server(endpoints: ServerEndpoints) -> some NetworkingComponent {
        modified(EndpointRouted(endpoints: endpoints, over: modifiers))
    }
}

struct EndpointRouted: UpstreamLimited, StackDescribing, CustomStringConvertible {
    let endpoints: ServerEndpoints
    /// The time limits of an attempt, which a probe has too.
    private let attemptLimits: TimeLimits

    init(endpoints: ServerEndpoints, over inner: [any NetworkingModifier]) {
        self.endpoints = endpoints
        attemptLimits = TimeLimits(ofAttemptsThrough: inner)
    }

    func resolve(_ request: inout HTTPRequestData) {
        guard request.serverMutations == .enabled else { return }
        request.setServer(endpoints.server)
        // An error of the app does not name the endpoint, so the visits of a write are recorded from the first attempt.
        if !request.mayMoveOn, request.endpointVisits == nil, request.isAddressed(to: endpoints.server) {
            request.endpointVisits = EndpointVisits()
        }
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard request.isAddressed(to: endpoints.server) else { return try await upstream.send(request) }
        // A redirect to the server's name has to be sent to an endpoint too.
        let principal = { (hop: HTTPRequestData) in upstream.principal(for: hop) }
        return try await request.takingOverRedirects(for: principal, over: upstream) { hop in
            guard hop.isAddressed(to: endpoints.server) else { return try await upstream.send(hop) }
            return try await exchange(hop, upstream: upstream)
        }
    }

    private func exchange(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let environment = NetworkEnvironment.current
        // Drawn before the lock, because a source may be the app's code.
        let random = environment.random.next()
        let visits = request.endpointVisits
        let (pick, change) = endpoints.pick(
            after: visits,
            for: request,
            attemptLimit: attemptLimits.replaced(by: request).untilResponse,
            random: random,
            on: environment.clock
        )
        report(change, of: request)
        guard let pick else { throw noneLeft(request) }
        let authority = endpoints.server.members[pick.index]
        request.emit(pick.probe == nil ? EndpointEvent.picked(authority) : .probing(authority))

        var attempt = request
        attempt.authority = authority
        do {
            let response = try await upstream.send(attempt)
            end(pick, as: EndpointTable.Outcome(response), of: request, in: environment)
            visits?.end(authority, mayHaveSent: true)
            return response.from(authority, to: request)
        } catch {
            end(pick, as: EndpointTable.Outcome(error, of: attempt), of: request, in: environment)
            let result = Attempt(number: 0, result: .failure(error), elapsed: .zero)
            visits?.end(authority, mayHaveSent: !result.showsThatNothingWasSent)
            guard let error = error as? NetworkingError else { throw error }
            throw error.from(authority, to: request)
        }
    }

    private func end(
        _ pick: EndpointTable.Pick,
        as outcome: EndpointTable.Outcome,
        of request: HTTPRequestData,
        in environment: NetworkEnvironment
    ) {
        let jitter = outcome == .failure ? environment.random.next() : 0
        report(endpoints.end(pick, as: outcome, jitter: jitter, on: environment.clock), of: request)
    }

    private func report(_ change: EndpointTable.Change?, of request: HTTPRequestData) {
        let members = endpoints.server.members
        switch change {
        case nil: return
        case .ejected(let index, let time): request.emit(EndpointEvent.ejected(members[index], for: time))
        case .returned(let index): request.emit(EndpointEvent.returned(members[index]))
        case .panic: request.emit(EndpointEvent.panicked)
        }
    }

    private func noneLeft(_ request: HTTPRequestData) -> NetworkingError {
        request.emit(EndpointEvent.noneLeft)
        return NetworkingError(
            .rejected,
            request: request,
            reason:
                "Each usable endpoint already has an attempt of this call. Send fewer attempts at the same time, or "
                + "name more endpoints."
        )
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.server, .resending],
            server: endpoints.server.authority,
            rules: [
                .notOutside(
                    .retry,
                    "is outside retry, so each attempt of a call is sent to the same endpoint. Put it inside."
                ),
                .not(
                    "is outside cached or deduplicated, which then know each endpoint as another server. Put it inside."
                ) { $0.isOutside(.caching) || $0.isOutside(.deduplication) },
                .notOutside(
                    .circuitBreaker,
                    "is outside circuitBreaker, which refuses requests that another endpoint could process. Remove the "
                        + "circuit breaker, because endpoints that fail are left out without it."
                ),
                .not(
                    "is inside circuitBreaker, which opens for all endpoints when one of them fails. Remove the "
                        + "circuit breaker, because endpoints that fail are left out without it, or give it a policy "
                        + "without connectionFailures."
                ) { place in
                    place.outer.contains {
                        ($0 as? CircuitBreaking)?.breaker.circuits.policy.connectionFailures != nil
                    }
                },
                .notInside(
                    .timeout,
                    "is inside timeout, so an endpoint that does not respond is not recognized. Put it outside."
                ),
                .notInside(
                    .signing,
                    "is inside signed, which signs the requests for \(endpoints.server.authority) instead of the "
                        + "endpoint. Put it outside."
                ),
                StackRule { place in
                    otherServer(in: place)
                        .map { other in
                            "\(place.name) has no effect on requests without an authority, because "
                                + "\(other.outlineName) outside of it names another server. Remove one of the two."
                        }
                },
            ]
        )
    }

    /// Returns the modifier outside that sends relative requests to another server.
    private func otherServer(in place: StackPlace) -> (any NetworkingModifier)? {
        let own = AuthorityKey(endpoints.server.authority)
        return place.outer.last { $0.stackPart.server.map { AuthorityKey($0) != own } ?? false }
    }

    var description: String {
        "server(endpoints: \(endpoints))"
    }
}
