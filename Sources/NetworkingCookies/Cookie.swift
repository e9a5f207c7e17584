public import FoundationForNetworking
import NetworkingCore

/// A cookie that a server has set (RFC 6265bis).
///
/// ```swift
/// let cookie = Cookie(name: "theme", value: "dark", domain: "example.com", isHostOnly: false, created: .now)
/// ```
///
/// Neither its description nor a dump contains the value.
public struct Cookie: Sendable, Hashable, Codable {
    /// The cross-site requests that a cookie is sent with.
    ///
    /// A request of the app is same-site. A request that follows a redirect is cross-site if an earlier URL of the call
    /// belongs to another site.
    @nonexhaustive
    public enum SameSite: String, Sendable, Hashable, Codable {
        /// No cross-site requests.
        case strict
        /// Cross-site requests with a safe method: GET, HEAD, OPTIONS and TRACE.
        case lax
        /// All cross-site requests.
        case none
        /// The server has sent no valid `SameSite` attribute. The cookie is sent as with ``lax``.
        case unspecified
    }

    /// The maximum length of a stored name and value together, in bytes.
    static let maximumPairLength = 4_096
    /// The maximum length of an attribute value, in bytes; longer values are ignored.
    static let maximumAttributeLength = 1_024
    /// The maximum time for which a cookie is stored, in seconds: 400 days.
    static let maximumAge = 400 * 86_400

    /// The name.
    public let name: String
    /// The value, which is often a secret.
    public let value: String
    /// The host or the domain that the cookie belongs to, in lower case and without a leading dot.
    public let domain: String
    /// Whether the cookie is sent only to this host, and not to its subdomains.
    public let isHostOnly: Bool
    /// The path below which the cookie is sent.
    public let path: String
    /// The date when the cookie expires; `nil` if it lasts as long as the session.
    public let expires: Date?
    /// Whether the cookie is sent only over https, or to this machine.
    public let isSecure: Bool
    /// Whether the cookie is inaccessible to scripts in a page.
    public let isHTTPOnly: Bool
    /// The cross-site requests that the cookie is sent with.
    public let sameSite: SameSite
    /// The date when the cookie was first set.
    public let created: Date

    /// Creates a cookie from its properties.
    ///
    /// ``CookieJar/set(_:for:)`` checks them.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    ///   - domain: The host or the domain. A leading dot is removed.
    ///   - isHostOnly: Whether the cookie is sent only to this host, and not to its subdomains.
    ///   - path: The path below which the cookie is sent.
    ///   - expires: The date when the cookie expires; `nil` if it lasts as long as the session.
    ///   - isSecure: Whether the cookie is sent only over https, or to this machine.
    ///   - isHTTPOnly: Whether the cookie is inaccessible to scripts in a page.
    ///   - sameSite: The cross-site requests that the cookie is sent with.
    ///   - created: The date when the cookie was set. Older cookies are sent first.
    public init(
        name: String,
        value: String,
        domain: String,
        isHostOnly: Bool = true,
        path: String = "/",
        expires: Date? = nil,
        isSecure: Bool = false,
        isHTTPOnly: Bool = false,
        sameSite: SameSite = .unspecified,
        created: Date
    ) {
        self.name = name
        self.value = value
        self.domain = Self.normalized(domain)
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.created = created
    }

    static func normalized(_ domain: String) -> String {
        // By bytes, because a combining mark after the dot would form a different character with it.
        let bytes = domain.utf8.dropFirst(domain.utf8.first == UInt8(ascii: ".") ? 1 : 0)
        return String(Substring(bytes)).lowercased()
    }

    /// The same cookie with another expiry and creation date.
    func with(expires: Date?, created: Date) -> Cookie {
        Cookie(
            name: name,
            value: value,
            domain: domain,
            isHostOnly: isHostOnly,
            path: path,
            expires: expires,
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly,
            sameSite: sameSite,
            created: created
        )
    }

    // MARK: Storing

