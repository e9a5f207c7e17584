#if Crypto
import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingOAuth
import NetworkingTesting
import TestSupport
import Testing

/// Requests to the endpoints of a provider, and their responses.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TokenEndpointTests {
    private let provider = ScriptedProvider()
    private let transport: MockTransport

    init() {
        transport = provider.transport
    }

    private func signIn(
        _ system: OAuthSystem = ScriptedProvider.system(),
        by grant: OAuthGrant? = nil
    ) async throws -> Session {
        let client = OAuthClient(system)
        return try await provider.network(client, over: transport).oauth(client).signIn(with: grant ?? provider.user)
    }

    // MARK: Client authentication

    @Test func sendsTheClientSecretInTheBody() async throws {
        _ = try await signIn(ScriptedProvider.system(.body(secret: "s+&=/ %é")))
        #expect(provider.get(\.forms)[0]["client_id"] == "shop")
        #expect(provider.get(\.forms)[0]["client_secret"] == "s+&=/ %é")
        #expect(transport.requests[0].headerFields[.authorization] == nil)
    }

    /// RFC 6749 section 2.3.1: encoded as in a form, and then in base64.
    @Test func sendsTheClientSecretInTheHeader() async throws {
        var system = ScriptedProvider.system(.basic(secret: "s+&=/ %é"))
        system.clientID = "shop:1"
        _ = try await signIn(system)
        let pair = Data("shop%3A1:s%2B%26%3D%2F%20%25%C3%A9".utf8).base64EncodedString()
        #expect(transport.requests[0].headerFields[.authorization] == "Basic \(pair)")
        #expect(provider.get(\.forms)[0]["client_id"] == nil)
        #expect(provider.get(\.forms)[0]["client_secret"] == nil)
    }

    @Test func clientCredentialsNeedNoUser() async throws {
        let client = OAuthClient(ScriptedProvider.system(.basic(secret: "secret")), grant: .clientCredentials)
        let clock = ManualClock()
        let network = provider.network(client, over: transport, clock)
        let request = HTTPRequestData(path: "orders")
        #expect(try await network.data(request).status == .ok)
        #expect(provider.get(\.forms) == [["grant_type": "client_credentials", "scope": "orders profile"]])
        // Without a refresh token, the client requests a new access token with its credentials.
        provider.expireTokens()
        #expect(try await network.data(request).status == .ok)
        clock.advance(by: .seconds(3_600))
        #expect(try await network.data(request).status == .ok)
        #expect(provider.get(\.forms).map { $0["grant_type"] } == Array(repeating: "client_credentials", count: 3))
    }

    @Test func sendsAdditionalTokenParameters() async throws {
        var system = ScriptedProvider.system()
        system.tokenParameters = [URLQueryItem(name: "resource", value: "https://api.example.com/a b")]
        _ = try await signIn(system)
        #expect(provider.get(\.forms)[0]["resource"] == "https://api.example.com/a b")
    }

    // MARK: Endpoints

    @Test(arguments: ["http://login.example.com/token", "ftp://login.example.com/token", "login:token", "/token"])
    func refusesATokenEndpointWithoutTLS(url: String) async throws {
        var system = OAuthSystem(
            server: OAuthServer(
                authorizationEndpoint: URL(string: "https://login.example.com/authorize"),
                tokenEndpoint: try #require(URL(string: url))
            ),
            clientID: "shop"
        )
        system.redirectURI = ScriptedProvider.redirectURI
        let error = await #expect(throws: OAuthError.self) { try await signIn(system) }
        #expect(error?.kind == .misconfigured)
        #expect(error?.reason.contains("https") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: ["http://127.0.0.1:8080/token", "http://localhost/token", "http://[::1]/token"])
    func acceptsATokenEndpointOnThisMachine(url: String) async throws {
        let transport = MockTransport { _ in .text(#"{"access_token":"a","token_type":"bearer"}"#) }
        let client = OAuthClient(
            OAuthSystem(server: OAuthServer(tokenEndpoint: try #require(URL(string: url))), clientID: "shop")
        )
        let session = try await transport.oauth(client).signIn(with: .clientCredentials)
        #expect(session.accessToken == "a")
    }

    // MARK: Responses

    private static let invalidTokenResponses: [(MockResponse, String)] = [
        (MockResponse(status: .ok, data: Data("<html>".utf8), headerFields: [.contentType: "text/html"]), "text/html"),
        (
            MockResponse(status: .forbidden, data: Data("{}".utf8), headerFields: [.contentType: "application/json"]),
            "no token"
        ),
        (.ok(), "nothing"),
        (.text("[]"), "JSON"),
        (.text("{}"), "no usable access token"),
        (.text(#"{"access_token":""}"#), "no usable access token"),
        (.text(#"{"access_token":7}"#), "no usable access token"),
        (.text(#"{"access_token":"a\r\nX-Evil: 1"}"#), "no usable access token"),
        (.text(#"{"access_token":"a","token_type":"mac"}"#), "not a bearer token"),
        (.redirect(to: "https://evil.example/token", status: .temporaryRedirect), "redirects"),
        (.status(.notFound), "Check its URL"),
    ]

    /// Some providers create a token and say so.
    @Test(arguments: [200, 201, 203])
    func acceptsATokenWithAnySuccessfulStatus(code: Int) async throws {
        let token = #"{"access_token":"a","token_type":"Bearer","scope":["orders","profile"]}"#
        provider.set(\.scriptedResponses, [.json(text: token, status: .init(code: code))])
        let session = try await signIn()
        #expect(session.accessToken == "a")
        #expect(session.scope == "orders profile")
    }

    @Test(arguments: [201, 204])
    func successfulResponseWithoutATokenEndsNoSession(code: Int) async throws {
        provider.set(\.scriptedResponses, [.status(.init(code: code))])
        let error = await #expect(throws: OAuthError.self) { try await signIn() }
        #expect(error?.kind == .invalidResponse)
        #expect(error?.kindOfRefusedRequests == .decoding)
    }

    @Test(arguments: 0..<11)
    func throwsForInvalidTokenResponses(number: Int) async throws {
        let (response, text) = Self.invalidTokenResponses[number]
        provider.set(\.scriptedResponses, [response])
        let error = await #expect(throws: OAuthError.self) { try await signIn() }
        #expect(error?.kind == .invalidResponse)
        #expect(error?.reason.contains(text) == true, "\(error?.reason ?? "")")
        #expect(transport.requests.count == 1)
    }

    @Test func limitsTheSizeOfATokenResponse() async throws {
        provider.set(\.scriptedResponses, [.ok(Data(repeating: 0x20, count: 2 << 20))])
        let error = await #expect(throws: NetworkingError.self) { try await signIn() }
        #expect(error?.kind == .tooLarge)
    }

    @Test(arguments: [500, 502, 503, 429])
    func outageThrowsAStatusError(code: Int) async throws {
        let page = MockResponse(
            status: HTTPResponse.Status(code: code),
            data: Data("<h1>".utf8),
            headerFields: [.contentType: "text/html"]
        )
        provider.set(\.scriptedResponses, [page])
        let error = await #expect(throws: NetworkingError.self) { try await signIn() }
        #expect(error?.kind == .status)
        #expect(error?.response?.status.code == code)
    }

    /// The error code says that the grant is spent, whatever the status.
    @Test(arguments: [500, 503, 429])
    func invalidGrantIsARefusalWhateverTheStatus(code: Int) async throws {
        provider.set(\.scriptedResponses, [ScriptedProvider.refusal("invalid_grant", status: .init(code: code))])
        let error = await #expect(throws: OAuthError.self) { try await signIn() }
        #expect(error?.kind == .tokenRefused)
        #expect(error?.code == "invalid_grant")
    }

    @Test func localizedDescriptionOfAFailedSignInNamesNoDetail() async throws {
        provider.set(\.scriptedResponses, [ScriptedProvider.refusal("invalid_grant", "hunter2")])
        let error = await #expect(throws: OAuthError.self) { try await signIn() }
        #expect(error?.localizedDescription == "The sign-in failed.")
        #expect(error?.failureReason == "The service for signing in reported a problem.")
        #expect(error?.recoverySuggestion == "Try to sign in again.")
        #expect(error?.reason.contains("invalid_grant") == true)
    }

    /// Providers treat a code or a refresh token that is sent twice as stolen.
    @Test func tokenRequestIsNotRetried() async throws {
        let client = OAuthClient(ScriptedProvider.system())
        var policy = RetryPolicy.immediate()
        policy.addsIdempotencyKeys = true
        let network = provider.network(client, over: transport).retry(policy)
        provider.set(\.scriptedResponses, [.failing(.connectionLost)])
        await #expect(throws: NetworkingError.self) { try await network.oauth(client).signIn(with: provider.user) }
        #expect(transport.requests.count == 1)
        #expect(transport.requests[0].headerFields.count == 2)
    }

    @Test(arguments: [
        "file:///bin/sh", "javascript:alert(1)", "http://login.example.com/authorize", "tel:112", "https:///authorize",
        "https://login.example.com/authorize#x",
    ])
    func refusesInvalidAuthorizationEndpoints(url: String) async throws {
        var server = ScriptedProvider.server
        server.authorizationEndpoint = URL(string: url)
        let system = OAuthSystem(server: server, clientID: "shop", redirectURI: ScriptedProvider.redirectURI)
        let grant = OAuthGrant.authorizationCode(
            ScriptedAgent { _ in
                Issue.record("a page was opened")
                throw CancellationError()
            }
        )
        let error = await #expect(throws: OAuthError.self) { try await signIn(system, by: grant) }
        #expect(error?.kind == .misconfigured)
    }

    @Test func refusesARedirectURIWithoutTLS() async throws {
        var system = ScriptedProvider.system()
        system.redirectURI = URL(string: "http://shop.example.com/callback")
        let error = await #expect(throws: OAuthError.self) { try await signIn(system) }
        #expect(error?.kind == .misconfigured)
        #expect(error?.reason.contains("redirect URI") == true)
    }

    @Test func connectionErrorIsPassedThrough() async throws {
        provider.set(\.scriptedResponses, [.failing(.connectionLost)])
        let error = await #expect(throws: NetworkingError.self) { try await signIn() }
        #expect(error?.kind == .connectionLost)
    }

    @Test(arguments: ["invalid_client", "invalid_grant", "invalid_scope", "unauthorized_client", "teapot"])
    func reportsTheProvidersErrorCode(code: String) async throws {
        provider.set(\.scriptedResponses, [ScriptedProvider.refusal(code, "see the manual", status: .unauthorized)])
        let error = await #expect(throws: OAuthError.self) { try await signIn() }
        #expect(error?.kind == .tokenRefused)
        #expect(error?.code == code)
        #expect(error?.statusCode == 401)
        #expect(error?.reason.contains("\(code): see the manual") == true)
        // GitHub reports errors with status 200.
        provider.set(\.scriptedResponses, [ScriptedProvider.refusal(code, status: .ok)])
        let polite = await #expect(throws: OAuthError.self) { try await signIn() }
        #expect(polite?.code == code)
    }

    // MARK: Secrets

    /// The provider quotes the secrets it received, and the stack logs everything.
    @Test func errorsAndLogsContainNoSecret() async throws {
        let log = LogRecorder()
        provider.set(\.suffix, "-verysecret")
        let system = ScriptedProvider.system(.body(secret: "client-verysecret"))
        let client = OAuthClient(system)
        let network = provider.network(client, over: transport).logged(using: log.logger(.trace), detail: .body())
        let quoting = ScriptedProvider.refusal(
            "invalid_grant",
            "code-1-verysecret of client-verysecret, or client%2Dverysecret, is wrong"
        )
        provider.set(\.scriptedResponses, [quoting])
        let error = await #expect(throws: OAuthError.self) {
            try await network.oauth(client).signIn(with: provider.user)
        }
        try await network.oauth(client).signIn(with: provider.user)
        provider.expireTokens()
        _ = try await network.data(HTTPRequestData(path: "orders"))
        try await network.oauth(client).signOut()
        var dumped = ""
        dump(error, to: &dumped)
        dump(client, to: &dumped)
        dump(system, to: &dumped)
        dump(network.oauth(client), to: &dumped)
        let verifiers = provider.get(\.forms).compactMap { $0["code_verifier"] }
        let text =
            "\(String(describing: error)) \(error?.localizedDescription ?? "") \(client) \(system) \(dumped) \(log.text)"
        #expect(verifiers.count == 2)
        #expect(log.text.contains("login.example.com/token"))
        #expect(!text.contains("verysecret"))
        #expect(!verifiers.contains { text.contains($0) })
    }
}
#endif
