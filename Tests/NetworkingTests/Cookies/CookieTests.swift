import Foundation
import Networking
import TestSupport
import Testing

@testable import NetworkingCookies

/// The rules of RFC 6265bis, as tables.
struct CookieTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    // MARK: Reading Set-Cookie

    /// A Set-Cookie field and the cookie it creates, as `name=value @domain/path`; a dot before the domain includes
    /// subdomains.
    struct Reading: CustomTestStringConvertible, Sendable {
        let url: String
        let field: String
        let stored: String?

        init(_ url: String, _ field: String, _ stored: String?) {
            self.url = url
            self.field = field
            self.stored = stored
        }

        var testDescription: String {
            "\(field) from \(url)"
        }
    }

    @Test(arguments: [
        // Name and value
        Reading("https://a.example.org/", "a=1", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "  a \t=\t 1 2 ", "a=1 2 @a.example.org/"),
        Reading("https://a.example.org/", "a=", "a= @a.example.org/"),
        Reading("https://a.example.org/", "a=b=c", "a=b=c @a.example.org/"),
        Reading("https://a.example.org/", "a=\"1\"", "a=\"1\" @a.example.org/"),
        Reading("https://a.example.org/", "a=1;;; ;=x; =", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "a=1; Unknown=x; Priority", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "a=1;\u{301} Secure", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "", nil),
        Reading("https://a.example.org/", "a", nil),
        Reading("https://a.example.org/", "a; b=1", nil),
        Reading("https://a.example.org/", "=1", nil),
        Reading("https://a.example.org/", "; a=1", nil),
        Reading("https://a.example.org/", "a=\u{1}", nil),
        Reading("https://a.example.org/", "a=1; Path=/\u{7F}", nil),
        // Secure and HttpOnly
        Reading("https://a.example.org/", "a=1; SECURE; httponly", "a=1 @a.example.org/ secure httponly"),
        Reading("https://a.example.org/", "a=1; Secure=false", "a=1 @a.example.org/ secure"),
        Reading("http://a.example.org/", "a=1; Secure", nil),
        Reading("http://localhost/", "a=1; Secure", nil),
        Reading("http://127.0.0.1/", "a=1; Secure", nil),
        Reading("http://a.example.org/", "a=1", "a=1 @a.example.org/"),
        // Prefixes, in any case
        Reading("https://a.example.org/", "__Secure-a=1; Secure", "__Secure-a=1 @a.example.org/ secure"),
        Reading("https://a.example.org/", "__Secure-a=1", nil),
        Reading("https://a.example.org/", "__SeCuRe-a=1", nil),
        Reading("https://a.example.org/x/y", "__Host-a=1; Secure; Path=/", "__Host-a=1 @a.example.org/ secure"),
        Reading("https://a.example.org/", "__Host-a=1; Secure", nil),
        Reading("https://a.example.org/", "__Host-a=1; Path=/", nil),
        Reading("https://a.example.org/", "__Host-a=1; Secure; Path=/x", nil),
        Reading("https://a.example.org/", "__host-a=1; Secure; Path=/; Domain=example.org", nil),
        Reading("https://a.example.org/", "__host-a=1; Secure; Path=/; Domain=", "__host-a=1 @a.example.org/ secure"),
        // SameSite: "None" requires Secure. Other values have no such condition.
        Reading("https://a.example.org/", "a=1; SameSite=None", nil),
        Reading("https://a.example.org/", "a=1; SameSite=none; Secure", "a=1 @a.example.org/ secure"),
        Reading("https://a.example.org/", "a=1; SameSite=Strict", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "a=1; SameSite=None; SameSite=Lax", "a=1 @a.example.org/"),
        // Domain
        Reading("https://a.example.org/", "a=1; Domain=example.org", "a=1 @.example.org/"),
        Reading("https://a.example.org/", "a=1; domain=.EXAMPLE.org", "a=1 @.example.org/"),
        Reading("https://A.Example.org/", "a=1; Domain=a.example.org", "a=1 @.a.example.org/"),
        Reading("https://a.example.org/", "a=1; Domain=", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "a=1; Domain=.", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "a=1; Domain=other.org; Domain=example.org", "a=1 @.example.org/"),
        Reading("https://a.example.org/", "a=1; Domain=example.org; Domain=", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "a=1; Domain=example.org; Domain=other.org", nil),
        Reading("https://a.example.org/", "a=1; Domain=b.a.example.org", nil),
        Reading("https://a.example.org/", "a=1; Domain=b.example.org", nil),
        Reading("https://a.example.org/", "a=1; Domain=ample.org", nil),
        Reading("https://a.example.org/", "a=1; Domain=..example.org", nil),
        Reading("https://a.example.org/", "a=1; Domain=example.org.", nil),
        Reading("https://a.example.org/", "a=1; Domain=https://example.org", nil),
        Reading("https://a.example.org/", "a=1; Domain=example.org:443", nil),
        // Public suffixes
        Reading("https://a.example.org/", "a=1; Domain=org", nil),
        Reading("https://a.example.org/", "a=1; Domain=.org", nil),
        Reading("https://a.example.org./", "a=1; Domain=org.", nil),
        Reading("https://a.localhost/", "a=1; Domain=localhost", nil),
        Reading("http://localhost/", "a=1; Domain=localhost", "a=1 @localhost/"),
        Reading("https://shop.co.uk/", "a=1; Domain=co.uk", nil),
        Reading("https://co.uk/", "a=1; Domain=co.uk", "a=1 @co.uk/"),
        Reading("https://www.shop.co.uk/", "a=1; Domain=shop.co.uk", "a=1 @.shop.co.uk/"),
        Reading("https://www.co.example/", "a=1; Domain=co.example", "a=1 @.co.example/"),
        // IP addresses have no subdomains.
        Reading("http://127.0.0.1/", "a=1", "a=1 @127.0.0.1/"),
        Reading("http://127.0.0.1/", "a=1; Domain=127.0.0.1", "a=1 @127.0.0.1/"),
        Reading("http://127.0.0.1/", "a=1; Domain=.0.0.1", nil),
        Reading("http://127.0.0.1/", "a=1; Domain=1", nil),
        Reading("http://[::1]/", "a=1; Domain=::1", "a=1 @::1/"),
        Reading("http://[::1]/", "a=1", "a=1 @::1/"),
        Reading("http://0x7f.0.0.0x1/", "a=1; Domain=0.0.0x1", nil),
        // Path
        Reading("https://a.example.org/x/y", "a=1", "a=1 @a.example.org/x"),
        Reading("https://a.example.org/x/", "a=1", "a=1 @a.example.org/x"),
        Reading("https://a.example.org/x?y=/z/", "a=1", "a=1 @a.example.org/"),
        Reading("https://a.example.org", "a=1", "a=1 @a.example.org/"),
        Reading("https://a.example.org/x/y", "a=1; Path=/", "a=1 @a.example.org/"),
        Reading("https://a.example.org/x/y", "a=1; Path=/z", "a=1 @a.example.org/z"),
        Reading("https://a.example.org/x/y", "a=1; Path=z", "a=1 @a.example.org/x"),
        Reading("https://a.example.org/x/y", "a=1; Path=", "a=1 @a.example.org/x"),
        Reading("https://a.example.org/x/y", "a=1; Path=/z; Path=q", "a=1 @a.example.org/x"),
        Reading("https://a.example.org/%C3%A4/y", "a=1", "a=1 @a.example.org/%C3%A4"),
        // Lifetime in seconds
        Reading("https://a.example.org/", "a=1; Max-Age=60", "a=1 @a.example.org/ +60"),
        Reading("https://a.example.org/", "a=1; Max-Age=0", "a=1 @a.example.org/ expired"),
        Reading("https://a.example.org/", "a=1; Max-Age=-1", "a=1 @a.example.org/ expired"),
        Reading("https://a.example.org/", "a=1; Max-Age=99999999999999999999999", "a=1 @a.example.org/ +34560000"),
        Reading("https://a.example.org/", "a=1; Max-Age=1e3", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "a=1; Max-Age=+60", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "a=1; Max-Age=-", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "a=1; Max-Age=60; Max-Age=70; Max-Age=x", "a=1 @a.example.org/ +70"),
        Reading(
            "https://a.example.org/",
            "a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "a=1 @a.example.org/ +60"
        ),
        Reading("https://a.example.org/", "a=1; Expires=Fri, 15 Jan 2027 08:01:00 GMT", "a=1 @a.example.org/ +60"),
        Reading(
            "https://a.example.org/",
            "a=1; Expires=Fri, 15 Jan 2227 08:01:00 GMT",
            "a=1 @a.example.org/ +34560000"
        ),
        Reading("https://a.example.org/", "a=1; Expires=soon", "a=1 @a.example.org/"),
        Reading("https://a.example.org/", "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a=1 @a.example.org/ expired"),
    ])
    func readsSetCookie(_ row: Reading) throws {
        let url = try #require(URL(string: row.url).flatMap { CookieURL($0) })
        let cookie = try? Cookie(setCookie: row.field, from: url, now: Self.now)
        #expect(cookie.map(Self.summary) == row.stored)
    }

    private static func summary(of cookie: Cookie) -> String {
        var text = "\(cookie.name)=\(cookie.value) @\(cookie.isHostOnly ? "" : ".")\(cookie.domain)\(cookie.path)"
        if cookie.isSecure { text += " secure" }
        if cookie.isHTTPOnly { text += " httponly" }
        if cookie.isExpired(at: now) {
            text += " expired"
        } else if let expires = cookie.expires {
            text += " +\(Int(expires.timeIntervalSince(now)))"
        }
        return text
    }

    @Test func ignoresCookiesThatAreTooLong() throws {
        let url = CookieURL(scheme: "https", host: "a.example.org", path: "/")
        let longest = String(repeating: "x", count: Cookie.maximumPairLength - 1)
        #expect((try? Cookie(setCookie: "a=\(longest)", from: url, now: Self.now)) != nil)
        #expect(throws: CookieRejection.tooLong) {
            try Cookie(setCookie: "ab=\(longest)", from: url, now: Self.now)
        }
        let path = String(repeating: "x", count: Cookie.maximumAttributeLength)
        #expect(try Cookie(setCookie: "a=1; Path=/\(path)", from: url, now: Self.now).path == "/")
    }

    // MARK: Sending

    /// A stored cookie, a request, and whether the request sends the cookie.
    struct Sending: CustomTestStringConvertible, Sendable {
        let domain: String
        let path: String
        let isSecure: Bool
        let url: String
        let isSent: Bool

        init(_ domain: String, _ path: String = "/", secure: Bool = false, to url: String, _ isSent: Bool) {
            self.domain = domain
            self.path = path
            isSecure = secure
            self.url = url
            self.isSent = isSent
        }

        var testDescription: String {
            "\(domain)\(path)\(isSecure ? " secure" : "") to \(url)"
        }
    }

    @Test(arguments: [
        // Host-only cookies
        Sending("example.org", to: "https://example.org/", true),
        Sending("example.org", to: "https://EXAMPLE.ORG/", true),
        Sending("example.org", to: "https://a.example.org/", false),
        Sending("example.org", to: "https://example.com/", false),
        // Cookies of a domain
        Sending(".example.org", to: "https://example.org/", true),
        Sending(".example.org", to: "https://a.b.example.org/", true),
        Sending(".example.org", to: "https://an-example.org/", false),
        Sending(".example.org", to: "https://example.org.evil.com/", false),
        Sending(".example.org", to: "https://example.org./", false),
        Sending(".org", to: "https://example.org/", false),
        Sending(".co.uk", to: "https://shop.co.uk/", false),
        Sending(".localhost", to: "http://localhost/", true),
        Sending(".localhost", to: "http://a.localhost/", false),
        Sending(".", to: "https://example.org/", false),
        Sending(".org.", to: "https://example.org./", false),
        // IP addresses
        Sending("127.0.0.1", to: "http://127.0.0.1/", true),
        Sending(".127.0.0.1", to: "http://127.0.0.1/", true),
        Sending(".0.0.1", to: "http://127.0.0.1/", false),
        Sending("::1", to: "http://[::1]:8080/", true),
        // The port does not matter.
        Sending("example.org", to: "https://example.org:8443/", true),
        // Paths
        Sending("example.org", "/a", to: "https://example.org/a", true),
        Sending("example.org", "/a", to: "https://example.org/a/b", true),
        Sending("example.org", "/a/", to: "https://example.org/a/b", true),
        Sending("example.org", "/a/", to: "https://example.org/a", false),
        Sending("example.org", "/a", to: "https://example.org/ab", false),
        Sending("example.org", "/a", to: "https://example.org/", false),
        Sending("example.org", "/a", to: "https://example.org/A", false),
        Sending("example.org", "/a", to: "https://example.org/b?x=/a", false),
        Sending("example.org", "/", to: "https://example.org", true),
        // Secure
        Sending("example.org", secure: true, to: "https://example.org/", true),
        Sending("example.org", secure: true, to: "http://example.org/", false),
        Sending("localhost", secure: true, to: "http://localhost/", false),
        Sending("127.0.0.1", secure: true, to: "http://127.0.0.1/", false),
        Sending("example.org", to: "http://example.org/", true),
    ])
    func sendsACookieToMatchingURLs(_ row: Sending) throws {
        let url = try #require(URL(string: row.url).flatMap { CookieURL($0) })
        let isHostOnly = !row.domain.hasPrefix(".")
        let cookie = Cookie(
            name: "a",
            value: "1",
            domain: isHostOnly ? row.domain : String(row.domain.dropFirst()),
            isHostOnly: isHostOnly,
            path: row.path,
            isSecure: row.isSecure,
            created: Self.now
        )
        #expect(cookie.isSent(to: url, at: Self.now) == row.isSent)
    }

    @Test(arguments: [(-1, false), (0, false), (1, true)])
    func sendsNoExpiredCookie(seconds: TimeInterval, isSent: Bool) {
        let url = CookieURL(scheme: "https", host: "example.org", path: "/")
        let cookie = Self.cookie("a", expires: Self.now.addingTimeInterval(seconds))
        #expect(cookie.isSent(to: url, at: Self.now) == isSent)
    }

    @Test(arguments: ["1\r\nX-Injected: 1", "1\n", "1\0", "1; b=2"])
    func sendsNoCookieWithInvalidCharacters(value: String) {
        let url = CookieURL(scheme: "https", host: "example.org", path: "/")
        #expect(!Self.cookie("a", value: value).isSent(to: url, at: Self.now))
    }

    @Test func sendsLongPathsFirstThenOldCookies() {
        let later = Self.now.addingTimeInterval(1)
        let cookies = [
            Self.cookie("new", created: later), Self.cookie("old"), Self.cookie("long", path: "/a/b", created: later),
            Self.cookie("middle", path: "/a"), Self.cookie("another"),
        ]
        #expect(Cookie.field(of: cookies) == "long=1; middle=1; another=1; old=1; new=1")
    }

    // MARK: Storing

    /// A stored cookie, a Set-Cookie field, and whether the field is refused because it would shadow the cookie.
    struct Shadowing: CustomTestStringConvertible, Sendable {
        let stored: String
        let field: String
        let url: String
        let isRefused: Bool

        init(_ stored: String, _ field: String, from url: String = "http://a.example.org/", _ isRefused: Bool) {
            self.stored = stored
            self.field = field
            self.url = url
            self.isRefused = isRefused
        }

        var testDescription: String {
            "\(field) from \(url) over \(stored)"
        }
    }

    @Test(arguments: [
        Shadowing("a=1; Secure", "a=2", true),
        Shadowing("a=1; Secure", "a=2; Path=/x", true),
        Shadowing("a=1; Secure; Domain=example.org", "a=2", true),
        Shadowing("a=1; Secure", "a=2; Domain=example.org", true),
        Shadowing("a=1; Secure", "a=; Max-Age=0", true),
        Shadowing("a=1; Secure", "b=2", false),
        Shadowing("a=1; Secure; Path=/x", "a=2", false),
        Shadowing("a=1; Secure; Path=/x", "a=2; Path=/x/y", true),
        Shadowing("a=1; Secure", "a=2", from: "http://b.example.org/", false),
        Shadowing("a=1; Secure", "a=2", from: "https://a.example.org/", false),
        Shadowing("a=1", "a=2", false),
        Shadowing("a=1; Secure; Max-Age=0", "a=2", false),
    ])
    func plainHTTPShadowsNoSecureCookie(_ row: Shadowing) throws {
        let origin = CookieURL(scheme: "https", host: "a.example.org", path: "/")
        let stored = try Cookie(setCookie: row.stored, from: origin, now: Self.now)
        let url = try #require(URL(string: row.url).flatMap { CookieURL($0) })
        let cookie = try Cookie(setCookie: row.field, from: url, now: Self.now)
        #expect(cookie.shadowsSecureCookie(among: [stored], from: url, now: Self.now) == row.isRefused)
    }

    @Test func evictsExpiredThenPlainThenOldCookies() {
        let later = Self.now.addingTimeInterval(1)
        let cookies = [
            Self.cookie("secure", isSecure: true), Self.cookie("new", created: later), Self.cookie("old"),
            Self.cookie("expired", expires: Self.now, created: later),
        ]
        let ordered = cookies.sorted { $0.isEvicted(before: $1, at: Self.now) }
        #expect(ordered.map(\.name) == ["expired", "old", "new", "secure"])
    }

    private static func cookie(
        _ name: String,
        value: String = "1",
        path: String = "/",
        expires: Date? = nil,
        isSecure: Bool = false,
        created: Date = now
    ) -> Cookie {
        Cookie(
            name: name,
            value: value,
            domain: "example.org",
            isHostOnly: true,
            path: path,
            expires: expires,
            isSecure: isSecure,
            created: created
        )
    }
}
