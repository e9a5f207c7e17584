import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A cookie, with the rules for accepting and sending it (RFC 6265bis).
///
/// The rules do not consider sites: the library sends requests for an app and not for a page, so `SameSite` does not
/// prevent a cookie from being sent.
struct Cookie: Sendable, Hashable {
    /// The maximum length of a stored name and value together, in bytes.
    static let maximumPairLength = 4_096
    /// The maximum length of an attribute value, in bytes; longer values are ignored.
    static let maximumAttributeLength = 1_024
    /// The maximum time for which a cookie is stored, in seconds: 400 days.
    static let maximumAge = 400 * 86_400

    let name: String
    let value: String
    /// The host or the domain that the cookie belongs to, in lower case and without a leading dot.
    let domain: String
    /// Whether the cookie is sent only to this host, and not to its subdomains.
    let isHostOnly: Bool
    let path: String
    /// The date when the cookie expires; `nil` if it lasts as long as the session.
    let expires: Date?
    /// Whether the cookie is sent only over https.
    let isSecure: Bool
    /// Whether the cookie is inaccessible to scripts in a page.
    let isHTTPOnly: Bool
    let created: Date

    /// Creates a cookie from stored values.
    init(
        name: String,
        value: String,
        domain: String,
        isHostOnly: Bool,
        path: String = "/",
        expires: Date? = nil,
        isSecure: Bool = false,
        isHTTPOnly: Bool = false,
        created: Date
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.created = created
    }

    /// Parses a cookie that a response sets (RFC 6265bis sections 5.6 and 5.7); `nil` if it must be ignored.
    ///
    /// A cookie without a name is ignored as well, which the RFC allows.
    ///
    /// - Parameters:
    ///   - field: The value of one Set-Cookie field.
    ///   - url: The URL of the request that the response belongs to.
    ///   - now: The time at which the response arrived.
    init?(setCookie field: String, from url: CookieURL, now: Date) {
        // Compares bytes, because a combining character after a delimiter would form a different character with it.
        guard !field.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return nil }
        var parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        guard let first = parts.popFirst(), first.contains(UInt8(ascii: "=")) else { return nil }
        let (name, value) = Self.pair(first)
        guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.maximumPairLength else { return nil }
        let attributes = Attributes(parts.map(Self.pair), now: now)

