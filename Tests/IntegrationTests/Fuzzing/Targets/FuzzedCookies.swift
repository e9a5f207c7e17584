import Foundation

@testable import NetworkingCookies
@testable import NetworkingCore

extension FuzzTarget {
    /// Cookies.
    static let cookies = [
        FuzzTarget("cookies", of: "NetworkingCookies/Cookie+SetCookie.swift", "NetworkingCookies/Cookie.swift") {
            bytes in
            let now = Date(timeIntervalSince1970: 1_800_000_000)
            let url = CookieURL(scheme: "https", host: "shop.example.org", path: "/cart/items")
            let text = bytes.text
            let first = text.utf8.prefix { $0 != UInt8(ascii: ";") }
            guard let cookie = try? Cookie(setCookie: text, from: url, now: now) else { return }
            // The name, the value and the domain, found in another way.
            let pair = first.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(Substring($0).trimmed) }
            try requireEqual([cookie.name, cookie.value], pair, "another name or value")
            try require(Cookie.isSendable(cookie.name) && Cookie.isSendable(cookie.value), "the cookie cannot be sent")
            try require(
                cookie.name.utf8.count + cookie.value.utf8.count <= Cookie.maximumPairLength,
                "the cookie is too long"
            )
            try require(["example.org", "shop.example.org"].contains(cookie.domain), "the domain is \(cookie.domain)")
            try require(cookie.expires.map { $0 <= now + TimeInterval(Cookie.maximumAge) } ?? true, "it lasts too long")
            try require(!cookie.name.lowercased().hasPrefix("__secure-") || cookie.isSecure, "the prefix is not obeyed")
            // A cookie with the same properties is the same cookie.
            let field =
                "\(cookie.name)=\(cookie.value); path=\(cookie.path)"
                + (cookie.isHostOnly ? "" : "; domain=\(cookie.domain)") + (cookie.isSecure ? "; secure" : "")
                + (cookie.isHTTPOnly ? "; httponly" : "")
                + (cookie.sameSite == .unspecified ? "" : "; samesite=\(cookie.sameSite.rawValue)")
            guard let again = try? Cookie(setCookie: field, from: url, now: now) else {
                throw FuzzFailure(description: "the written cookie is refused: \(field)")
            }
            try requireEqual(
                [again.name, again.value, again.domain, again.path, again.sameSite.rawValue],
                [cookie.name, cookie.value, cookie.domain, cookie.path, cookie.sameSite.rawValue],
                "the cookie changes"
            )
        },
        FuzzTarget("cookie-dates", of: "NetworkingCookies/CookieDate.swift") { bytes in
            guard let date = Date(cookieDate: bytes.text) else { return }
            try require(date.timeIntervalSince1970 >= -11_644_473_600, "the date is before 1601")
            try requireEqual(Date(cookieDate: date.httpDate), date, "the date changes in HTTP's format")
        },
    ]
}
