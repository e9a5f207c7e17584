#if LoopbackRedirect && URLSession && (os(Linux) || os(macOS))
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// Signing in at an independent provider, from its metadata to its userinfo.
    @Suite(
        .requires(.oidcProvider),
        .oidcProviderMock,
        .timeLimit(.minutes(20))
    )
    struct ProviderTests {
        private let url: URL
        private let client: OAuthClient
        private let network: any NetworkingComponent
        private let transport: any NetworkingComponent = URLSessionTransport(configuration: .ephemeral)
            .timeout(.seconds(20))

        init() throws {
            url = try #require(PythonServer.url)
            client = OAuthClient(
                .provider(
                    issuer: url.absoluteString,
                    clientID: "shop & co",
                    // The provider requires a secret and accepts any.
                    authentication: .basic(secret: "any"),
                    redirectURI: URL(string: "http://127.0.0.1/callback"),
                    scopes: ["openid", "email"]
                )
            )
            network = transport.authenticated(oauth: client).server(baseURL: url)
        }

        /// Acts as the user: opens the page, submits its form and follows the redirect.
        private func browser(as subject: String) -> LoopbackUserAgent {
            LoopbackUserAgent { [transport] url in
                let page = try await transport.data(HTTPRequestData(method: .get, url: url))
                #expect(page.status == .ok)
                let html = String(decoding: page.data, as: UTF8.self)
                #expect(html.contains("shop &amp; co") && html.contains("name=\"sub\""))
                try await transport.data(HTTPRequestData(method: .post, url: url, body: .form(["sub": subject])))
            }
        }

        private struct User: Decodable, Equatable {
            var sub: String
            var email: String?
        }

        private func user() async throws -> User {
            try await network.request(HTTPRequestData(path: "userinfo"), as: User.self)
        }

        /// Returns whether the provider accepts an access token.
        private func isGood(_ token: String) async throws -> Bool {
            var request = HTTPRequestData(method: .get, url: url.appending(path: "userinfo"))
            request.setCredential("Bearer \(token)", for: .authorization)
            return try await transport.data(request).status == .ok
        }

        /// Runs an operation at a time when the tokens have expired.
        private func later<Result>(_ operation: () async throws -> Result) async throws -> Result {
            var environment = NetworkEnvironment.current
            environment.clock = NetworkClock(ContinuousClock()) { Date() + 7_200 }
            return try await withEnvironment(environment) { try await operation() }
        }

        @Test func signsInAndRefreshesTheSession() async throws {
            let session = try await network.oauth(client)
                .signIn(with: .authorizationCode(browser(as: "emily@example.com")))
            #expect(session.refreshToken != nil && session.idToken != nil)
            #expect(abs(try #require(session.expirationDate).timeIntervalSinceNow - 3_600) < 60)
            #expect(try await user() == User(sub: "emily@example.com", email: "emily@example.com"))

            #expect(try await later { try await user() }.sub == "emily@example.com")
            let renewed = try #require(client.session)
            #expect(renewed.accessToken != session.accessToken)
            #expect(try await !isGood(session.accessToken))
            #expect(try await isGood(renewed.accessToken))

            // The provider has no revocation endpoint.
            try await network.oauth(client).signOut()
            let error = await #expect(throws: NetworkingError.self) { try await user() }
            #expect(error?.kind == .unauthorized)
        }

        @Test func revokedTokensRequireANewSignIn() async throws {
            let account = network.oauth(client)
            try await account.signIn(with: .authorizationCode(browser(as: "michael")))
            #expect(try await user() == User(sub: "michael", email: "michael"))
            let forgetting = HTTPRequestData(method: .post, url: url.appending(path: "users/michael/revoke-tokens"))
            #expect(try await transport.data(forgetting).status == .noContent)
            let error = await #expect(throws: NetworkingError.self) { try await later { try await user() } }
            #expect(error?.kind == .unauthorized)
            let cause = try #require(error?.underlying as? OAuthError)
            #expect(cause.kind == .signInRequired)
            #expect(cause.code == "invalid_grant")
            try await account.signIn(with: .authorizationCode(browser(as: "michael")))
            #expect(try await user().sub == "michael")
        }

        @Test func missingDiscoveryDocumentIsAnError() async throws {
            let system = OAuthSystem.provider(
                issuer: url.appending(path: "elsewhere").absoluteString,
                clientID: "shop",
                redirectURI: URL(string: "http://127.0.0.1/callback")
            )
            let error = await #expect(throws: OAuthError.self) {
                try await network.oauth(OAuthClient(system)).signIn(with: .authorizationCode(browser(as: "emily")))
            }
            #expect(error?.kind == .discovery)
            #expect(error?.statusCode == 404)
        }
    }
}
#endif
