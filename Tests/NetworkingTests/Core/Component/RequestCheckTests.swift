import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingCore

@Suite(.timeLimit(.minutes(20)))
struct RequestCheckTests {
    /// Sends a request and checks that it is rejected before it reaches a transport.
    private func refusal(of request: HTTPRequestData) async throws -> NetworkingError {
        let transport = MockTransport { _ in .ok() }
        let error = try #require(
            await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        )
        #expect(error.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
        #expect(error.request.id == request.id)
        #expect(error.description.hasPrefix(error.request.description))
        return error
    }

    // MARK: Authority

    @Test func errorForAMissingAuthoritySuggestsAServer() async throws {
        let error = try await refusal(of: HTTPRequestData(path: "users"))
        #expect(error.description.hasPrefix("GET /users: "))
        #expect(error.reason.contains(".server(authority:)"))
    }

    @Test(arguments: [
        ("", "malformed"),
        (" ", "malformed"),
        ("exa mple.com", "malformed"),
        ("example.com/path", "malformed"),
        ("example.com?x", "malformed"),
        ("example.com#x", "malformed"),
        ("exa\r\nmple.com", "malformed"),
        ("exa\0mple.com", "malformed"),
        ("<script>", "malformed"),
        ("[::1", "malformed"),
        ("[localhost]", "malformed"),
        ("https://example.com", "without a scheme"),
        ("example.com:", "port"),
        ("example.com:http", "port"),
        ("example.com:65536", "port"),
        ("example.com:-1", "port"),
        ("example.com:+80", "port"),
        ("[::1]80", "malformed"),
        ("evil.com%00.example.com", "malformed"),
        ("%6cocalhost", "malformed"),
        (":80", "malformed"),
    ])
    func refusesAMalformedAuthority(authority: String, complaint: String) async throws {
        let error = try await refusal(of: HTTPRequestData(authority: authority, path: "a"))
        #expect(error.reason.contains(complaint), "\(error.reason)")
    }

    @Test(arguments: [
        "example.com", "example.com:8443", "localhost", "127.0.0.1:80", "[::1]", "[::1]:8080", "münchen.de", "a_b.c",
        "xn--mnchen-3ya.de", "example.com.",
    ])
    func acceptsAValidAuthority(authority: String) async throws {
        let transport = MockTransport { _ in .ok() }
        try await transport.data(HTTPRequestData(authority: authority))
        #expect(transport.requests.first?.authority == authority)
    }

    @Test(arguments: ["https://emily:hunter2@example.com/", "https://hunter2@example.com/", "https://@example.com/"])
    func refusesCredentialsInAURL(url: String) async throws {
        let error = try await refusal(of: HTTPRequestData(url: try #require(URL(string: url))))
        #expect(error.reason.contains("Authorization"))
        #expect(!everyPrint(of: error).contains("hunter2"))
    }

    // MARK: Scheme and target

    @Test(arguments: ["ftp", "file", "ws", "HTTPS ", "", "javascript", "ht\r\ntp"])
    func refusesAnotherScheme(scheme: String) async throws {
        let error = try await refusal(of: HTTPRequestData(scheme: scheme, authority: "example.com"))
        #expect(error.reason.contains("https"))
    }

    @Test(arguments: ["file:///etc/passwd", "mailto:emily@example.com", "data:text/plain,x", "https:///x"])
    func refusesAURLThatIsNoHTTPURL(url: String) async throws {
        _ = try await refusal(of: HTTPRequestData(url: try #require(URL(string: url))))
    }

    @Test(arguments: [
        "a\rb", "a\nb", "a\r\nX-Injected: 1", "a\0b", "a\tb", "a\u{1B}b", "a\u{7F}b", "a?b=c\nd", "a?\tb",
    ])
    func refusesControlCharactersInATarget(path: String) async throws {
        let error = try await refusal(of: HTTPRequestData(authority: "example.com", path: path))
        #expect(error.reason.contains("control character"))
        var request = HTTPRequestData(authority: "example.com", path: "fine")
        request.path = path
        _ = try await refusal(of: request)
    }

    @Test(arguments: ["https://other.example/x", "HTTP://other.example/x", "ws://other.example", "app+x://a"])
    func refusesAURLAsAPath(path: String) async throws {
        let requests = [
            HTTPRequestData(authority: "example.com", path: path),
            HTTPRequestData(authority: "example.com").with { $0.path = path },
            HTTPRequestData(authority: "example.com").with(path: RequestPath(path)),
        ]
        for request in requests {
            let error = try await refusal(of: request)
            #expect(error.reason.contains(".get(url)"))
        }
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(prefixPath: "v1").server(authority: "example.com")
        await #expect(throws: NetworkingError.self) { try await network.data(.get(RequestPath(path))) }
        #expect(transport.requests.isEmpty)
        var corrected = HTTPRequestData(authority: "example.com", path: path)
        corrected.path = "users"
        try await transport.data(corrected)
        #expect(transport.requests.map(\.path) == ["/users"])
    }

    @Test(arguments: ["/https://other.example/x", "a/https://other.example", "urn:isbn:1", "a:b", "?url=https://a"])
    func acceptsAPathThatContainsAURL(path: String) async throws {
        let transport = MockTransport { _ in .ok() }
        try await transport.data(HTTPRequestData(authority: "example.com", path: path))
        #expect(transport.requests.count == 1)
    }

    /// The path would continue the authority of the URL.
    @Test(arguments: ["@evil.example/x", ":80@evil.example/", ".evil.example", "x"])
    func refusesATargetThatWouldChangeTheServer(target: String) async throws {
        var request = HTTPRequestData(authority: "example.com")
        request.target = target
        let error = try await refusal(of: request)
        #expect(error.reason.contains("target"))
    }

    // MARK: Header fields

    @Test(arguments: [
        "Host", "host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Keep-Alive",
        "Proxy-Connection",
    ])
    func refusesAFieldOfTheTransport(name: String) async throws {
        var request = HTTPRequestData(authority: "example.com")
        request.headerFields[try #require(HTTPField.Name(name))] = "1"
        let error = try await refusal(of: request)
        #expect(error.reason.contains("The field \(name) "))
        #expect(error.reason.contains("Remove it"))
    }

    @Test func invalidValueIsNotPrinted() async throws {
        let request = HTTPRequestData(
            authority: "example.com",
            path: "a?token=hunter2",
            headerFields: [.authorization: "Bearer hunter2\n"]
        )
        let error = try await refusal(of: request)
        #expect(error.reason.contains("Authorization"))
        #expect(error.reason.contains("Remove it"))
        #expect(!everyPrint(of: error).contains("hunter2"))
    }

    @Test func invalidNameFromAServerFailsTheSendAndCannotForgeALine() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.server(customHeaderField: "X Bad\r\nName", "1")
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(authority: "example.com"))
        }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("X Bad") == true)
        #expect(error?.description.contains("\r\n") == false)
        #expect(transport.requests.isEmpty)
    }

    // MARK: Secrets over plain http

    @Test(arguments: [
        "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token",
        "X-Amz-Security-Token", "X-Goog-Api-Key",
    ])
    func refusesASecretOverPlainHTTP(name: String) async throws {
        var request = HTTPRequestData(scheme: "http", authority: "example.com")
        request.headerFields[try #require(HTTPField.Name(name))] = "hunter2"
        let error = try await refusal(of: request)
        #expect(error.reason.contains(name))
        #expect(error.reason.contains("https"))
        #expect(error.reason.contains("allowsPlaintextCredentials"))
        #expect(!everyPrint(of: error).contains("hunter2"))
    }

    @Test func refusesAFieldThatIsMarkedSensitiveOverPlainHTTP() async throws {
        var field = HTTPField(name: .userAgent, value: "hunter2")
        field.indexingStrategy = .disallow
        var request = HTTPRequestData(scheme: "http", authority: "example.com")
        request.headerFields.append(field)
        _ = try await refusal(of: request)
    }

    @Test(
        arguments: [
            ("https", "example.com"),
            ("http", "localhost"),
            ("http", "LocalHost:8080"),
            ("http", "127.0.0.1"),
            ("http", "127.1.2.3:80"),
            ("http", "[::1]"),
            ("http", "[::1]:8080"),
            (nil, "example.com"),
        ] as [(String?, String)]
    )
    func sendsASecretOverHTTPSAndToLoopback(scheme: String?, authority: String) async throws {
        let transport = MockTransport { _ in .ok() }
        let request = HTTPRequestData(
            scheme: scheme,
            authority: authority,
            headerFields: [.authorization: "Bearer hunter2"]
        )
        try await transport.data(request)
        #expect(transport.requests.first?.headerFields[.authorization] == "Bearer hunter2")
    }

    @Test(arguments: [
        "localhost.example.com", "127.0.0.1.example.com", "127.example.com", "[::2]", "0.0.0.0", "api.localhost",
        "localhost.",
    ])
    func refusesASecretToHostsThatResembleLoopback(authority: String) async throws {
        _ = try await refusal(
            of: HTTPRequestData(scheme: "http", authority: authority, headerFields: [.cookie: "hunter2"])
        )
    }

    @Test func sendsASecretOverPlainHTTPWhenAllowed() async throws {
        let transport = MockTransport { _ in .ok() }
        var request = HTTPRequestData(scheme: "http", authority: "example.com", headerFields: [.cookie: "a=b"])
        request.allowsPlaintextCredentials = true
        try await transport.data(request)
        #expect(transport.requests.count == 1)
    }

    @Test func sendsOtherFieldsOverPlainHTTP() async throws {
        let transport = MockTransport { _ in .ok() }
        let request = HTTPRequestData(scheme: "http", authority: "example.com", headerFields: [.accept: "a"])
        try await transport.data(request)
        #expect(transport.requests.count == 1)
    }

    // MARK: Time of the check

    @Test(
        arguments: [
            { $0.authority = "a b" },
            { $0.scheme = "ftp" },
            { $0.path = "a\tb" },
            { $0.headerFields[.accept] = "a\nb" },
            { $0.headerFields[.connection] = "close" },
            { $0.body = .json(Double.nan) },
            {
                $0.scheme = "http"
                $0.headerFields[.cookie] = "a"
            },
        ] as [@Sendable (inout HTTPRequestData) -> Void]
    )
    func checksARequestAgainAfterAModifierChangedIt(
        change: @escaping @Sendable (inout HTTPRequestData) -> Void
    ) async throws {
        struct Changing: NetworkingModifier {
            let change: @Sendable (inout HTTPRequestData) -> Void

            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                var request = request
                change(&request)
                return try await upstream.send(request)
            }
        }
        let transport = MockTransport { _ in .ok() }
        let request = HTTPRequestData(authority: "example.com")
        try await transport.data(request)
        await #expect(throws: NetworkingError.self) {
            try await transport.modified(Changing(change: change)).data(request)
        }
        #expect(transport.requests.count == 1)
    }

    @Test func checksAgainAfterThePermissionIsRevoked() throws {
        var request = HTTPRequestData(scheme: "http", authority: "example.com", headerFields: [.cookie: "a"])
        request.allowsPlaintextCredentials = true
        try request.check()
        request.allowsPlaintextCredentials = false
        #expect(throws: NetworkingError.self) { try request.check() }
    }

    @Test func requestIsCheckedBeforeAComponentThatIsNoTransport() async {
        struct Echo: NetworkingComponent {
            func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                Issue.record("The request was sent.")
                return HTTPResponseData(request: request)
            }
        }
        await #expect(throws: NetworkingError.self) { try await Echo().data(HTTPRequestData(path: "a")) }
    }
}
