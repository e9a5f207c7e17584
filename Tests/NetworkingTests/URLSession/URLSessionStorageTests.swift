#if URLSession
import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

import Networking
@testable import NetworkingURLSession

/// The cache and the stored credentials of a session are not used in an exchange.
@Suite(.tags(.concurrency))
struct URLSessionStorageTests {
    // MARK: Cache

    @Test func requestsIgnoreTheCacheOfTheirSession() throws {
        let request = try #require(URLRequest(HTTPRequestData(authority: "api.example.com", path: "users")))
        #expect(request.cachePolicy == .reloadIgnoringLocalCacheData)
    }

    @Test func responsesAreNotStoredInTheCacheOfTheirSession() throws {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "https://api.example.com"))
        let task = session.dataTask(with: url)
        let response = CachedURLResponse(
            response: URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil),
            data: Data()
        )
        // The test calls the method through the protocol, because a misspelled optional method compiles and is never
        // called.
        let delegate: any URLSessionDataDelegate = Self.exchange
        typealias Method = (
            URLSession, URLSessionDataTask, CachedURLResponse, @escaping @Sendable (CachedURLResponse?) -> Void
        ) -> Void
        let method: Method? = delegate.urlSession(_:dataTask:willCacheResponse:completionHandler:)
        let results = Locked<[Bool]>([])
        method?(session, task, response) { results.append($0 != nil) }
        #expect(results.value == [false])
    }

    @Test func sessionsForExchangesStoreNeitherResponsesNorCredentials() {
        let configuration = URLSessionConfiguration.default
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let session = URLSession.forExchanges(configuration)
        defer { session.invalidateAndCancel() }
        #expect(session.configuration.urlCache == nil)
        #expect(session.configuration.urlCredentialStorage == nil)
        #expect(configuration.urlCache != nil)
    }

    // MARK: Challenges

    @Test(arguments: [
        (NSURLAuthenticationMethodDefault, true, false), (NSURLAuthenticationMethodHTTPBasic, true, false),
        (NSURLAuthenticationMethodHTTPDigest, true, false), (NSURLAuthenticationMethodHTMLForm, true, false),
        (NSURLAuthenticationMethodNTLM, true, true), (NSURLAuthenticationMethodNegotiate, true, true),
        // Foundation on Linux lacks these two constants. Their values are their names.
        ("NSURLAuthenticationMethodServerTrust", false, true),
        ("NSURLAuthenticationMethodClientCertificate", false, true),
    ])
    func stackHandlesEveryChallengeOfA401(method: String, isOfServer: Bool, isForSession: Bool) {
        let space = Self.space(method)
        #expect(space.isOfServer == isOfServer)
        #expect(space.isForSession == isForSession)
        let proxy = URLProtectionSpace(
            proxyHost: "proxy.example.com",
            port: 8_080,
            type: NSURLProtectionSpaceHTTPProxy,
            realm: nil,
            authenticationMethod: method
        )
        #expect(!proxy.isOfServer)
    }

    #if !canImport(FoundationNetworking)
    @Test(arguments: [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodNTLM])
    func storedCredentialIsNotUsedForA401(method: String) throws {
        let dispositions = try dispositions(to: Self.space(method), of: URLSession(configuration: .ephemeral))
        #expect(dispositions == [.rejectProtectionSpace])
    }

    @Test func systemHandlesTheChallengeForACertificate() throws {
        let space = Self.space("NSURLAuthenticationMethodServerTrust")
        let dispositions = try dispositions(to: space, of: URLSession(configuration: .ephemeral))
        #expect(dispositions == [.performDefaultHandling])
    }

    @Test func delegateOfTheSessionHandlesTheChallengeForACertificate() throws {
        let session = URLSession(configuration: .ephemeral, delegate: PinningDelegate(), delegateQueue: nil)
        let dispositions = try dispositions(to: Self.space("NSURLAuthenticationMethodServerTrust"), of: session)
        #expect(dispositions == [.cancelAuthenticationChallenge])
    }

    private func dispositions(
        to space: URLProtectionSpace,
        of session: URLSession
    ) throws -> [URLSession.AuthChallengeDisposition] {
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "https://api.example.com"))
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space,
            proposedCredential: URLCredential(user: "emily", password: "hunter2", persistence: .forSession),
            previousFailureCount: 0,
            failureResponse: nil,
            error: nil,
            sender: Sender()
        )
        let results = Locked<[URLSession.AuthChallengeDisposition]>([])
        Self.exchange.urlSession(session, task: session.dataTask(with: url), didReceive: challenge) { disposition, _ in
            results.append(disposition)
        }
        return results.value
    }
    #endif

    // MARK: Helpers

    private static var exchange: URLSessionExchange {
        URLSessionExchange(
            request: HTTPRequestData(authority: "api.example.com"),
            cookies: nil,
            upload: nil,
            acceptEncoding: "gzip"
        )
    }

    private static func space(_ method: String) -> URLProtectionSpace {
        URLProtectionSpace(
            host: "api.example.com",
            port: 443,
            protocol: "https",
            realm: "users",
            authenticationMethod: method
        )
    }
}

#if !canImport(FoundationNetworking)
private final class PinningDelegate: NSObject, URLSessionDelegate {
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.cancelAuthenticationChallenge, nil)
    }
}

private final class Sender: NSObject, URLAuthenticationChallengeSender {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}
#endif
#endif
