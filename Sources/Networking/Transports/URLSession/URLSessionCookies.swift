#if URLSession
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes
import Synchronization

/// The cookies of a session, read and stored for each exchange by the rules of ``Cookie``.
///
/// swift-corelibs-foundation only compares hosts: it sends cookies with `Secure` over plain http, to other paths and after
/// they have expired, and lets any host set them for `com`. It also decodes every line of every head and searches it for
/// cookies, on the queue that all sessions share, which costs a tenth of a small exchange. So a session for exchanges has
/// cookies switched off there, and uses its storage through this type.
final class URLSessionCookies: Sendable {
    /// The most cookies that are stored for a host and the domains above it.
    static let maximumPerHost = 180

    private let storage: HTTPCookieStorage
    private let addsToRequests: Bool
    private let storesFromResponses: Bool
    /// Locked while cookies are stored, so that no cookie with `Secure` is added between the check for one and the change.
    private let storing = Mutex(())

    /// Reads the cookie settings of a configuration; `nil` if it has no cookie storage.
    init?(_ configuration: URLSessionConfiguration) {
        guard let storage = configuration.httpCookieStorage else { return nil }
        self.storage = storage
        addsToRequests = configuration.httpShouldSetCookies
        storesFromResponses = configuration.httpCookieAcceptPolicy != .never
    }

    /// Adds the stored cookies to a request that has no Cookie field.
    ///
    /// Over plain http to another machine, no cookie is added unless the request allows credentials there.
    func add(to urlRequest: inout URLRequest, of request: HTTPRequestData) {
        guard addsToRequests, let url = urlRequest.url, urlRequest.value(forHTTPHeaderField: "Cookie") == nil,
            let stored = storage.cookies(for: url), !stored.isEmpty, let destination = CookieURL(url)
        else { return }
        let now = Date()
        let cookies = stored.map { Cookie($0) }.filter { $0.isSent(to: destination, at: now) }
        guard !cookies.isEmpty else { return }
        guard !request.exposesCredentials else {
            request.emit(.credentialsWithheld(NetworkEvent.WithheldCredentials(["Cookie"], reason: .plaintext)))
            return
        }
        urlRequest.setValue(Cookie.field(of: cookies), forHTTPHeaderField: "Cookie")
    }

    /// Stores the cookies that a response sets.
    func store(from response: HTTPURLResponse, _ head: HTTPResponse) {
        guard storesFromResponses, head.headerFields.contains(.setCookie), let url = response.url,
            let origin = CookieURL(url)
        else { return }
        let now = Date()
        storing.withLock { _ in
            for field in head.headerFields[values: .setCookie] {
                guard let cookie = Cookie(setCookie: field, from: origin, now: now),
                    !cookie.shadowsSecureCookie(among: storedCookies(from: origin), from: origin, now: now),
                    let stored = HTTPCookie(cookie)
                else { continue }
                storage.setCookies([stored], for: url, mainDocumentURL: nil)
            }
            evict(for: url, at: now)
        }
    }

    /// The stored cookies that one of a URL could shadow; none for https, which may replace them all.
    private func storedCookies(from origin: CookieURL) -> [Cookie] {
        origin.isSecure ? [] : (storage.cookies ?? []).map { Cookie($0) }
    }

    /// Removes surplus cookies, so that a server cannot fill the storage.
    private func evict(for url: URL, at now: Date) {
        let stored = storage.cookies(for: url) ?? []
        guard stored.count > Self.maximumPerHost else { return }
        let ordered = stored.map { (http: $0, cookie: Cookie($0)) }
            .sorted { $0.cookie.isEvicted(before: $1.cookie, at: now) }
        for (cookie, _) in ordered.prefix(stored.count - Self.maximumPerHost) {
            storage.deleteCookie(cookie)
        }
    }
}

extension Cookie {
    /// Converts a cookie of URLSession's storage, where a leading dot of the domain means that subdomains get the cookie.
    init(_ cookie: HTTPCookie) {
        let isHostOnly = !cookie.domain.hasPrefix(".")
        let created = cookie.properties?[HTTPCookiePropertyKey("Created")] as? TimeInterval
        self.init(
            name: cookie.name,
            value: cookie.value,
            domain: (isHostOnly ? cookie.domain : String(cookie.domain.dropFirst())).lowercased(),
            isHostOnly: isHostOnly,
            path: cookie.path,
            expires: cookie.expiresDate,
            isSecure: cookie.isSecure || cookie.comment == HTTPCookie.markOfSecure,
            isHTTPOnly: cookie.isHTTPOnly,
            created: Date(timeIntervalSinceReferenceDate: created ?? 0)
        )
    }
}

extension HTTPCookie {
    /// The comment of a cookie with `Secure`.
    ///
    /// swift-corelibs-foundation loses the attribute when it reads its file: it writes a Boolean and expects a string.
    fileprivate static let markOfSecure = "Secure"

    /// Makes the cookie that URLSession's storage takes.
    fileprivate convenience init?(_ cookie: Cookie) {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name,
            .value: cookie.value,
            .domain: cookie.isHostOnly ? cookie.domain : ".\(cookie.domain)",
            .path: cookie.path,
        ]
        properties[.expires] = cookie.expires
        if cookie.isSecure {
            properties[.secure] = "TRUE"
            properties[.comment] = Self.markOfSecure
        }
        if cookie.isHTTPOnly {
            properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE"
        }
        self.init(properties: properties)
    }
}
#endif
