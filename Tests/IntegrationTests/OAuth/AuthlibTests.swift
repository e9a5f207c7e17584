#if LoopbackRedirect && URLSession && (os(Linux) || os(macOS))
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// OAuth with a strict provider: PKCE, client authentication, token rotation, revocation and further grants.
    @Suite(
        .requires(.authlib),
        .authlib,
        .timeLimit(.minutes(20))
    )
    struct AuthlibTests {
        private let url: URL
        private let transport: any NetworkingComponent = URLSessionTransport(configuration: .ephemeral)
            .timeout(.seconds(20))

        private static let secret = "p+ &=/:%w"
        static let authentications: [(String, OAuthClientAuthentication)] = [
            ("tool", .none), ("service:1", .basic(secret: secret)), ("service:2", .body(secret: secret)),
        ]

        init() throws {
            url = try #require(PythonServer.url)
        }

        private func system(
            _ id: String = "tool",
            _ authentication: OAuthClientAuthentication = .none,
            user: String? = "Emily"
        ) -> OAuthSystem {
            var system = OAuthSystem.provider(
                issuer: url.absoluteString,
                clientID: id,
                authentication: authentication,
                redirectURI: URL(string: "http://127.0.0.1/callback"),
                scopes: ["profile", "orders"]
            )
            system.authorizationParameters = user.map { [URLQueryItem(name: "login_hint", value: $0)] } ?? []
            return system
        }

        private func network(for client: OAuthClient) -> any NetworkingComponent {
            transport.authenticated(oauth: client).server(baseURL: url)
        }

        /// A browser with a user that agrees at once.
        private var browser: OAuthGrant {
            .authorizationCode(
                LoopbackUserAgent { [transport] url in
                    try await transport.data(HTTPRequestData(method: .get, url: url))
                }
            )
        }

        private func name(over network: some NetworkingComponent) async throws -> String? {
            try await network.request(HTTPRequestData(path: "me"), as: [String: String].self)["name"]
        }

        private func post(_ path: String, _ form: KeyValuePairs<String, String>) async throws -> HTTPResponseData {
            try await transport.data(HTTPRequestData(method: .post, url: url.appending(path: path), body: .form(form)))
        }

        /// Makes the provider reject an access token.
        private func expire(_ client: OAuthClient) async throws {
            let token = try #require(client.session?.accessToken)
            #expect(try await post("expire", ["token": token]).status == .ok)
        }

        private func isGood(_ token: String) async throws -> Bool {
            var request = HTTPRequestData(method: .get, url: url.appending(path: "me"))
            request.setCredential("Bearer \(token)", for: .authorization)
            return try await transport.data(request).status == .ok
        }

        // MARK: Users

        @Test(arguments: authentications)
        func obtainsRefreshesAndRevokesTokens(id: String, authentication: OAuthClientAuthentication) async throws {
            let client = OAuthClient(system(id, authentication))
            let network = network(for: client)
            let first = try await network.oauth(client).signIn(with: browser)
            #expect(first.accessToken.hasPrefix("a+/=:%&"))
            #expect(first.refreshToken?.hasPrefix("r+ &=/:%") == true)
            #expect(first.scope == "profile orders")
            #expect(try await name(over: network) == "Emily")

            // Twice, because the provider issues a new refresh token each time.
            for _ in 1...2 {
                let former = try #require(client.session)
                try await expire(client)
                #expect(try await name(over: network) == "Emily")
                #expect(client.session?.accessToken != former.accessToken)
                #expect(client.session?.refreshToken != former.refreshToken)
            }

            let last = try #require(client.session)
            #expect(try await isGood(last.accessToken))
            try await network.oauth(client).signOut()
            #expect(try await !isGood(last.accessToken))
            client.set(last)
            let error = await #expect(throws: NetworkingError.self) { try await name(over: network) }
            #expect((error?.underlying as? OAuthError)?.code == "invalid_grant")
        }

        @Test func usedRefreshTokenRequiresANewSignIn() async throws {
            let client = OAuthClient(system())
            let network = network(for: client)
            let first = try await network.oauth(client).signIn(with: browser)
            try await expire(client)
            #expect(try await name(over: network) == "Emily")
            client.set(first)
            let error = await #expect(throws: NetworkingError.self) { try await name(over: network) }
            let cause = try #require(error?.underlying as? OAuthError)
            #expect(cause.kind == .signInRequired)
            #expect(cause.code == "invalid_grant")
        }

        /// Redeems the code before the app does, as another program on the device could.
        private struct Thief: OAuthUserAgent {
            let test: AuthlibTests

            func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
                let authorization = authorization.redirecting(toPort: 9)
                var request = HTTPRequestData(method: .get, url: authorization.url)
                request.redirects = .never
                let location = try await test.transport.data(request).headerFields[.location]
                let callback = try #require(location.flatMap { URL(string: $0) })
                let items = URLComponents(url: callback, resolvingAgainstBaseURL: true)?.queryItems
                let code = try #require(items?.first { $0.name == "code" }?.value)
                let refusal = try await test.post(
                    "token",
                    [
                        "grant_type": "authorization_code", "client_id": "tool", "code": code,
                        "redirect_uri": authorization.redirectURI.absoluteString, "code_verifier": ProofKey().verifier,
                    ]
                )
                #expect(refusal.status == .badRequest)
                #expect(String(decoding: refusal.data, as: UTF8.self).contains("\"error\": \"invalid_grant\""))
                return OAuthCallback(callback, to: authorization)
            }
        }

        @Test func stolenCodeCannotBeRedeemed() async throws {
            let client = OAuthClient(system())
            let network = network(for: client)
            try await network.oauth(client).signIn(with: .authorizationCode(Thief(test: self)))
            #expect(try await name(over: network) == "Emily")
        }

        @Test func reportsThatTheUserDeclined() async throws {
            let client = OAuthClient(system(user: nil))
            let error = await #expect(throws: OAuthError.self) {
                try await network(for: client).oauth(client).signIn(with: browser)
            }
            #expect(error?.isDenied == true)
            #expect(error?.reason.contains("denied the request") == true)
            #expect(client.session == nil)
        }

        @Test func deviceCodeGrantSignsInOnAnotherDevice() async throws {
            let client = OAuthClient(system())
            let network = network(for: client)
            func code(_ action: String, after polls: Int) -> OAuthGrant {
                .deviceCode { code in
                    #expect(code.verificationURL == url.appending(path: "activate"))
                    #expect(code.completeURL?.query() == "user_code=\(code.userCode)")
                    let form: KeyValuePairs = ["user_code": code.userCode, "polls": "\(polls)", "action": action]
                    let response = try await post("activate", form)
                    #expect(response.status == .ok)
                }
            }
            try await network.oauth(client).signIn(with: code("agree", after: 2))
            #expect(try await name(over: network) == "Emily")
            let error = await #expect(throws: OAuthError.self) {
                try await network.oauth(client).signIn(with: code("deny", after: 0))
            }
            #expect(error?.isDenied == true)
        }

        // MARK: The client itself

        @Test(arguments: authentications.dropFirst())
        func clientCredentialsObtainTokensForTheClient(
            id: String,
            authentication: OAuthClientAuthentication
        ) async throws {
            let client = OAuthClient(system(id, authentication), grant: .clientCredentials)
            let network = network(for: client)
            #expect(try await name(over: network) == id)
            let first = try #require(client.session)
            try await expire(client)
            #expect(try await name(over: network) == id)
            #expect(client.session?.accessToken != first.accessToken)
        }

        @Test(arguments: [OAuthClientAuthentication.none, .basic(secret: "wrong"), .body(secret: secret)])
        func wrongClientCredentialsAreRefused(authentication: OAuthClientAuthentication) async throws {
            let client = OAuthClient(system("service:1", authentication))
            let error = await #expect(throws: OAuthError.self) {
                try await network(for: client).oauth(client).signIn(with: .clientCredentials)
            }
            #expect(error?.kind == .tokenRefused)
            #expect(error?.code == "invalid_client")
            #expect(error?.statusCode == 401)
        }
    }
}
#endif
