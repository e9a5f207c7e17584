#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import TestSupport
import Testing

/// The metadata of protected resources (RFC 9728), and the sign-in to a server that the app learns at run time.
@Suite(.timeLimit(.minutes(20)))
struct ProtectedResourceTests {
    private static let url = URL(string: "https://mcp.example.com/mcp")!

    private static func metadata(
        _ resource: String = "https://mcp.example.com/mcp",
        servers: String = #"["https://login.example.com"]"#
    ) -> MockResponse {
        .text(
            #"{"resource": "\#(resource)", "authorization_servers": \#(servers), "scopes_supported": ["read", "write"]}"#
        )
    }

    private static let provider = """
        {"issuer": "https://login.example.com", "authorization_endpoint": "https://login.example.com/authorize",
        "token_endpoint": "https://login.example.com/token", "registration_endpoint": "https://login.example.com/apps",
        "code_challenge_methods_supported": ["S256"]}
        """

    private static func refusal(_ challenge: String, status: HTTPResponse.Status = .unauthorized) -> HTTPResponseData {
        HTTPResponseData(
            request: HTTPRequestData(method: .post, url: url),
            http: HTTPResponse(status: status, headerFields: [.wwwAuthenticate: challenge]),
            body: .collected(Data())
        )
    }

    private func discover(
        _ responses: [MockResponse],
        for url: URL = Self.url,
        after refusal: HTTPResponseData? = nil
    ) async throws -> (OAuthProtectedResource, [String]) {
        let transport = MockTransport(responses)
        let resource = try await OAuthProtectedResource.discovered(for: url, after: refusal, over: transport)
        return (resource, transport.requests.compactMap { $0.url?.absoluteString })
    }

    // MARK: Places

    @Test func metadataIsAtThePlaceThatTheRefusalNames() async throws {
        let refusal = Self.refusal(
            #"Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/x", scope="read""#
        )
        let (resource, places) = try await discover([Self.metadata()], after: refusal)
        #expect(places == ["https://mcp.example.com/.well-known/oauth-protected-resource/x"])
        #expect(resource.resource == "https://mcp.example.com/mcp")
        #expect(resource.authorizationServers == ["https://login.example.com"])
        // The resource knows best which scopes the request needs.
        #expect(resource.scopes == ["read"])
        #expect(!resource.requiresDPoP)
    }

    @Test(arguments: [
        ("https://mcp.example.com/mcp", "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"),
        ("https://mcp.example.com", "https://mcp.example.com/.well-known/oauth-protected-resource"),
        ("https://mcp.example.com/", "https://mcp.example.com/.well-known/oauth-protected-resource"),
        ("https://mcp.example.com/a?t=1", "https://mcp.example.com/.well-known/oauth-protected-resource/a?t=1"),
        ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/.well-known/oauth-protected-resource/a"),
    ])
    func wellKnownPathIsInFrontOfThePath(url: String, place: String) async throws {
        let (resource, places) = try await discover([Self.metadata(url)], for: URL(string: url)!)
        #expect(places == [place])
        #expect(resource.scopes == ["read", "write"])
    }

    @Test func metadataOfTheHostIsThatOfItsResources() async throws {
        let (resource, places) = try await discover([.status(.notFound), Self.metadata("https://mcp.example.com")])
        #expect(places.last == "https://mcp.example.com/.well-known/oauth-protected-resource")
        #expect(resource.resource == "https://mcp.example.com")
    }

    // MARK: Hostile metadata

    @Test(arguments: [
        "https://evil.example/mcp", "https://mcp.example.com/other", "https://mcp.example.com/mcp/more",
        "https://mcp.example.com:8443/mcp", "http://mcp.example.com/mcp", "https://mcp.example.com/m",
        // Only metadata at the place of the host speaks for the whole host.
        "https://mcp.example.com", "", "mcp",
    ])
    func metadataOfAnotherResourceIsRefused(resource: String) async {
        let error = await #expect(throws: OAuthError.self) { try await discover([Self.metadata(resource)]) }
        #expect(error?.kind == .discovery)
        #expect(error?.reason.contains("another resource") == true)
    }

