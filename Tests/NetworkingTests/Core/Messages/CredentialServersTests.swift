import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Stacks with several servers: each credential is sent to the server next to the modifier that adds it.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CredentialServersTests {
    private let transport = MockTransport { _ in .ok() }
    private let tokens = TokenStore(BearerCredentials(token: "secret"))
    private let serverA = URL(string: "https://a.example")
    private let serverB = URL(string: "https://b.example")

    /// Sends a request and returns the Authorization field that arrived.
    private func authorization(
        of request: HTTPRequestData,
        over network: some NetworkingComponent
    ) async throws -> String? {
        try await network.data(request)
        return try #require(transport.requests.last).headerFields[.authorization]
    }

    @Test func tokenIsNotSentToAnOuterSecondServer() async throws {
        let events = EventRecorder()
        let network = transport.authenticated(with: tokens)
            .server(baseURL: try #require(serverA))
            .server(baseURL: try #require(serverB))

        let request = HTTPRequestData(path: "me").with { $0.addObserver(events) }
        #expect(try await authorization(of: request, over: network) == nil)
        #expect(transport.requests.last?.authority == "b.example")
        #expect(events.names.contains("credentialsWithheld"))
        #expect(network.principal(for: network.resolved(request)) == nil)
    }

    @Test func tokenIsSentToItsServerByAbsoluteURL() async throws {
        let network = transport.authenticated(with: tokens)
            .server(baseURL: try #require(serverA))
            .server(baseURL: try #require(serverB))

        let toA = HTTPRequestData(url: try #require(URL(string: "https://A.example/me")))
        #expect(try await authorization(of: toA, over: network) == "Bearer secret")
        let toB = HTTPRequestData(url: try #require(URL(string: "https://b.example/me")))
        #expect(try await authorization(of: toB, over: network) == nil)
        let elsewhere = HTTPRequestData(url: try #require(URL(string: "https://c.example/me")))
        #expect(try await authorization(of: elsewhere, over: network) == nil)
    }

    @Test func namedAuthorityGetsTheToken() async throws {
        let network = transport.authenticated(with: tokens, at: ["b.example"])
            .server(baseURL: try #require(serverA))
            .server(baseURL: try #require(serverB))

        #expect(try await authorization(of: HTTPRequestData(path: "me"), over: network) == "Bearer secret")
        #expect(network.diagnostics.isEmpty)
    }

    @Test func eachStoreBelongsToTheAdjacentServer() async throws {
        let apiKey = try #require(HTTPField.Name("X-API-Key"))
        let other = TokenStore(APIKeyCredentials("key", in: .header(apiKey)))
        let network = transport.authenticated(with: tokens).server(baseURL: try #require(serverA))
            .authenticated(with: other).server(baseURL: try #require(serverB))

        try await network.data(HTTPRequestData(path: "me"))
        try await network.data(HTTPRequestData(url: #require(URL(string: "https://a.example/me"))))

        #expect(transport.requests.map { $0.headerFields[.authorization] } == [nil, "Bearer secret"])
        #expect(transport.requests.map { $0.headerFields[apiKey] } == ["key", nil])
    }

    @Test func headerFieldBelongsToTheAdjacentServer() async throws {
        let network = transport.server(headerField: .authorization, "Bearer secret")
            .server(authority: "a.example")
            .server(authority: "b.example")

        #expect(try await authorization(of: HTTPRequestData(path: "me"), over: network) == nil)
        let toA = HTTPRequestData(url: try #require(URL(string: "https://a.example/me")))
        #expect(try await authorization(of: toA, over: network) == "Bearer secret")
    }

    @Test func serverInsideIsUsedWithoutOneOutside() async throws {
        let network = transport.server(authority: "b.example").server(authority: "a.example")
            .authenticated(with: tokens)

        #expect(try await authorization(of: HTTPRequestData(path: "me"), over: network) == "Bearer secret")
        #expect(transport.requests.last?.authority == "a.example")
        let toB = HTTPRequestData(url: try #require(URL(string: "https://b.example/me")))
        #expect(try await authorization(of: toB, over: network) == nil)
    }

    @Test func sameServerTwiceIsOneServer() async throws {
        let network = transport.authenticated(with: tokens)
            .server(authority: "API.example.com")
            .server(baseURL: try #require(URL(string: "https://api.example.com/v1")))

        #expect(try await authorization(of: HTTPRequestData(path: "me"), over: network) == "Bearer secret")
        #expect(network.diagnostics.isEmpty)
    }

    @Test func serverWithItsDefaultPortIsOneServer() throws {
        let network = transport.authenticated(with: tokens)
            .server(authority: "a.example:443")
            .server(baseURL: try #require(serverA))

        #expect(network.diagnostics.isEmpty)
    }

    /// A name without a port is the default port of the request's scheme; a name with a port is that port.
    @Test(
        arguments: [
            ("a.example", "https://a.example", true), ("a.example", "https://a.example:443", true),
            ("a.example", "http://a.example", true), ("a.example", "http://a.example:80", true),
            ("a.example", "https://a.example:80", false), ("a.example", "http://a.example:443", false),
            ("A.example:443", "https://a.example", true), ("a.example:443", "https://A.example:443", true),
            ("a.example:443", "http://a.example:443", true), ("a.example:443", "http://a.example", false),
            ("a.example:80", "http://a.example", true), ("a.example:80", "http://a.example:80", true),
            ("a.example:80", "https://a.example:80", true), ("a.example:80", "https://a.example", false),
            ("[::2]", "https://[::2]:443", true), ("[::2]:80", "https://[::2]", false),
        ]
    )
    func portIsComparedUnderTheSchemeOfTheRequest(name: String, url: String, isSent: Bool) async throws {
        let request = HTTPRequestData(url: try #require(URL(string: url))).with { $0.allowsPlaintextCredentials = true }
        let expected = isSent ? "Bearer secret" : nil

        let named = transport.authenticated(with: tokens, at: [name])
        #expect(try await authorization(of: request, over: named) == expected)
        let served = transport.authenticated(with: tokens).server(authority: name)
        #expect(try await authorization(of: request, over: served) == expected)
        let field = transport.server(headerField: .authorization, "Bearer secret").server(authority: name)
        #expect(try await authorization(of: request, over: field) == expected)
    }

    @Test func overridingServerKeepsItsToken() async throws {
        let network = transport.authenticated(with: tokens).server(authority: "a.example", overriding: true)
            .server(authority: "b.example")

        #expect(try await authorization(of: HTTPRequestData(path: "me"), over: network) == "Bearer secret")
        #expect(transport.requests.last?.authority == "a.example")
    }

    @Test func requestOfAnotherStackIsAssignedToAServerAgain() async throws {
        let first = transport.server(authority: "b.example")
        let sent = try await first.data(HTTPRequestData(path: "me")).sentRequest
        let network = transport.authenticated(with: tokens).server(authority: "a.example")
            .server(authority: "b.example")

        #expect(try await authorization(of: sent, over: network) == nil)
    }

    @Test func refusalByAnotherServerStartsNoRefresh() async throws {
        let delegate = ScriptedAuthenticationDelegate<BearerCredentials>()
        let store = TokenStore(BearerCredentials(token: "secret"), delegate: delegate)
        let transport = MockTransport { _ in .status(.unauthorized) }
        let network = transport.authenticated(with: store).server(authority: "a.example")
            .server(authority: "b.example")

        let response = try await network.data(HTTPRequestData(path: "me"))

        #expect(response.status == .unauthorized)
        #expect(transport.requests.count == 1)
    }

    @Test func diagnosticsReportTheSecondServer() throws {
        let network = transport.authenticated(with: tokens).server(authority: "a.example").retry()
            .server(authority: "b.example")
        #expect(network.diagnostics.count == 1)
        #expect(network.diagnostics.first?.message.contains("server(authority: \"a.example\")") == true)
        #expect(network.diagnostics.first?.message.contains("server(authority: \"b.example\")") == true)

        let field = transport.server(headerField: .authorization, "Bearer secret").server(authority: "a.example")
            .server(authority: "b.example")
        #expect(field.diagnostics.count == 1)
        #expect(field.diagnostics.first?.message.contains("secret") == false)
    }
}
