import Foundation
import TestSupport
import Testing

@testable import NetworkingCore

/// Principals of requests with cookies.
struct CookiePrincipalTests {
    private let emily = Principal(id: "emily")

    private func cookies(_ digest: String, _ session: String = "s", of owner: Principal? = nil) -> Principal {
        Principal(cookies: digest, session: session, of: owner)
    }

    @Test(arguments: [nil, "", "emily", "-", "+", "\u{1F}5:emily3:app", "1:x", "ü"])
    func cookiesCanBeRemoved(owner: String?) {
        let owner = owner.map { Principal(id: $0) }
        #expect(cookies("digest", of: owner).withoutCookies == owner)
        #expect(owner?.withoutCookies == owner)
    }

    @Test func principalsWithDifferentCookiesDiffer() {
        #expect(cookies("1", of: emily) != cookies("2", of: emily))
        #expect(cookies("1", "s", of: emily) != cookies("1", "t", of: emily))
        #expect(cookies("1", of: emily) != cookies("1"))
        #expect(cookies("1", "23") != cookies("12", "3"))
        #expect(cookies("1", of: emily) != emily)
    }

    @Test func changedCookiesKeepTheSameUser() {
        #expect(cookies("1", of: emily).isSame(as: cookies("2", of: emily)))
        #expect(emily.isSame(as: cookies("1", of: emily)))
        #expect(cookies("1").isSame(as: cookies("2")))
        #expect(!cookies("1", "s").isSame(as: cookies("1", "t")))
        #expect(!cookies("1", of: emily).isSame(as: cookies("1", of: Principal(id: "james"))))
        #expect(!emily.isSame(as: cookies("1")))
        let none: Principal? = nil
        #expect(none.isSame(as: cookies("1")))
        #expect(!none.isSame(as: emily))
        #expect(none.isSame(as: none))
        #expect((cookies("1") as Principal?).isSame(as: none))
        #expect(!(emily as Principal?).isSame(as: none))
    }

    @Test func orderOfModifiersDoesNotMatterForTheUser() {
        let outside = (emily as Principal?).joined(by: cookies("1"))
        let inside = (cookies("1") as Principal?).joined(by: emily)
        #expect(outside == inside)
        #expect(outside.withoutCookies == emily)
        let app = Principal(id: "app")
        let both = (outside as Principal?).joined(by: app)
        #expect(both.withoutCookies == (emily as Principal?).joined(by: app))
        let two = (outside as Principal?).joined(by: cookies("2", "t"))
        #expect(two.withoutCookies == emily)
        #expect(two.isSame(as: (cookies("3", of: emily) as Principal?).joined(by: cookies("4", "t"))))
    }

    @Test(arguments: [
        "\u{1E}", "\u{1E}1:s", "\u{1E}1:s1:d", "\u{1E}1:s1:d-x", "\u{1E}9:s1:d-", "\u{1E}x:s1:d-", "\u{1E}:::",
    ])
    func malformedIdentitiesAreUsedAsText(id: String) {
        #expect(Principal(id: id).withoutCookies == Principal(id: id))
    }

    @Test func userIdentifierCannotImitateCookies() {
        let forged = Principal(userID: cookies("1", of: emily).id)
        #expect(forged.withoutCookies == forged)
        #expect(forged != cookies("1", of: emily))
    }
}
