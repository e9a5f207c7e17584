import FoundationForNetworking
import HTTPTypes

extension HTTPRequestData {
    /// Makes an exchange and follows its redirects.
    ///
    /// This is the only place where redirects are followed, by transports and by `redirected` in their place.
    ///
    /// - Parameters:
    ///   - principal: Returns the principal for the next request; `nil` if the transport does not know principals.
    ///   - policy: Returns the policy for a request that has none.
    ///   - exchange: Makes an exchange.
    /// - Returns: The last response.
    /// - Throws: The error of an exchange, or of the redirect policy.
    func followingRedirects(
        for principal: ((HTTPRequestData) -> Principal?)? = nil,
        under policy: (() -> RedirectPolicy?)? = nil,
        _ exchange: nonisolated(nonsending) (HTTPRequestData) async throws -> HTTPResponseData
    ) async throws -> HTTPResponseData {
        let response = try await exchange(self)
        guard response.isRedirect else { return response }
        return try await followingRedirects(from: response, for: principal, under: policy, exchange)
    }

    /// Follows the redirects of a response to this request.
    ///
    /// It is a separate function because its values would take memory in every call that waits for a response.
    func followingRedirects(
        from first: HTTPResponseData,
        for principal: ((HTTPRequestData) -> Principal?)? = nil,
        under policy: (() -> RedirectPolicy?)? = nil,
        _ exchange: nonisolated(nonsending) (HTTPRequestData) async throws -> HTTPResponseData
    ) async throws -> HTTPResponseData {
        var hop = self
        var response = first
        var history: [HTTPResponseData.Redirect] = []
        // The last hop with credentials, and its user. Hops to other servers may have cookies only.
        var identified: (hop: HTTPRequestData, user: Principal)?
        while true {
            // Evaluated only here, because few responses are redirects.
            if response.isRedirect, hop.box?.value.redirects == nil, let policy = policy?() {
                hop.redirects = policy
            }
            guard let next = try hop.redirected(by: response.http, after: history) else {
                if !history.isEmpty {
                    response.redirects = history
                }
                return response
            }
            // An action of one user must not be carried out on the account of another.
            if let user = response.principal, identified == nil || user.withoutCookies != nil {
                identified = (hop, user)
            }
            if let principal, let (known, user) = identified,
                !user.isSame(for: next, elsewhere: next.origin != hop.origin, knownAt: known, principal)
            {
                hop.emit(RedirectEvent.refused(.anotherUser))
                response.redirects = history
                return response
            }
            try checkCancellation()
            history.append(HTTPResponseData.Redirect(request: hop, response: response.http))
            hop.emit(RedirectEvent.redirected(to: next))
            hop = next
            do {
                response = try await exchange(hop)
            } catch var error as NetworkingError {
                let isSameServer = error.redirect != .anotherServer && hop.authorityKey == authorityKey
                error.redirect = isSameServer ? .sameServer : .anotherServer
                throw error
            }
        }
    }
}

extension HTTPRequestData {
    /// The maximum length in bytes of the URL of a redirect.
    ///
    /// RFC 9110 section 4.1 recommends at least 8,000. Transports fail with longer URLs at different lengths, as if the
    /// app had created the URL.
    private static let maximumURLBytes = 65_536

