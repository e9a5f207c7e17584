import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Sends requests with the cookies of a jar, and stores the cookies that responses set (RFC 6265bis).
    ///
    /// ```swift
    /// let jar = CookieJar()
    /// let network = URLSession.shared
    ///     .authenticated(with: tokens)
    ///     .cookies(in: jar)
    ///     .retry()
    ///     .cached()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// It works with every transport, and replaces the cookie storage of URLSession. Each hop of a redirect gets the
    /// cookies of its URL, and the cookies that it sets are stored, so this modifier follows redirects instead of
    /// the transport. A `redirected` further in still decides which redirects to follow.
    ///
    /// Place it inside `retry`, `deduplicated`, `cached` and `throttled`, so that each attempt is sent with the latest
    /// cookies, and outside `authenticated` and `signed`. Each principal has its own cookies. Caches and
    /// deduplication distinguish requests by their cookies, although they are further out.
    ///
    /// If a request already has a `Cookie` field, the jar adds nothing to it. Over plain http to another machine, no
    /// cookie is sent unless ``HTTPRequestData/allowsPlaintextCredentials`` is set, and
    /// ``CredentialsEvent/withheld(_:)`` reports it. A cookie with `SameSite=Strict` is not sent after a redirect from
    /// another site, and one with `Lax` or without `SameSite` only if the method is safe. The jar stores the cookies of
    /// a response when the exchange is complete, and those of a body that goes to a sink when the head arrives. A
    /// cancelled caller gets `CancellationError`.
    ///
    /// - Parameter jar: The jar. Stacks that use the same object share their cookies.
    /// - Returns: A component that throws the errors of its upstream.
    public func cookies(in jar: CookieJar) -> some NetworkingComponent {
        modified(Cookies(jar: jar))
    }
}

extension HTTPRequestData {
    /// Whether `cookies(in:)` adds cookies to this request and stores those of its response; `true` by default.
    public var usesCookieJar: Bool {
        get { self[.usesCookieJar] }
        set { self[.usesCookieJar] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/usesCookieJar``.
    public static let usesCookieJar = RequestOption("usesCookieJar", default: true, affects: .responses)
}

extension StackRole {
    /// Adds cookies to requests when they are sent, and stores those of responses.
    public static let cookies = StackRole("cookies")
}

struct Cookies: UpstreamLimited, CustomStringConvertible {
    let jar: CookieJar

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        // A transport that follows redirects would use one Cookie field for all hops of an origin.
        let principal = { (hop: HTTPRequestData) in self.principal(for: hop, upstream: upstream) }
        // Read once for all hops, because a redirect may continue the login of a user that has signed out meanwhile.
        // Read before the user and the cookies, because a removal between the two means that they do not belong
        // together.
        let removalCount = jar.removalCount
        return try await request.takingOverRedirects(for: principal, over: upstream) { hop in
            try await exchange(hop, since: removalCount, upstream: upstream)
        }
    }

    func resolve(_ request: inout HTTPRequestData) {
        jar.noteUser(of: &request)
    }

    func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
        let principal = upstream.principal(for: request)
        guard let cookies = selection(for: request, of: owner(of: request, principal)), !request.exposesCredentials
        else { return principal }
        return principal.joined(by: cookies.principal)
    }

    private func exchange(
        _ request: HTTPRequestData,
        since removalCount: UInt64,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        var request = request
        request.handle(.cookies)
        guard request.usesCookieJar else { return try await upstream.send(request) }
        let owner = owner(of: request, upstream.principal(for: request))
        var cookies = selection(for: request, of: owner, isUse: true)
        if let found = cookies {
            if request.exposesCredentials {
                request.emit(CredentialsEvent.withheld(WithheldCredentials(["Cookie"], reason: .plaintext)))
                cookies = nil
            } else {
                // The app has removed the cookies of the user for whom the call began, and others came after them.
                guard !found.isOfLaterUser else { throw request.isOfAnotherUser }
                request.headerFields[.cookie] = found.field
                request.cookieSession = found.session
                request.emit(CookieEvent.added(count: found.count))
            }
        }
        let receipt = CookieReceipt(jar, of: owner, for: request, hadCookies: cookies != nil, since: removalCount)
        let user = { @Sendable [request] in upstream.principal(for: request)?.withoutCookies }
        let cookieSink = request.sink.map { sink in
            CookieSink(sink: sink) { receipt.receive($0, user: user) }
        }
        if let cookieSink {
            request.sink = cookieSink
        }
        defer { cookieSink?.end() }
        switch try await upstream.outcome(of: request) {
        case .success(var response):
            receipt.receive(response, user: user)
            if let cookies {
                response.principal = response.principal.joined(by: cookies.principal)
            }
            return response
        case .failure(var error as NetworkingError):
            if let response = error.response {
                receipt.receive(response, user: user)
            }
            if let cookies {
                error.principal = error.principal.joined(by: cookies.principal)
            }
            throw error
        case .failure(let error):
            if let response = request.response(of: error) {
                receipt.receive(response, user: user)
            }
            throw error
        }
    }

    /// The cookies that a request is sent with; `nil` if there are none or the request already has a `Cookie` field.
    private func selection(
        for request: HTTPRequestData,
        of owner: CookieOwner,
        isUse: Bool = false
    ) -> CookieJar.Selection? {
        guard request.usesCookieJar, !request.headerFields.contains(.cookie) else { return nil }
        return jar.selection(for: request, of: owner, isUse: isUse)
    }

    private func owner(of request: HTTPRequestData, _ principal: Principal?) -> CookieOwner {
        // A modifier further out authenticates or signs the request, and only it knows the user.
        let isOwned = request.isHandled(.authorization) || request.hasRecordedPrincipal
        let credentials = isOwned ? ConnectionOwner(of: request) : nil
        return CookieOwner(principal: principal?.withoutCookies, credentials: credentials)
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.cookies],
            options: [.usesCookieJar],
            rules: [
                .notInside(
                    .authentication,
                    "is inside authenticated, so it does not know the user, and cookies are lost with each new token. "
                        + "Put it outside."
                ),
                .notInside(
                    .signing,
                    "is inside signed, so it adds cookies to a request that has been signed. Put it outside."
                ),
                .notOutside(
                    .retry,
                    "is outside retry, so it does not store the cookies of failed attempts. Put it inside."
                ),
                .notOutside(
                    .caching,
                    "is outside cached, so it does not store the cookies of validations in the background. Put it "
                        + "inside."
                ),
                .notInside(
                    .cookies,
                    "is inside another cookies, which has added the cookies of its own jar. Keep one of the two."
                ),
            ]
        )
    }

    var description: String {
        "cookies"
    }
}
