extension NetworkingComponent {
    /// Follows redirects in this modifier instead of in the transport, so that each hop passes the modifiers upstream.
    ///
    /// By default the transport follows redirects, under the same rules, and the modifiers see a single exchange. With
    /// this modifier, each hop is throttled, signed, authenticated and timed separately. Place it outside of those
    /// modifiers and of `retry`, and inside of `deduplicated` and `cached`. Hops are not changed by `server`, because
    /// the response names their URL.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .throttled(max: 6)
    ///     .redirected(.follow(upTo: 5))
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// The redirects that led to a response are in ``HTTPResponseData/redirects``. A cancelled caller gets
    /// `CancellationError`, and no further hop is made.
    ///
    /// - Parameter policy: The policy; ``HTTPRequestData/redirects`` replaces it for one request.
    /// - Returns: A component that throws ``NetworkingError/Kind/tooManyRedirects`` beyond the policy's limit or if the
    ///   server redirects in circles, and the error of the policy's closure.
    public func redirected(_ policy: RedirectPolicy = .follow) -> some NetworkingComponent {
        modified(Redirected(policy: policy))
    }
}

struct Redirected: UpstreamLimited, CustomStringConvertible {
    let policy: RedirectPolicy

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        if request.box?.value.redirects == nil, !request.isHandled(.redirects) {
            request.redirects = policy
        }
        let principal = { (next: HTTPRequestData) in upstream.principal(for: next) }
        return try await request.takingOverRedirects(for: principal, over: upstream) { try await upstream.send($0) }
    }

    var stackPart: StackPart { StackPart(roles: [.redirection]) }

    var description: String {
        "redirected(\(policy))"
    }
}

extension HTTPRequestData {
    /// Makes each hop a separate exchange, unless a modifier further out does so.
    ///
    /// It is for modifiers that act on each hop of a redirect, as those for cookies and signatures do. Redirects are
    /// followed under the same rules as by a transport.
    ///
    /// ```swift
    /// let principal = { (hop: HTTPRequestData) in upstream.principal(for: hop) }
    /// let response = try await request.takingOverRedirects(for: principal, over: upstream) { hop in
    ///     try await upstream.send(hop)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - principal: Returns the principal for a hop.
    ///   - upstream: The component that makes the exchanges. The policy of a `redirected` in it still applies.
    ///   - exchange: Makes an exchange in which the transport follows no redirects.
    /// - Returns: The last response.
    /// - Throws: The error of an exchange, or of the redirect policy.
    public func takingOverRedirects(
        for principal: ((HTTPRequestData) -> Principal?)?,
        over upstream: some NetworkingComponent,
        _ exchange: nonisolated(nonsending) (HTTPRequestData) async throws -> HTTPResponseData
    ) async throws -> HTTPResponseData {
        try await takingOverRedirects(for: principal, holding: nil, over: upstream, exchange)
    }

    /// Makes each hop a separate exchange, and marks it with a permit.
    ///
    /// - Parameters:
    ///   - principal: Returns the principal for a hop.
    ///   - mark: The mark of the permit; `nil` for none.
    ///   - upstream: The component that makes the exchanges.
    ///   - exchange: Makes an exchange in which the transport follows no redirects.
    /// - Returns: The last response.
    /// - Throws: The error of an exchange, or of the redirect policy.
    package func takingOverRedirects(
        for principal: ((HTTPRequestData) -> Principal?)?,
        holding mark: HeldLimits?,
        over upstream: some NetworkingComponent,
        _ exchange: nonisolated(nonsending) (HTTPRequestData) async throws -> HTTPResponseData
    ) async throws -> HTTPResponseData {
        // Both changes together, because the first one copies what the stack has added to the request.
        var request = mark.map { holdingPermit(of: $0) } ?? self
        guard !request.isHandled(.redirects) else { return try await exchange(request) }
        request.handle(.redirects)
        return try await request.followingRedirects(
            for: principal,
            under: { upstream.modifiers.lazy.compactMap { ($0 as? Redirected)?.policy }.first },
            exchange
        )
    }
}
