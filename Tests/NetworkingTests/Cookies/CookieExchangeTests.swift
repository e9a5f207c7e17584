import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCookies

/// The `Set-Cookie` fields that browsers meet, with the `Cookie` field of the next request.
@Suite(.timeLimit(.minutes(20)))
struct CookieExchangeTests {
    struct Exchange: CustomTestStringConvertible, Sendable {
        let from: String
        let fields: [String]
        let next: String
        let sent: String

        init(_ fields: String..., from: String = "/cart", next: String? = nil, sent: String) {
            let urls = [from, next ?? from].map { $0.hasPrefix("/") ? "https://www.shop.example\($0)" : $0 }
            (self.from, self.fields, self.next, self.sent) = (urls[0], fields, urls[1], sent)
        }

        var testDescription: String {
            "\(fields) from \(from) to \(next)"
        }
    }

    private static let pairs = [
        Exchange("a=1", sent: "a=1"),
        Exchange("a=1", "b=2", sent: "a=1; b=2"),
        Exchange("  a  =  1  ", sent: "a=1"),
        Exchange("a=1 ; Max-Age=60", sent: "a=1"),
        Exchange("a=", sent: "a="),
        Exchange("a=b=c", sent: "a=b=c"),
        Exchange("a=\"1\"", sent: "a=\"1\""),
        Exchange("a=\"1; b=2\"", sent: "a=\"1"),
        Exchange("a=1,b=2", sent: "a=1,b=2"),
        Exchange("a=b c", sent: "a=b c"),
        Exchange("a b=c", sent: "a b=c"),
        Exchange("a=%20", sent: "a=%20"),
        Exchange("a=1;b=2", sent: "a=1"),
        Exchange("; a=1", sent: ""),
        Exchange("a=1", "A=2", sent: "a=1; A=2"),
        Exchange("a=1", "a=2", sent: "a=2"),
        Exchange("a=1", "b=2", "a=3", sent: "a=3; b=2"),
    ]

    private static let ages = [
        Exchange("a=1; Expires=Fri, 07 Aug 2099 08:04:19 GMT", sent: "a=1"),
        Exchange("a=1; Expires=Fri, 07 Aug 2007 08:04:19 GMT", sent: ""),
        Exchange("a=1; expires=Thu, 10 Apr 1980 16:33:12 GMT", "b=2", sent: "b=2"),
        Exchange("a=1; Expires=Sun, 06-Nov-94 08:49:37 GMT", sent: ""),
        Exchange("a=1; Expires=Sun Nov  6 08:49:37 1994", sent: ""),
        Exchange("a=1; Expires=nonsense", sent: "a=1"),
        Exchange("a=1; Expires=", sent: "a=1"),
        Exchange("a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", sent: "a=1"),
        Exchange("a=1; Expires=Thu, 01 Jan 2099 00:00:00 GMT; Max-Age=0", sent: ""),
        Exchange("a=1; Max-Age=", sent: "a=1"),
        Exchange("a=1; Max-Age=60abc", sent: "a=1"),
        Exchange("a=1; Max-Age=+60", sent: "a=1"),
        Exchange("a=1; Max-Age=-1", sent: ""),
        Exchange("a=1; Max-Age=0", sent: ""),
        Exchange("a=1; Max-Age=60; Max-Age=0", sent: ""),
        Exchange("a=1; Max-Age=99999999999999999999", sent: "a=1"),
        Exchange("a=1", "a=; Max-Age=0", sent: ""),
    ]

