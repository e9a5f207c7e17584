import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Credentials do not return on a hop that another server has chosen.
@Suite(.timeLimit(.minutes(20)))
struct CredentialsAfterRedirectTests {
    /// A transport that redirects along a list of URLs, one after the other.
    private func transport(redirectingTo locations: [String]) -> MockTransport {
        MockTransport(locations.map { .redirect(to: $0) } + [.ok()])
    }

    private func authorizations(of transport: MockTransport) -> [String?] {
        transport.requests.map { $0.headerFields[.authorization] }
    }

    private let start = HTTPRequestData(authority: "a.example", path: "/start")

    @Test(arguments: ["at:", "server"])
    func credentialsDoNotReturnOverAnotherServer(place: String) async throws {
        let transport = transport(
            redirectingTo: ["https://evil.example/x", "https://a.example/chosen", "https://a.example/next"]
        )
        let tokens = BearerCredentials(token: "secret")
        let network =
            place == "at:"
            ? AnyNetworkingComponent(transport.authenticated(with: tokens, at: ["a.example"]).redirected())
            : AnyNetworkingComponent(transport.authenticated(with: tokens).redirected().server(authority: "a.example"))
        try await network.data(place == "at:" ? start : HTTPRequestData(path: "/start"))
        #expect(authorizations(of: transport) == ["Bearer secret", nil, nil, nil])
    }

    @Test func serverOfTheStackMayRedirectToItself() async throws {
        let transport = transport(redirectingTo: ["/x", "https://A.example:443/y"])
        let network = transport.authenticated(with: BearerCredentials(token: "secret")).redirected()
            .server(authority: "a.example")
        try await network.data(HTTPRequestData(path: "/start"))
        #expect(authorizations(of: transport) == Array(repeating: "Bearer secret", count: 3))
    }

    @Test(arguments: [
        ["https://b.example/x", "https://a.example/back"],
        ["https://b.example:443/x", "https://A.example/back", "https://a.example/again"],
        ["https://a.example:443/x"],
    ])
    func credentialsPassBetweenNamedServers(locations: [String]) async throws {
        let transport = transport(redirectingTo: locations)
        let network =
            transport.authenticated(
                with: BearerCredentials(token: "secret"),
                at: ["a.example", "b.example"]
            )
            .redirected()
        try await network.data(start)
        #expect(authorizations(of: transport) == Array(repeating: "Bearer secret", count: locations.count + 1))
    }

    @Test func serverOfTheStackMayRedirectToANamedServer() async throws {
        let transport = transport(redirectingTo: ["https://b.example/x", "https://[::1]:8443/y", "https://b.example/z"])
        let network =
            transport.authenticated(with: BearerCredentials(token: "secret"), at: ["b.example", "[::1]:8443"])
            .redirected().server(authority: "a.example")
        try await network.data(HTTPRequestData(path: "/start"))
        #expect(authorizations(of: transport) == Array(repeating: "Bearer secret", count: 4))
    }

    @Test func anotherPortOrPlainHTTPIsAnotherServer() async throws {
        let transport = transport(redirectingTo: ["https://a.example:8443/x", "https://a.example/chosen"])
        let network = transport.authenticated(with: BearerCredentials(token: "secret"), at: ["a.example"]).redirected()
        try await network.data(start)
        #expect(authorizations(of: transport) == ["Bearer secret", nil, nil])
    }

    /// The app names the servers of the credentials, and another server leads to one of them.
    @Test func anotherServerCannotLeadToANamedServer() async throws {
        let transport = transport(redirectingTo: ["https://a.example/chosen"])
        let network = transport.authenticated(with: BearerCredentials(token: "secret"), at: ["a.example"])
            .redirected().server(authority: "api.example.com")
        try await network.data(HTTPRequestData(authority: "evil.example", path: "/link"))
        #expect(authorizations(of: transport) == [nil, nil])
    }

    @Test func nextCallHasTheCredentialsAgain() async throws {
        let transport = transport(redirectingTo: ["https://evil.example/x", "https://a.example/chosen"])
        let network = transport.authenticated(with: BearerCredentials(token: "secret"), at: ["a.example"]).redirected()
        let response = try await network.data(start)
        transport.enqueue(.ok())
        try await network.data(response.sentRequest)
        #expect(authorizations(of: transport) == ["Bearer secret", nil, nil, "Bearer secret"])
    }

    // MARK: The request itself

    @Test func requestWithoutItsCredentialsIsNoLongerForTheServerOfTheStack() throws {
        let scope = CredentialScope([])
        let network = MockTransport().modified(Scoped(scope: scope)).server(authority: "a.example")
        var request = network.resolved(HTTPRequestData(path: "/start"))
        #expect(scope.admits(request))
        request.removeCredentials(under: .follow)
        #expect(!scope.admits(request))
    }

    private struct Scoped: NetworkingModifier {
        let scope: CredentialScope

