#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import TestSupport
import Testing

/// Predefined systems and user agents.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OAuthSystemTests {
    private let redirectURI = URL(string: "shop://callback")!

    @Test func spotifyUsesItsOwnEndpoints() async throws {
        let client = OAuthClient(.spotify(clientID: "shop", redirectURI: redirectURI, scopes: ["user-read-email"]))
        let transport = MockTransport { _ in
            .text(
                #"{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"user-read-email"}"#
            )
        }
        let pages = PageLog()
        let network = transport.authenticated(oauth: client).server(authority: "api.spotify.com")
        let session = try await network.oauth(client)
            .signIn(
                with: .authorizationCode(
                    ScriptedAgent { authorization in
                        pages.add(authorization.url)
                        return ScriptedProvider().approve(authorization.url)
                    }
                )
            )
        #expect(pages.text.hasPrefix("https://accounts.spotify.com/authorize?client_id=shop&response_type=code&"))
        #expect(pages.text.contains("&scope=user-read-email"))
        #expect(transport.destinations == ["accounts.spotify.com/api/token"])
        #expect(session.scope == "user-read-email")
    }

    @Test func spotifyHasItsOwnAuthenticationMethod() async throws {
        let client = OAuthClient(
            .spotify(clientID: "shop", redirectURI: redirectURI),
            session: Session(accessToken: "token")
        )
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(oauth: client).server(authority: "api.spotify.com")
        var request = HTTPRequestData(path: "v1/me")
        request.authenticationMethod = .spotify
        try await network.data(request)
        request.authenticationMethod = .bearer
        try await network.data(request)
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer token", nil])
        #expect("\(network.outline)".contains("as: spotify"))
    }

    // MARK: The external browser

    @Test func externalBrowserCompletesWithTheAppsURL() async throws {
        let provider = ScriptedProvider()
        let client = OAuthClient(ScriptedProvider.system())
        let network = provider.network(client, over: provider.transport)
        let pages = PageLog()
        let browser = ExternalUserAgent { pages.add($0) }
        let call = Task { try await network.oauth(client).signIn(with: .authorizationCode(browser)) }
        try await eventually("!pages.text.isEmpty") { !pages.text.isEmpty }
        let callback = provider.approve(URL(string: pages.text)!)
        #expect(!browser.handle(URL(string: "com.example.shop:/callback?code=x&state=other")!))
        #expect(!browser.handle(URL(string: "com.example.shop:/elsewhere")!))
        // The user agent accepts callbacks only once the page is open.
        try await eventually("browser.handle(callback)") { browser.handle(callback) }
        #expect(!browser.handle(callback))
        #expect(try await call.value == client.session)
        #expect(!browser.handle(callback))
    }

    @Test func throwsTheErrorOfABrowserThatCannotOpen() async throws {
        struct NoBrowser: Error {}
        let client = OAuthClient(ScriptedProvider.system())
        let browser = ExternalUserAgent { _ in throw NoBrowser() }
        await #expect(throws: NoBrowser.self) {
            try await MockTransport().oauth(client).signIn(with: .authorizationCode(browser))
        }
    }

    @Test func secondPageSupersedesTheFirst() async throws {
        let pages = PageLog()
        let browser = ExternalUserAgent { pages.add($0) }
        let (first, second) = (OAuthClient(ScriptedProvider.system()), OAuthClient(ScriptedProvider.system()))
        let lost = Task { try await MockTransport().oauth(first).signIn(with: .authorizationCode(browser)) }
        try await eventually("!pages.text.isEmpty") { !pages.text.isEmpty }
        let other = Task { try await MockTransport().oauth(second).signIn(with: .authorizationCode(browser)) }
        let error = await #expect(throws: OAuthError.self) { try await lost.value }
        #expect(error?.kind == .superseded)
        other.cancel()
        await #expect(throws: CancellationError.self) { try await other.value }
    }

    // MARK: Laws

    @Test func authenticatedKeepsTheLaws() async throws {
        try await checkLaws { upstream in
            AnyNetworkingComponent(upstream.authenticated(oauth: Self.signedIn, at: ["laws.example"]))
        }
        try await checkLaws { upstream in
            AnyNetworkingComponent(
                upstream.timeout(.seconds(10)).authenticated(oauth: Self.signedIn, at: ["laws.example"]).retry()
                    .deduplicated().cached()
            )
        }
    }

    private static let signedIn = OAuthClient(
        ScriptedProvider.system(),
        session: Session(accessToken: "token", refreshToken: "refresh")
    )
}

/// The URLs of the pages that were opened.
private final class PageLog: Sendable {
    private let lines = Journal()

    var text: String { lines.text }

    func add(_ url: URL) {
        lines.note(url.absoluteString)
    }
}
#endif
