#if URLSession && canImport(FoundationNetworking)
import Dispatch
import Foundation
import FoundationNetworking
import HTTPTypes
import NetworkingTesting
import TestSupport
import Testing

import Networking
@testable import NetworkingCookies
@testable import NetworkingURLSession

/// The use of a session's storage in an exchange, for rules that URLSession does not apply itself.
@Suite(.tags(.concurrency))
struct URLSessionCookiesTests {
    private let storage: HTTPCookieStorage
    private let cookies: URLSessionCookies

    init() throws {
        let configuration = URLSessionConfiguration.ephemeral
        storage = try #require(configuration.httpCookieStorage)
        cookies = try #require(URLSessionCookies(configuration))
    }

    // MARK: Sending

    @Test func keepsCookiesFromPlainHTTP() async throws {
        try await receive("a=1", from: "http://shop.example.org/")
        let events = EventRecorder()
        let request = HTTPRequestData(scheme: "http", authority: "shop.example.org").with { $0.addObserver(events) }
        #expect(try sent(with: request) == nil)
        #expect(events.events.map { "\($0)" } == ["credentialsWithheld(withheld Cookie from plain http)"])
    }

    @Test func sendsCookiesOverPlainHTTPIfTheRequestAllowsIt() async throws {
        try await receive("a=1", from: "http://shop.example.org/")
        let events = EventRecorder()
        var request = HTTPRequestData(scheme: "http", authority: "shop.example.org").with { $0.addObserver(events) }
        request.allowsPlaintextCredentials = true
        #expect(try sent(with: request) == "a=1")
        #expect(events.names == [])
    }

    @Test func sendsNoSecureCookieOverPlainHTTPEvenIfTheRequestAllowsIt() async throws {
        try await receive("a=1; Secure", from: "https://shop.example.org/")
        var request = HTTPRequestData(scheme: "http", authority: "shop.example.org")
        request.allowsPlaintextCredentials = true
        #expect(try sent(with: request) == nil)
        #expect(try sent(with: HTTPRequestData(authority: "shop.example.org")) == "a=1")
    }