    @Test func metadataOfTheHostInThePlaceOfAPathIsRefused() async {
        let refusal = Self.refusal(#"Bearer resource_metadata="https://mcp.example.com/tenant/metadata""#)
        let error = await #expect(throws: OAuthError.self) {
            try await discover([Self.metadata("https://mcp.example.com")], after: refusal)
        }
        #expect(error?.kind == .discovery)
    }

    @Test(arguments: [
        "http://mcp.example.com/x", "https://127.0.0.1/x", "https://10.0.0.1/x", "https://169.254.169.254/x", "x", "",
        "file:///etc/passwd",
    ])
    func placeThatTheAppMustNotRequestIsRefused(place: String) async {
        let transport = MockTransport { _ in Self.metadata() }
        let refusal = Self.refusal(#"Bearer resource_metadata="\#(place)""#)
        let error = await #expect(throws: OAuthError.self) {
            try await OAuthProtectedResource.discovered(for: Self.url, after: refusal, over: transport)
        }
        #expect(error?.kind == .discovery)
        #expect(transport.requests.isEmpty)
    }

    /// The other server could name a provider to which the user then signs in for this one.
    @Test func refusalOfAnotherServerIsIgnored() async throws {
        for origin in ["https://evil.example/mcp", "https://mcp.example.com:8443/mcp"] {
            let challenge = #"Bearer resource_metadata="https://evil.example/metadata", scope="all""#
            let refusal = HTTPResponseData(
                request: HTTPRequestData(method: .post, url: URL(string: origin)!),
                http: HTTPResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: challenge]),
                body: .collected(Data())
            )
            let (resource, places) = try await discover([Self.metadata()], after: refusal)
            #expect(places == ["https://mcp.example.com/.well-known/oauth-protected-resource/mcp"])
            #expect(resource.scopes == ["read", "write"])
        }
    }

    @Test func metadataIsReadFromTheChallengeOfAKnownScheme() async throws {
        let place = "https://mcp.example.com/metadata"
        for challenge in [
            #"dpop algs="ES256", Resource_Metadata="\#(place)""#,
            #"Basic realm="x", resource_metadata="https://a", Bearer resource_metadata="\#(place)""#,
            #"Negotiate abc==, Bearer error="x", resource_metadata="\#(place)", resource_metadata="https://b""#,
            #"Basic realm="a, Bearer resource_metadata=\"https://a\"", Bearer resource_metadata="\#(place)""#,
            #"Bearer resource_metadata = "https:\//mcp.example.com/metadata""#,
        ] {
            let (_, places) = try await discover([Self.metadata()], after: Self.refusal(challenge))
            #expect(places == [place], "\(challenge)")
        }
        // A parameter of another scheme, or one that does not end, names no metadata.
        for challenge in [
            #"Basic resource_metadata="\#(place)""#, #"Bearer resource_metadata="\#(place)"#, "Bearer", "",
        ] {
            let (_, places) = try await discover([Self.metadata()], after: Self.refusal(challenge))
            #expect(places == ["https://mcp.example.com/.well-known/oauth-protected-resource/mcp"], "\(challenge)")
        }
    }

    @Test func tenProvidersAreTriedAtMost() async throws {
        let servers = (0..<1_000).map { #""https://login-\#($0).example.com""# }.joined(separator: ", ")
        let (resource, _) = try await discover([Self.metadata(servers: "[\(servers)]")])
        #expect(resource.authorizationServers.count == 10)
        let transport = MockTransport { _ in .status(.notFound) }
        await #expect(throws: OAuthError.self) { try await resource.authorizationServer(over: transport) }
        #expect(Set(transport.requests.map(\.authority)).count == 10)
    }

    @Test func deepAndLongMetadataIsRefused() async throws {
        let depth = 100_000
        let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let text = """
            {"resource": "https://mcp.example.com/mcp", "authorization_servers": ["https://a.example"], "x": \(deep)}
            """
        let error = await #expect(throws: OAuthError.self) { try await discover([.text(text), .text(text)]) }
        #expect(error?.kind == .discovery)
        let long = #"{"resource": "\#(String(repeating: "a", count: 2 << 20))"}"#
        let failure = await #expect(throws: NetworkingError.self) { try await discover([.text(long)]) }
        #expect(failure?.kind == .tooLarge)
    }

    @Test(arguments: [
        "[]", #"["http://login.example.com"]"#, #"["https://127.0.0.1"]"#, #"["https://192.168.0.1", "login"]"#, "null",
    ])
    func metadataWithoutAUsableProviderIsRefused(servers: String) async {
        let error = await #expect(throws: OAuthError.self) { try await discover([Self.metadata(servers: servers)]) }
        #expect(error?.kind == .discovery)
        #expect(error?.reason.contains("no provider") == true)
    }

    @Test(arguments: [
        MockResponse.text("<html>"), .text("{}"), .text(#"{"resource": 1}"#), .status(.forbidden),
        .redirect(to: "https://evil.example/"),
    ])
    func invalidMetadataIsRefused(response: MockResponse) async {
        let error = await #expect(throws: OAuthError.self) { try await discover([response, response]) }
        #expect(error?.kind == .discovery)
    }

    @Test func unavailableResourceThrowsAStatusError() async {
        let error = await #expect(throws: NetworkingError.self) { try await discover([.status(.serviceUnavailable)]) }
        #expect(error?.kind == .status)
    }

    @Test(arguments: ["http://mcp.example.com/mcp", "https://mcp.example.com/mcp#x", "ftp://mcp.example.com"])
    func invalidURLOfAResourceIsRefused(url: String) async {
        let error = await #expect(throws: OAuthError.self) { try await discover([], for: URL(string: url)!) }
        #expect(error?.kind == .misconfigured)
    }

    // MARK: Providers

    @Test func providerHasToConfirmPKCE() async throws {
        let (resource, _) = try await discover([Self.metadata()])
        let text = Self.provider.replacing("S256", with: "plain")
        let error = await #expect(throws: OAuthError.self) {
            try await resource.authorizationServer(over: MockTransport([.text(text)]))
        }
        #expect(error?.kind == .discovery)
        #expect(error?.reason.contains("PKCE") == true)
        let server = try await resource.authorizationServer(
            requiringProofKeys: false,
            over: MockTransport([.text(text)])
        )
        #expect(server.issuer == "https://login.example.com")
    }

    @Test func nextProviderIsUsedIfTheFirstHasNoMetadata() async throws {
        let servers = #"["https://old.example.com", "https://login.example.com"]"#
        let (resource, _) = try await discover([Self.metadata(servers: servers)])
        let transport = MockTransport([.status(.notFound), .status(.notFound), .text(Self.provider)])
        #expect(try await resource.authorizationServer(over: transport).issuer == "https://login.example.com")
    }

    @Test func requiredScopesAreThoseOfTheRefusal() {
        let refusal = Self.refusal(#"Bearer error="insufficient_scope", scope="read files:write""#, status: .forbidden)
        #expect(refusal.requiredScopes == ["read", "files:write"])
        #expect(Self.refusal(#"DPoP error="insufficient_scope", scope="read""#).requiredScopes == ["read"])
        #expect(Self.refusal(#"Bearer error="invalid_token", scope="read""#).requiredScopes.isEmpty)
        let scope = String(repeating: "a ", count: 10_000)
        #expect(Self.refusal(#"Bearer error="insufficient_scope", scope="\#(scope)""#).requiredScopes.count == 100)
    }

    // MARK: The whole sign-in

    @Test func signsInToAnMCPServer() async throws {
        let provider = ScriptedProvider()
        let scripted = provider.transport
        let (callback, redirect) = (ScriptedProvider.redirectURI, ScriptedProvider.redirectURI.absoluteString)
        let transport = MockTransport { request in
            switch (request.authority, request.path) {
            case ("mcp.example.com", "/mcp") where request.headerFields[.authorization] == nil:
                let place = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
                return .status(
                    .unauthorized,
                    headerFields: [.wwwAuthenticate: #"Bearer resource_metadata="\#(place)", scope="files:read""#]
                )
            case ("mcp.example.com", "/.well-known/oauth-protected-resource/mcp"):
                return Self.metadata()
            case ("login.example.com", "/.well-known/oauth-authorization-server"):
                return .text(Self.provider)
            case ("login.example.com", "/apps"):
                let body = String(decoding: request.body?.data ?? Data(), as: UTF8.self)
                #expect(body.contains(#""client_name":"Assistant""#))
                return .json(text: #"{"client_id": "app-1", "redirect_uris": ["\#(redirect)"]}"#, status: .created)
            default:
                let response = try await scripted.data(request)
                return MockResponse(status: response.status, data: response.data)
            }
        }
        let url = Self.url
        let refusal = try await transport.data(HTTPRequestData(method: .post, url: url))
        let resource = try await OAuthProtectedResource.discovered(for: url, after: refusal, over: transport)
        let server = try await resource.authorizationServer(over: transport)
        let app = OAuthClientMetadata(name: "Assistant", redirectURIs: [callback])
        let registration = try await server.register(app, over: transport)
        let client = OAuthClient(
            OAuthSystem(server: server, registration: registration, redirectURI: callback, for: resource)
        )
        let network = transport.authenticated(oauth: client).server(authority: "mcp.example.com")
        let agent = ScriptedAgent { authorization in
            let items = URLComponents(url: authorization.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
            #expect(items.filter { $0.name == "resource" }.map(\.value) == ["https://mcp.example.com/mcp"])
            #expect(items.first { $0.name == "scope" }?.value == "files:read")
            #expect(items.first { $0.name == "client_id" }?.value == "app-1")
            return provider.approve(authorization.url)
        }
        try await network.oauth(client).signIn(with: .authorizationCode(agent))
        #expect(try await network.data(HTTPRequestData(method: .post, path: "mcp")).data == Data("hello".utf8))
        provider.expireTokens()
        #expect(try await network.data(HTTPRequestData(method: .post, path: "mcp")).status == .ok)
        let identifier = "https://mcp.example.com/mcp"
        #expect(provider.get(\.forms).map { $0["resource"] } == [identifier, identifier])
        // Another sign-in may ask for more.
        let wider = ScriptedAgent { authorization in
            let items = URLComponents(url: authorization.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
            #expect(items.first { $0.name == "scope" }?.value == "files:read files:write")
            return provider.approve(authorization.url)
        }
        let session = try await network.oauth(client)
            .signIn(with: .authorizationCode(wider), scopes: client.system.scopes + ["files:write"])
        #expect(session.scope == "files:read files:write")
    }

    @Test func resourcesReplaceParametersWithTheirName() async throws {
        let provider = ScriptedProvider()
        var system = ScriptedProvider.system()
        system.tokenParameters = [URLQueryItem(name: "resource", value: "old"), URLQueryItem(name: "x", value: "1")]
        system.authorizationParameters = system.tokenParameters
        system.resources = ["https://a.example", "https://b.example"]
        let client = OAuthClient(system)
        let agent = ScriptedAgent { authorization in
            let items = URLComponents(url: authorization.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
            #expect(items.filter { $0.name == "resource" }.map(\.value) == ["https://a.example", "https://b.example"])
            #expect(items.contains { $0.name == "x" })
            return provider.approve(authorization.url)
        }
        try await provider.network(client, over: provider.transport).oauth(client)
            .signIn(with: .authorizationCode(agent))
        #expect(provider.get(\.forms)[0]["resource"] == "https://a.example twice: https://b.example")
    }
}
#endif
