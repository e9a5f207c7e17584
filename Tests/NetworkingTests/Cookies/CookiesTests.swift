import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCookies
@testable import NetworkingCore

/// `cookies(in:)` in a stack.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CookiesTests {
    private let jar = CookieJar()

    private static func setting(_ fields: String..., status: HTTPResponse.Status = .ok) -> MockResponse {
        var head: HTTPFields = [:]
        for field in fields {
            head.append(HTTPField(name: .setCookie, value: field))
        }
        return MockResponse(status: status, headerFields: head)
    }

    private func cookies(in transport: MockTransport) -> [String?] {
        transport.requests.map { $0.headerFields[.cookie] }
    }

    private func set(_ name: String, domain: String, sameSite: Cookie.SameSite = .unspecified) throws {
        try jar.set(
            Cookie(name: name, value: "1", domain: domain, isSecure: true, sameSite: sameSite, created: .distantPast)
        )
    }

    // MARK: Sending and storing

    @Test func sendsTheCookiesOfEarlierResponses() async throws {
        let transport = MockTransport([Self.setting("a=1", "b=2; Path=/account"), .ok(), .ok()])
        let network = transport.cookies(in: jar).server(authority: "shop.example")
        let response = try await network.data(HTTPRequestData(path: "login"))
        try await network.data(HTTPRequestData(path: "cart"))
        try await network.data(HTTPRequestData(path: "account/orders"))
        #expect(cookies(in: transport) == [nil, "a=1", "b=2; a=1"])
        #expect(response.headerFields[values: .setCookie] == ["a=1", "b=2; Path=/account"])
        #expect(jar.count == 2)
    }

    @Test func stacksShareAJar() async throws {
        try await MockTransport([Self.setting("a=1; Domain=shop.example")]).cookies(in: jar)
            .data(HTTPRequestData(authority: "login.shop.example"))
        let transport = MockTransport([.ok()])
        try await transport.cookies(in: jar).data(HTTPRequestData(authority: "www.shop.example"))
        #expect(cookies(in: transport) == ["a=1"])
    }

    @Test func keepsACookieFieldOfTheRequest() async throws {
        try set("a", domain: "shop.example")
        let transport = MockTransport([Self.setting("b=2"), .ok()])
        let network = transport.cookies(in: jar)
        var request = HTTPRequestData(authority: "shop.example")
        request.headerFields[.cookie] = "own=1"
        try await network.data(request)
        #expect(cookies(in: transport) == ["own=1"])
        #expect(jar.count == 2)
    }

    @Test func cookieFieldOfTheRequestIsNotSentToAnotherOrigin() async throws {
        try set("a", domain: "shop.example")
        try set("b", domain: "other.example")
        let transport = MockTransport([.redirect(to: "/x"), .redirect(to: "https://other.example/"), .ok()])
        var request = HTTPRequestData(authority: "shop.example")
        request.headerFields[.cookie] = "own=1"
        try await transport.cookies(in: jar).data(request)
        #expect(cookies(in: transport) == ["own=1", "own=1", "b=1"])
    }

    @Test func requestMayDisableTheJar() async throws {
        try set("a", domain: "shop.example")
        let transport = MockTransport([Self.setting("b=2"), .ok()])
        let network = transport.cookies(in: jar)
        var request = HTTPRequestData(authority: "shop.example")
        request.usesCookieJar = false
        try await network.data(request)
        #expect(cookies(in: transport) == [nil])
        #expect(jar.count == 1)
        #expect(network.principal(for: request) == nil)
        #expect(network.diagnostics(for: request).isEmpty)
        #expect(MockTransport().diagnostics(for: request).map(\.option) == [.usesCookieJar])
    }

    @Test func storesTheCookiesOfAResponseInAnError() async throws {
        let transport = MockTransport([Self.setting("a=1", status: .forbidden), .ok()])
        let network = transport.checkedStatusCode().cookies(in: jar)
        let request = HTTPRequestData(authority: "shop.example")
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.kind == .status)
        try await network.data(request)
        #expect(cookies(in: transport) == [nil, "a=1"])
    }

    @Test func storesTheCookiesOfAStreamWhenTheHeadArrives() async throws {
        let journal = Journal()
        let gate = MockGate()
        let response = MockResponse.chunks(["first", .wait(for: gate), "second"]).headerFields([.setCookie: "a=1"])
        let network = MockTransport([response]).cookies(in: jar)
            .observed { event, _ in
                if event is CookieEvent { journal.note("\(event)") }
            }
        let sink = CollectingSink()
        let request = HTTPRequestData(authority: "shop.example").with { $0.sink = sink }
        async let call = network.data(request)
        try await eventually("the first chunk has arrived") { !sink.chunks.isEmpty }
        #expect(jar.count == 1)
        gate.open()
        _ = try await call
        #expect(journal.entries == ["cookiesStored(1)"])
        #expect(sink.data == Data("firstsecond".utf8))
    }

    @Test func storesTheCookiesOfATruncatedResponse() async throws {
        let response = MockResponse.chunks(["first", .failure(URLError(.networkConnectionLost))])
            .headerFields([.setCookie: "a=1"])
        let network = MockTransport([response]).cookies(in: jar)
        let request = HTTPRequestData(authority: "shop.example").with { $0.sink = CollectingSink() }
        await #expect(throws: (any Error).self) { try await network.data(request) }
        #expect(jar.count == 1)
    }

    @Test func refusesCookiesForOtherServers() async throws {
        let journal = Journal()
        let transport = MockTransport([
            Self.setting("a=1; Domain=other.example", "b=1; Domain=example", "c=1; Domain=10.0.0.1", "d", "own=1")
        ])
        let network = transport.cookies(in: jar)
            .observed { event, _ in
                if event is CookieEvent { journal.note("\(event)") }
            }
        try await network.data(HTTPRequestData(authority: "shop.example"))
        #expect(jar.cookies(of: nil).map(\.name) == ["own"])
        #expect(
            journal.entries == [
                "cookiesStored(1)", "cookieRejected(otherDomain)", "cookieRejected(publicSuffix)",
                "cookieRejected(otherDomain)", "cookieRejected(malformed)",
            ]
        )
    }

    // MARK: Plain http

    @Test func sendsNoCookieOverPlainHTTPToAnotherHost() async throws {
        try jar.set(Cookie(name: "a", value: "1", domain: "shop.example", created: .distantPast))
        let events = EventRecorder()
        let transport = MockTransport([.ok(), .ok()])
        let network = transport.cookies(in: jar)
        var request = HTTPRequestData(scheme: "http", authority: "shop.example").with { $0.addObserver(events) }
        try await network.data(request)
        #expect(events.events.map { "\($0)" }.contains("credentialsWithheld(withheld Cookie from plain http)"))
        #expect(network.principal(for: request) == nil)
        request.allowsPlaintextCredentials = true
        try await network.data(request)
        #expect(cookies(in: transport) == [nil, "a=1"])
    }

    @Test func sendsSecureCookiesToLoopback() async throws {
        let transport = MockTransport([Self.setting("a=1; Secure"), .ok()])
        let network = transport.cookies(in: jar)
        let request = HTTPRequestData(scheme: "http", authority: "127.0.0.1:8080")
        try await network.data(request)
        try await network.data(request)
        #expect(cookies(in: transport) == [nil, "a=1"])
    }

    // MARK: Redirects

    @Test(arguments: [false, true])
    func eachHopHasItsOwnCookies(isFollowedOutside: Bool) async throws {
        try set("other", domain: "other.example")
        try set("here", domain: "shop.example")
        let hops = [
            Self.setting("step=1; Path=/", status: .found).headerFields([.location: "/two"]),
            Self.setting("step=2; Path=/", status: .found).headerFields([.location: "https://other.example/three"]),
            Self.setting("step=3; Path=/", status: .found).headerFields([.location: "https://shop.example/four"]),
            Self.setting("here=; Max-Age=0; Path=/"),
        ]
        let transport = MockTransport(hops)
        let stack = AnyNetworkingComponent(transport.cookies(in: jar))
        let network = isFollowedOutside ? AnyNetworkingComponent(stack.redirected()) : stack
        let response = try await network.data(HTTPRequestData(authority: "shop.example", path: "/one"))
        #expect(cookies(in: transport) == ["here=1", "here=1; step=1", "other=1", "here=1; step=2"])
        #expect(response.redirects.count == 3)
        #expect(
            jar.cookies(of: nil).map { "\($0.name)=\($0.value) \($0.domain)" }.sorted() == [
                "other=1 other.example", "step=2 shop.example", "step=3 other.example",
            ]
        )
    }

    /// A cookie, the hops of a call, the method, and whether the last hop gets the cookie.
    struct CrossSite: CustomTestStringConvertible, Sendable {
        let sameSite: Cookie.SameSite
        let hops: [String]
        let method: HTTPRequest.Method
        let isSent: Bool

        init(
            _ sameSite: Cookie.SameSite,
            _ method: HTTPRequest.Method = .get,
            via hops: String...,
            sent isSent: Bool
        ) {
            (self.sameSite, self.method, self.hops, self.isSent) = (sameSite, method, hops, isSent)
        }

        var testDescription: String {
            "\(sameSite), \(method), via \(hops)"
        }
    }

    private static let crossSiteRows: [CrossSite] = [
        CrossSite(.strict, via: "https://shop.example/", sent: true),
        CrossSite(.lax, .post, via: "https://shop.example/", sent: true),
        CrossSite(.strict, via: "https://www.shop.example/", "https://shop.example/", sent: true),
        CrossSite(.strict, via: "https://shop.example/", "https://shop.example/x", sent: true),
        CrossSite(.strict, via: "https://shop.example:8443/", "https://shop.example/", sent: true),
        CrossSite(.strict, via: "https://other.example/", "https://shop.example/", sent: false),
        CrossSite(.lax, via: "https://other.example/", "https://shop.example/", sent: true),
        CrossSite(.lax, .head, via: "https://other.example/", "https://shop.example/", sent: true),
        CrossSite(.lax, .post, via: "https://other.example/", "https://shop.example/", sent: false),
        CrossSite(.lax, .put, via: "https://other.example/", "https://shop.example/", sent: false),
        CrossSite(.unspecified, via: "https://other.example/", "https://shop.example/", sent: true),
        CrossSite(.unspecified, .post, via: "https://other.example/", "https://shop.example/", sent: false),
        CrossSite(.none, .post, via: "https://other.example/", "https://shop.example/", sent: true),
        CrossSite(
            .strict,
            via: "https://shop.example/",
            "https://other.example/",
            "https://shop.example/x",
            sent: false
        ),
        CrossSite(
            .lax,
            .post,
            via: "https://shop.example/",
            "https://other.example/",
            "https://shop.example/x",
            sent: false
        ),
        CrossSite(
            .strict,
            via: "https://other.example/",
            "https://shop.example/",
            "https://shop.example/x",
            sent: false
        ),
        CrossSite(.strict, via: "http://shop.example/", "https://shop.example/", sent: false),
    ]

    @Test(arguments: crossSiteRows, [false, true])
    func redirectFromAnotherSiteGetsFewerCookies(row: CrossSite, isFollowedOutside: Bool) async throws {
        try set("a", domain: "shop.example", sameSite: row.sameSite)
        let locations = row.hops.dropFirst().map { MockResponse.redirect(to: $0, status: .temporaryRedirect) }
        let transport = MockTransport(locations + [.ok()])
        let stack = AnyNetworkingComponent(transport.cookies(in: jar))
        let network = isFollowedOutside ? AnyNetworkingComponent(stack.redirected()) : stack
        let url = try #require(row.hops.first.flatMap { URL(string: $0) })
        try await network.data(HTTPRequestData(method: row.method, url: url))
        #expect(transport.requests.count == row.hops.count)
        #expect(transport.requests.last?.headerFields[.cookie] == (row.isSent ? "a=1" : nil))
    }

    @Test func requestOfARedirectedResponseCanBeSentAgain() async throws {
        try set("a", domain: "shop.example", sameSite: .strict)
        let transport = MockTransport([.redirect(to: "https://shop.example/"), .ok(), .ok(), .ok()])
        let network = transport.cookies(in: jar)
        let response = try await network.data(HTTPRequestData(authority: "other.example"))
        var again = HTTPRequestData(url: try #require(response.url))
        try await network.data(again)
        again = response.sentRequest
        try await network.data(again)
        #expect(cookies(in: transport) == [nil, nil, "a=1", "a=1"])
    }

    // MARK: Retries

    @Test func eachAttemptHasTheLatestCookies() async throws {
        let transport = MockTransport([
            Self.setting("a=1", status: .serviceUnavailable), Self.setting("a=2", status: .serviceUnavailable), .ok(),
        ])
        let network = transport.cookies(in: jar).retry().environment(\.clock, .immediate())
        try await network.data(HTTPRequestData(authority: "shop.example"))
        #expect(cookies(in: transport) == [nil, "a=1", "a=2"])
    }

    @Test(arguments: ["removeAll()", "removeAll(of:)", "removeAll(at:)"])
    func requestIsNotRetriedWithTheCookiesOfTheNextUser(removal: String) async throws {
        try set("a", domain: "shop.example")
        try set("a", domain: "other.example")
        let transport = MockTransport { [jar] _ in
            switch removal {
            case "removeAll()": jar.removeAll()
            case "removeAll(of:)": jar.removeAll(of: nil)
            default: jar.removeAll(at: "shop.example")
            }
            try jar.set(Cookie(name: "b", value: "1", domain: "shop.example", created: .distantPast))
            return .status(.serviceUnavailable)
        }
        let network = transport.cookies(in: jar).retry().environment(\.clock, .immediate())
        let response = try await network.data(HTTPRequestData(authority: "shop.example"))
        #expect(response.status == .serviceUnavailable)
        #expect(cookies(in: transport) == ["a=1"])
    }

    // MARK: Signing out

    static let removals = ["removeAll()", "removeAll(of:)", "removeAll(at:)"]

    private func signOut(_ removal: String) {
        switch removal {
        case "removeAll()": jar.removeAll()
        case "removeAll(of:)": jar.removeAll(of: nil)
        default: jar.removeAll(at: "shop.example")
        }
    }

    /// A sliding session: the server sends its cookie again with each response.
    @Test(arguments: removals, [false, true])
    func responseInFlightBringsNoCookieBack(removal: String, hasCookie: Bool) async throws {
        for sink in [nil, CollectingSink()] {
            if hasCookie {
                try set("session", domain: "shop.example")
            }
            let gate = MockGate()
            let events = EventRecorder()
            let transport = MockTransport { _ in
                try await gate.wait()
                return Self.setting("session=emily; Secure")
            }
            let network = transport.cookies(in: jar)
            let request = HTTPRequestData(authority: "shop.example")
                .with { request in
                    request.addObserver(events)
                    request.sink = sink
                }
            async let call = network.data(request)
            try await transport.waitForRequests(1)
            signOut(removal)
            gate.open()
            _ = try await call
            #expect(jar.count == 0)
            #expect(events.events.filter { "\($0)" == "cookieRejected(removed)" }.count == 1)
        }
        // The next login is another session.
        let next = MockTransport([Self.setting("session=james; Secure"), .ok()])
        for _ in 0..<2 {
            try await next.cookies(in: jar).data(HTTPRequestData(authority: "shop.example"))
        }
        #expect(cookies(in: next) == [nil, "session=james"])
    }

    @Test(arguments: ["removeAll(of:)", "removeAll(at:)"])
    func removalForAnotherUserOrHostKeepsTheCookiesOfAResponse(removal: String) async throws {
        try set("a", domain: "shop.example")
        let transport = MockTransport { [jar] _ in
            if removal == "removeAll(of:)" {
                jar.removeAll(of: Principal(id: "james"))
            } else {
                jar.removeAll(at: "other.example")
                jar.removeAll(at: "www.shop.example")
            }
            return Self.setting("b=1; Domain=shop.example")
        }
        let network = transport.cookies(in: jar)
        let principal = network.principal(for: HTTPRequestData(authority: "shop.example"))
        try await network.data(HTTPRequestData(authority: "shop.example"))
        #expect(jar.cookies(of: nil).map(\.name) == ["a", "b"])
        let next = network.principal(for: HTTPRequestData(authority: "shop.example"))
        #expect(principal.isSame(as: next) == (removal == "removeAll(of:)"))
    }

    /// Otherwise a login that was in progress would be completed after the user has signed out.
    @Test func redirectAfterTheRemovalSetsNoCookie() async throws {
        let transport = MockTransport { [jar] request in
            guard request.path == "/login" else { return Self.setting("session=emily") }
            jar.removeAll()
            return .redirect(to: "/welcome")
        }
        try await transport.cookies(in: jar).data(HTTPRequestData(authority: "shop.example", path: "/login"))
        #expect(transport.requests.count == 2)
        #expect(jar.count == 0)
    }

    /// The other server sees no credentials and knows the user only by the cookie that it has set.
    @Test func repeatedRedirectToAnotherOriginIsFollowedWithItsCookies() async throws {
        let tokens = TokenStore(Networking.Session(accessToken: "emily"))
        let transport = MockTransport { request in
            request.authority == "other.example"
                ? Self.setting("a=1; Secure") : .redirect(to: "https://other.example/x")
        }
        let network = transport.authenticated(with: tokens).cookies(in: jar).server(authority: "shop.example")
        for _ in 1...2 {
            #expect(try await network.data(HTTPRequestData(path: "file")).status == .ok)
        }
        #expect(cookies(in: transport) == [nil, nil, nil, "a=1"])
        let credentials = transport.requests.map { $0.headerFields[.authorization] }
        #expect(credentials == ["Bearer emily", nil, "Bearer emily", nil])
    }

    /// The request of Emily must not be carried out with cookies that James has at the other server.
    @Test(arguments: ["signs in", "signs out"])
    func redirectToAnotherOriginIsRefusedIfTheUserHasChanged(change: String) async throws {
        try set("a", domain: "other.example")
        let tokens = TokenStore(Networking.Session(accessToken: "emily"))
        let transport = MockTransport { _ in
            if change == "signs in" {
                tokens.set(Networking.Session(accessToken: "james"))
            } else {
                tokens.remove()
            }
            return .redirect(to: "https://other.example/x")
        }
        let network = transport.authenticated(with: tokens).cookies(in: jar).server(authority: "shop.example")
        #expect(try await network.data(HTTPRequestData(path: "file")).status == .found)
        #expect(transport.requests.count == 1)
    }

    /// Returns a transport of a server that redirects to another one, which redirects back.
    private func detour(_ isAway: @escaping @Sendable () -> Void = {}) -> MockTransport {
        MockTransport { request in
            guard request.authority == "shop.example" else {
                isAway()
                return MockResponse(
                    status: .found,
                    headerFields: [.location: "https://shop.example/end", .setCookie: "a=1; Secure"]
                )
            }
            return request.path == "/end" ? .ok() : .redirect(to: "https://other.example/x")
        }
    }

    @Test func repeatedDetourOverAnotherOriginIsFollowed() async throws {
        let tokens = TokenStore(Networking.Session(accessToken: "emily"))
        let transport = detour()
        let network = transport.authenticated(with: tokens, at: ["shop.example"]).cookies(in: jar)
        for _ in 1...2 {
            let response = try await network.data(HTTPRequestData(authority: "shop.example", path: "/file"))
            #expect(response.status == .ok)
        }
        #expect(transport.requests.count == 6)
    }

    /// The credentials are not sent on the way back either, but the cookies of the server are.
    @Test func detourWithCookiesOfBothServersIsFollowed() async throws {
        for domain in ["shop.example", "other.example"] {
            try set("a", domain: domain)
        }
        let tokens = TokenStore(Networking.Session(accessToken: "emily"))
        let network = detour().authenticated(with: tokens).cookies(in: jar).server(authority: "shop.example")
        #expect(try await network.data(HTTPRequestData(path: "file")).status == .ok)
    }

    /// Without its token, the server would assign the request to the user of the cookies.
    @Test func redirectWithoutItsTokenIsNotFollowedToCookiesOfTheSameServer() async throws {
        try set("a", domain: "shop.example")
        let transport = MockTransport { request in
            request.path == "/public" ? .ok() : .redirect(to: "/public")
        }
        let network =
            transport
            .authenticated(with: TokenStore(Networking.Session(accessToken: "emily")), except: { $0.path == "/public" })
            .cookies(in: jar).server(authority: "shop.example")
        #expect(try await network.data(HTTPRequestData(path: "file")).status == .found)
        #expect(transport.requests.count == 1)
    }

    @Test func detourIsNotFollowedBackForAnotherUser() async throws {
        let tokens = TokenStore(Networking.Session(accessToken: "emily"))
        let transport = detour { tokens.set(Networking.Session(accessToken: "james")) }
        let network = transport.authenticated(with: tokens, at: ["shop.example"]).cookies(in: jar)
        let response = try await network.data(HTTPRequestData(authority: "shop.example", path: "/file"))
        #expect(response.status == .found)
        #expect(transport.requests.count == 2)
    }

    // MARK: Users

    private func signedIn(_ user: String, over transport: MockTransport) -> some NetworkingComponent {
        transport.authenticated(with: Networking.Session(userID: user, accessToken: user), at: ["shop.example"])
    }

    @Test func principalsShareAJarWithoutSharingCookies() async throws {
        let transport = MockTransport { request in
            Self.setting("a=\(request.headerFields[.authorization]?.suffix(5).lowercased() ?? "")")
        }
        let request = HTTPRequestData(authority: "shop.example")
        for user in ["emily", "james", "emily", "james"] {
            try await signedIn(user, over: transport).cookies(in: jar).data(request)
        }
        #expect(cookies(in: transport) == [nil, nil, "a=emily", "a=james"])
        #expect(jar.cookies(of: Principal(id: "emily")).map(\.value) == ["emily"])
        #expect(jar.cookies(of: nil).isEmpty)
    }

    /// The position in the stack is wrong, but users still get no cookies of other users.
    @Test func principalsOfOuterModifiersShareNoCookies() async throws {
        let transport = MockTransport { request in
            Self.setting("a=\(request.headerFields[.authorization]?.suffix(5).lowercased() ?? "")")
        }
        let request = HTTPRequestData(authority: "shop.example")
        for user in ["emily", "james", "emily", "james"] {
            try await transport.cookies(in: jar)
                .authenticated(with: Networking.Session(userID: user, accessToken: user), at: ["shop.example"])
                .data(request)
        }
        #expect(cookies(in: transport) == [nil, nil, "a=emily", "a=james"])
    }

    /// The server sets a cookie when it asks for credentials.
    @Test func firstRequestsOfOuterModifiersShareNoCookies() async throws {
        let transport = MockTransport { request in
            guard let user = request.headerFields[.authorization]?.suffix(5).lowercased() else {
                let cookie = request.headerFields[.cookie] ?? "none"
                let fields: HTTPFields = [.setCookie: "a=after-\(cookie.suffix(5))", .wwwAuthenticate: "Bearer"]
                return .status(.unauthorized, headerFields: fields)
            }
            return Self.setting("a=\(user)")
        }
        for user in ["emily", "james", "emily", "james"] {
            try await transport.cookies(in: jar)
                .authenticated(
                    with: Networking.Session(userID: user, accessToken: user),
                    at: ["shop.example"],
                    preemptive: false
                )
                .data(HTTPRequestData(authority: "shop.example"))
        }
        #expect(
            cookies(in: transport) == [
                nil, "a=after-none", nil, "a=after-none", "a=emily", "a=after-emily", "a=james", "a=after-james",
            ]
        )
    }

    /// A key that is no Authorization field.
    @Test func keysOfOuterModifiersShareNoCookies() async throws {
        let transport = MockTransport { request in Self.setting("a=\(request.headerFields[Self.key] ?? "")") }
        let networks = ["emily", "james"]
            .map { user in
                transport.cookies(in: jar)
                    .authenticated(with: APIKeyCredentials(user, in: .header(Self.key)), at: ["shop.example"])
            }
        for network in networks + networks {
            try await network.data(HTTPRequestData(authority: "shop.example"))
        }
        #expect(cookies(in: transport) == [nil, nil, "a=emily", "a=james"])
    }

    private static let key = HTTPField.Name("X-Key")!

    @Test func responseOfAnotherPrincipalSetsNoCookie() async throws {
        try set("a", domain: "shop.example")
        let events = EventRecorder()
        let transport = MockTransport([Self.setting("b=1")])
        let network = transport.modified(AnotherUser()).cookies(in: jar)
        try await network.data(HTTPRequestData(authority: "shop.example").with { $0.addObserver(events) })
        #expect(events.events.map { "\($0)" }.contains("cookieRejected(otherPrincipal)"))
        #expect(jar.count == 1)
    }

    /// Another user signs in while the request is in progress.
    private struct AnotherUser: NetworkingModifier {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            var response = try await upstream.send(request)
            response.principal = Principal(id: "james")
            return response
        }
    }

    // MARK: Caches and deduplication

    private func page(_ fields: HTTPFields = [.cacheControl: "max-age=60"]) -> MockTransport {
        MockTransport { request in
            .text(request.headerFields[.cookie] ?? "nobody").headerFields(fields)
        }
    }

    @Test(arguments: [false, true])
    func cacheSeparatesTheResponsesOfSessions(isOutside: Bool) async throws {
        let transport = page()
        let cache = ResponseCache()
        let network: any NetworkingComponent =
            isOutside ? transport.cached(in: cache).cookies(in: jar) : transport.cookies(in: jar).cached(in: cache)
        let request = HTTPRequestData(authority: "shop.example")
        func body() async throws -> String {
            String(decoding: try await network.data(request).data, as: UTF8.self)
        }
        #expect(try await body() == "nobody")
        for value in ["emily", "james", "emily"] {
            try jar.set(Cookie(name: "a", value: value, domain: "shop.example", created: .distantPast))
            #expect(try await body() == "a=\(value)")
            #expect(try await body() == "a=\(value)")
        }
        jar.removeAll()
        #expect(try await body() == "nobody")
        #expect(transport.requests.count == 3)
    }

    @Test func cacheRemovesTheResponsesOfAPrincipalWithCookies() async throws {
        let transport = page()
        let cache = ResponseCache()
        let network = signedIn("emily", over: transport).cookies(in: jar).cached(in: cache)
        let request = HTTPRequestData(authority: "shop.example")
        try jar.set(
            Cookie(name: "a", value: "1", domain: "shop.example", created: .distantPast),
            for: Principal(id: "emily")
        )
        try await network.data(request)
        #expect(try await network.data(request).isCached)
        try await cache.remove(principal: Principal(id: "emily"))
        #expect(try await network.data(request).isCached == false)
    }

    @Test func cachedResponseSetsNoCookieAgain() async throws {
        let transport = MockTransport([
            Self.setting("a=1; Path=/").headerFields([.cacheControl: "max-age=60"]), Self.setting("a=2; Path=/"),
        ])
        let network = transport.cached().cookies(in: jar)
        let page = HTTPRequestData(authority: "shop.example", path: "/page")
        try await network.data(page)
        try await network.data(HTTPRequestData(authority: "shop.example", path: "/other"))
        // The page was fetched without cookies, so only a request without cookies gets it from the cache.
        jar.removeAll()
        try jar.set(Cookie(name: "a", value: "2", domain: "shop.example", path: "/other", created: .distantPast))
        let sink = CollectingSink()
        for request in [page, page.with { $0.sink = sink }] {
            let response = try await network.data(request)
            #expect(response.isCached)
            #expect(response.headerFields[.setCookie] == nil)
            #expect(jar.cookies(of: nil).map(\.value) == ["2"])
        }
        #expect(sink.heads.count == 1)
    }

    @Test func deduplicationSharesNoExchangeOfAnotherSession() async throws {
        let gate = MockGate()
        let transport = MockTransport { request in
            try await gate.wait()
            return .text(request.headerFields[.cookie] ?? "")
        }
        let other = CookieJar()
        for (jar, value) in [(jar, "emily"), (other, "james")] {
            try jar.set(Cookie(name: "a", value: value, domain: "shop.example", created: .distantPast))
        }
        let inFlight = InFlightRequests()
        let request = HTTPRequestData(authority: "shop.example")
        let networks = [jar, other, jar, other]
            .map { AnyNetworkingComponent(transport.cookies(in: $0).deduplicated(sharing: inFlight)) }
        async let bodies = withThrowingTaskGroup { group in
            for (index, network) in networks.enumerated() {
                group.addTask { (index, String(decoding: try await network.data(request).data, as: UTF8.self)) }
            }
            return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
        }
        try await eventually("all requests wait for two exchanges") {
            inFlight.count == 2 && inFlight.waiting == 4
        }
        gate.open()
        #expect(try await bodies == [0: "a=emily", 1: "a=james", 2: "a=emily", 3: "a=james"])
        #expect(transport.requests.count == 2)
    }

    // The server changes a cookie in each response.
    @Test func rateLimitOfAPrincipalDoesNotCountCookies() async throws {
        let transport = MockTransport { request in
            Self.setting("a=\(request.id)")
        }
        let network = transport.cookies(in: jar)
            .rateLimited(to: 2, per: .seconds(60), maximumWait: .zero, by: .principal)
            .environment(\.clock, .manual(ManualClock()))
        // The first request has no cookies and therefore no principal, and so do the following ones.
        for _ in 0..<2 {
            try await network.data(HTTPRequestData(authority: "shop.example"))
        }
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(authority: "shop.example"))
        }
        #expect(error?.kind == .rejected)
    }

    // MARK: Connections and transports

    @Test func transportGetsTheMarkOfHandledCookies() async throws {
        let journal = Journal()
        let transport = NotingTransport(journal: journal)
        let request = HTTPRequestData(authority: "shop.example")
        let response = try await transport.cookies(in: jar).data(request)
        try await transport.data(request)
        #expect(journal.entries == ["true", "false"])
        #expect(!response.sentRequest.areCookiesHandled)
    }

    private struct NotingTransport: NetworkingTransport {
        let journal: Journal

        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            journal.note("\(request.areCookiesHandled)")
            return HTTPResponseData(request: request)
        }
    }

    @Test func connectionsBelongToTheSessionAndNotToTheValuesOfCookies() async throws {
        let transport = MockTransport { request in
            Self.setting("a=\(request.id)")
        }
        let owners = Journal()
        let network = transport.modified(OwnerNoted(owners: owners)).cookies(in: jar)
        for _ in 0..<3 {
            try await network.data(HTTPRequestData(authority: "shop.example"))
        }
        jar.removeAll()
        try await network.data(HTTPRequestData(authority: "shop.example"))
        try await network.data(HTTPRequestData(authority: "shop.example"))
        let entries = owners.entries
        #expect(entries.count == 5)
        #expect(entries[0] == "none" && entries[3] == "none")
        #expect(entries[1] == entries[2])
        #expect(entries[1] != entries[4])
    }

    private struct OwnerNoted: NetworkingModifier {
        let owners: Journal

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            owners.note(ConnectionOwner(of: request).map { "\($0.hashValue)" } ?? "none")
            return try await upstream.send(request)
        }
    }

    // MARK: Secrets

    @Test func descriptionsContainNoCookie() async throws {
        let log = LogRecorder()
        let journal = Journal()
        let transport = MockTransport([Self.setting("a=hunter2"), Self.setting("a=hunter3", status: .notFound)])
        let network = transport.cookies(in: jar).checkedStatusCode()
            .logged(using: log.logger(.trace), detail: .body())
            .observed { event, request in journal.note("\(event) \(request) \(String(reflecting: request))") }
        let request = HTTPRequestData(authority: "shop.example")
        let response = try await network.data(request)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        var text = "\(log.text) \(journal.entries) \(network.outline) \(jar)"
        for value: Any in [response, try #require(error), jar, network.principal(for: request) as Any] {
            text += "\(value)"
            dump(value, to: &text)
        }
        #expect(text.contains("cookiesAdded(1)"))
        #expect(!text.contains("hunter"))
        #expect(network.principal(for: request)?.id.contains("hunter") == false)
    }

    @Test func curlCommandHasNoCookie() async throws {
        let transport = MockTransport([Self.setting("a=hunter2"), .ok()])
        let network = transport.cookies(in: jar)
        try await network.data(HTTPRequestData(authority: "shop.example"))
        let response = try await network.data(HTTPRequestData(authority: "shop.example"))
        #expect(response.sentRequest.headerFields[.cookie] == "a=hunter2")
        #expect(!response.sentRequest.curl().contains("hunter2"))
    }

    // MARK: Diagnostics and laws

    @Test func diagnosticsReportWrongPositions() throws {
        let session = Networking.Session(userID: "emily", accessToken: "token")
        let transport = MockTransport()
        func reports(_ network: some NetworkingComponent) -> [String] {
            network.diagnostics.filter { $0.modifier == "cookies" }.map(\.message)
        }
        #expect(
            reports(transport.authenticated(with: session, at: ["shop.example"]).cookies(in: jar).retry().cached())
                == []
        )
        #expect(
            reports(transport.cookies(in: jar).authenticated(with: session, at: ["shop.example"])).first?
                .contains("is inside authenticated") == true
        )
        #expect(reports(transport.retry().cookies(in: jar)).first?.contains("is outside retry") == true)
        #expect(reports(transport.cached().cookies(in: jar)).first?.contains("is outside cached") == true)
        #expect(reports(transport.cookies(in: jar).cookies(in: jar)).first?.contains("inside another") == true)
        let signing = transport.cookies(in: jar).modified(Role(role: .signing))
        #expect(reports(signing).first?.contains("is inside signed") == true)
        #expect(transport.cookies(in: jar).modifiers.first?.stackPart.roles == [.cookies])
    }

    private struct Role: NetworkingModifier {
        let role: StackRole

        var stackPart: StackPart { StackPart(roles: [role]) }
    }

    @Test func listenerThatRetainsRequestsDoesNotRetainTheStack() async throws {
        weak var part: CollectingSink?
        do {
            let kept = CollectingSink()
            part = kept
            let recorder = EventRecorder()
            let network = MockTransport { _ in
                withExtendedLifetime(kept) { .ok() }
            }
            .observed(by: recorder).cookies(in: jar)
            _ = try await network.data(HTTPRequestData(authority: "shop.example").with { $0.sink = CollectingSink() })
            #expect(recorder.requests.contains { $0.sink != nil })
        }
        #expect(part == nil)
    }

    @Test func keepsTheLaws() async throws {
        let jar = jar
        try jar.set(Cookie(name: "a", value: "1", domain: "laws.example", created: .distantPast))
        try await checkLaws { AnyNetworkingComponent($0.cookies(in: jar)) }
    }
}
