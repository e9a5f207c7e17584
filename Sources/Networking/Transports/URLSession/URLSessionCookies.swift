#if URLSession
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes

/// The cookies of a session, read and stored for each exchange.
///
/// swift-corelibs-foundation decodes every line of every head and searches it for cookies, on the queue that all
/// sessions share, which costs a tenth of a small exchange. So a session for exchanges has cookies switched off there,
/// and this does what its configuration says, for the heads that set one.
struct URLSessionCookies: Sendable {
    private let storage: HTTPCookieStorage
    private let addsToRequests: Bool
    private let storesFromResponses: Bool

    /// What a configuration says of cookies; nil when it has no storage for them.
    init?(_ configuration: URLSessionConfiguration) {
        guard let storage = configuration.httpCookieStorage else { return nil }
        self.storage = storage
        addsToRequests = configuration.httpShouldSetCookies
        storesFromResponses = configuration.httpCookieAcceptPolicy != .never
    }

    /// Adds the cookies for a request's URL, unless the request brings its own.
    func add(to request: inout URLRequest) {
        guard addsToRequests, let url = request.url, request.value(forHTTPHeaderField: "Cookie") == nil,
            let cookies = storage.cookies(for: url), !cookies.isEmpty
        else { return }
        for (name, value) in HTTPCookie.requestHeaderFields(with: cookies) {
            request.setValue(value, forHTTPHeaderField: name)
        }
    }

    /// Stores the cookies that a response sets.
    func store(from response: HTTPURLResponse, _ head: HTTPResponse) {
        guard storesFromResponses, let url = response.url, let value = head.headerFields[.setCookie] else { return }
        let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: url)
        storage.setCookies(cookies, for: url, mainDocumentURL: nil)
    }
}
#endif