    /// Returns the next request after a redirect; `nil` if the redirect is not followed.
    ///
    /// - Throws: ``NetworkingError/Kind/tooManyRedirects`` beyond the limit or for a request that was made before, or
    ///   the error of the policy.
    func redirected(by head: HTTPResponse, after history: [HTTPResponseData.Redirect]) throws -> HTTPRequestData? {
        let policy = redirects
        guard let limit = policy.limit, head.isRedirect, let location = head.headerFields[singleton: .location] else {
            return nil
        }
        guard location.utf8.count <= Self.maximumURLBytes, let url = URL(reference: location, relativeTo: self.url),
            url.absoluteString.utf8.count <= Self.maximumURLBytes
        else { return refused(.unusableLocation) }

        var next = self
        next.changeMethod(for: head.status.code)
        next.url = url
        next.closeTarget()
        // The template belongs to the former path.
        if next.route != nil { next.route = nil }
        guard next.scheme == "https" || next.scheme == "http",
            Authority(next.authority ?? "").invalidity == nil
        else { return refused(.unusableLocation) }
        guard next.scheme == "https" || scheme == "http" || policy.allowsDowngrade else { return refused(.downgrade) }
        guard next.body?.isReplayable ?? true else { return refused(.bodyNotReplayable) }

        guard history.count < limit else {
            throw tooManyRedirects(head, "The server sent more redirects than the limit of \(limit).")
        }
        // If a redirect has set a cookie, the response to the same request may be different the second time.
        let hasNewCookie = head.headerFields.contains(.setCookie) || history.contains(where: \.setsCookie)
        let isRepeated =
            next.method == method && next.url == self.url
            || history.contains { $0.request.method == next.method && $0.request.url == next.url }
        guard !isRepeated || hasNewCookie else {
            throw tooManyRedirects(head, "The server redirects in a loop, to a URL that was already requested.")
        }
        if next.origin != origin {
            next.removeCredentials(under: policy)
            next.formerOrigins.append(origin)
        } else if isForServer {
            next.destination.server = .named
        }
        if let decide = policy.decide {
            let proposal = RedirectProposal(
                request: outsideStack,
                response: head,
                next: next.outsideStack,
                history: history
            )
            guard try decide(proposal) == .follow else { return refused(.policy) }
        }
        return next
    }

    private func refused(_ reason: RedirectRefusal) -> HTTPRequestData? {
        emit(RedirectEvent.refused(reason))
        return nil
    }

    /// POST becomes GET after 301 and 302, everything but GET and HEAD after 303; 307 and 308 change nothing.
    ///
    /// A QUERY keeps its method and its body after 301 and 302 (RFC 10008 section 2.5), and so does a POST in its
    /// place.
    private mutating func changeMethod(for code: Int) {
        let becomesGet =
            switch code {
            case 301, 302: method == .post && !replacesQuery
            case 303: method != .get && method != .head
            default: false
            }
        guard becomesGet else { return }
        method = .get
        body = nil
        // A key belongs to the request that the server has processed, and another request must not reuse it.
        headerFields.removeAll { $0.name.canonicalName.hasPrefix("content-") || $0.name == .idempotencyKey }
    }

    /// Scheme, host and port, with the port that the scheme implies (RFC 6454 section 4).
    package var origin: [String] {
        let port = port ?? (scheme == "http" ? 80 : 443)
        return [scheme ?? "https", host?.lowercased() ?? "", "\(port)"]
    }

    private func tooManyRedirects(_ head: HTTPResponse, _ reason: String) -> NetworkingError {
        NetworkingError(
            .tooManyRedirects,
            request: self,
            response: HTTPResponseData(request: self, http: head, body: .collected(Data())),
            reason: reason
        )
    }
}

extension Principal {
    /// Whether a redirect is sent for this user, who is compared with the users that are signed in now.
    ///
    /// - Parameters:
    ///   - next: The next request.
    ///   - elsewhere: Whether its origin differs from that of the request before it.
    ///   - known: The last request that was sent with this user's credentials.
    ///   - principal: Returns the principal for a request.
    /// - Returns: `false` if the next request would be sent for another user.
    fileprivate func isSame(
        for next: HTTPRequestData,
        elsewhere: Bool,
        knownAt known: HTTPRequestData,
        _ principal: (HTTPRequestData) -> Principal?
    ) -> Bool {
        guard let nextUser = principal(next.withoutUsers), !isSame(as: nextUser) else {
            // Without credentials, the way back to the user's server is still for that user.
            return next.origin != known.origin || principal(known.withoutUsers).isSame(as: self)
        }
        // Credentials are not sent to another origin, and its cookies do not show the user.
        return elsewhere && withoutCookies != nil && nextUser.withoutCookies == nil
            && principal(known.withoutUsers).isSame(as: self)
    }
}

extension HTTPResponseData.Redirect {
    fileprivate var setsCookie: Bool {
        response.headerFields.contains(.setCookie)
    }
}
