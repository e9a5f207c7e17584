import Foundation
import Networking
import TestSupport
import Testing

@testable import NetworkingCookies

/// The rules of RFC 6265bis and of sites, each as a table.
struct CookieRuleTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    // MARK: Reasons

    @Test(
        arguments: [
            ("", .malformed), ("a", .malformed), ("=", .malformed), ("=1", .malformed), (";", .malformed),
            (" \t=1", .malformed), ("Secure", .malformed), ("a=1\r\nX: 1", .malformed), ("a=1\0", .malformed),
            ("a=1; Path=/\u{1}", .malformed), ("a\u{7F}=1", .malformed),
            ("a=1; Domain=other.org", .otherDomain), ("a=1; Domain=b.shop.example.org", .otherDomain),
            ("a=1; Domain=hop.example.org", .otherDomain), ("a=1; Domain=127.0.0.1", .otherDomain),
            ("a=1; Domain=[::1]", .otherDomain), ("a=1; Domain=*.example.org", .otherDomain),
            ("a=1; Domain=example.org/", .otherDomain), ("a=1; Domain=exämple.org", .otherDomain),
            ("a=1; Domain=example.org; Domain=example.com", .otherDomain), ("a=1; Domain=example.org.", .otherDomain),
            ("a=1; Domain=.\u{301}example.org", .otherDomain),
            ("a=1; Domain=org", .publicSuffix), ("a=1; Domain=.ORG", .publicSuffix),
            ("a=1; SameSite=None", .sameSite), ("a=1; samesite=NONE", .sameSite),
            ("a=1; SameSite=Lax; SameSite=None", .sameSite),
            ("__Secure-a=1", .prefix), ("__SECURE-a=1", .prefix), ("__Host-a=1", .prefix),
            ("__Host-a=1; Secure", .prefix), ("__Host-a=1; Secure; Path=/shop", .prefix),
            ("__Host-a=1; Secure; Path=/; Domain=shop.example.org", .prefix),
            ("__hOsT-a=1; Secure; Path=/; Domain=example.org", .prefix), ("__Host-a=1; Path=/", .prefix),
            ("__Host-=1", .prefix), ("__Secure-=1", .prefix),
        ] as [(String, CookieRejection)]
    )
    func rejectsACookieForItsReason(field: String, reason: CookieRejection) {
        let url = CookieURL(scheme: "https", host: "shop.example.org", path: "/cart/items")
        #expect(throws: reason) { try Cookie(setCookie: field, from: url, now: Self.now) }
    }

    @Test(arguments: ["a=1; Secure", "__Secure-a=1; Secure", "__Host-a=1; Secure; Path=/"])
    func rejectsSecureCookiesOverPlainHTTP(field: String) throws {
        let url = CookieURL(scheme: "http", host: "shop.example.org", path: "/")
        #expect(throws: CookieRejection.notSecure) { try Cookie(setCookie: field, from: url, now: Self.now) }
        let loopback = CookieURL(scheme: "http", host: "localhost", path: "/", isLoopback: true)
        #expect(try Cookie(setCookie: field, from: loopback, now: Self.now).isSecure)
    }

    @Test(
        arguments: [
            ("; Path=/", "x", 1_024, "/cart"), ("; Domain=", "x", 1_025, "/cart"),
            ("; Unknown=", "x", 100_000, "/cart"),
            ("", ";", 100_000, "/cart"), ("", "; Path=/x", 10_000, "/x"),
        ] as [(String, String, Int, String)]
    )
    func ignoresLongAttributes(start: String, unit: String, count: Int, path: String) throws {
        let url = CookieURL(scheme: "https", host: "shop.example.org", path: "/cart/items")
        let field = "a=1" + start + String(repeating: unit, count: count)
        #expect(try Cookie(setCookie: field, from: url, now: Self.now).path == path)
    }

    @Test func keepsTheLongestPath() throws {
        let url = CookieURL(scheme: "https", host: "shop.example.org", path: "/cart/items")
        let path = "/" + String(repeating: "x", count: 1_023)
        #expect(try Cookie(setCookie: "a=1; Path=\(path)", from: url, now: Self.now).path == path)
    }

    @Test func rejectsADefaultPathThatIsTooLong() {
        let url = CookieURL(
            scheme: "https",
            host: "example.org",
            path: "/" + String(repeating: "x", count: 2_000) + "/y"
        )
        #expect(throws: CookieRejection.tooLong) { try Cookie(setCookie: "a=1", from: url, now: Self.now) }
    }

    // MARK: SameSite

    @Test(
        arguments: [
            ("SameSite=Strict", .strict), ("samesite=STRICT", .strict), ("SameSite = Strict ", .strict),
            ("SameSite=Lax", .lax), ("SameSite=None", .none), ("SameSite", .unspecified), ("SameSite=", .unspecified),
            ("SameSite=Sometimes", .unspecified), ("SameSite=Strict; SameSite=Lax", .lax),
            ("SameSite=Strict; SameSite=x", .unspecified), ("", .unspecified), ("SameSite=\"Lax\"", .unspecified),
        ] as [(String, Cookie.SameSite)]
    )
    func readsSameSite(attribute: String, expected: Cookie.SameSite) throws {
        let url = CookieURL(scheme: "https", host: "example.org", path: "/")
        #expect(try Cookie(setCookie: "a=1; Secure; \(attribute)", from: url, now: Self.now).sameSite == expected)
    }

    // MARK: Matching

    @Test(arguments: [
        ("example.org", "example.org", true), ("a.example.org", "example.org", true),
        ("a.b.example.org", "example.org", true), ("example.org", "a.example.org", false),
        ("example.com", "example.org", false), ("myexample.org", "example.org", false),
        ("example.org", "", false), ("", "", true), ("example.org", "org", true), ("example.org", ".org", false),
        ("example.org", "xample.org", false), ("example.org.", "example.org", false),
        ("a.example.org", "example.org.", false), ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "0.0.1", false),
        ("1.2.3.4", "4", false), ("a.1", "1", false), ("0x7f.1", "1", false), ("a.0xff", "0xff", false),
        ("::1", "::1", true), ("fe80::a.b", "b", false), ("a.\u{301}b.org", "\u{301}b.org", true),
        ("evil.com%00.example.com", "example.com", false), ("evil.com%2f.example.com", "example.com", false),
        ("xn--mnchen-3ya.de", "de", true), ("a..org", "org", true), (".org", "org", true),
    ])
    func matchesDomains(host: String, domain: String, isWithin: Bool) {
        #expect(CookieURL.host(host, isWithin: domain) == isWithin)
    }

    @Test(arguments: [
        ("/", "/", true), ("", "/", true), ("/a", "/", true), ("/a", "/a", true), ("/a/", "/a", true),
        ("/a/b", "/a", true), ("/a/b", "/a/", true), ("/ab", "/a", false), ("/a", "/a/", false), ("/", "/a", false),
        ("/A", "/a", false), ("/a%2Fb", "/a", false), ("/a/b/c", "/a/b", true), ("/a/bc", "/a/b", false),
        ("//a", "/", true), ("/a//b", "/a/", true), ("/a;x", "/a", false), ("/a.b", "/a", false),
        ("/%61", "/a", false), ("/a", "/a/b", false),
    ])
    func matchesPaths(path: String, cookie: String, isWithin: Bool) {
        #expect(CookieURL.path(path, isWithin: cookie) == isWithin)
    }

    @Test(arguments: [
        ("", "/"), ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/", "/a/b"), ("a/b", "/"), ("//", "/"),
        ("//a", "/"), ("/a//", "/a/"), ("/%2F/b", "/%2F"), ("*", "/"),
    ])
    func defaultPathIsTheDirectory(path: String, directory: String) {
        #expect(CookieURL(scheme: "https", host: "example.org", path: path).defaultPath == directory)
    }

    /// URLSession's cookies are those of a URL, and the jar's are those of a request.
    @Test(arguments: [
        ("https://exämple.com/a", "xn--exmple-cua.com"), ("https://xn--exmple-cua.com/a", "xn--exmple-cua.com"),
        ("https://user@EXAMPLE.org:8443/a", "example.org"), ("https://[::1]:8443/a", "::1"),
    ])
    func hostOfAURLIsTheHostOfItsRequest(url: String, host: String) throws {
        let url = try #require(URL(string: url))
        #expect(CookieURL(url)?.host == host)
        #expect(CookieURL(HTTPRequestData(url: url))?.host == host)
    }

    // MARK: Sites

    @Test(arguments: [
        ("example.org", "example.org"), ("a.example.org", "example.org"), ("a.b.c.example.org", "example.org"),
        ("org", "org"), ("localhost", "localhost"), ("a.localhost", "a.localhost"), ("b.a.localhost", "a.localhost"),
        ("co.uk", "co.uk"), ("shop.co.uk", "shop.co.uk"), ("www.shop.co.uk", "shop.co.uk"),
        ("www.com.example", "com.example"), ("emily.github.io", "emily.github.io"),
        ("pages.emily.github.io", "emily.github.io"), ("github.io", "github.io"), ("127.0.0.1", "127.0.0.1"),
        ("10.0.0.1", "10.0.0.1"), ("::1", "::1"), ("", ""), ("a..b", "a..b"), ("example.org.", "example.org."),
        ("a.go.jp", "a.go.jp"), ("b.a.go.jp", "a.go.jp"), ("x.s3.amazonaws.com", "x.s3.amazonaws.com"),
        ("ec2.amazonaws.com", "amazonaws.com"), ("a.co", "a.co"), ("b.a.co", "a.co"), ("x.com.com", "com.com"),
    ])
    func siteIsTheSuffixAndOneLabel(host: String, site: String) {
        #expect(PublicSuffixes.standard.site(of: host) == site)
    }

    @Test(arguments: [
        ("com", true), ("co.uk", true), ("example.com", false), ("", true), (".", true), ("a.", true), ("gov.au", true),
        ("co.example", false), ("vercel.app", true), ("app", true), ("shop.vercel.app", false), ("or.jp", true),
        ("or.fr", false), ("edu.pl", true), ("a..example", true), (".example.com", true),
    ])
    func standardListHasCommonSuffixes(domain: String, isSuffix: Bool) {
        #expect(PublicSuffixes.standard.contains(domain) == isSuffix)
    }

    @Test func appMayProvideItsOwnList() throws {
        let suffixes = PublicSuffixes { $0 == "shops.example.org" }
        let url = CookieURL(scheme: "https", host: "emily.shops.example.org", path: "/")
        #expect(throws: CookieRejection.publicSuffix) {
            try Cookie(setCookie: "a=1; Domain=shops.example.org", from: url, now: Self.now, suffixes: suffixes)
        }
        #expect(suffixes.site(of: "a.emily.shops.example.org") == "emily.shops.example.org")
        #expect(suffixes.contains("org"))
    }

    // MARK: Malformed fields

    @Test func randomFieldsNeitherCrashNorViolateTheRules() {
        withSeed { readRandomFields(&$0) }
    }

    private func readRandomFields(_ random: inout SeededRandom) {
        let fragments = [
            "a", "=", ";", " ", "\t", ",", "\"", "Path", "/", "Domain", ".", "example", ".org", "Max-Age", "-", "9",
            "Expires", "Thu, 01 Jan 1970 00:00:00 GMT", "99:99:99", "Secure", "SameSite", "None", "__Host-",
            "__Secure-", "\u{301}", "\u{1F469}\u{200D}\u{1F52C}", "\0", "\r\n", "%00", "::1", "127.0.0.1", "Ä",
            "99999999999999999999", "=;=;", "\u{FFFD}",
        ]
        let url = CookieURL(scheme: "https", host: "a.example.org", path: "/x/y")
        for _ in 0..<20_000 {
            let field = (0..<Int.random(in: 0...24, using: &random))
                .map { _ in fragments.randomElement(using: &random) ?? "" }.joined()
            guard let cookie = try? Cookie(setCookie: field, from: url, now: Self.now) else { continue }
            #expect(["a.example.org", "example.org"].contains(cookie.domain))
            #expect(!cookie.name.isEmpty)
            #expect(Cookie.isSendable(cookie.name) && Cookie.isSendable(cookie.value), "\(field)")
            // A combining mark would make the slash part of another character.
            #expect(cookie.path.utf8.first == UInt8(ascii: "/"))
            #expect(cookie.expires.map { $0 <= Self.now.addingTimeInterval(400 * 86_400) } ?? true)
            #expect(throws: Never.self) { try cookie.check(.standard) }
        }
    }

    // MARK: Cookies of the app

    @Test(
        arguments: [
            (Cookie(name: "", value: "1", domain: "example.org", created: now), .malformed),
            (Cookie(name: "a=b", value: "1", domain: "example.org", created: now), .malformed),
            (Cookie(name: "a;b", value: "1", domain: "example.org", created: now), .malformed),
            (Cookie(name: "a", value: "1\r\nX: 1", domain: "example.org", created: now), .malformed),
            (Cookie(name: " a", value: "1", domain: "example.org", created: now), .malformed),
            (Cookie(name: "a", value: "1 ", domain: "example.org", created: now), .malformed),
            (Cookie(name: "a", value: "1", domain: "", created: now), .malformed),
            (Cookie(name: "a", value: "1", domain: "exa mple.org", created: now), .malformed),
            (Cookie(name: "a", value: "1", domain: "example.org", path: "x", created: now), .malformed),
            (Cookie(name: "a", value: "1", domain: "example.org", path: "/;x", created: now), .malformed),
            (
                Cookie(name: "a", value: String(repeating: "1", count: 4_096), domain: "example.org", created: now),
                .tooLong
            ),
            (Cookie(name: "a", value: "1", domain: "org", isHostOnly: false, created: now), .publicSuffix),
            (Cookie(name: "a", value: "1", domain: "co.uk", isHostOnly: false, created: now), .publicSuffix),
            (Cookie(name: "a", value: "1", domain: "127.0.0.1", isHostOnly: false, created: now), .otherDomain),
            (Cookie(name: "a", value: "1", domain: "example.org", sameSite: .none, created: now), .sameSite),
            (Cookie(name: "__Host-a", value: "1", domain: "example.org", created: now), .prefix),
            (
                Cookie(name: "__Host-a", value: "1", domain: "example.org", path: "/x", isSecure: true, created: now),
                .prefix
            ),
        ] as [(Cookie, CookieRejection)]
    )
    func jarRefusesInvalidCookiesOfTheApp(cookie: Cookie, reason: CookieRejection) {
        let jar = CookieJar()
        #expect(throws: reason) { try jar.set(cookie) }
        #expect(jar.count == 0)
    }
}
