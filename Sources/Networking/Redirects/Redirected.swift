extension NetworkingComponent {
    /// Follows redirects here, instead of in the transport, so that everything upstream sees each hop.
    ///
    /// A transport follows redirects by itself, under the same rules; what lies between then sees one exchange. With this,
    /// each hop is throttled, signed, authenticated and timed anew. It belongs outside of those and of `retry`, and
    /// under `deduplicated` and `cached`. Hops pass `server` untouched: they go where the response points.
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
    /// - Returns: A component that throws ``NetworkingError/Kind/tooManyRedirects`` past the policy's limit and when the
    ///   server redirects in circles, and what the policy's closure throws.
    public func redirected(_ policy: RedirectPolicy = .follow) -> some NetworkingComponent {
        modified(Redirected(policy: policy))
    }
}

struct Redirected: NetworkingModifier, CustomStringConvertible {
    let policy: RedirectPolicy

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // One further out does it.
        guard !request.state.contains(.hasRedirectsFollowed) else { return try await upstream.send(request) }
        var request = request
        request.state.insert(.hasRedirectsFollowed)
        if request.box?.value.redirects == nil {
            request.redirects = policy
        }
        let principal = { (next: HTTPRequestData) in upstream.principal(for: next) }
        return try await request.followingRedirects(for: principal) { try await upstream.send($0) }
    }

    var description: String {
        "redirected(\(policy))"
    }
}