    private static let paths = [
        Exchange("a=1", from: "/x/y/z", next: "/x/y", sent: "a=1"),
        Exchange("a=1", from: "/x/y/z", next: "/x/y/", sent: "a=1"),
        Exchange("a=1", from: "/x/y/z", next: "/x/yz", sent: ""),
        Exchange("a=1", from: "/x", next: "/", sent: "a=1"),
        Exchange("a=1; Path=/x", from: "/x/y", next: "/x?q", sent: "a=1"),
        Exchange("a=1; Path=/x", from: "/x/y", next: "/xy", sent: ""),
        Exchange("a=1; Path=/x/", from: "/x/y", next: "/x", sent: ""),
        Exchange("a=1; Path=/X", from: "/x/y", next: "/x/y", sent: ""),
        Exchange("a=1; Path=/other", from: "/x/y", next: "/other", sent: "a=1"),
        Exchange("a=1; Path=x", from: "/x/y", next: "/x", sent: "a=1"),
        Exchange("a=1; Path=", from: "/x/y", next: "/x", sent: "a=1"),
        Exchange("a=1; Path=/x; Path=/y", from: "/x/y", next: "/y", sent: "a=1"),
        Exchange("a=1; path = /x", from: "/x/y", next: "/x", sent: "a=1"),
        Exchange("a=1; Path=/", "a=2; Path=/x", from: "/x/y", sent: "a=2; a=1"),
    ]

    private static let hosts = [
        Exchange("a=1", next: "https://shop.example/", sent: ""),
        Exchange("a=1", next: "https://x.www.shop.example/", sent: ""),
        Exchange("a=1; Domain=shop.example", next: "https://shop.example/", sent: "a=1"),
        Exchange("a=1; Domain=.shop.example", next: "https://x.shop.example/", sent: "a=1"),
        Exchange("a=1; Domain=SHOP.Example", next: "https://shop.example/", sent: "a=1"),
        Exchange("a=1; Domain=www.shop.example", next: "https://x.www.shop.example/", sent: "a=1"),
        Exchange("a=1; Domain=www.shop.example", next: "https://shop.example/", sent: ""),
        Exchange("a=1; Domain=shop.example", next: "https://othershop.example/", sent: ""),
        Exchange("a=1; Domain=", next: "https://shop.example/", sent: ""),
        Exchange("a=1; Domain=", sent: "a=1"),
        Exchange("a=1; Domain=x.example; Domain=shop.example", next: "https://shop.example/", sent: "a=1"),
        Exchange("a=1; Domain=shop.example; Domain=x.example", sent: ""),
        Exchange("a=1", next: "https://www.shop.example:8443/cart", sent: "a=1"),
        Exchange("a=1", next: "https://WWW.SHOP.EXAMPLE/cart", sent: "a=1"),
    ]

    private static let schemes = [
        Exchange("a=1", next: "http://www.shop.example/cart", sent: "a=1"),
        Exchange("a=1; SECURE", next: "http://www.shop.example/cart", sent: ""),
        Exchange("a=1; Secure=no", next: "http://www.shop.example/cart", sent: ""),
        Exchange("a=1; HttpOnly", sent: "a=1"),
        Exchange("__Secure-a=1; Secure", sent: "__Secure-a=1"),
        Exchange("__Host-a=1; Secure; Path=/", sent: "__Host-a=1"),
        Exchange("a=1; SameSite=None; Secure", sent: "a=1"),
        Exchange("a=1; SameSite=Strict", sent: "a=1"),
        Exchange("a=1; SameSite=unknown", sent: "a=1"),
    ]

    @Test(arguments: pairs + ages + paths + hosts + schemes)
    func nextRequestSendsTheRightCookies(exchange: Exchange) throws {
        let jar = CookieJar()
        let request = HTTPRequestData(url: try #require(URL(string: exchange.from)))
        for field in exchange.fields {
            _ = jar.store([field], from: request, for: CookieOwner(principal: nil))
        }
        let cookies = jar.cookies(for: try #require(URL(string: exchange.next)))
        #expect(Cookie.field(of: cookies) == exchange.sent)
    }

    /// A response over plain HTTP may have been written by an attacker.
    @Test func plainHTTPDoesNotReplaceASecureCookie() throws {
        let jar = CookieJar()
        for (scheme, field) in [("https", "a=1; Secure"), ("http", "a=2")] {
            let url = try #require(URL(string: "\(scheme)://www.shop.example/cart"))
            _ = jar.store([field], from: HTTPRequestData(url: url), for: CookieOwner(principal: nil))
        }
        let url = try #require(URL(string: "https://www.shop.example/cart"))
        #expect(Cookie.field(of: jar.cookies(for: url)) == "a=1")
    }
}