        func resolve(_ request: inout HTTPRequestData) {
            scope.resolve(&request)
        }
    }

    // MARK: Users

    /// Bob's token for the second server must not carry out what Alice began on the first.
    @Test func redirectIsNotFollowedToAServerOfAnotherUser() async throws {
        let events = EventRecorder()
        let transport = transport(redirectingTo: ["/start/next", "https://b.example/x"])
        let network =
            transport
            .authenticated(with: Networking.Session(userID: "alice", accessToken: "alice"), at: ["a.example"])
            .authenticated(
                with: Networking.Session(userID: "bob", accessToken: "bob"),
                at: ["a.example", "b.example"],
                except: { $0.authority == "a.example" }
            )
            .redirected()
        let response = try await network.data(start.with { $0.addObserver(events) })
        #expect(response.status == .found)
        #expect(response.redirects.map(\.request.path) == ["/start"])
        #expect(authorizations(of: transport) == ["Bearer alice", "Bearer alice"])
        #expect(events.events.map(\.description).contains("redirectRefused(anotherUser)"))
    }

    /// Bob signs in while Alice's request is at another server, which sends it back without credentials.
    @Test(arguments: [true, false])
    func redirectBackToTheServerIsNotFollowedForALaterUser(hasCookies: Bool) async throws {
        let jar = CookieJar()
        if hasCookies {
            try jar.set(Cookie(name: "visit", value: "1", domain: "b.example", created: .distantPast))
        }
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "alice"))
        let transport = MockTransport { request in
            guard request.authority == "b.example" else { return .redirect(to: "https://b.example/x") }
            store.set(Networking.Session(userID: "bob", accessToken: "bob"))
            return .redirect(to: "https://a.example/chosen")
        }
        let response = try await transport.authenticated(with: store, at: ["a.example"]).cookies(in: jar).data(start)
        #expect(response.headerFields[.location] == "https://a.example/chosen")
        #expect(authorizations(of: transport) == ["Bearer alice", nil])
        #expect(transport.requests.last?.headerFields[.cookie] == (hasCookies ? "visit=1" : nil))
    }

    /// The next server receives no credentials, so nothing is done there for Bob.
    @Test func redirectToAnotherServerIsFollowedAfterASignIn() async throws {
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "alice"))
        let transport = MockTransport { request in
            guard request.authority == "a.example" else { return .ok() }
            store.set(Networking.Session(userID: "bob", accessToken: "bob"))
            return .redirect(to: "https://b.example/x")
        }
        let network = transport.authenticated(with: store, at: ["a.example"]).redirected()
        #expect(try await network.data(start).status == .ok)
        #expect(authorizations(of: transport) == ["Bearer alice", nil])
    }

    /// The cookies of the second server belong to a later user, who has signed in there.
    @Test func redirectIsNotFollowedToCookiesOfALaterUser() async throws {
        let jar = CookieJar()
        for domain in ["a.example", "b.example"] {
            try jar.set(Cookie(name: "session", value: "1", domain: domain, created: .distantPast))
        }
        jar.removeAll(at: "b.example")
        try jar.set(Cookie(name: "session", value: "2", domain: "b.example", created: .distantPast))
        let transport = transport(redirectingTo: ["https://b.example/x"])
        #expect(try await transport.cookies(in: jar).data(start).status == .found)
        #expect(transport.requests.count == 1)
    }

    /// The app changes the server while the request waits for credentials.
    @Test func changedServerGetsNoCredentials() async throws {
        let server = SwitchableServer(try #require(URL(string: "https://a.example")))
        let other = try #require(URL(string: "https://b.example"))
        let delegate = ScriptedAuthenticationDelegate<Networking.Session>(refresh: { session, _, _ in
            try server.change(to: other)
            return session.renewed(accessToken: "new")
        })
        let expired = Networking.Session(accessToken: "old", refreshToken: "r", expirationDate: .distantPast)
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(with: TokenStore(expired, delegate: delegate)).server(baseURL: server)
        try await network.data(HTTPRequestData(path: "/start"))
        #expect(delegate.refreshes == 1)
        #expect(authorizations(of: transport) == [nil])
    }

    /// Another request renews the credentials after each refusal.
    @Test(arguments: [3, 4])
    func requestIsSentAgainThreeTimesAtMost(refusals: Int) async throws {
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "1"))
        let counter = RequestRecorder()
        let transport = MockTransport { [counter] request in
            let number = counter.requests.count
            guard number <= refusals else { return .ok() }
            store.update(Networking.Session(accessToken: "\(number + 1)"))
            return .status(.unauthorized)
        }
        let network = transport.recorded(by: counter).authenticated(with: store, at: ["a.example"])
        #expect(try await network.data(start).status == (refusals == 3 ? .ok : .unauthorized))
        #expect(authorizations(of: transport) == ["Bearer 1", "Bearer 2", "Bearer 3", "Bearer 4"])
    }
}
