#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import TestSupport
import Testing

/// The registration of apps (RFC 7591).
@Suite(.timeLimit(.minutes(20)))
struct RegistrationTests {
    private static var server: OAuthServer {
        var server = ScriptedProvider.server
        server.registrationEndpoint = URL(string: "https://login.example.com/apps")
        return server
    }

    private static let app: OAuthClientMetadata = {
        var app = OAuthClientMetadata(name: "Shop", redirectURIs: [ScriptedProvider.redirectURI])
        app.scopes = ["orders", "profile"]
        app.requiresDPoP = true
        return app
    }()

    private func register(
        _ response: MockResponse,
        accessToken: String? = nil
    ) async throws -> (OAuthRegistration, MockTransport) {
        let transport = MockTransport([response])
        return (try await Self.server.register(Self.app, accessToken: accessToken, over: transport), transport)
    }

    @Test func sendsTheMetadataOfTheApp() async throws {
        let response = MockResponse.json(text: #"{"client_id": "app-1"}"#, status: .created)
        let (registration, transport) = try await register(response, accessToken: "initial-token")
        #expect(registration.clientID == "app-1")
        #expect(registration.authentication == .none)
        let request = try #require(transport.requests.first)
        #expect(request.method == .post)
        #expect(request.headerFields[.authorization] == "Bearer initial-token")
        #expect(request.headerFields[.contentType]?.hasPrefix("application/json") == true)
        let body = try JSONSerialization.jsonObject(with: request.body?.data ?? Data()) as? [String: Any]
        #expect(body?["client_name"] as? String == "Shop")
        #expect(body?["redirect_uris"] as? [String] == ["com.example.shop:/callback"])
        #expect(body?["grant_types"] as? [String] == ["authorization_code", "refresh_token"])
        #expect(body?["response_types"] as? [String] == ["code"])
        #expect(body?["token_endpoint_auth_method"] as? String == "none")
        #expect(body?["scope"] as? String == "orders profile")
        #expect(body?["dpop_bound_access_tokens"] as? Bool == true)
        #expect(body?.count == 7)
    }

    @Test(arguments: [
        ("", OAuthClientAuthentication.basic(secret: "secret-1")),
        (#", "token_endpoint_auth_method": "client_secret_basic""#, .basic(secret: "secret-1")),
        (#", "token_endpoint_auth_method": "client_secret_post""#, .body(secret: "secret-1")),
        (#", "token_endpoint_auth_method": "none""#, .none),
    ])
    func registrationHasTheAuthentication(field: String, authentication: OAuthClientAuthentication) async throws {
        let text = #"{"client_id": "app-1", "client_secret": "secret-1", "client_secret_expires_at": 0\#(field)}"#
        let (registration, _) = try await register(.json(text: text))
        #expect(registration.authentication == authentication)
        #expect(registration.secretExpirationDate == nil)
        let stored = try JSONDecoder().decode(OAuthRegistration.self, from: JSONEncoder().encode(registration))
        #expect(stored == registration)
        #expect(!"\(registration) \(String(reflecting: registration))".contains("secret-1"))
    }

    @Test func appWithoutAUserAsksForNoCode() throws {
        var app = Self.app
        app.grantTypes = ["client_credentials"]
        let body = try JSONSerialization.jsonObject(with: JSONEncoder().encode(app)) as? [String: Any]
        #expect(body?["grant_types"] as? [String] == ["client_credentials"])
        #expect(body?["response_types"] as? [String] == [])
    }

    @Test func registrationIsCreatedFromItsParts() {
        let registration = OAuthRegistration(clientID: "app-1", authentication: .body(secret: "secret-1"))
        #expect(registration.clientID == "app-1" && registration.authentication == .body(secret: "secret-1"))
        #expect(registration.secretExpirationDate == nil)
    }

    @Test func secretMayExpire() async throws {
        let text = #"{"client_id": "app-1", "client_secret": "s", "client_secret_expires_at": 1700000000}"#
        let (registration, _) = try await register(.json(text: text))
        #expect(registration.secretExpirationDate == Date(timeIntervalSince1970: 1_700_000_000))
    }

    @Test(arguments: [
        "{}", #"{"client_id": ""}"#, #"{"client_id": "a\u000Ab"}"#, #"{"client_id": 7}"#,
        #"{"client_id": "a", "token_endpoint_auth_method": "private_key_jwt"}"#,
        #"{"client_id": "a", "token_endpoint_auth_method": "client_secret_post"}"#, "[]", "<html>", "",
    ])
    func invalidResponseIsRefused(text: String) async {
        let error = await #expect(throws: OAuthError.self) { try await register(.json(text: text, status: .created)) }
        #expect(error?.kind == .registration)
    }

    @Test func longClientIDIsRefused() async {
        let text = #"{"client_id": "\#(String(repeating: "a", count: 5_000))"}"#
        let error = await #expect(throws: OAuthError.self) { try await register(.json(text: text, status: .created)) }
        #expect(error?.kind == .registration)
    }

    @Test func refusalHasItsCodeAndNoSecret() async {
        let response = ScriptedProvider.refusal("invalid_redirect_uri", "initial-token is not enough")
        let error = await #expect(throws: OAuthError.self) {
            try await register(response, accessToken: "initial-token")
        }
        #expect(error?.kind == .registration)
        #expect(error?.code == "invalid_redirect_uri")
        #expect(error?.statusCode == 400)
        #expect(error?.reason.contains("initial-token") == false)
    }

    @Test func unavailableProviderThrowsAStatusError() async {
        let error = await #expect(throws: NetworkingError.self) { try await register(.status(.badGateway)) }
        #expect(error?.kind == .status)
    }

    @Test func requestIsSentOnce() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let network = transport.retry(.immediate())
        await #expect(throws: NetworkingError.self) { try await Self.server.register(Self.app, over: network) }
        #expect(transport.requests.count == 1)
    }

    @Test func providerWithoutAnEndpointRegistersNoApps() async {
        let error = await #expect(throws: OAuthError.self) {
            try await ScriptedProvider.server.register(Self.app, over: MockTransport([]))
        }
        #expect(error?.kind == .misconfigured)
    }
}
#endif
