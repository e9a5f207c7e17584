import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency))
struct CredentialsTests {
    private func applied(_ credentials: some AuthenticatingCredentials) throws -> HTTPRequestData {
        var request = HTTPRequestData.lawful
        try credentials.apply(to: &request)
        return request
    }

    /// RFC 7617, sections 2 and 2.1.
    @Test(arguments: [
        ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ("test", "123\u{A3}", "Basic dGVzdDoxMjPCow=="),
        ("", "", "Basic Og=="), ("user", "with:colon", "Basic dXNlcjp3aXRoOmNvbG9u"),
    ])
    func basicEncodesUserAndPassword(user: String, password: String, field: String) throws {
        #expect(try applied(BasicCredentials(user: user, password: password)).headerFields[.authorization] == field)
    }

    @Test(arguments: [("a:b", "secret-1"), ("user", "secret-1\n"), ("us\u{7F}er", "secret-1"), ("u", "secret-1\r\n")])
    func basicRejectsInvalidUsersAndPasswords(user: String, password: String) {
        let error = #expect(throws: NetworkingError.self) {
            try applied(BasicCredentials(user: user, password: password))
        }
        #expect(error?.kind == .invalidRequest)
        #expect(!everyPrint(of: error as Any).contains("secret-1"))
    }

    @Test func tokenWithALineBreakIsRejected() async {
        let network = MockTransport { _ in .ok() }
            .authenticated(with: BearerCredentials(token: "secret-1\n"), at: [HTTPRequestData.lawful.authority ?? ""])
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("line break") == true)
        #expect(!everyPrint(of: error as Any).contains("secret-1"))
    }

    @Test func keyIsSentInAFieldOrTheQuery() throws {
        let name = HTTPField.Name("X-API-Key")!
        #expect(try applied(APIKeyCredentials("secret-1", in: .header(name))).headerFields[name] == "secret-1")
        let request = try applied(APIKeyCredentials("secret-1", in: .query("appid")))
        #expect(request.query["appid"] == "secret-1")
        #expect(!everyPrint(of: request).contains("secret-1"))
    }

    @Test func credentialsPrintNoSecret() throws {
        let session = Session(userID: "secret-user", accessToken: "secret-1", refreshToken: "secret-2")
        let values: [Any] = [
            session, BasicCredentials(user: "secret-user", password: "secret-1"), BearerCredentials(token: "secret-1"),
            APIKeyCredentials("secret-1", in: .query("appid")), TokenStore(session),
            CredentialChange.set(session), try applied(session), [session], InMemorySessionStorage(),
            URLSessionlessStack(store: TokenStore(session)),
        ]
        for value in values {
            #expect(!everyPrint(of: value).contains("secret"))
        }
    }

    private struct URLSessionlessStack {
        let network: AnyNetworkingComponent

        init(store: TokenStore<Session>) {
            network = AnyNetworkingComponent(MockTransport().authenticated(with: store))
        }
    }

    // MARK: Sessions

    @Test func sessionExpiresAtItsDate() async throws {
        let clock = ManualClock()
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        let session = Session(accessToken: "a", refreshToken: "r", expirationDate: clock.date.addingTimeInterval(60))
        await withEnvironment(environment) {
            #expect(!session.isExpired)
            #expect(!session.shouldRefresh)
            clock.advance(by: .seconds(30))
            #expect(!session.isExpired)
            #expect(session.shouldRefresh)
            clock.advance(by: .seconds(30))
            #expect(session.isExpired)
            #expect(session.shouldRefresh)
            #expect(session.refreshToken == "r")
        }
        #expect(!Session(accessToken: "a").isExpired)
    }

    @Test func sessionShouldRefreshWithinItsWindow() async {
        let clock = ManualClock()
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        let session = Session(
            accessToken: "a",
            refreshToken: "r",
            expirationDate: clock.date.addingTimeInterval(301),
            refreshWindow: .seconds(300)
        )
        await withEnvironment(environment) {
            #expect(!session.shouldRefresh)
            clock.advance(by: .seconds(1))
            #expect(session.shouldRefresh)
        }
        #expect(session.renewed(accessToken: "b").refreshWindow == .seconds(300))
    }

    @Test func refreshedSessionKeepsOmittedValues() {
        let session = Session(userID: "emily", accessToken: "a", refreshToken: "r")
        let renewed = session.renewed(accessToken: "b")
        #expect(renewed.userID == "emily")
        #expect(renewed.refreshToken == "r")
        #expect(session.renewed(accessToken: "b", refreshToken: "s").refreshToken == "s")
    }

    @Test func encodedSessionDecodesToAnEqualOne() throws {
        let session = Session(
            userID: "emily",
            accessToken: "a",
            refreshToken: "r",
            expirationDate: Date(timeIntervalSince1970: 1_700_000_000)
        )
        #expect(try JSONDecoder().decode(Session.self, from: JSONEncoder().encode(session)) == session)
    }

    // MARK: JSON Web Tokens

    /// RFC 7519, section 3.1.
    @Test func expiryOfATokenIsRead() {
        let token =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(JSONWebToken.expirationDate(of: token) == Date(timeIntervalSince1970: 1_300_819_380))
        #expect(Session(accessToken: token).expirationDate == Date(timeIntervalSince1970: 1_300_819_380))
    }

    @Test(arguments: [
        "", "a.b", "a.b.c", "...", "a.eyJleHAiOiJ4In0.c", "a.eyJleHAiOjFlMzAwfQ.c", "a.bnVsbA.c", "a.🦊.c",
    ])
    func malformedTokenHasNoExpiry(token: String) {
        #expect(JSONWebToken.expirationDate(of: token) == nil)
    }

    // MARK: Challenges

    /// RFC 9110, section 11.6.1, and the examples of RFC 7235 and RFC 4559.
    @Test(arguments: [
        ("Basic realm=\"simple\"", ["Basic"]),
        (
            "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
            ["Newauth", "Basic"]
        ),
        ("Negotiate", ["Negotiate"]), ("Negotiate YWJj==, Basic realm=x", ["Negotiate", "Basic"]),
        ("Negotiate YWJj, Basic realm=x", ["Negotiate", "Basic"]), ("Negotiate YWJj , Basic", ["Negotiate", "Basic"]),
        ("Bearer , Basic", ["Bearer", "Basic"]), (",, ,Basic", ["Basic"]), ("", []), ("=", []), ("realm=\"x\"", []),
        ("Basic realm=\"unterminated", ["Basic"]), ("Basic realm = \"x\" , charset = UTF-8", ["Basic"]),
        ("🦊, Basic", ["Basic"]), ("Digest nonce=\"a,b\", qop=\"auth\", Bearer", ["Digest", "Bearer"]),
    ])
    func challengesAreSplit(value: String, schemes: [String]) {
        #expect(AuthenticationChallenge.challenges(in: value).map(\.scheme) == schemes)
    }

    @Test func challengesHaveParameters() throws {
        let value = "Newauth realm=\"apps\", TYPE = 1, title=\"Login to \\\"apps\\\"\", type=2, Negotiate YWJj=="
        let challenges = AuthenticationChallenge.challenges(in: value)
        #expect(challenges.first?.parameters == ["realm": "apps", "type": "1", "title": "Login to \"apps\""])
        #expect(challenges.first?["Realm"] == "apps")
        #expect(challenges.last?.token == "YWJj==")
    }

    @Test func randomChallengesDoNotCrash() {
        let fragments = ["Basic", " ", ",", "=", "\"", "\\", "a", "realm=\"x\"", "==", "\t", "é"]
        withSeed { random in
            for _ in 0..<5_000 {
                let value = (0..<12).map { _ in fragments.randomElement(using: &random)! }.joined()
                let schemes = AuthenticationChallenge.challenges(in: value).map(\.scheme)
                // Each scheme is a token of the value.
                let areTokens = schemes.allSatisfy { !$0.isEmpty && !$0.contains { " ,=\"\t".contains($0) } }
                #expect(areTokens, "\(schemes) in \(value)")
            }
        }
    }
}