    @Test func reportsNothingIfNoCookieIsWithheld() async throws {
        try await receive("a=1; Path=/other", from: "http://shop.example.org/")
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

    @Test func storesNoCookieOfASharedSuffix() async throws {
        try await receive("a=1; Domain=org", from: "https://shop.example.org/")
        try await receive("b=1; Domain=0.0.1", from: "http://127.0.0.1/")
        #expect(storage.cookies?.isEmpty == true)
    }

    @Test func plainHTTPNeitherSetsNorReplacesASecureCookie() async throws {
        try await receive("a=1; Secure", from: "https://shop.example.org/")
        try await receive("a=2", from: "http://shop.example.org/")
        try await receive("a=3; Domain=example.org", from: "http://shop.example.org/")
        try await receive("a=4; Max-Age=0", from: "http://shop.example.org/")
        try await receive("b=5; Secure", from: "http://shop.example.org/")
        #expect(storage.cookies?.map(\.value) == ["1"])
    }

    @Test func cookieStaysSecureWhenTheStorageIsReadFromItsFile() async throws {
        try await receive("a=1; Secure", from: "https://shop.example.org/")
        // The storage writes the properties of its cookies and reads them again, which loses the attribute.
        let properties = try #require(storage.cookies?.first?.properties)
        let read = try #require(HTTPCookie(properties: properties))
        #expect(!read.isSecure)
        #expect(Cookie(read).isSecure)
    }

    @Test func removesACookieWithAMaxAgeOfZero() async throws {
        try await receive("a=1; Path=/", from: "https://shop.example.org/x/y")
        try await receive("a=; Max-Age=0; Path=/", from: "https://shop.example.org/")
        #expect(storage.cookies?.isEmpty == true)
    }

    @Test func storesABoundedNumberOfCookiesForAHost() async throws {
        try await receive("keep=1; Secure", from: "https://shop.example.org/")
        for number in 0...URLSessionCookies.maximumPerHost {
            try await receive("a\(number)=1", from: "https://shop.example.org/")
        }
        let names = Set(storage.cookies?.map(\.name) ?? [])
        #expect(names.count == URLSessionCookies.maximumPerHost)
        #expect(names.isSuperset(of: ["keep", "a\(URLSessionCookies.maximumPerHost)"]))
    }

    // MARK: Dates

    /// The storage itself compares with the date of the system, which is later than this one.
    @Test func cookiesExpireByTheDateOfTheEnvironment() async throws {
        let clock = ManualClock()
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        try await withEnvironment(environment) {
            try await receive("a=1; Max-Age=60; Secure", from: "https://shop.example.org/")
            let date = clock.date.addingTimeInterval(120).httpDate
            try await receive("b=1; Expires=\(date)", from: "https://shop.example.org/")
            let request = HTTPRequestData(authority: "shop.example.org")
            #expect(try sent(with: request) == "a=1; b=1")
            clock.advance(by: .seconds(59))
            #expect(try sent(with: request) == "a=1; b=1")
            clock.advance(by: .seconds(1))
            #expect(try sent(with: request) == "b=1")
            clock.advance(by: .seconds(60))
            #expect(try sent(with: request) == nil)
        }
    }

    @Test func expiringCookieWithoutSecureIsNotMarkedSecure() async throws {
        var environment = NetworkEnvironment()
        environment.clock = .manual(ManualClock())
        try await withEnvironment(environment) {
            try await receive("a=1; Max-Age=60", from: "https://shop.example.org/")
            var request = HTTPRequestData(scheme: "http", authority: "shop.example.org")
            request.allowsPlaintextCredentials = true
            #expect(try sent(with: request) == "a=1")
        }
    }

    @Test func cookieExpiresByALaterDateOfTheEnvironment() async throws {
        let clock = ManualClock(start: Date(timeIntervalSinceNow: 86_400))
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        try await withEnvironment(environment) {
            try await receive("a=1; Max-Age=60", from: "https://shop.example.org/")
            let request = HTTPRequestData(authority: "shop.example.org")
            #expect(try sent(with: request) == "a=1")
            clock.advance(by: .seconds(60))
            #expect(try sent(with: request) == nil)
        }
    }

    // MARK: The queue

    /// Storing writes a file, so it blocks neither the caller's thread nor a cancelled caller.
    @Test func cancelledCallerDoesNotWaitUntilItsCookiesAreStored() async throws {
        let queue = DispatchQueue(label: "URLSessionCookiesTests")
        let configuration = URLSessionConfiguration.ephemeral
        let cookies = try #require(URLSessionCookies(configuration, queue: queue))
        queue.suspend()
        let call = Task { try await receive("a=1", from: "https://shop.example.org/", into: cookies) }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(configuration.httpCookieStorage?.cookies?.isEmpty ?? true)
        queue.resume()
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
        #expect(configuration.httpCookieStorage?.cookies?.map(\.name) == ["a"])
    }

    @Test func lastOfManyResponsesIsStored() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        // Two sessions with the same configuration, as in one transport.
        let sessions = try (0..<2).map { _ in try #require(URLSessionCookies(configuration)) }
        await withThrowingTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    try await receive(
                        "a\(number % 7)=\(number); Secure",
                        from: "https://shop.example.org/",
                        into: sessions[number % 2]
                    )
                    try await receive(
                        "a\(number % 7)=plain",
                        from: "http://shop.example.org/",
                        into: sessions[number % 2]
                    )
                }
            }
        }
        let stored = configuration.httpCookieStorage?.cookies ?? []
        #expect(stored.count == 7)
        #expect(!stored.contains { $0.value == "plain" })
        try await receive("a0=last; Secure", from: "https://shop.example.org/", into: sessions[0])
        #expect(configuration.httpCookieStorage?.cookies?.first { $0.name == "a0" }?.value == "last")
    }

    // MARK: Helpers

    private func sent(with request: HTTPRequestData) throws -> String? {
        var urlRequest = try URLRequest(request)
        cookies.add(to: &urlRequest, of: request)
        return urlRequest.value(forHTTPHeaderField: "Cookie")
    }

    private func receive(_ field: String, from text: String, into cookies: URLSessionCookies? = nil) async throws {
        let url = try #require(URL(string: text))
        let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
        try await (cookies ?? self.cookies)
            .store(from: response, HTTPResponse(status: .ok, headerFields: [.setCookie: field]), until: nil)
    }
}
#endif