        if attributes.domain.isEmpty
            || attributes.domain == url.host && (url.isAddress || CookieURL.isSharedSuffix(url.host))
        {
            domain = url.host
            isHostOnly = true
        } else {
            guard url.isWithin(domain: attributes.domain), !CookieURL.isSharedSuffix(attributes.domain) else {
                return nil
            }
            domain = attributes.domain
            isHostOnly = false
        }
        guard !attributes.isSecure || url.isSecure else { return nil }
        let prefix = name.lowercased()
        let isForThisHost = isHostOnly && attributes.path == "/"
        guard attributes.isSecure || !prefix.hasPrefix("__secure-") && !attributes.isForOtherSites,
            !prefix.hasPrefix("__host-") || attributes.isSecure && isForThisHost
        else { return nil }
        self.name = name
        self.value = value
        path = attributes.path ?? url.defaultPath
        expires = attributes.expires
        isSecure = attributes.isSecure
        isHTTPOnly = attributes.isHTTPOnly
        created = now
    }

    /// Splits at the first equals sign; without one, the whole part is the name.
    private static func pair(_ part: Substring.UTF8View) -> (name: String, value: String) {
        let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
        return (String(Substring(part[..<equals].trimmed)), String(Substring(part[equals...].dropFirst().trimmed)))
    }

    // MARK: Storing

    /// Returns whether storing the cookie would replace or shadow one that is for https only (RFC 6265bis section 5.7).
    ///
    /// A response over plain http can be forged by the network that transports it, so it must not do that.
    ///
    /// - Parameters:
    ///   - stored: The cookies that are stored, of any domain.
    ///   - url: The URL that sets this cookie.
    ///   - now: The time at which it is set.
    /// - Returns: Whether the cookie must not be stored.
    func shadowsSecureCookie(among stored: some Sequence<Cookie>, from url: CookieURL, now: Date) -> Bool {
        !isSecure && !url.isSecure
            && stored.contains { other in
                other.isSecure && !other.isExpired(at: now) && other.name == name
                    && (CookieURL.host(other.domain, isWithin: domain)
                        || CookieURL.host(domain, isWithin: other.domain))
                    && CookieURL.path(path, isWithin: other.path)
            }
    }

    /// Returns whether the cookie is removed before another when a host has too many.
    ///
    /// Expired cookies are removed first, then cookies without `Secure`, then the oldest.
    func isEvicted(before other: Cookie, at now: Date) -> Bool {
        let (isExpired, isOtherExpired) = (isExpired(at: now), other.isExpired(at: now))
        if isExpired != isOtherExpired { return isExpired }
        if isSecure != other.isSecure { return !isSecure }
        return created < other.created
    }

    func isExpired(at now: Date) -> Bool {
        expires.map { $0 <= now } ?? false
    }

    // MARK: Sending

    /// Returns whether a request sends the cookie (RFC 6265bis section 5.8.3).
    ///
    /// The rules for domains also hold for cookies that other code has stored, such as one of the domain `com`.
    func isSent(to url: CookieURL, at now: Date) -> Bool {
        let isOfHost = url.host == domain
        return (isOfHost || !isHostOnly && url.isWithin(domain: domain) && !CookieURL.isSharedSuffix(domain))
            && CookieURL.path(url.path, isWithin: path) && (!isSecure || url.isSecure) && !isExpired(at: now)
            && [name, value]
                .allSatisfy { $0.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F && $0 != 0x3B } }
    }

    /// Returns the Cookie field of the given cookies: long paths first, then the oldest.
    static func field(of cookies: [Cookie]) -> String {
        cookies.sorted { first, second in
            let (length, otherLength) = (first.path.utf8.count, second.path.utf8.count)
            if length != otherLength { return length > otherLength }
            return first.created == second.created ? first.name < second.name : first.created < second.created
        }
        .map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" }
        .joined(separator: "; ")
    }
}

extension Cookie {
    /// The attributes of a Set-Cookie field; if one is repeated, the last one counts (RFC 6265bis section 5.6).
    private struct Attributes {
        private(set) var domain = ""
        /// The path; `nil` if the field has no absolute one.
        private(set) var path: String?
        /// The expiry date; `Max-Age` takes precedence over `Expires`, in any order.
        let expires: Date?
        private(set) var isSecure = false
        private(set) var isHTTPOnly = false
        /// `SameSite=None`, which is for cookies with `Secure` only.
        private(set) var isForOtherSites = false

        init(_ attributes: [(name: String, value: String)], now: Date) {
            var date: Date?
            var endOfAge: Date?
            for (name, value) in attributes where value.utf8.count <= Cookie.maximumAttributeLength {
                switch name.lowercased() {
                case "domain":
                    domain = (value.utf8.first == UInt8(ascii: ".") ? String(value.dropFirst()) : value).lowercased()
                case "path": path = value.utf8.first == UInt8(ascii: "/") ? value : nil
                case "expires": date = Date(cookieDate: value) ?? date
                case "max-age": endOfAge = Self.end(ofAge: value, from: now) ?? endOfAge
                case "secure": isSecure = true
                case "httponly": isHTTPOnly = true
                case "samesite": isForOtherSites = value.lowercased() == "none"
                default: break
                }
            }
            let latest = now.addingTimeInterval(TimeInterval(Cookie.maximumAge))
            expires = (endOfAge ?? date).map { min($0, latest) }
        }

        /// Returns the end of a cookie with an age; the epoch if it ends at once, `nil` if the age is not a number.
        private static func end(ofAge text: String, from now: Date) -> Date? {
            let isNegative = text.utf8.first == UInt8(ascii: "-")
            let digits = text.utf8.dropFirst(isNegative ? 1 : 0)
            guard let age = DecimalDigits.number(digits, limit: Int64(Cookie.maximumAge)) else { return nil }
            guard age > 0, !isNegative else { return Date(timeIntervalSince1970: 0) }
            return now.addingTimeInterval(TimeInterval(age))
        }
    }
}
