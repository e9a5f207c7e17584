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
        guard storesFromResponses, let url = response.url, head.headerFields.contains(.setCookie) else { return }
        for value in head.headerFields[values: .setCookie] {
            let fields = ["Set-Cookie": Self.withoutMaxAge(value)]
            storage.setCookies(
                HTTPCookie.cookies(withResponseHeaderFields: fields, for: url),
                for: url,
                mainDocumentURL: nil
            )
        }
    }

    /// A cookie with the date that its `Max-Age` means, which comes before `Expires` (RFC 6265 section 5.3).
    ///
    /// swift-corelibs-foundation ignores `Max-Age`, and an `Expires` beside it.
    private static func withoutMaxAge(_ value: String) -> String {
        let parts = value.split(separator: ";", omittingEmptySubsequences: false)
        let attributes = parts.map { $0.prefix { $0 != "=" }.trimmingCharacters(in: .whitespaces).lowercased() }
        guard let index = attributes.dropFirst().lastIndex(of: "max-age"),
            let seconds = Double(parts[index].drop { $0 != "=" }.dropFirst().trimmingCharacters(in: .whitespaces))
        else { return value }
        let date = seconds > 0 ? Date(timeIntervalSinceNow: seconds) : Date(timeIntervalSince1970: 0)
        let kept = parts.indices.filter { $0 == 0 || attributes[$0] != "max-age" && attributes[$0] != "expires" }
        return kept.map { String(parts[$0]) }.joined(separator: ";") + "; Expires=\(date.httpDate)"
    }
}
#endif
