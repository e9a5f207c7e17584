import Foundation
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ServerURLTests {
    private let transport = MockTransport { _ in .ok() }

    private func url(_ network: some NetworkingComponent, _ request: HTTPRequestData) -> String? {
        network.resolved(request).url?.absoluteString
    }

    // MARK: Scheme, authority, path

    @Test(
        arguments: [
            (nil, false, "http"), ("https", false, "https"), (nil, true, "http"), ("https", true, "http"),
        ] as [(String?, Bool, String)]
    )
    func schemeIsFilledOrOverridden(own: String?, overriding: Bool, expected: String) {
        let network = transport.server(scheme: "http", overriding: overriding)

        #expect(network.resolved(HTTPRequestData(scheme: own, authority: "a.example")).scheme == expected)
    }

    @Test(
        arguments: [
            (nil, false, "api.example.com:8443"), ("own.example", false, "own.example"),
            (nil, true, "api.example.com:8443"), ("own.example", true, "api.example.com:8443"),
        ] as [(String?, Bool, String)]
    )
    func authorityIsFilledOrOverridden(own: String?, overriding: Bool, expected: String) {
        let network = transport.server(authority: "api.example.com:8443", overriding: overriding)

        #expect(network.resolved(HTTPRequestData(authority: own)).authority == expected)
        #expect(network.authority == "api.example.com:8443")
    }

    @Test(
        arguments: [
            (nil, false, "/index"), ("own", false, "/own"), (nil, true, "/index"), ("own", true, "/index"),
            ("?page=2", false, "/?page=2"), ("own?page=2", true, "/index?page=2"),
        ] as [(String?, Bool, String)]
    )
    func pathIsFilledOrOverridden(own: String?, overriding: Bool, expected: String) {
        let network = transport.server(path: "index", overriding: overriding)

        #expect(url(network, HTTPRequestData(authority: "a.example", path: own)) == "https://a.example\(expected)")
    }

    @Test func openPathIsFilledBeforeAnOpenQuery() {
        let request = HTTPRequestData(authority: "a.example").with { $0.query.page = "2" }

        #expect(url(transport.server(path: "index"), request) == "https://a.example/index?page=2")
    }

    // MARK: Prefix

    @Test(
        arguments: [
            ("v1", "users", "/v1/users"),
            ("/v1", "/users", "/v1/users"),
            ("/v1/", "/users/", "/v1/users/"),
            ("v1", nil, "/v1"),
            ("v1", "/", "/v1/"),
            ("v1", "users?a=b&a=", "/v1/users?a=b&a="),
            // The prefix is added to a path that merely starts with the same letters. The ancestor library skipped such
            // a path.
            ("v1", "v1beta/users", "/v1/v1beta/users"),
            ("v1", "v10", "/v1/v10"),
            ("v1", "v1/users", "/v1/v1/users"),
            ("api/v1", "users", "/api/v1/users"),
            ("", "users", "/users"),
            ("/", "users", "/users"),
            ("a b", "c%20d", "/a%20b/c%20d"),
        ] as [(String, String?, String)]
    )
    func prefixPrecedesThePath(prefix: String, path: String?, expected: String) async throws {
        let network = transport.server(prefixPath: prefix).server(authority: "a.example")

        #expect(url(network, HTTPRequestData(path: path)) == "https://a.example\(expected)")
        try await network.data(HTTPRequestData(path: path))
        #expect(transport.requests.map(\.url?.absoluteString) == ["https://a.example\(expected)"])
    }

    @Test func openQueryFollowsThePrefix() {
        let network = transport.server(prefixPath: "v1").server(authority: "a.example")

        #expect(url(network, HTTPRequestData().with { $0.query.page = "2" }) == "https://a.example/v1?page=2")
    }

    @Test func innerPrefixIsFirst() {
        let network = transport.server(prefixPath: "inner").server(prefixPath: "outer").server(authority: "a.example")

        #expect(url(network, HTTPRequestData(path: "users")) == "https://a.example/inner/outer/users")
    }

    @Test(arguments: [true, false])
    func prefixWorksInsideAndOutsideOfTheAuthority(isAuthorityOutside: Bool) {
        let network =
            isAuthorityOutside
            ? AnyNetworkingComponent(transport.server(prefixPath: "v1").server(authority: "a.example"))
            : AnyNetworkingComponent(transport.server(authority: "a.example").server(prefixPath: "v1"))

        #expect(url(network, HTTPRequestData(path: "users")) == "https://a.example/v1/users")
    }

    @Test func prefixIsAppliedOnceToAResentRequest() async throws {
        let network = transport.server(prefixPath: "v1").resent(times: 2).server(authority: "a.example")

        let response = try await network.data(HTTPRequestData(path: "users"))
        try await network.data(response.sentRequest)

        #expect(transport.requests.map(\.path) == Array(repeating: "/v1/users", count: 4))
    }

    // MARK: Absolute requests

    @Test func absoluteRequestKeepsItsURL() throws {
        let link = try #require(URL(string: "http://cdn.example:8080/v1/image.png?size=2%20x"))
        let network =
            transport
            .server(prefixPath: "v1")
            .server(path: "index")
            .server(queryEncoding: .form)
            .server(authority: "api.example.com")
            .server(scheme: "https")
            .server(baseURL: try #require(URL(string: "https://base.example/base")))

        #expect(url(network, HTTPRequestData(url: link)) == link.absoluteString)
    }

    @Test func absoluteRequestWithoutASchemeGetsThatOfTheStack() {
        let network = transport.server(prefixPath: "v1").server(scheme: "http")

        #expect(
            url(network, HTTPRequestData(authority: "localhost:8080", path: "users")) == "http://localhost:8080/users"
        )
    }

    @Test func absoluteRequestGetsHeaderFields() {
        let network = transport.server(headerField: .accept, "application/json").server(authority: "api.example.com")

        let sent = network.resolved(HTTPRequestData(authority: "cdn.example"))

        #expect(sent.headerFields[.accept] == "application/json")
    }

    // MARK: Base URL

    @Test(
        arguments: [
            ("https://api.example.com", "users", "https://api.example.com/users"),
            ("https://api.example.com/", "users", "https://api.example.com/users"),
            ("https://api.example.com/v1", "/users", "https://api.example.com/v1/users"),
            ("https://api.example.com/v1/", "users/", "https://api.example.com/v1/users/"),
            ("http://localhost:8080/v1", nil, "http://localhost:8080/v1"),
            ("https://api.example.com/a%20b", "c", "https://api.example.com/a%20b/c"),
            ("https://api.example.com/v1?key=1#top", "users?page=2", "https://api.example.com/v1/users?page=2"),
            ("https://[::1]:8443/v1", "users", "https://[::1]:8443/v1/users"),
            ("https://api.example.com/v1", "https://x", "https://api.example.com/v1/https://x"),
        ] as [(String, String?, String)]
    )
    func baseURLPrecedesThePath(base: String, path: String?, expected: String) throws {
        let network = transport.server(baseURL: try #require(URL(string: base)))

        #expect(url(network, HTTPRequestData(path: path)) == expected)
    }

    @Test func baseURLIsAppliedOnceToResentRequests() async throws {
        let network = transport.server(baseURL: try #require(URL(string: "https://api.example.com/v1")))
            .resent(times: 2)

        let response = try await network.data(HTTPRequestData(path: "users"))
        try await network.data(response.sentRequest)

        #expect(Set(transport.requests.map(\.url?.absoluteString)) == ["https://api.example.com/v1/users"])
    }

    // MARK: Query encoding

    @Test(
        arguments: [
            (.standard, "a=b%20c&d=e%2Bf&g", "a=b%20c&d=e%2Bf&g"),
            (.form, "a=b%20c&d=e%2Bf&g", "a=b+c&d=e%2Bf&g"),
            (.strict, "a=b:c&d=/", "a=b%3Ac&d=%2F"),
            (.form, "a=~&a=&=x", "a=%7E&a=&=x"),
        ] as [(QueryEncoding, String, String)]
    )
    func queryIsReencoded(encoding: QueryEncoding, query: String, expected: String) {
        let network = transport.server(queryEncoding: encoding).server(authority: "a.example")

        #expect(url(network, HTTPRequestData(path: "x?\(raw: query)")) == "https://a.example/x?\(expected)")
    }

    @Test func queryIsUnchangedWithoutAnEncoding() {
        let network = transport.server(authority: "a.example")

        #expect(url(network, HTTPRequestData(path: "x?a=b+c&d=~&&e")) == "https://a.example/x?a=b+c&d=~&&e")
    }

    @Test func queryOfAnAbsoluteRequestIsUnchanged() {
        let network = transport.server(queryEncoding: .form)

        #expect(
            url(network, HTTPRequestData(authority: "a.example", path: "x?a=b%20c")) == "https://a.example/x?a=b%20c"
        )
    }
}
