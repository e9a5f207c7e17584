#if TestServer
import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

#if AsyncHTTPClient
import NetworkingAsyncHTTPClient
#endif
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Loopback {
    /// `cookies(in:)` over real transports.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct CookieJarTests {
        enum Client: String, CaseIterable, Sendable {
            #if URLSession
            case urlSession
            case urlSessionTransport
            #endif
            #if AsyncHTTPClient
            case asyncHTTPClient
            #endif

            /// A transport with a cookie for 127.0.0.1 in its own storage, if it has one.
            func transport() throws -> any NetworkingComponent {
                switch self {
                #if URLSession
                case .urlSession: URLSession(configuration: try Self.configuration())
                case .urlSessionTransport: URLSessionTransport(configuration: try Self.configuration())
                #endif
                #if AsyncHTTPClient
                case .asyncHTTPClient: AsyncHTTPClientTransport()
                #endif
                }
            }

            #if URLSession
            static func configuration() throws -> URLSessionConfiguration {
                let configuration = URLSessionConfiguration.ephemeral
                let cookie = HTTPCookie(properties: [
                    .name: "storage", .value: "1", .domain: "127.0.0.1", .path: "/",
                ])
                configuration.httpCookieStorage?.setCookie(try #require(cookie))
                return configuration
            }
            #endif
        }

        @Test(arguments: Client.allCases)
        func sendsAndStoresCookies(client: Client) async throws {
            try await withTestServer { server in
                server.route("/login") { _ in
                    var response = TestResponse.ok
                    for field in [
                        "a=1; Path=/", "date=2; Expires=Wed, 09 Jun 2100 10:18:14 GMT", "secure=3; Secure; Path=/",
                        "suffix=4; Domain=0.0.1", "__Host-b=5; Secure; Path=/", "ended=6; Max-Age=0",
                        "shop=7; Path=/shop",
                    ] {
                        response.headerFields.append(HTTPField(name: .setCookie, value: field))
                    }
                    return response
                }
                server.route("/shop/cart") { _ in .ok }
                let jar = CookieJar()
                let network = try AnyNetworkingComponent(client.transport()).cookies(in: jar)
                    .server(baseURL: server.url)
                try await network.data(HTTPRequestData(path: "login"))
                try await network.data(HTTPRequestData(path: "shop/cart"))
                let sent = server.requests.map { $0.headerFields[.cookie] }
                #expect(sent == [nil, "shop=7; a=1; date=2; secure=3; __Host-b=5"])
            }
        }

        /// Set-Cookie fields of one response, and the Cookie field of the next request to a path, as in the public suite
        /// of RFC 6265's authors.
        static let cookieCases: [(fields: [String], path: String, sent: String?)] = [
            (["a=1"], "/x/y", "a=1"), (["a=1", "b=2", "a=3"], "/x/y", "a=3; b=2"),
            (["a=1; Path=/", "a=2; Path=/x"], "/x/y", "a=2; a=1"),
            (["=a"], "/x/y", nil), (["a"], "/x/y", nil), (["a="], "/x/y", "a="), ([" a = 1 ;"], "/x/y", "a=1"),
            (["a=\"1, 2\""], "/x/y", "a=\"1, 2\""), (["a=1==2"], "/x/y", "a=1==2"), (["a=1; a=2"], "/x/y", "a=1"),
            (["a=1; Path=/z"], "/x/y", nil), (["a=1; Path=/x/"], "/x/y", "a=1"), (["a=1; Path=/x/y"], "/x/yz", nil),
            (["a=1; Path=relative"], "/x/y", "a=1"), (["a=1; Path=/z; Path=/x"], "/x/y", "a=1"),
            (["a=1; path"], "/x/y", "a=1"),
            (["a=1; Expires=Sun,  9 Dec 2012 13:42:05 GMT", "b=2"], "/x/y", "b=2"),
            (["a=1; Expires=9 Dec 2012, Sun, 13:42:05", "b=2"], "/x/y", "b=2"),
            (["a=1; Expires=Wed, 09-Jun-2100 10:18:14 GMT", "b=2"], "/x/y", "a=1; b=2"),
            (["a=1; Expires=nonsense", "b=2; Max-Age=-1"], "/x/y", "a=1"),
            (["a=1; Max-Age=0; Expires=Wed, 09 Jun 2100 10:18:14 GMT"], "/x/y", nil),
            (["a=1; Max-Age=x"], "/x/y", "a=1"),
            (["a=1; Domain=127.0.0.1"], "/x/y", "a=1"), (["a=1; Domain=0.0.1"], "/x/y", nil),
            (["a=1; Domain="], "/x/y", "a=1"),
            (["a=1; HttpOnly; unknown=x; ;;"], "/x/y", "a=1"), (["__Host-a=1; Path=/", "b=2"], "/x/y", "b=2"),
            (["a=caf\u{E9}"], "/x/y", "a=caf\u{E9}"), (["a=1\tb"], "/x/y", "a=1\tb"),
        ]

        @Test(arguments: Client.allCases)
        func nextRequestSendsTheRightCookiesInOneLine(client: Client) async throws {
            try await withTestServer { server in
                for (fields, path, sent) in Self.cookieCases {
                    var response = TestResponse.ok
                    response.headerFields[values: .setCookie] = fields
                    server.enqueue(response, .ok)
                    let mock = MockTransport { _ in
                        var fieldsOfMock = HTTPFields()
                        fieldsOfMock[values: .setCookie] = fields
                        return MockResponse(status: .ok, headerFields: fieldsOfMock)
                    }
                    for transport in [try client.transport(), mock] as [any NetworkingComponent] {
                        let network = AnyNetworkingComponent(transport).cookies(in: CookieJar())
                            .server(baseURL: server.url)
                        try await network.data(HTTPRequestData(path: "x/set"))
                        try await network.data(HTTPRequestData(path: String(path.dropFirst())))
                    }
                    let expected = sent.map { [$0] } ?? []
                    #expect(server.requests.last?.headerFields[values: .cookie] == expected, "\(fields)")
                    #expect(mock.requests.last?.headerFields[values: .cookie] == expected, "\(fields)")
                }
            }
        }

        /// RFC 6265 section 5.4 allows one Cookie line, and servers read only the first of several.
        @Test(arguments: Client.allCases)
        func cookiesOfTheRequestArriveInOneLine(client: Client) async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let network = try AnyNetworkingComponent(client.transport()).cookies(in: CookieJar())
                    .server(baseURL: server.url)
                let requests: [@Sendable (inout HTTPRequestData) -> Void] = [
                    { $0.headerFields[.cookie] = "a=1; b=2" }, { $0.headerFields[values: .cookie] = ["a=1", "b=2"] },
                    { $0.headerFields = HeaderFields(["Cookie": "a=1; b=2"]) },
                    { $0.headerFields[fields: .cookie] = ["a=1", "b=2"].map { HTTPField(name: .cookie, value: $0) } },
                    {
                        $0.headerFields += [
                            HTTPField(name: .cookie, value: "a=1"), HTTPField(name: .accept, value: "x/y"),
                            HTTPField(name: .cookie, value: "b=2"),
                        ]
                    },
                    {
                        $0.headerFields = HeaderFields(
                            {
                                var fields = HTTPFields()
                                fields[.cookie] = "a=1; b=2"
                                return fields
                            }()
                        )
                    },
                ]
                for change in requests {
                    var request = HTTPRequestData()
                    change(&request)
                    try await network.data(request)
                    #expect(server.requests.last?.headerFields[values: .cookie] == ["a=1; b=2"])
                }
            }
        }

        @Test(arguments: Client.allCases)
        func everyHopOfARedirectSendsItsOwnCookies(client: Client) async throws {
            try await withTestServer { server in
                let elsewhere = "http://localhost:\(server.port)/elsewhere"
                server.route("/start") { _ in
                    var response = TestResponse.redirect(to: "/next")
                    response.headerFields[.setCookie] = "here=1; Path=/"
                    return response
                }
                server.route("/next") { _ in
                    var response = TestResponse.redirect(to: elsewhere)
                    response.headerFields[.setCookie] = "here=2; Path=/"
                    return response
                }
                server.route("/elsewhere") { _ in .ok }
                let jar = CookieJar()
                try jar.set(Cookie(name: "there", value: "1", domain: "localhost", created: .distantPast))
                let network = try AnyNetworkingComponent(client.transport()).cookies(in: jar)
                    .server(baseURL: server.url)
                try await network.data(HTTPRequestData(path: "start"))
                #expect(server.requests.map { $0.headerFields[.cookie] } == [nil, "here=1", "there=1"])
                #expect(jar.cookies(of: nil).map(\.value).sorted() == ["1", "2"])
            }
        }

        @Test(arguments: Client.allCases)
        func cookieFieldOfTheRequestReplacesThoseOfTheJar(client: Client) async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                let jar = CookieJar()
                try jar.set(Cookie(name: "a", value: "1", domain: "127.0.0.1", created: .distantPast))
                let network = try AnyNetworkingComponent(client.transport()).cookies(in: jar)
                    .server(baseURL: server.url)
                try await network.data(HTTPRequestData(headerFields: [.cookie: "own=1"]))
                #expect(server.requests.map { $0.headerFields[.cookie] } == ["own=1"])
            }
        }

        /// The connections belong to the session of the jar, so a changed cookie does not open another one.
        @Test(arguments: Client.allCases)
        func changedCookieKeepsTheConnection(client: Client) async throws {
            try await withTestServer { server in
                server.route("/") { request in
                    TestResponse(headerFields: [.setCookie: "n=\(server.requests.count)"])
                }
                let network = try AnyNetworkingComponent(client.transport()).cookies(in: CookieJar())
                    .server(baseURL: server.url)
                for _ in 0..<4 {
                    try await network.data(HTTPRequestData())
                }
                let cookies = server.requests.compactMap { $0.headerFields[.cookie] }
                #expect(Set(cookies).count == 3)
                #expect(Set(server.requests.dropFirst().map(\.connection)).count == 1)
            }
        }
    }
}
#endif