    /// Checks a cookie that was not parsed from a response, such as one of the app or of a file.
    func check(_ suffixes: PublicSuffixes) throws(CookieRejection) {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "=")), Self.isSendable(name), Self.isSendable(value),
            [name, value].allSatisfy({ $0.trimmed.utf8.count == $0.utf8.count }),
            path.utf8.first == UInt8(ascii: "/"), Self.isSendable(path), !domain.isEmpty,
            domain.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), domain == Self.normalized(domain)
        else { throw .malformed }
        guard name.utf8.count + value.utf8.count <= Self.maximumPairLength,
            path.utf8.count <= Self.maximumAttributeLength, domain.utf8.count <= 255
        else { throw .tooLong }
        if !isHostOnly {
            guard !CookieURL.isAddress(domain) else { throw .otherDomain }
            guard !suffixes.contains(domain) else { throw .publicSuffix }
        }
        guard isSecure || sameSite != .none else { throw .sameSite }
        try checkPrefix(hasRootPath: path == "/")
    }

    /// Checks the promises of the name's prefix (RFC 6265bis section 4.1.3).
    func checkPrefix(hasRootPath: Bool) throws(CookieRejection) {
        let prefix = name.prefix(9).lowercased()
        guard isSecure || !prefix.hasPrefix("__secure-"),
            !prefix.hasPrefix("__host-") || isSecure && isHostOnly && hasRootPath
        else { throw .prefix }
    }

    /// Returns whether storing the cookie would replace or shadow one that is for https only (RFC 6265bis section 5.7).
    ///
    /// A response over plain http can be forged by the network that transports it, so it must not do that.
    ///
    /// - Parameters:
    ///   - stored: The cookies that are stored, of any domain.
    ///   - url: The URL that sets this cookie.
    ///   - now: The time at which it is set.
    /// - Returns: Whether the cookie must not be stored.
    package func shadowsSecureCookie(among stored: some Sequence<Cookie>, from url: CookieURL, now: Date) -> Bool {
        !isSecure && !url.isSecure
            && stored.contains { other in
                other.isSecure && !other.isExpired(at: now) && other.name == name
                    && (CookieURL.host(other.domain, isWithin: domain)
                        || CookieURL.host(domain, isWithin: other.domain))
                    && CookieURL.path(path, isWithin: other.path)
            }
    }

    /// Returns whether the cookie replaces another one (RFC 6265bis section 5.7).
    func replaces(_ other: Cookie) -> Bool {
        name == other.name && domain == other.domain && isHostOnly == other.isHostOnly && path == other.path
    }

    /// Returns whether the cookie is removed before another when a host has too many.
    ///
    /// Expired cookies are removed first, then cookies without `Secure`, then the oldest.
    package func isEvicted(before other: Cookie, at now: Date) -> Bool {
        let (isExpired, isOtherExpired) = (isExpired(at: now), other.isExpired(at: now))
        if isExpired != isOtherExpired { return isExpired }
        if isSecure != other.isSecure { return !isSecure }
        return created < other.created
    }

    package func isExpired(at now: Date) -> Bool {
        expires.map { $0 <= now } ?? false
    }

    // MARK: Sending

    /// Returns whether a request sends the cookie (RFC 6265bis section 5.8.3), with the domain rules of the standard
    /// list of public suffixes.
    ///
    /// The rules for domains also hold for cookies that other code has stored, such as one of the domain `com`.
    package func isSent(to url: CookieURL, at now: Date) -> Bool {
        matches(url, at: now) && (url.host == domain || !PublicSuffixes.standard.contains(domain))
            && Self.isSendable(name) && Self.isSendable(value)
    }

    /// Returns whether a cookie that was checked before belongs to a URL.
    func matches(_ url: CookieURL, at now: Date) -> Bool {
        (isHostOnly ? url.host == domain : url.isWithin(domain: domain)) && CookieURL.path(url.path, isWithin: path)
            && (!isSecure || url.isSecure) && !isExpired(at: now)
    }

    /// Whether a text has no character that would end its part of a `Cookie` field, or the field.
    static func isSendable(_ text: String) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F && $0 != 0x3B }
    }

    /// Returns the Cookie field of the given cookies: long paths first, then the oldest.
    package static func field(of cookies: [Cookie]) -> String {
        field(
            inOrder: cookies.sorted { first, second in
                let (length, otherLength) = (first.path.utf8.count, second.path.utf8.count)
                if length != otherLength { return length > otherLength }
                return first.created == second.created ? first.name < second.name : first.created < second.created
            }
        )
    }

    static func field(inOrder cookies: [Cookie]) -> String {
        cookies.map { $0.name.isEmpty ? $0.value : "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// The name, the domain and the path, without the value.
    public var description: String {
        let place = PrintableText.singleLine("\(isHostOnly ? "" : ".")\(domain)\(path)")
        return "\(PrintableText.singleLine(name))=<redacted> of \(place)"
    }

    /// The contents of a dump, without the value.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description])
    }
}
