#if TestServer && canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// Which cookies of its storage the URLSession transport sends and stores on Linux.
    ///
    /// The unit tests in `CookieTests` cover the rules themselves.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct CookieTests {
        private let configuration = URLSessionConfiguration.ephemeral

        private var storage: HTTPCookieStorage {
            get throws { try #require(configuration.httpCookieStorage) }
        }

        @Test func sendsOnlyMatchingCookies() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                server.route("/shop/cart") { _ in .ok }
                for (name, domain, path, isSecure) in [
                    ("plain", "127.0.0.1", "/", false), ("secure", "127.0.0.1", "/", true),
                    ("shop", "127.0.0.1", "/shop", false), ("suffix", ".0.0.1", "/", false),
                ] {
                    var properties: [HTTPCookiePropertyKey: Any] = [
                        .name: name, .value: "1", .domain: domain, .path: path,
                    ]
                    if isSecure {
                        properties[.secure] = "TRUE"
                    }
                    try storage.setCookie(#require(HTTPCookie(properties: properties)))
                }
                let network = URLSession(configuration: configuration).server(baseURL: server.url)
                try await network.data(HTTPRequestData())
                try await network.data(HTTPRequestData(path: "shop/cart"))
                #expect(server.requests.map { $0.headerFields[.cookie] } == ["plain=1", "shop=1; plain=1"])
            }
        }

        @Test func storesOnlyCookiesThatTheServerMaySet() async throws {
            try await withTestServer { server in
                server.route("/account/login") { _ in
                    var response = TestResponse.ok
                    for field in [
                        "own=1", "root=1; Path=/", "secure=1; Secure; Path=/", "suffix=1; Domain=0.0.1; Path=/",
                        "__Host-a=1; Path=/", "ended=1; Max-Age=0; Path=/",
                    ] {
                        response.headerFields.append(HTTPField(name: .setCookie, value: field))
                    }
                    return response
                }
                server.route("/account/page") { _ in .ok }
                server.route("/") { _ in .ok }
                let network = URLSessionTransport(configuration: configuration).server(baseURL: server.url)
                try await network.data(HTTPRequestData(path: "account/login"))
                try await network.data(HTTPRequestData(path: "account/page"))
                try await network.data(HTTPRequestData())
                #expect(try storage.cookies?.map(\.name).sorted() == ["own", "root"])
                #expect(server.requests.map { $0.headerFields[.cookie] } == [nil, "own=1; root=1", "root=1"])
            }
        }

        @Test func plainHTTPReplacesNoSecureCookie() async throws {
            try await withTestServer { server in
                server.route("/") { _ in TestResponse(headerFields: [.setCookie: "id=forged; Path=/"]) }
                let cookie = HTTPCookie(properties: [
                    .name: "id", .value: "real", .domain: "127.0.0.1", .path: "/", .secure: "TRUE",
                ])
                try storage.setCookie(#require(cookie))
                let network = URLSessionTransport(configuration: configuration).server(baseURL: server.url)
                try await network.data(HTTPRequestData())
                #expect(try storage.cookies?.map(\.value) == ["real"])
            }
        }

        @Test func redirectToAnotherHostSendsTheCookiesOfThatHost() async throws {
            try await withTestServer { server in
                let elsewhere = "http://localhost:\(server.port)/elsewhere"
                server.route("/") { _ in .redirect(to: elsewhere) }
                server.route("/elsewhere") { _ in .ok }
                for (name, domain) in [("here", "127.0.0.1"), ("there", "localhost")] {
                    let cookie = HTTPCookie(properties: [.name: name, .value: "1", .domain: domain, .path: "/"])
                    try storage.setCookie(#require(cookie))
                }
                let network = URLSessionTransport(configuration: configuration).server(baseURL: server.url)
                try await network.data(HTTPRequestData())
                #expect(server.requests.map { $0.headerFields[.cookie] } == ["here=1", "there=1"])
            }
        }
    }
}
#endif
