#if URLSession && canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import HTTPTypes
import NetworkingTesting
import Testing

@testable import Networking

/// How an exchange uses the storage of its session, where URLSession itself compares nothing but hosts.
@Suite
struct URLSessionCookiesTests {
    private let storage: HTTPCookieStorage
    private let cookies: URLSessionCookies

    init() throws {
        let configuration = URLSessionConfiguration.ephemeral
        storage = try #require(configuration.httpCookieStorage)
        cookies = try #require(URLSessionCookies(configuration))
    }

    // MARK: Sending

    @Test func keepsCookiesFromPlainHTTP() throws {
        try receive("a=1", from: "http://shop.example.org/")
        let events = EventRecorder()
        let request = HTTPRequestData(scheme: "http", authority: "shop.example.org").with { $0.addObserver(events) }
        #expect(try sent(with: request) == nil)
        #expect(events.events.map { "\($0)" } == ["credentialsWithheld(withheld Cookie from plain http)"])
    }

    @Test func sendsCookiesOverPlainHTTPWhereTheRequestAllowsIt() throws {
        try receive("a=1", from: "http://shop.example.org/")
        let events = EventRecorder()
        var request = HTTPRequestData(scheme: "http", authority: "shop.example.org").with { $0.addObserver(events) }
        request.allowsPlaintextCredentials = true
        #expect(try sent(with: request) == "a=1")
        #expect(events.names == [])
    }

    @Test func sendsNoSecureCookieOverPlainHTTPEvenWhereTheRequestAllowsIt() throws {
        try receive("a=1; Secure", from: "https://shop.example.org/")
        var request = HTTPRequestData(scheme: "http", authority: "shop.example.org")
        request.allowsPlaintextCredentials = true
        #expect(try sent(with: request) == nil)
        #expect(try sent(with: HTTPRequestData(authority: "shop.example.org")) == "a=1")
    }

    @Test func reportsNothingIfNoCookieIsWithheld() throws {
        try receive("a=1; Path=/other", from: "http://shop.example.org/")
        let events = EventRecorder()
        let request = HTTPRequestData(scheme: "http", authority: "shop.example.org").with { $0.addObserver(events) }
        #expect(try sent(with: request) == nil)
        #expect(events.names == [])
    }

    @Test func appliesTheRulesToCookiesThatTheAppHasStored() throws {
        for (name, domain) in [("label", ".org"), ("own", ".example.org"), ("host", "shop.example.org")] {
            let cookie = HTTPCookie(properties: [.name: name, .value: "1", .domain: domain, .path: "/"])
            storage.setCookie(try #require(cookie))
        }
        #expect(try sent(with: HTTPRequestData(authority: "shop.example.org")) == "own=1; host=1")
    }

    // MARK: Storing

    @Test func storesNoCookieOfASharedSuffix() throws {
        try receive("a=1; Domain=org", from: "https://shop.example.org/")
        try receive("b=1; Domain=0.0.1", from: "http://127.0.0.1/")
        #expect(storage.cookies?.isEmpty == true)
    }

    @Test func plainHTTPNeitherSetsNorReplacesASecureCookie() throws {
        try receive("a=1; Secure", from: "https://shop.example.org/")
        try receive("a=2", from: "http://shop.example.org/")
        try receive("a=3; Domain=example.org", from: "http://shop.example.org/")
        try receive("a=4; Max-Age=0", from: "http://shop.example.org/")
        try receive("b=5; Secure", from: "http://shop.example.org/")
        #expect(storage.cookies?.map(\.value) == ["1"])
    }

    @Test func aCookieStaysSecureWhenTheStorageIsReadFromItsFile() throws {
        try receive("a=1; Secure", from: "https://shop.example.org/")
        // The storage writes and reads the properties of its cookies, and loses the attribute on the way.
        let properties = try #require(storage.cookies?.first?.properties)
        let read = try #require(HTTPCookie(properties: properties))
        #expect(!read.isSecure)
        #expect(Cookie(read).isSecure)
    }

    @Test func removesACookieWhoseAgeIsZero() throws {
        try receive("a=1; Path=/", from: "https://shop.example.org/x/y")
        try receive("a=; Max-Age=0; Path=/", from: "https://shop.example.org/")
        #expect(storage.cookies?.isEmpty == true)
    }

    @Test func storesABoundedNumberOfCookiesForAHost() throws {
        try receive("keep=1; Secure", from: "https://shop.example.org/")
        for number in 0...URLSessionCookies.maximumPerHost {
            try receive("a\(number)=1", from: "https://shop.example.org/")
        }
        let names = Set(storage.cookies?.map(\.name) ?? [])
        #expect(names.count == URLSessionCookies.maximumPerHost)
        #expect(names.isSuperset(of: ["keep", "a\(URLSessionCookies.maximumPerHost)"]))
    }

    // MARK: Helpers

    private func sent(with request: HTTPRequestData) throws -> String? {
        var urlRequest = try #require(URLRequest(request))
        cookies.add(to: &urlRequest, of: request)
        return urlRequest.value(forHTTPHeaderField: "Cookie")
    }

    private func receive(_ field: String, from text: String) throws {
        let url = try #require(URL(string: text))
        let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
        cookies.store(from: response, HTTPResponse(status: .ok, headerFields: [.setCookie: field]))
    }
}
#endif
