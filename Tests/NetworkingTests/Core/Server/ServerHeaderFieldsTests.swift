import Foundation
import Logging
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ServerHeaderFieldsTests {
    private let transport = MockTransport { _ in .ok() }

    @Test(
        arguments: [
            (nil, false, ["stack"]), ("own", false, ["own"]), (nil, true, ["stack"]), ("own", true, ["stack"]),
            ("", false, [""]),
        ] as [(String?, Bool, [String])]
    )
    func fieldIsFilledOrOverridden(own: String?, overriding: Bool, expected: [String]) async throws {
        let network =
            transport
            .server(headerField: .accept, "stack", overriding: overriding)
            .server(customHeaderField: "X-Custom", "stack", overriding: overriding)
        let custom = try #require(HTTPField.Name("X-Custom"))
        let request = HTTPRequestData.lawful.with {
            $0.headerFields[.accept] = own
            $0.headerFields[custom] = own
        }

        try await network.data(request)

        #expect(transport.requests.map { $0.headerFields[values: .accept] } == [expected])
        #expect(transport.requests.map { $0.headerFields[values: custom] } == [expected])
    }

    @Test(arguments: [false, true])
    func fieldsKeepTheOrderInWhichTheyAreWritten(overriding: Bool) {
        let names = (1...20).map { "X-Field-\($0)" }
        var fields = HeaderFields()
        for name in names + names.prefix(2) {
            fields.append(HeaderField(HeaderFields.Name(name), "value"))
        }
        let network = transport.server(headerFields: fields, overriding: overriding)
        let sent = network.resolved(.lawful).headerFields.map(\.name.rawName).filter { $0.hasPrefix("X-Field") }
        #expect(sent == [names[0], names[0], names[1], names[1]] + names.dropFirst(2))
    }

    @Test func userAgentIsFilled() async throws {
        let network = transport.server(userAgent: "Shop/2.1")

        try await network.data(.lawful)
        try await network.data(.lawful.with { $0.headerFields[.userAgent] = "Own/1.0" })

        #expect(transport.requests.map { $0.headerFields[.userAgent] } == ["Shop/2.1", "Own/1.0"])
    }

    @Test func outermostFieldTakesPrecedence() {
        let network = transport.server(headerField: .accept, "inner").server(headerField: .accept, "outer")

        #expect(network.resolved(.lawful).headerFields[values: .accept] == ["outer"])
    }

    @Test(arguments: ["", "X Custom", "X-Custom:", "X\r\nInjected", "Ünicode", ":authority"])
    func invalidCustomNameFailsEachSend(name: String) async {
        let network = transport.server(customHeaderField: name, "value")

        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }

        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("is not a field name") == true)
        #expect(error?.reason.contains("\n") == false)
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: ["line\r\nX-Injected: 1", "line\n", "nul\0"])
    func invalidValueFailsEachSend(value: String) async {
        let network = transport.server(headerField: .accept, value)

        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }

        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("Accept") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade"])
    func fieldOfTheTransportFailsEachSend(name: String) async {
        let network = transport.server(customHeaderField: name, "1")

        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }

        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains(name) == true)
    }

    // MARK: Credentials

    static let credentials = ["Authorization", "Cookie", "X-API-Key", "Proxy-Authorization", "X-Auth-Token"]

    @Test(arguments: credentials)
    func credentialsAreSentToTheAuthorityOfTheStack(name: String) async throws {
        let field = try #require(HTTPField.Name(name))
        let network = transport.server(headerField: field, "secret").server(authority: "api.example.com")

        try await network.data(HTTPRequestData(path: "users"))
        try await network.data(HTTPRequestData(authority: "API.example.com", path: "users"))

        #expect(transport.requests.map { $0.headerFields[field] } == ["secret", "secret"])
    }

    @Test(
        arguments: credentials,
        ["cdn.example", "api.example.com:8443", "api.example.com.evil.example", "evil-api.example.com", "example.com"]
    )
    func credentialsAreNotSentToOtherAuthorities(name: String, authority: String) async throws {
        let field = try #require(HTTPField.Name(name))
        let network =
            transport
            .server(headerField: field, "secret")
            .server(headerField: .accept, "application/json")
            .server(authority: "api.example.com")

        try await network.data(HTTPRequestData(authority: authority, path: "users"))

        #expect(transport.requests.map { $0.headerFields[field] } == [nil])
        #expect(transport.requests.map { $0.headerFields[.accept] } == ["application/json"])
    }

    @Test(arguments: [true, false])
    func orderOfFieldAndAuthorityDoesNotMatter(isAuthorityOutside: Bool) async throws {
        let network =
            isAuthorityOutside
            ? AnyNetworkingComponent(
                transport.server(headerField: .authorization, "secret").server(authority: "api.example.com")
            )
            : AnyNetworkingComponent(
                transport.server(authority: "api.example.com").server(headerField: .authorization, "secret")
            )

        try await network.data(HTTPRequestData(path: "users"))
        try await network.data(HTTPRequestData(authority: "cdn.example"))

        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["secret", nil])
    }

    @Test func baseURLIncludesAnAuthority() async throws {
        let network =
            transport
            .server(headerField: .authorization, "secret")
            .server(baseURL: try #require(URL(string: "https://api.example.com/v1")))

        try await network.data(HTTPRequestData(path: "users"))
        try await network.data(HTTPRequestData(authority: "api.example.com"))
        try await network.data(HTTPRequestData(authority: "cdn.example"))

        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["secret", "secret", nil])
    }

    @Test func credentialsOfTheCallerAreSentToItsAuthority() async throws {
        let network = transport.server(headerField: .authorization, "stack's").server(authority: "api.example.com")
        let request = HTTPRequestData(authority: "cdn.example").with { $0.headerFields[.authorization] = "caller's" }

        try await network.data(request)

        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["caller's"])
    }

    @Test func credentialsAreSentToAnOverridingAuthority() async throws {
        let network =
            transport
            .server(headerField: .authorization, "secret")
            .server(authority: "api.example.com", overriding: true)

        try await network.data(HTTPRequestData(authority: "cdn.example", path: "users"))

        #expect(transport.requests.map(\.authority) == ["api.example.com"])
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["secret"])
    }

    @Test func fieldMarkedAsSensitiveIsACredential() async throws {
        let name = try #require(HTTPField.Name("X-Tenant-Ticket"))
        let network =
            transport.server { request in
                var field = HTTPField(name: name, value: "secret")
                field.indexingStrategy = .disallow
                request.headerFields.append(field)
            }
            .server(authority: "api.example.com")

        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(scheme: "http", authority: "api.example.com"))
        }

        #expect(error?.kind == .invalidRequest)
    }

    @Test(
        arguments: [
            ("api.example.com", false), ("localhost:8080", true), ("127.0.0.1", true), ("[::1]:80", true),
            ("127.0.0.1.example", false),
        ]
    )
    func credentialsAreSentOverPlainHTTPToLoopbackOnly(authority: String, isAllowed: Bool) async throws {
        let network = transport.server(headerField: .authorization, "secret").server(authority: authority)
            .server(scheme: "http")

        if isAllowed {
            try await network.data(HTTPRequestData())
            #expect(transport.requests.map { $0.headerFields[.authorization] } == ["secret"])
        } else {
            let error = await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData()) }
            #expect(error?.kind == .invalidRequest)
            #expect(transport.requests.isEmpty)
            try await network.data(HTTPRequestData().with { $0.allowsPlaintextCredentials = true })
            #expect(transport.requests.count == 1)
        }
    }

    @Test(arguments: ["ticket", "api_key"])
    func queryItemThatIsACredentialIsSentToTheAdjacentServerOnly(name: String) async throws {
        let events = EventRecorder()
        let network =
            transport.server { request in
                if name == "ticket" {
                    request.setCredential("secret", forQueryItem: name)
                } else {
                    request.query[name] = "secret"
                }
            }
            .server(authority: "api.example.com")

        try await network.data(HTTPRequestData(path: "users"))
        try await network.data(
            HTTPRequestData(authority: "cdn.example", path: "image")
                .with { request in
                    request.query["size"] = "2"
                    request.addObserver(events)
                }
        )

        #expect(transport.requests.map { $0.query[name] } == ["secret", nil])
        #expect(transport.requests.map { $0.query["size"] } == [nil, "2"])
        #expect(events.events.map { "\($0)" }.first == "credentialsWithheld(withheld \(name) from another server)")
    }

    @Test func queryItemThatIsACredentialIsNotSentOverPlainHTTP() async throws {
        let request = HTTPRequestData(scheme: "http", authority: "api.example.com")
            .with { $0.setCredential("secret", forQueryItem: "ticket") }

        let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        #expect(error?.kind == .invalidRequest)
        #expect(error.map { "\($0)".contains("secret") } == false)
        try await transport.data(request.with { $0.allowsPlaintextCredentials = true })
        #expect(transport.requests.count == 1)
    }

    @Test func withheldCredentialsAreReportedWhenSendingOnly() async throws {
        let events = EventRecorder()
        let network = transport.server(headerField: .authorization, "secret").server(authority: "api.example.com")
        let request = HTTPRequestData(authority: "cdn.example").with { $0.addObserver(events) }

        _ = network.resolved(request)
        #expect(events.names == [])
        try await network.data(request)

        #expect(
            events.names == [
                "credentialsWithheld", "exchangeStarted", "headReceived", "responseReceived", "exchangeEnded",
            ]
        )
    }

    @Test func withheldCredentialsAreLogged() async throws {
        let log = LogRecorder()
        let network = transport.logged(using: log.logger(.debug))
            .server(headerField: .authorization, "secret")
            .server(authority: "api.example.com")

        try await network.data(HTTPRequestData(authority: "cdn.example", path: "image"))

        #expect(log.messages.contains { $0.hasPrefix("withheld Authorization from another server") })
        #expect(!log.text.contains("secret"))
    }

    @Test func cookiesThatATransportWithholdsAreLogged() async throws {
        let log = LogRecorder()

        try await WithholdingTransport().logged(using: log.logger(.debug))
            .data(HTTPRequestData(scheme: "http", authority: "shop.example.org"))

        #expect(log.messages.contains { $0.hasPrefix("withheld Cookie from plain http") })
    }
}

private struct WithholdingTransport: NetworkingTransport {
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        request.emit(CredentialsEvent.withheld(WithheldCredentials(["Cookie"], reason: .plaintext)))
        return HTTPResponseData(request: request, status: .ok)
    }
}
