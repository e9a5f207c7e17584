#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import TestSupport
import Testing

/// The metadata of providers (RFC 8414).
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DiscoveryTests {
    private static let metadata = """
        {"issuer": "https://login.example.com/tenant", "authorization_endpoint": "https://login.example.com/authorize",
        "token_endpoint": "https://login.example.com/token", "revocation_endpoint": "https://login.example.com/revoke",
        "device_authorization_endpoint": "https://login.example.com/device",
        "code_challenge_methods_supported": ["plain", "S256"],
        "authorization_response_iss_parameter_supported": true, "scopes_supported": ["openid"]}
        """

    private func discover(
        _ responses: [MockResponse],
        from issuer: String = "https://login.example.com/tenant"
    ) async throws -> (OAuthServer, MockTransport) {
        let transport = MockTransport(responses)
        return (try await OAuthServer.discovered(from: issuer, over: transport), transport)
    }

    @Test func readsMetadata() async throws {
        let (server, transport) = try await discover([.text(Self.metadata)])
        var expected = ScriptedProvider.server
        expected.issuer = "https://login.example.com/tenant"
        expected.namesIssuerInCallbacks = true
        expected.confirmsProofKeys = true
        #expect(server == expected)
        #expect(transport.destinations == ["login.example.com/.well-known/oauth-authorization-server/tenant"])
    }

    @Test func fallsBackToTheOpenIDConfiguration() async throws {
        let (server, transport) = try await discover([
            .status(.notFound), .status(.notFound), .text(Self.metadata),
        ])
        #expect(server.tokenEndpoint == ScriptedProvider.server.tokenEndpoint)
        #expect(
            transport.destinations == [
                "login.example.com/.well-known/oauth-authorization-server/tenant",
                "login.example.com/.well-known/openid-configuration/tenant",
                "login.example.com/tenant/.well-known/openid-configuration",
            ]
        )
    }

    @Test func readsMetadataAtTheRootForAnIssuerWithoutAPath() async throws {
        for issuer in ["https://login.example.com/", "https://login.example.com"] {
            let text = Self.metadata.replacing("https://login.example.com/tenant", with: issuer)
            let (server, transport) = try await discover([.text(text)], from: issuer)
            #expect(server.issuer == issuer)
            #expect(transport.destinations == ["login.example.com/.well-known/oauth-authorization-server"])
        }
    }

    @Test(arguments: [
        (#""issuer": "https://evil.example""#, "another issuer"),
        (#""issuer": "https://login.example.com/tenant/more""#, "another issuer"),
        // RFC 8414 section 3.3: the issuers are identical.
        (#""issuer": "https://login.example.com/tenant/""#, "final slash"),
        (#""issuer": "https://LOGIN.example.com/tenant""#, "another issuer"),
        (#""issuer": "https://login.example.com:443/tenant""#, "another issuer"),
    ])
    func rejectsMetadataOfAnotherIssuer(issuer: String, text: String) async {
        let metadata = Self.metadata.replacing(#""issuer": "https://login.example.com/tenant""#, with: issuer)
        let error = await #expect(throws: OAuthError.self) { try await discover([.text(metadata)]) }
        #expect(error?.kind == .discovery)
        #expect(error?.reason.contains(text) == true)
    }

    /// A proxy or captive portal sent a page, so the session may still be valid.
    @Test(arguments: [(HTTPResponse.Status.ok, NetworkingError.Kind.decoding), (.forbidden, .unauthorized)])
    func htmlInsteadOfMetadataEndsNoSession(status: HTTPResponse.Status, kind: NetworkingError.Kind) async {
        let page = MockResponse(status: status, data: Data("<html>".utf8))
        let error = await #expect(throws: OAuthError.self) { try await discover([page, page, page]) }
        #expect(error?.kind == .discovery)
        #expect(error?.kindOfRefusedRequests == kind)
    }

    private static let endpoints = [
        ("authorization", "authorize"), ("token", "token"), ("revocation", "revoke"),
        ("device authorization", "device"),
    ]

    /// Any process on this machine that listens on the port would receive the app's codes and tokens.
    @Test(
        arguments: endpoints,
        [
            "http://127.0.0.1:8080/x", "http://localhost/x", "http://[::1]/x", "https://localhost/x",
            "HTTP://LOCALHOST:1/x", "https://api.localhost/x", "https://localhost./x", "https://127.1/x",
            "https://2130706433/x", "https://0x7f.1/x", "https://[::ffff:127.0.0.1]/x", "https://0.0.0.0/x",
            "https://[::]/x", "https://[0:0:0:0:0:0:0:1]/x",
        ]
    )
    func refusesEndpointsOnThisMachineFromARemoteIssuer(endpoint: (name: String, path: String), url: String) async {
        let metadata = Self.metadata.replacing("https://login.example.com/\(endpoint.path)\"", with: "\(url)\"")
        let error = await #expect(throws: OAuthError.self) { try await discover([.text(metadata)]) }
        #expect(error?.kind == .discovery)
        #expect(error?.reason.contains("names a \(endpoint.name) endpoint that is on this machine") == true)
    }

    /// A device in the network of the user, or the metadata service of a cloud, would receive them.
    @Test(
        arguments: endpoints,
        [
            "https://10.0.0.1/x", "https://192.168.1.1/x", "https://172.16.0.1/x", "https://169.254.169.254/x",
            "https://[fe80::1]/x", "https://[fd00::1]/x", "https://[::ffff:10.0.0.1]/x",
        ]
    )
    func refusesEndpointsInAPrivateNetworkFromAPublicIssuer(endpoint: (name: String, path: String), url: String) async {
        let metadata = Self.metadata.replacing("https://login.example.com/\(endpoint.path)\"", with: "\(url)\"")
        let error = await #expect(throws: OAuthError.self) { try await discover([.text(metadata)]) }
        #expect(error?.kind == .discovery)
        #expect(error?.reason.contains("names a \(endpoint.name) endpoint that is in a private network") == true)
    }

    @Test(arguments: ["https://10.0.0.2/tenant", "http://127.0.0.1:8080/tenant"])
    func acceptsEndpointsInAPrivateNetworkFromAnIssuerThere(issuer: String) async throws {
        let text = Self.metadata.replacing("https://login.example.com/tenant", with: issuer)
            .replacing("https://login.example.com/token", with: "https://10.0.0.1/token")
        let (server, _) = try await discover([.text(text)], from: issuer)
        #expect(server.tokenEndpoint.absoluteString == "https://10.0.0.1/token")
    }

    @Test(
        arguments: endpoints,
        ["http://login.example.com/x", "ftp://login.example.com/x", "login", "http://0.0.0.0/x"]
    )
    func refusesEndpointsWithoutTLS(endpoint: (name: String, path: String), url: String) async {
        let metadata = Self.metadata.replacing("https://login.example.com/\(endpoint.path)\"", with: "\(url)\"")
        let error = await #expect(throws: OAuthError.self) { try await discover([.text(metadata)]) }
        #expect(error?.kind == .discovery)
        #expect(error?.reason.contains("names a \(endpoint.name) endpoint that is not https") == true)
    }

    @Test(arguments: ["http://localhost:8080", "http://127.0.0.1:8080/tenant"])
    func acceptsEndpointsOnThisMachineFromAnIssuerOnThisMachine(issuer: String) async throws {
        let text = Self.metadata.replacing("https://login.example.com/tenant", with: issuer)
            .replacing("https://login.example.com/token", with: "http://127.0.0.1:9090/token")
        let (server, _) = try await discover([.text(text)], from: issuer)
        #expect(server.tokenEndpoint.absoluteString == "http://127.0.0.1:9090/token")
        #expect(server.authorizationEndpoint?.absoluteString == "https://login.example.com/authorize")
    }

    @Test func usesEndpointsOnThisMachineThatTheAppNames() async throws {
        var server = ScriptedProvider.server
        server.tokenEndpoint = try #require(URL(string: "http://127.0.0.1:8080/token"))
        let client = OAuthClient(OAuthSystem(server: server, clientID: "shop"))
        let transport = MockTransport([.text(#"{"access_token": "a", "token_type": "Bearer"}"#)])
        let network = ScriptedProvider().network(client, over: transport)
        try await network.oauth(client).signIn(with: .clientCredentials)
        #expect(transport.destinations == ["127.0.0.1:8080/token"])
    }

    @Test func rejectsAProviderWithoutPKCE() async throws {
        let metadata = Self.metadata.replacing(#", "S256""#, with: "")
        let (server, _) = try await discover([.text(metadata)])
        let system = OAuthSystem(server: server, clientID: "shop", redirectURI: ScriptedProvider.redirectURI)
        let provider = ScriptedProvider()
        let client = OAuthClient(system)
        let account = provider.network(client, over: provider.transport).oauth(client)
        let error = await #expect(throws: OAuthError.self) { try await account.signIn(with: provider.user) }
        #expect(error?.kind == .discovery)
        #expect(error?.reason.contains("PKCE") == true)
        // Other grants do not use PKCE.
        try await account.signIn(with: .clientCredentials)
    }

    @Test func acceptsMetadataWithoutPKCEMethods() async throws {
        let metadata = Self.metadata.replacing(#""code_challenge_methods_supported": ["plain", "S256"],"#, with: "")
        let (server, _) = try await discover([.text(metadata)])
        #expect(server.authorizationEndpoint != nil)
        #expect(!server.confirmsProofKeys)
    }

    @Test func readsTheEndpointsAndAlgorithmsOfLaterStandards() async throws {
        let metadata = Self.metadata.replacing(
            #""scopes_supported": ["openid"]"#,
            with: #""registration_endpoint": "https://login.example.com/apps","#
                + #""dpop_signing_alg_values_supported": ["ES256"]"#
        )
        let (server, _) = try await discover([.text(metadata)])
        #expect(server.registrationEndpoint?.absoluteString == "https://login.example.com/apps")
        #expect(server.dpopAlgorithms == ["ES256"])
    }

    @Test(arguments: [
        MockResponse.text("<html>"), .status(.forbidden), .ok(), .redirect(to: "https://evil.example/"),
    ])
    func throwsForInvalidMetadata(response: MockResponse) async {
        let error = await #expect(throws: OAuthError.self) { try await discover([response, response, response]) }
        #expect(error?.kind == .discovery)
        #expect(error?.reason.contains("openid-configuration") == true)
    }

    @Test func unavailableProviderThrowsAStatusError() async {
        let error = await #expect(throws: NetworkingError.self) { try await discover([.status(.serviceUnavailable)]) }
        #expect(error?.kind == .status)
    }

    @Test(arguments: ["", "login", "http://login.example.com", "https://login.example.com?x=1"])
    func rejectsInvalidIssuers(issuer: String) async {
        let transport = MockTransport { _ in .ok() }
        let error = await #expect(throws: OAuthError.self) {
            try await OAuthServer.discovered(from: issuer, over: transport)
        }
        #expect(error?.kind == .misconfigured)
        #expect(transport.requests.isEmpty)
    }

    @Test func fetchesMetadataOnce() async throws {
        let provider = ScriptedProvider()
        let system = OAuthSystem.provider(
            issuer: "https://login.example.com/tenant",
            clientID: "shop",
            redirectURI: ScriptedProvider.redirectURI
        )
        let client = OAuthClient(system)
        let metadata = Self.metadata.replacing(
            "iss_parameter_supported\": true",
            with: "iss_parameter_supported\": false"
        )
        let scripted = provider.transport
        let transport = MockTransport { request in
            if request.path?.hasPrefix("/.well-known") == true { return .text(metadata) }
            let response = try await scripted.data(request)
            return MockResponse(status: response.status, data: response.data)
        }
        let network = provider.network(client, over: transport)
        try await network.oauth(client).signIn(with: provider.user)
        provider.expireTokens()
        #expect(try await network.data(HTTPRequestData(path: "orders")).status == .ok)
        try await network.oauth(client).signOut()
        #expect(transport.destinations.filter { $0.contains("well-known") }.count == 1)
        #expect(transport.requests[0].headerFields[.authorization] == nil)
        #expect(provider.get(\.revoked).count == 2)
    }
}
#endif
