package import FoundationForNetworking
import NetworkingCore

extension Cookie {
    /// Parses a cookie that a response sets (RFC 6265bis sections 5.6 and 5.7).
    ///
    /// A cookie without a name is rejected as well, which the RFC allows.
    ///
    /// - Parameters:
    ///   - field: The value of one Set-Cookie field.
    ///   - url: The URL of the request that the response belongs to.
    ///   - now: The time at which the response arrived.
    ///   - suffixes: The domains for which no cookie may be set.
    /// - Throws: The reason why the cookie must be ignored.
    package init(
        setCookie field: String,
        from url: CookieURL,
        now: Date,
        suffixes: PublicSuffixes = .standard
    ) throws(CookieRejection) {
        // Compares bytes, because a combining character after a delimiter would form a different character with it.
        guard !field.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { throw .malformed }
        var parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        guard let first = parts.popFirst(), first.contains(UInt8(ascii: "=")) else { throw .malformed }
        let (name, value) = Self.pair(first)
        guard !name.isEmpty else { throw .malformed }
        guard name.utf8.count + value.utf8.count <= Self.maximumPairLength else { throw .tooLong }
        let attributes = SetCookieAttributes(parts.map(Self.pair), now: now)

        let isOfHost =
            attributes.domain.isEmpty
            || attributes.domain == url.host && (url.isAddress || suffixes.contains(url.host))
        if !isOfHost {
            guard url.isWithin(domain: attributes.domain) else { throw .otherDomain }
            guard !suffixes.contains(attributes.domain) else { throw .publicSuffix }
        }
        guard !attributes.isSecure || url.isSecure else { throw .notSecure }
        guard attributes.isSecure || attributes.sameSite != .none else { throw .sameSite }
        let path = attributes.path ?? url.defaultPath
        guard path.utf8.count <= Self.maximumAttributeLength else { throw .tooLong }
        self.init(
            name: name,
            value: value,
            domain: isOfHost ? url.host : attributes.domain,
            isHostOnly: isOfHost,
            path: path,
            expires: attributes.expires,
            isSecure: attributes.isSecure,
            isHTTPOnly: attributes.isHTTPOnly,
            sameSite: attributes.sameSite,
            created: now
        )
        try checkPrefix(hasRootPath: attributes.path == "/")
    }

    /// Splits at the first equals sign; without one, the whole part is the name.
    private static func pair(_ part: Substring.UTF8View) -> (name: String, value: String) {
        let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
        return (String(Substring(part[..<equals].trimmed)), String(Substring(part[equals...].dropFirst().trimmed)))
    }
}

/// The attributes of a Set-Cookie field; if one is repeated, the last one counts (RFC 6265bis section 5.6).
private struct SetCookieAttributes {
    private(set) var domain = ""
    /// The path; `nil` if the field has no absolute one.
    private(set) var path: String?
    /// The expiry date; `Max-Age` takes precedence over `Expires`, in any order.
    let expires: Date?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite = Cookie.SameSite.unspecified

    init(_ attributes: [(name: String, value: String)], now: Date) {
        var date: Date?
        var endOfAge: Date?
        for (name, value) in attributes where value.utf8.count <= Cookie.maximumAttributeLength {
            switch name.lowercased() {
            case "domain": domain = Cookie.normalized(value)
            case "path": path = value.utf8.first == UInt8(ascii: "/") ? value : nil
            case "expires": date = Date(cookieDate: value) ?? date
            case "max-age": endOfAge = Self.end(ofAge: value, from: now) ?? endOfAge
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            case "samesite": sameSite = Self.sameSite(value)
            default: break
            }
        }
        let latest = now.addingTimeInterval(TimeInterval(Cookie.maximumAge))
        expires = (endOfAge ?? date).map { min($0, latest) }
    }

    private static func sameSite(_ text: String) -> Cookie.SameSite {
        switch text.lowercased() {
        case "strict": .strict
        case "lax": .lax
        case "none": .none
        default: .unspecified
        }
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
