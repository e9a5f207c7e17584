#if URLSession
import Dispatch
import Foundation
import NetworkingCookies
import NetworkingCore
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes

/// The cookies of a session, read and stored for each exchange by the rules of ``Cookie``.
///
/// swift-corelibs-foundation only compares hosts: it sends cookies with `Secure` over plain http, to other paths and
/// after they have expired, and lets any host set them for `com`. It also decodes every line of every head and searches
/// it for cookies, on the queue that all sessions share, which takes a tenth of a small exchange. Sessions for
/// exchanges therefore have cookies disabled there, and use their storage through this type.
final class URLSessionCookies: Sendable {
    /// The maximum number of cookies stored for a host and the domains above it.
    static let maximumPerHost = 180

    private let storage: HTTPCookieStorage
    private let addsToRequests: Bool
    private let storesFromResponses: Bool
    private let queue: DispatchQueue

    /// The queue on which cookies are stored, one response at a time, for the whole process.
    ///
    /// swift-corelibs-foundation writes its file at each change, so no task may wait for that on its own thread.
    /// Several sessions share a storage. This queue handles their responses one after another, so that no other
    /// response adds a cookie with `Secure` between the check for one and the change. The last response wins.
    private static let storing = DispatchQueue(label: "URLSessionCookies")

    /// Reads the cookie settings of a configuration; `nil` if it has no cookie storage.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - queue: The queue on which cookies are stored; by default that of the process.
    init?(_ configuration: URLSessionConfiguration, queue: DispatchQueue? = nil) {
        guard let storage = configuration.httpCookieStorage else { return nil }
        self.storage = storage
        self.queue = queue ?? Self.storing
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
        let now = NetworkEnvironment.current.clock.date
        let cookies = stored.map { Cookie($0) }.filter { $0.isSent(to: destination, at: now) }
        guard !cookies.isEmpty else { return }
        guard !request.exposesCredentials else {
            request.emit(CredentialsEvent.withheld(WithheldCredentials(["Cookie"], reason: .plaintext)))
            return
        }
        urlRequest.setValue(Cookie.field(of: cookies), forHTTPHeaderField: "Cookie")
    }

    /// Stores the cookies that a response sets.
    ///
    /// Cookies of a cancelled caller are stored too.
    ///
    /// - Throws: `CancellationError` as soon as the caller is cancelled or the limit is reached.
    func store(
        from response: HTTPURLResponse,
        _ head: HTTPResponse,
        until limit: ExchangeLimit?
    ) async throws {
        guard storesFromResponses, head.headerFields.contains(.setCookie), let url = response.url,
            let origin = CookieURL(url)
        else { return }
        let now = NetworkEnvironment.current.clock.date
        let fields = head.headerFields[values: .setCookie]
        let isStored = Suspension<Void>()
        queue.async { [self] in
            store(fields, from: origin, url, at: now)
            isStored.resume()
        }
        try await isStored.value(until: limit)
    }

    private func store(_ fields: [String], from origin: CookieURL, _ url: URL, at now: Date) {
        for field in fields {
            guard let cookie = try? Cookie(setCookie: field, from: origin, now: now),
                !cookie.shadowsSecureCookie(among: storedCookies(from: origin), from: origin, now: now),
                let stored = HTTPCookie(cookie, at: now)
            else { continue }
            storage.setCookies([stored], for: url, mainDocumentURL: nil)
        }
        evict(for: url, at: now)
    }

    /// Returns the stored cookies that a cookie of this URL could shadow; none for https, which may replace them all.
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
    /// Converts a cookie of URLSession's storage, where a leading dot of the domain means that subdomains get the
    /// cookie.
    init(_ cookie: HTTPCookie) {
        let isHostOnly = !cookie.domain.hasPrefix(".")
        let created = cookie.properties?[HTTPCookiePropertyKey("Created")] as? TimeInterval
        let marks = cookie.marks
        self.init(
            name: cookie.name,
            value: cookie.value,
            domain: (isHostOnly ? cookie.domain : String(cookie.domain.dropFirst())).lowercased(),
            isHostOnly: isHostOnly,
            path: cookie.path,
            expires: cookie.expiresDate ?? marks.expires,
            isSecure: cookie.isSecure || marks.isSecure,
            isHTTPOnly: cookie.isHTTPOnly,
            sameSite: cookie.sameSite,
            created: Date(timeIntervalSinceReferenceDate: created ?? 0)
        )
    }
}

extension HTTPCookie {
    /// The comment of a cookie with `Secure`.
    ///
    /// swift-corelibs-foundation loses the attribute when it reads its file: it writes a Boolean and expects a string.
    private static let markOfSecure = "Secure"

    /// The start of the comment that holds the expiry date of a cookie.
    ///
    /// The storage removes cookies that have expired by the system's date. So it must not know the expiry date of a
    /// cookie that is valid only by the date of the environment, which a test may have set to the past.
    private static let markOfExpiry = "Expires="

    /// The attributes stored in the comment of a cookie.
    fileprivate var marks: (isSecure: Bool, expires: Date?) {
        let marks = comment?.split(separator: ";") ?? []
        let expiry = marks.last.flatMap { mark in
            mark.hasPrefix(Self.markOfExpiry) ? TimeInterval(mark.dropFirst(Self.markOfExpiry.count)) : nil
        }
        return (marks.first == Self.markOfSecure[...], expiry.map { Date(timeIntervalSince1970: $0) })
    }

    /// The value of `SameSite`, if the platform's storage supports it.
    ///
    /// Apple's platforms support `Strict` and `Lax`. swift-corelibs-foundation supports neither.
    fileprivate var sameSite: Cookie.SameSite {
        #if canImport(Darwin)
        switch sameSitePolicy {
        case .sameSiteStrict: .strict
        case .sameSiteLax: .lax
        default: .unspecified
        }
        #else
        .unspecified
        #endif
    }

    #if canImport(Darwin)
    private static func policy(_ sameSite: Cookie.SameSite) -> HTTPCookieStringPolicy? {
        switch sameSite {
        case .strict: .sameSiteStrict
        case .lax: .sameSiteLax
        case .none, .unspecified: nil
        }
    }
    #endif

    /// Creates a cookie for URLSession's storage.
    ///
    /// - Parameters:
    ///   - cookie: The cookie.
    ///   - now: The date of the environment.
    convenience init?(_ cookie: Cookie, at now: Date) {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name,
            .value: cookie.value,
            .domain: cookie.isHostOnly ? cookie.domain : ".\(cookie.domain)",
            .path: cookie.path,
        ]
        var marks: [String] = []
        if cookie.isSecure {
            properties[.secure] = "TRUE"
            marks.append(Self.markOfSecure)
        }
        if let expires = cookie.expires, expires > now, expires <= Date() {
            marks.append("\(Self.markOfExpiry)\(expires.timeIntervalSince1970)")
        } else {
            properties[.expires] = cookie.expires
        }
        if !marks.isEmpty {
            properties[.comment] = marks.joined(separator: ";")
        }
        if cookie.isHTTPOnly {
            properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE"
        }
        #if canImport(Darwin)
        properties[.sameSitePolicy] = Self.policy(cookie.sameSite)?.rawValue
        #endif
        self.init(properties: properties)
    }
}
#endif
