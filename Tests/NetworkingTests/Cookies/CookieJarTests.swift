import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCookies

@Suite(.tags(.concurrency))
struct CookieJarTests {
    private let jar = CookieJar()
    private let clock = ManualClock()

    /// Stores the fields of a response and returns the reasons for rejected ones.
    @discardableResult
    private func receive(
        _ fields: String...,
        from url: String,
        of principal: Principal? = nil
    ) throws -> [CookieRejection] {
        let request = HTTPRequestData(url: try #require(URL(string: url)))
        return atTime { jar.store(fields, from: request, for: CookieOwner(principal: principal)).rejections }
    }

    private func sent(to url: String, of principal: Principal? = nil) throws -> String {
        let url = try #require(URL(string: url))
        return atTime { jar.cookies(for: url, principal: principal) }.map { "\($0.name)=\($0.value)" }
            .joined(separator: "; ")
    }

    private func atTime<Value>(_ work: () -> Value) -> Value {
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        return NetworkEnvironment.$current.withValue(environment) { work() }
    }

    // MARK: Replacing

    @Test func replacesTheCookieWithTheSameNameDomainAndPath() throws {
        try receive("a=1; Path=/", from: "https://example.org/")
        try receive("a=2; Path=/", from: "https://example.org/x/y")
        #expect(try sent(to: "https://example.org/") == "a=2")
        #expect(jar.count == 1)
    }

    @Test(arguments: ["a=2; Path=/x", "A=2; Path=/", "a=2; Path=/; Domain=example.org"])
    func keepsBothCookiesIfNameDomainOrPathDiffer(field: String) throws {
        try receive("a=1; Path=/", from: "https://example.org/")
        try receive(field, from: "https://example.org/")
        #expect(jar.count == 2)
    }

    @Test func replacedCookieKeepsItsPositionInTheOrder() throws {
        try receive("a=1", from: "https://example.org/")
        clock.advance(by: .seconds(1))
        try receive("b=1", from: "https://example.org/")
        clock.advance(by: .seconds(1))
        try receive("a=2", from: "https://example.org/")
        #expect(try sent(to: "https://example.org/") == "a=2; b=1")
    }

    @Test func sendsLongPathsFirstAndThenInTheOrderOfTheirCreation() throws {
        try receive(
            "z=1; Path=/",
            "y=1; Path=/",
            "long=1; Path=/a/b",
            "middle=1; Path=/a",
            from: "https://example.org/"
        )
        clock.advance(by: .seconds(1))
        try receive("x=1; Path=/", "longer=1; Path=/a/b/c", from: "https://example.org/")
        #expect(try sent(to: "https://example.org/a/b/c") == "longer=1; long=1; middle=1; z=1; y=1; x=1")
    }

    @Test(arguments: ["a=; Max-Age=0", "a=; Max-Age=-1", "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
    func expiredCookieRemovesTheStoredOne(field: String) throws {
        try receive("a=1", "b=1", from: "https://example.org/")
        try receive(field, from: "https://example.org/")
        #expect(try sent(to: "https://example.org/") == "b=1")
        #expect(jar.count == 1)
    }

    @Test func cookieExpiresAtItsDate() throws {
        try receive("a=1; Max-Age=60", "b=1", from: "https://example.org/")
        clock.advance(by: .seconds(59))
        #expect(try sent(to: "https://example.org/") == "a=1; b=1")
        clock.advance(by: .seconds(1))
        #expect(try sent(to: "https://example.org/") == "b=1")
        #expect(atTime { jar.cookies(of: nil) }.map(\.name) == ["b"])
    }

    @Test func cookieOfTheAppExpiresAfter400Days() throws {
        let now = atTime { NetworkEnvironment.current.clock.date }
        try atTime {
            Result {
                try jar.set(Cookie(name: "a", value: "1", domain: "example.org", expires: .distantFuture, created: now))
            }
        }
        .get()
        #expect(atTime { jar.cookies(of: nil) }.first?.expires == now.addingTimeInterval(400 * 86_400))
    }

    // MARK: Other hosts

    @Test func hostsGetOnlyTheirOwnCookies() throws {
        try receive("host=1", "domain=1; Domain=example.org", from: "https://a.example.org/")
        try receive("other=1", from: "https://example.com/")
        #expect(try sent(to: "https://a.example.org/") == "host=1; domain=1")
        #expect(try sent(to: "https://b.example.org/") == "domain=1")
        #expect(try sent(to: "https://example.org/") == "domain=1")
        #expect(try sent(to: "https://sub.a.example.org/") == "domain=1")
        #expect(try sent(to: "https://example.com/") == "other=1")
        #expect(try sent(to: "https://example.org.evil.com/") == "")
    }

    @Test func plainHTTPCannotShadowASecureCookie() throws {
        try receive("a=1; Secure; Path=/", from: "https://example.org/")
        #expect(try receive("a=2; Path=/", from: "http://example.org/") == [.shadowsSecure])
        #expect(try receive("a=2; Path=/; Domain=example.org", from: "http://www.example.org/") == [.shadowsSecure])
        #expect(try receive("a=; Max-Age=0; Path=/", from: "http://example.org/") == [.shadowsSecure])
        #expect(try sent(to: "https://example.org/") == "a=1")
        #expect(try sent(to: "http://example.org/") == "")
    }

    @Test func loopbackCountsAsSecure() throws {
        #expect(try receive("a=1; Secure", "__Host-b=1; Secure; Path=/", from: "http://127.0.0.1:8080/") == [])
        #expect(try sent(to: "http://127.0.0.1:9090/") == "a=1; __Host-b=1")
        #expect(try receive("a=1; Secure", from: "http://192.168.0.1/") == [.notSecure])
    }

    // MARK: Principals

    @Test func principalsHaveSeparateCookies() throws {
        let (emily, noah) = (Principal(id: "emily"), Principal(id: "noah"))
        try receive("a=emily", from: "https://example.org/", of: emily)
        try receive("a=noah", from: "https://example.org/", of: noah)
        try receive("a=none", from: "https://example.org/")
        #expect(try sent(to: "https://example.org/", of: emily) == "a=emily")
        #expect(try sent(to: "https://example.org/", of: noah) == "a=noah")
        #expect(try sent(to: "https://example.org/") == "a=none")
        jar.removeAll(of: emily)
        #expect(try sent(to: "https://example.org/", of: emily) == "")
        #expect(try sent(to: "https://example.org/", of: noah) == "a=noah")
        jar.removeAll(of: nil)
        #expect(jar.count == 1)
    }

    // MARK: Removing

    @Test(arguments: [
        ("example.org", ["com"]), ("a.example.org", ["b", "com", "domain"]), ("EXAMPLE.com", ["a", "b", "domain"]),
        ("org", ["com"]), ("ample.org", ["a", "b", "com", "domain"]), (".example.org", ["com"]),
    ])
    func removesTheCookiesOfAHost(host: String, kept: [String]) throws {
        try receive("a=1", "domain=1; Domain=example.org", from: "https://a.example.org/")
        try receive("b=1", from: "https://b.example.org/")
        try receive("com=1", from: "https://example.com/")
        jar.removeAll(at: host)
        #expect(atTime { jar.cookies(of: nil) }.map(\.name).sorted() == kept)
        #expect(jar.count == kept.count)
    }

    @Test func removesAllCookies() throws {
        try receive("a=1", from: "https://example.org/")
        try receive("b=1", from: "https://example.com/", of: Principal(id: "emily"))
        jar.removeAll()
        #expect(jar.count == 0)
        #expect("\(jar)" == "CookieJar(0 cookies)")
    }

    /// The principal of a request without another one.
    private func principal(at url: String, in jar: CookieJar? = nil) throws -> Principal? {
        let request = HTTPRequestData(url: try #require(URL(string: url)))
        return MockTransport().cookies(in: jar ?? self.jar).principal(for: request)
    }

    /// Identities of users that a removal separates are different, also if the server removes the cookies first.
    @Test(arguments: ["org", "example.org", "a.example.org"], [false, true])
    func cookiesAfterARemovalBelongToAnotherUser(host: String, isExpired: Bool) throws {
        try receive("a=1; Path=/", from: "https://a.example.org/")
        try receive("a=1; Path=/", from: "https://example.com/")
        let former = try principal(at: "https://a.example.org/")
        let other = try principal(at: "https://example.com/")
        if isExpired {
            try receive("a=; Path=/; Max-Age=0", from: "https://a.example.org/")
        }
        jar.removeAll(at: host)
        try receive("a=1; Path=/", from: "https://a.example.org/")
        #expect(try !former.isSame(as: principal(at: "https://a.example.org/")))
        // Another site keeps its user, unless the host is a public suffix.
        #expect(try other.isSame(as: principal(at: "https://example.com/")) == (host != "org"))
    }

    @Test func identityOfASiteSurvivesARestart() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "identity-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let storage = FileCookieStorage(file: folder.appending(path: "cookies.json"))
        let url = "https://a.example.org/"
        let jar = try await CookieJar(in: storage)
        let cookie = { Cookie(name: "a", value: $0, domain: "a.example.org", created: .now) }
        try jar.set(Cookie(name: "a", value: "1", domain: "example.com", created: .now))
        try jar.set(cookie("1"))
        let first = try principal(at: url, in: jar)
        jar.removeAll(at: "a.example.org")
        try jar.set(cookie("2"))
        let second = try principal(at: url, in: jar)
        try await jar.flush()
        let next = try await CookieJar(in: storage)
        #expect(next.count == 0)
        try next.set(cookie("3"))
        let third = try principal(at: url, in: next)
        #expect(!first.isSame(as: second) && !first.isSame(as: third))
        #expect(second.isSame(as: third))
    }

    /// An import reads a file before it stores the cookies.
    @Test func cookieOfTheAppIsNotStoredAfterALaterRemoval() throws {
        let cookie = Cookie(name: "a", value: "1", domain: "example.org", created: .now)
        let moment = jar.removalCount
        try jar.set(cookie, for: nil, since: moment)
        jar.removeAll(at: "example.org")
        #expect(throws: CookieRejection.removed) { try jar.set(cookie, for: nil, since: moment) }
        #expect(jar.count == 0)
        try jar.set(cookie)
        #expect(jar.count == 1)
    }

    @Test func removalBeforeTheRequestDoesNotCoverItsCookies() throws {
        let owner = CookieOwner(principal: nil)
        let cookie = Cookie(name: "a", value: "1", domain: "example.org", created: .now)
        var removals = CookieRemovals()
        removals.note(.host("example.org", site: "example.org"))
        let moment = removals.count
        removals.note(.host("example.com", site: "example.com"))
        #expect(!removals.cover(cookie, of: owner, since: moment))
        #expect(removals.cover(cookie, of: owner, since: moment - 1))
    }

    @Test func removalsAndIdentitiesAreBounded() throws {
        let owner = CookieOwner(principal: nil)
        let cookie = Cookie(name: "a", value: "1", domain: "example.org", created: .now)
        var removals = CookieRemovals()
        for _ in 0..<5_000 {
            removals.note(.principal(Principal(id: "james")))
        }
        #expect(!removals.cover(cookie, of: owner, since: removals.count))
        #expect(!removals.cover(cookie, of: owner, since: removals.count - 400))
        // A forgotten removal may have concerned the cookie.
        #expect(removals.cover(cookie, of: owner, since: removals.count - 2_000))

        var identity = CookieIdentity("first")
        for number in 0..<500 {
            identity.renew(for: "h\(number).org", site: "h\(number).org", knownSites: [], id: "id\(number)")
        }
        #expect(identity.text(for: "h499.org") == "id499")
        #expect(identity.text(for: "other.org") != "first")
        #expect(try JSONEncoder().encode(identity).count < 10_000)
    }

    @Test func ownersWithoutCookiesAreForgotten() throws {
        var table = CookieTable()
        let now = Date.now
        for number in 0..<10_000 {
            table.begin(CookieIdentity("\(number)"), of: CookieOwner(principal: Principal(id: "\(number)")))
        }
        #expect(table.archived(at: now).count <= CookieTable.maximumCount + CookieTable.maximumEmptyCount)
    }

    // MARK: Limits

    @Test func siteHasAtMost180Cookies() throws {
        try receive("secure=1; Secure", "expired=1; Max-Age=1; Secure", from: "https://example.org/")
        clock.advance(by: .seconds(2))
        try receive("used=1; Domain=example.org", from: "https://a.example.org/")
        for number in 0..<300 {
            try receive("n\(number)=1", from: "https://h\(number).example.org/")
            atTime { use("https://a.example.org/") }
        }
        #expect(jar.count == CookieTable.maximumPerSite)
        let names = Set(atTime { jar.cookies(of: nil) }.map(\.name))
        #expect(names.isSuperset(of: ["secure", "used", "n299"]))
        #expect(!names.contains("n0"))
        #expect(!names.contains("expired"))
    }

    /// Cookies without `Secure` are evicted before all others, so such a cookie would be evicted at once.
    @Test func siteFullOfSecureCookiesRefusesOneWithoutSecure() throws {
        for number in 0..<CookieTable.maximumPerSite {
            try receive("s\(number)=1; Secure", from: "https://example.org/")
        }
        #expect(try receive("plain=1", from: "https://example.org/").map(\.rawValue) == ["tooMany"])
        let cookie = Cookie(name: "plain", value: "1", domain: "example.org", created: .now)
        #expect(throws: CookieRejection.self) { try jar.set(cookie) }
        #expect(jar.count == CookieTable.maximumPerSite)
        #expect(try receive("s0=2; Secure", "secure=1; Secure", from: "https://example.org/").isEmpty)
        #expect(jar.count == CookieTable.maximumPerSite)
        #expect(atTime { jar.cookies(of: nil) }.map(\.name).contains("secure"))
    }

    /// Sends a request, so that its cookies are the last to be evicted.
    private func use(_ url: String) {
        guard let url = URL(string: url) else { return }
        _ = jar.selection(for: HTTPRequestData(url: url), of: CookieOwner(principal: nil), isUse: true)
    }

    @Test func oneSiteDoesNotEvictTheCookiesOfAnother() throws {
        try receive("keep=1", from: "https://example.com/")
        for number in 0..<1_000 {
            try receive("a\(number)=1", from: "https://h\(number).example.org/")
        }
        #expect(try sent(to: "https://example.com/") == "keep=1")
    }

    @Test func jarHasAtMost3000Cookies() throws {
        try receive("used=1", from: "https://example.com/")
        for number in 0..<3_200 {
            try receive("a=1", from: "https://example\(number).org/")
            if number.isMultiple(of: 100) {
                atTime { use("https://example.com/") }
            }
        }
        #expect(jar.count <= CookieTable.maximumCount)
        #expect(jar.count > CookieTable.maximumCount * 8 / 10)
        #expect(try sent(to: "https://example.com/") == "used=1")
        #expect(try sent(to: "https://example3199.org/") == "a=1")
        #expect(try sent(to: "https://example0.org/") == "")
    }

    // MARK: Public suffixes

    @Test func appMayProvideItsOwnPublicSuffixes() async throws {
        let suffixes = PublicSuffixes { $0 == "shops.example.org" }
        let storage = FileCookieStorage(file: URL(filePath: "/nonexistent-\(UUID())/cookies.json"))
        for jar in [
            CookieJar(publicSuffixes: suffixes), try await CookieJar(in: storage, publicSuffixes: suffixes),
        ] {
            let cookie = Cookie(
                name: "a",
                value: "1",
                domain: ".Shops.example.org",
                isHostOnly: false,
                isHTTPOnly: true,
                created: .now
            )
            #expect(throws: CookieRejection.publicSuffix) { try jar.set(cookie) }
            let request = HTTPRequestData(authority: "emily.shops.example.org")
            let fields = ["a=1; Domain=shops.example.org", "b=1; Domain=emily.shops.example.org"]
            let (stored, rejections) = jar.store(fields, from: request, for: CookieOwner(principal: nil))
            #expect(stored == 1)
            #expect(rejections == [.publicSuffix])
        }
    }

    /// The test would deadlock if the jar called the closure of the app under its lock.
    @Test(.timeLimit(.minutes(20)))
    func closureForPublicSuffixesMayUseTheJar() throws {
        final class Link: Sendable {
            let jar = Mutex<CookieJar?>(nil)
        }
        let link = Link()
        let jar = CookieJar(
            publicSuffixes: PublicSuffixes { _ in
                let jar = link.jar.withLock { $0 }
                return (jar?.count ?? 0) > 1_000
            }
        )
        link.jar.withLock { $0 = jar }
        let request = HTTPRequestData(authority: "a.b.example.org")
        _ = jar.store(["a=1; Domain=example.org", "b=1"], from: request, for: CookieOwner(principal: nil))
        let cookie = Cookie(name: "c", value: "1", domain: "example.org", isHostOnly: false, created: .now)
        try jar.set(cookie)
        let url = try #require(request.url)
        #expect(jar.cookies(for: url).count == 3)
        jar.removeAll(at: "example.org")
        #expect(jar.count == 0)
        link.jar.withLock { $0 = nil }
    }

    // MARK: Secrets

    @Test func printsNoValue() throws {
        let cookie = Cookie(name: "session", value: "hunter2", domain: "example.org", created: .now)
        try jar.set(cookie)
        let archive = CookieArchive(
            key: [1],
            sessions: [.init(principal: "emily", id: "1", cookies: [cookie])]
        )
        #expect("\(cookie)" == "session=<redacted> of example.org/")
        var dumped = ""
        for value: Any in [cookie, jar, archive, [cookie], CookieStorageError.unusable(reason: "full")] {
            dump(value, to: &dumped)
            dumped += "\(value)" + String(reflecting: value)
        }
        #expect(!dumped.contains("hunter2"))
        #expect(!dumped.contains("emily"))
        #expect(archive.count == 1)
    }
}
