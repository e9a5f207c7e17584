import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// One list of names applies to logs, redirects, plain http, the server of the stack and caches.
///
/// Each of them is tested with each name.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CredentialFieldTests {
    private static let names = [
        "Authorization", "Proxy-Authorization", "Cookie", "X-API-Key", "Private-Token", "X-Access-Token",
        "X-Vault-Token",
        "X-Shopify-Access-Token", "X-Amz-Security-Token", "Ocp-Apim-Subscription-Key", "x-functions-key",
        "X-Storage-Access-Key", "X-Auth-Token", "X-Auth-Key", "X-Authorization", "X-Client-Secret", "X-Session-ID",
        "X-Auth", "X-Auth-User", "X-AuthUser", "X-Auth0-Session", "X-AuthKey", "X-Authentication",
        "X-Authorization-Key", "X-Author-Token",
        "X-Author-Secret", "X-Author-Password",
    ]

    private static let otherNames = [
        "Accept", "Content-Type", "User-Agent", "X-Author", "X-Authors", "X-Author-Name",
        "X-RateLimit-Remaining-Tokens", "Idempotency-Key", "X-Request-ID", "If-None-Match", "Primary-Key",
    ]

    private func name(_ text: String) throws -> HTTPField.Name {
        try #require(HTTPField.Name(text))
    }

    @Test(arguments: names)
    func isACredential(text: String) throws {
        let name = try name(text)
        #expect(HTTPField(name: name, value: "secret").isCredential)
        #expect(Redaction.standard.redacts(HTTPField(name: name, value: "secret")))
    }

    @Test(arguments: otherNames)
    func isNoCredential(text: String) throws {
        let name = try name(text)
        #expect(!HTTPField(name: name, value: "value").isCredential)
        #expect(!Redaction.standard.redacts(HTTPField(name: name, value: "value")))
    }

    @Test func neverIndexedFieldIsACredential() throws {
        var field = HTTPField(name: try name("X-Ticket"), value: "secret")
        #expect(!field.isCredential)
        field.indexingStrategy = .disallow
        #expect(field.isCredential)

        var request = HTTPRequestData.lawful
        request.setCredential("secret", for: field.name)
        #expect(request.headerFields.httpFields.contains { $0.name == field.name && $0.isCredential })
    }

    @Test(arguments: names)
    func isSentToTheServerOfTheStackOnly(text: String) async throws {
        let name = try name(text)
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(customHeaderField: text, "secret").server(authority: "api.example.com")

        try await network.data(HTTPRequestData(path: "me"))
        try await network.data(HTTPRequestData(url: #require(URL(string: "https://elsewhere.example/me"))))

        #expect(transport.requests.map { $0.headerFields[name] } == ["secret", nil])
    }

    @Test(arguments: names)
    func isNotSentOverPlainHTTP(text: String) async throws {
        let name = try name(text)
        let transport = MockTransport { _ in .ok() }
        let request = HTTPRequestData(scheme: "http", authority: "api.example.com", path: "me")
            .with { $0.headerFields[name] = "secret" }

        let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains(text) == true)
        #expect(transport.requests.isEmpty)

        try await transport.data(request.with { $0.authority = "localhost" })
        try await transport.data(request.with { $0.allowsPlaintextCredentials = true })
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: names)
    func isRemovedByARedirectToAnotherOrigin(text: String) async throws {
        let name = try name(text)
        let transport = MockTransport { request in
            request.path == "/me" ? .redirect(to: "https://elsewhere.example/there") : .ok()
        }

        try await transport.data(
            .lawful.with {
                $0.path = "/me"
                $0.headerFields[name] = "secret"
            }
        )

        #expect(transport.requests.map { $0.headerFields[name] } == ["secret", nil])
    }

    @Test(arguments: names)
    func separatesUsersInAPrivateCache(text: String) async throws {
        let name = try name(text)
        let transport = MockTransport { request in
            .ok(
                Data("for \(request.headerFields[name] ?? "all")".utf8),
                headerFields: [.cacheControl: "private, max-age=600"]
            )
        }
        let network = transport.cached()
        func body(for user: String) async throws -> Data? {
            try await network.data(HTTPRequestData.lawful.with { $0.headerFields[name] = user }).data
        }

        #expect(try await body(for: "emily") == Data("for emily".utf8))
        #expect(try await body(for: "jack") == Data("for jack".utf8))
    }

    @Test func credentialsOfAClosureAreSentToTheServerOfTheStackOnly() async throws {
        let transport = MockTransport { _ in .ok() }
        let ticket = try name("X-Ticket")
        let network =
            transport
            .server(mutateRequest: { $0.headerFields[.authorization] = "Bearer secret" })
            .server(mutateRequest: { $0.setCredential("secret", for: ticket) })
            .server(mutateRequest: { $0.query.api_key = "secret" })
            .server(mutate: \.headerFields) { $0 + [HTTPField(name: .cookie, value: "id=secret")] }
            .server(authority: "api.example.com")

        try await network.data(HTTPRequestData(path: "me"))
        try await network.data(HTTPRequestData(url: #require(URL(string: "https://elsewhere.example/me"))))

        let sent = transport.requests
        #expect(sent.map { $0.headerFields[.authorization] } == ["Bearer secret", nil])
        #expect(sent.map { $0.headerFields[ticket] } == ["secret", nil])
        #expect(sent.map { $0.headerFields[.cookie] } == ["id=secret", nil])
        #expect(sent.map { $0.query.api_key } == ["secret", nil])
    }

    /// The cookies of a jar belong to the stack with the jar, and the others to the request.
    @Test(arguments: [true, false])
    func requestOfAnotherStackKeepsOnlyItsOwnCookies(hasJar: Bool) async throws {
        let jar = CookieJar()
        try jar.set(Cookie(name: "id", value: "secret", domain: "laws.example", created: .distantPast))
        let other = MockTransport { _ in .ok() }
        let forwarding = MockTransport { _ in .ok() }
            .modified("Forwards") { request, upstream in
                try await other.data(request)
                return try await upstream.send(request)
            }
        if hasJar {
            try await forwarding.cookies(in: jar).data(.lawful)
        } else {
            try await forwarding.data(.lawful.with { $0.headerFields[.cookie] = "own=1" })
        }
        #expect(other.requests.map { $0.headerFields[.cookie] } == [hasJar ? nil : "own=1"])
    }

    @Test func credentialsThatAModifierResolvesAreSentToTheServerOfTheStackOnly() async throws {
        struct Ticketed: NetworkingModifier {
            func resolve(_ request: inout HTTPRequestData) {
                request.setCredential("secret", for: .authorization)
            }
        }
        let transport = MockTransport { _ in .ok() }
        let network = transport.modified(Ticketed()).server(authority: "api.example.com")

        try await network.data(HTTPRequestData(path: "me"))
        try await network.data(HTTPRequestData(url: #require(URL(string: "https://elsewhere.example/me"))))

        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["secret", nil])
    }

    @Test func fieldOfTheCallerIsKeptIfAClosureDoesNotChangeIt() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(mutateRequest: { $0.headerFields[.accept] = "text/html" })
            .server(authority: "api.example.com")
        let url = try #require(URL(string: "https://elsewhere.example/me"))

        try await network.data(HTTPRequestData(url: url).with { $0.headerFields[.authorization] = "Bearer own" })

        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer own"])
    }
}
