import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingCore

@Suite(.timeLimit(.minutes(20)))
struct HTTPRequestDataURLTests {
    // MARK: Path

    /// The ancestor library trimmed slashes from path and query together.
    @Test(arguments: [
        ("users", "/users"),
        ("/users", "/users"),
        ("/users/", "/users/"),
        ("users/", "/users/"),
        ("/", "/"),
        ("", "/"),
        ("//users", "//users"),
        ("/a//b/", "/a//b/"),
        ("/a/../b/./c", "/a/../b/./c"),
        ("/a%20b", "/a%20b"),
        ("/a%2Fb", "/a%2Fb"),
        ("/a%2fb", "/a%2fb"),
        ("/a b", "/a%20b"),
        ("/ü", "/%C3%BC"),
        ("/👋", "/%F0%9F%91%8B"),
        ("/a+b;c=d,e:f@g!$&'()*~", "/a+b;c=d,e:f@g!$&'()*~"),
        ("/a#b", "/a%23b"),
        ("/\"<>", "/%22%3C%3E"),
        ("*", "*"),
    ])
    func keepsThePathUnchanged(given: String, path: String) {
        #expect(HTTPRequestData(path: given).path == path)
        var request = HTTPRequestData(path: "before")
        request.path = given
        #expect(request.path == path)
    }

    /// Foundation's URL encodes every escape again if one character is invalid.
    @Test(arguments: [
        ("a%20b[1]", "/a%20b%5B1%5D"),
        ("a%20b|c", "/a%20b%7Cc"),
        ("a%20b\\c", "/a%20b%5Cc"),
        ("a%20b^`{}", "/a%20b%5E%60%7B%7D"),
        ("100%", "/100%25"),
        ("100%/a%20b", "/100%25/a%20b"),
        ("%zz%20", "/%25zz%20"),
        ("%2", "/%252"),
        ("a?filter[name]=b%20c", "/a?filter%5Bname%5D=b%20c"),
        ("a?q={x}%20", "/a?q=%7Bx%7D%20"),
        ("a?discount=10%&x=%20", "/a?discount=10%25&x=%20"),
        ("ü%20", "/%C3%BC%20"),
    ])
    func encodesNothingTwice(path: String, target: String) {
        let request = HTTPRequestData(authority: "example.com", path: path)
        #expect(request.description == "GET https://example.com\(target)")
        #expect(request.url?.absoluteString == "https://example.com\(target)")
        var roundTrip = HTTPRequestData()
        roundTrip.url = request.url
        #expect(roundTrip.url == request.url)
    }

    @Test func encodesNothingTwiceInAQueryWithACustomEncoding() async throws {
        let transport = MockTransport { _ in .ok() }
        try await transport.server(queryEncoding: .allowing("abcdefghijklmnopqrstuvwxyz[]|"))
            .server(authority: "example.com")
            .data(HTTPRequestData(path: "a?filter[x]=a%20b|c"))
        #expect(transport.requests.first?.url?.absoluteString == "https://example.com/a?filter%5Bx%5D=a%20b%7Cc")
    }

    @Test func pathWithoutAQueryKeepsTheQuery() {
        var request = HTTPRequestData(path: "a?x=1")
        request.path = "b"
        #expect(request.description == "GET /b?x=1")
    }

    @Test func pathWithAQueryReplacesTheQuery() {
        var request = HTTPRequestData(path: "a?x=1&y=2")
        request.path = "b?z=3"
        #expect(request.description == "GET /b?z=3")
        request.path = "b?"
        #expect(request.description == "GET /b?")
    }

    @Test func nilPathKeepsTheQuery() {
        var request = HTTPRequestData(path: "a?x=1")
        request.path = nil
        #expect(request.path == nil)
        #expect(request.query.x == "1")
        request.query.x = nil
        #expect(request.path == nil)
        #expect(request == HTTPRequestData())
    }

    // MARK: Query

    @Test(arguments: [
        ("?", ""),
        ("?a", "a"),
        ("?a=", "a="),
        ("?=b", "=b"),
        ("?a=1&a=2&b=3&a=4", "a=1&a=2&b=3&a=4"),
        ("?b=1&a=2", "b=1&a=2"),
        ("?a=1&&b=2&", "a=1&&b=2&"),
        ("?redirect=https://x/", "redirect=https://x/"),
        ("?redirect=https%3A%2F%2Fx%2F", "redirect=https%3A%2F%2Fx%2F"),
        ("?a=b=c", "a=b=c"),
        ("?a?b", "a?b"),
        ("?q=a+b", "q=a+b"),
        ("?q=%FF", "q=%FF"),
        ("?q=%7e", "q=%7e"),
        ("?q=a b", "q=a%20b"),
    ])
    func keepsTheQueryUnchanged(given: String, query: String) async throws {
        let request = HTTPRequestData(authority: "example.com", path: "/users/\(raw: given)")
        #expect(request.query.encoded == query)
        #expect(request.path == "/users/")
        #expect(request.url?.absoluteString == "https://example.com/users/?\(query)")
        let transport = MockTransport { _ in .ok() }
        try await transport.data(request)
        #expect(transport.requests.first?.url?.absoluteString == "https://example.com/users/?\(query)")
    }

