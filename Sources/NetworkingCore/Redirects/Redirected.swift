extension NetworkingComponent {
    /// Follows redirects here, instead of in the transport, so that everything upstream sees each hop.
    ///
    /// A transport follows redirects by itself, under the same rules; what lies between then sees one exchange. With
    /// this, each hop is throttled, signed, authenticated and timed anew. It belongs outside of those and of `retry`,
    /// and under `deduplicated` and `cached`. Hops pass `server` untouched: they go where the response points.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .throttled(max: 6)
    ///     .redirected(.follow(upTo: 5))
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// The response has the redirects that led to it in ``HTTPResponseData/redirects``. A cancelled caller gets
    /// `CancellationError`, and no further hop is made.
    ///
    /// - Parameter policy: What is followed; ``HTTPRequestData/redirects`` replaces it for one request.
    /// - Returns: A component that throws ``NetworkingError/Kind/tooManyRedirects`` past the policy's limit and when
    ///   the server redirects in circles, and what the policy's closure throws.
    public func redirected(_ policy: RedirectPolicy = .follow) -> some NetworkingComponent {
        modified(Redirected(policy: policy))
    }
}

struct Redirected: NetworkingModifier, CustomStringConvertible {
    let policy: RedirectPolicy

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        if request.box?.value.redirects == nil, !request.state.contains(.hasRedirectsFollowed) {
            request.redirects = policy
        }
        let principal = { (next: HTTPRequestData) in upstream.principal(for: next) }
        return try await request.takingOverRedirects(for: principal, over: upstream) { try await upstream.send($0) }
    }

    var roles: Set<StackRole> { [.redirection] }

    var description: String {
        "redirected(\(policy))"
    }
}

extension HTTPRequestData {
    /// Makes each hop an exchange of its own, unless a modifier further out does that.
    ///
    /// - Parameters:
    ///   - principal: Tells on whose behalf a hop would be made.
    ///   - upstream: Where the exchanges are made; a `redirected` in there still says what is followed.
    ///   - exchange: Makes an exchange, without the transport following where it leads.
    /// - Returns: The last response.
    /// - Throws: What an exchange throws, and what the redirects' policy does.
    package func takingOverRedirects(
        for principal: ((HTTPRequestData) -> Principal?)?,
        over upstream: some NetworkingComponent,
        _ exchange: nonisolated(nonsending) (HTTPRequestData) async throws -> HTTPResponseData
    ) async throws -> HTTPResponseData {
        guard !state.contains(.hasRedirectsFollowed) else { return try await exchange(self) }
        var request = self
        request.state.insert(.hasRedirectsFollowed)
        return try await request.followingRedirects(
            for: principal,
            under: { upstream.modifiers.lazy.compactMap { ($0 as? Redirected)?.policy }.first },
            exchange
        )
    }
}