    @Test func queryItemsAreDecodedAndComplete() {
        let request = HTTPRequestData(path: "a?x=1&y=a%20b&x=&z&%26=%3D")
        #expect(
            request.queryItems == [
                URLQueryItem(name: "x", value: "1"),
                URLQueryItem(name: "y", value: "a b"),
                URLQueryItem(name: "x", value: ""),
                URLQueryItem(name: "z", value: nil),
                URLQueryItem(name: "&", value: "="),
            ]
        )
    }

    /// The ancestor library passed values to a Foundation property that traps on unencoded text.
    @Test func queryItemsMayContainAnyText() {
        var request = HTTPRequestData(authority: "example.com")
        let items = [
            URLQueryItem(name: "a b", value: "100% & more=#?"),
            URLQueryItem(name: "ü", value: "\r\n\0"),
            URLQueryItem(name: "", value: nil),
            URLQueryItem(name: "+", value: "+"),
        ]
        request.queryItems = items
        #expect(request.queryItems == items)
        #expect(request.query.encoded == "a%20b=100%25%20%26%20more%3D%23?&%C3%BC=%0D%0A%00&&%2B=%2B")
        request.queryItems = []
        #expect(request.query.encoded == nil)
    }

    /// Some servers read a plus as a space.
    ///
    /// Encoding it again would make it a literal plus.
    @Test func addingAQueryItemKeepsTheBytesOfTheOthers() {
        var request = HTTPRequestData(path: "a?q=a+b&c=%7e&d=%FF&e")
        request.queryItems.append(URLQueryItem(name: "page", value: "2"))
        #expect(request.query.encoded == "q=a+b&c=%7e&d=%FF&e&page=2")
        request.queryItems.removeFirst()
        #expect(request.query.encoded == "c=%7e&d=%FF&e&page=2")
    }

    // MARK: Authority

    @Test(
        arguments: [
            ("example.com", "example.com", nil),
            ("example.com:8080", "example.com", 8080),
            ("[::1]", "::1", nil),
            ("[::1]:8080", "::1", 8080),
            ("127.0.0.1:80", "127.0.0.1", 80),
            ("user:pass@example.com:1", "example.com", 1),
            ("example.com:", "example.com", nil),
            ("example.com:x", "example.com", nil),
            ("example.com:99999", "example.com", nil),
        ] as [(String, String, Int?)]
    )
    func readsHostAndPort(authority: String, host: String, port: Int?) {
        let request = HTTPRequestData(authority: authority)
        #expect(request.host == host)
        #expect(request.port == port)
        #expect(request.authority == authority)
    }

    // MARK: URL

    @Test(arguments: [
        ("https://example.com/", "https://example.com/"),
        ("https://example.com", "https://example.com/"),
        ("https://example.com?x=1", "https://example.com/?x=1"),
        ("http://example.com:8080/a/b/?x=1&x=2#part", "http://example.com:8080/a/b/?x=1&x=2"),
        ("https://[::1]:8443/a", "https://[::1]:8443/a"),
        ("https://[2001:db8::1]/", "https://[2001:db8::1]/"),
        ("https://user:pa%40ss@example.com/a", "https://user:pa%40ss@example.com/a"),
        ("HTTPS://Example.COM/A", "https://Example.COM/A"),
        ("https://example.com//a//b", "https://example.com//a//b"),
        ("https://example.com/a%2Fb%20c", "https://example.com/a%2Fb%20c"),
        ("https://example.com/?redirect=https://x/", "https://example.com/?redirect=https://x/"),
        ("https://example.com/a?", "https://example.com/a?"),
        ("https://example.com/#?x=1", "https://example.com/"),
    ])
    func roundTripsAURL(given: String, url: String) throws {
        let request = HTTPRequestData(url: try #require(URL(string: given)))
        #expect(request.url?.absoluteString == url)
        var other = HTTPRequestData(scheme: "http", authority: "before", path: "before?x=1")
        other.url = URL(string: given)
        #expect(other == request)
    }

    @Test(arguments: [
        ("users", "GET http://before/users"),
        ("/users/?x=1", "GET http://before/users/?x=1"),
        ("?x=1", "GET http://before/?x=1"),
        ("#part", "GET http://before/"),
        ("//example.com/a", "GET http://example.com/a"),
    ])
    func relativeURLKeepsSchemeAndAuthority(given: String, description: String) throws {
        let url = try #require(URL(string: given))
        var request = HTTPRequestData(scheme: "http", authority: "before", path: "before?y=2")
        request.url = url
        #expect(request.description == description)
        #expect(HTTPRequestData(url: url).scheme == nil)
    }

    @Test func urlWithABaseIsResolved() throws {
        let base = try #require(URL(string: "https://example.com/a/b"))
        let url = try #require(URL(string: "../c?x=1", relativeTo: base))
        #expect(HTTPRequestData(url: url).description == "GET https://example.com/c?x=1")
    }

    @Test(arguments: [
        ("a/../b", "/b"), ("../x", "/x"), ("a/./b/.", "/a/b/"), ("a/b/..", "/a/"), ("/..", "/"), ("a/%2E%2e/b", "/b"),
        ("a/.%2e/%2E/b", "/b"), ("a//../b", "/a/b"), ("//..", "/"), ("..//evil", "//evil"), ("a/.../b", "/a/.../b"),
        ("a/..b/.c", "/a/..b/.c"), ("a/..;/b", "/a/..;/b"), ("a?b=/../c", "/a?b=/../c"), ("a/..?b", "/?b"),
        ("%2f..", "/%2f.."),
    ])
    func dotSegmentsAreRemovedBeforeARequestIsSent(path: String, expected: String) async throws {
        let transport = MockTransport { _ in .ok() }
        try await transport.server(authority: "h.example").data(HTTPRequestData(path: path))
        try await transport.server(prefixPath: "v1").server(authority: "h.example").data(HTTPRequestData(path: path))
        #expect(transport.requests.map(\.requestTarget) == [expected, "/v1\(expected)"])
        let url = try #require(URL(string: "https://h.example\(HTTPRequestData(path: path).requestTarget)"))
        try await transport.data(HTTPRequestData(url: url))
        #expect(transport.requests.last?.requestTarget == expected)
    }

    @Test(arguments: [("http://f:/c", "f"), ("http://[::1]:/c", "[::1]"), ("http://f:80/c", "f:80")])
    func colonOfAnEmptyPortIsDropped(url: String, authority: String) throws {
        #expect(HTTPRequestData(url: try #require(URL(string: url))).authority == authority)
    }

    @Test(arguments: [
        "a.example", "a.example:8443", "127.0.0.1", "127.1", "[::1]:80", "[fe80::1%25eth0]", "münchen.de",
    ])
    func foundationReadsTheServerOfARequest(authority: String) throws {
        for path in ["a", "caf%E9?x=%E9", "//x", "a?b=c?d", "*"] {
            let request = HTTPRequestData(method: .options, scheme: "http", authority: authority, path: path)
            #expect(throws: Never.self) { try request.foundationURL() }
        }
    }

    /// International names that are mapped to other ASCII names, and parts that continue the authority.
    @Test(arguments: [
        ("ｌocalhost", "/"), ("127．0.0.1", "/"), ("a.example@evil.example", "/"), ("a.example/x", "/"),
        ("a.example", "@evil.example/"),
        ("a.example", ".evil.example/"), ("a.example", ":80/"), ("a.example#", "/"), ("a.example?", "/"),
    ])
    func foundationMustNotReadAnotherServer(authority: String, target: String) {
        var request = HTTPRequestData(scheme: "http", authority: authority)
        request.target = target
        let error = #expect(throws: NetworkingError.self) { try request.foundationURL() }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func nilURLClearsAllParts() throws {
        var request = HTTPRequestData(url: try #require(URL(string: "http://example.com/a?x=1")))
        request.url = nil
        #expect(request == HTTPRequestData())
    }

    @Test func urlDefaultsToHTTPSAndTheRootPath() {
        #expect(HTTPRequestData(authority: "example.com").url?.absoluteString == "https://example.com/")
        #expect(HTTPRequestData(path: "a").url == nil)
        #expect(HTTPRequestData(scheme: "http").url == nil)
    }

    /// RFC 9112, section 3.2.4: the asterisk is no path.
    ///
    /// Appended to the authority, it would form another host.
    @Test func asteriskOfOptionsIsNotPartOfTheHost() {
        let request = HTTPRequestData(method: .options, scheme: "https", authority: "example.com", path: "*")
        #expect(request.url?.host == "example.com")
        #expect(request.path == "*")
    }

    @Test(arguments: [
        "", " ", "/", "?", "#", "%", "%%", "%2", "://", "//", "[", "]", "[::1", "@", "a@b@c", ":", ":::", "\0", "\r\n",
        "?&&==&", "\u{301}", "=\u{301}", "&\u{301}=\u{301}", "🏳️‍🌈", "\u{FFFD}", "a:b:c", "http://", "https://a:b@c:d/e",
        String(repeating: "%F0", count: 100),
    ])
    func randomPartsDoNotCrash(text: String) {
        var request = HTTPRequestData(scheme: text, authority: text, path: text)
        request.path = text
        request.query[text] = text
        request.query[values: text] = [text, text]
        request.queryItems += [URLQueryItem(name: text, value: text), URLQueryItem(name: text, value: nil)]
        request.headerFields[.accept] = text
        request.headerFields.append(name: .accept, value: text)
        request.query[dynamicMember: text] = text
        #expect(request.query[text] == text)
        _ = (request.url, request.host, request.port, request.queryItems, request.path, request.hashValue)
        #expect(!everyPrint(of: request).isEmpty)
        request.url = URL(string: text)
        request.query[dynamicMember: text] = nil
        #expect(request.query[text] == nil)
    }
}
