#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingOAuth

/// The authorization URL and its callback.
struct OAuthAuthorizationTests {
    private let authorization: OAuthAuthorization

    init() throws {
        authorization = try Self.make(ScriptedProvider.system())
    }

    /// An authorization with fixed random bytes.
    private static func make(
        _ system: OAuthSystem,
        at server: OAuthServer = ScriptedProvider.server
    ) throws -> OAuthAuthorization {
        var environment = NetworkEnvironment()
        environment.secureRandom = SecureRandomSource { Array(repeating: 0xFB, count: $0) }
        return try NetworkEnvironment.$current.withValue(environment) {
            try OAuthAuthorization(for: system, at: server)
        }
    }

    private var state: String { "-_v7-_v7-_v7-_v7-_v7-w" }

    private func callback(_ query: String, to base: String = "com.example.shop:/callback") -> URL {
        URL(string: "\(base)?\(query)")!
    }

    private func error(of callback: URL, to authorization: OAuthAuthorization? = nil) -> OAuthError? {
        #expect(throws: OAuthError.self) { try (authorization ?? self.authorization).code(of: callback) }
    }

    // MARK: The page

    @Test func authorizationURLFollowsTheStandard() throws {
        let challenge = try #require(ProofKey(verifier: authorization.proofKey.verifier)).challenge
        #expect(
            authorization.url.absoluteString
                == "https://login.example.com/authorize?client_id=shop&response_type=code"
                + "&redirect_uri=com.example.shop%3A%2Fcallback&state=\(state)&code_challenge=\(challenge)"
                + "&code_challenge_method=S256&scope=orders%20profile"
        )
    }

    @Test func authorizationURLKeepsTheEndpointsQuery() throws {
        var server = ScriptedProvider.server
        server.authorizationEndpoint = URL(string: "https://login.example.com/authorize?policy=B2C%2F1")
        let url = try Self.make(ScriptedProvider.system(), at: server).url.absoluteString
        #expect(url.hasPrefix("https://login.example.com/authorize?policy=B2C%2F1&client_id=shop&"))
    }

    @Test func additionalParametersReplaceNoStandardParameter() throws {
        var system = ScriptedProvider.system()
        system.clientID = "a&b=c d"
        system.scopes = []
        system.authorizationParameters = [
            URLQueryItem(name: "prompt", value: "select account"), URLQueryItem(name: "state", value: "mine"),
            URLQueryItem(name: "redirect_uri", value: "https://evil.example"),
        ]
        let url = try Self.make(system).url
        let items = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems)
        #expect(url.absoluteString.contains("?client_id=a%26b%3Dc%20d&"))
        #expect(items.filter { $0.name == "prompt" }.map(\.value) == ["select account"])
        #expect(items.filter { $0.name == "state" }.map(\.value) == [state])
        #expect(items.filter { $0.name == "redirect_uri" }.map(\.value) == ["com.example.shop:/callback"])
        #expect(!items.contains { $0.name == "scope" })
    }

    @Test func everyAuthorizationHasItsOwnStateAndKey() throws {
        let all = try (0..<50)
            .map { _ in
                try OAuthAuthorization(for: ScriptedProvider.system(), at: ScriptedProvider.server)
            }
        #expect(Set(all.map(\.url)).count == 50)
        #expect(Set(all.map(\.proofKey.verifier)).count == 50)
    }

    @Test func throwsWithoutAuthorizationEndpointOrRedirectURI() {
        var server = ScriptedProvider.server
        server.authorizationEndpoint = nil
        let noPage = #expect(throws: OAuthError.self) { try Self.make(ScriptedProvider.system(), at: server) }
        #expect(noPage?.kind == .misconfigured)
        #expect(noPage?.reason.contains("authorizationEndpoint") == true)
        var system = ScriptedProvider.system()
        system.redirectURI = nil
        let noRedirect = #expect(throws: OAuthError.self) { try Self.make(system) }
        #expect(noRedirect?.reason.contains("redirect URI") == true)
    }

    // MARK: Callbacks

    @Test func readsTheCodeOfACallback() throws {
        #expect(try authorization.code(of: callback("code=abc&state=\(state)")) == "abc")
        #expect(try authorization.code(of: callback("state=\(state)&code=a%2Bb%26c%3Dd%2Fe%20f")) == "a+b&c=d/e f")
        // Some providers do not encode the code.
        #expect(try authorization.code(of: callback("code=a+b/c==&state=\(state)#_=_")) == "a+b/c==")
    }

    @Test(arguments: ["code=abc&state=other", "code=abc", "code=abc&state=", "error=access_denied", ""])
    func rejectsACallbackWithAnotherState(query: String) {
        let error = error(of: callback(query))
        #expect(error?.kind == .invalidCallback)
        #expect(error?.reason.contains("state") == true)
        #expect(!authorization.matches(redirect: callback(query)))
    }

    @Test(arguments: ["state=%", "code=&state=%", "nothing=1&state=%"])
    func rejectsACallbackWithoutACode(query: String) {
        let error = error(of: callback(query.replacing("%", with: state)))
        #expect(error?.kind == .invalidCallback)
        #expect(error?.reason.contains("neither a code nor an error") == true)
    }

    @Test(arguments: ["code=a&code=b&state=%", "code=a&state=%&state=%"])
    func rejectsACallbackWithRepeatedParameters(query: String) {
        let error = error(of: callback(query.replacing("%", with: state)))
        #expect(error?.kind == .invalidCallback)
        #expect(error?.reason.contains("twice") == true)
    }

    @Test(arguments: [
        "com.example.other:/callback", "com.example.shop:/elsewhere", "https://com.example.shop/callback",
        "com.example.shop://callback/callback",
    ])
    func rejectsACallbackToAnotherURI(base: String) {
        let callback = callback("code=abc&state=\(state)", to: base)
        #expect(error(of: callback)?.kind == .invalidCallback)
        #expect(!authorization.matches(redirect: callback))
    }

    @Test func accessDeniedIsADenial() {
        let error = error(of: callback("error=access_denied&error_description=The+user+said%20no&state=\(state)"))
        #expect(error?.kind == .denied)
        #expect(error?.isDenied == true)
        #expect(error?.code == "access_denied")
        #expect(error?.reason.contains("The user said no") == true)
    }

    @Test func reportsTheProvidersErrorWithoutControlCharacters() {
        let error = error(of: callback("error=invalid_scope&state=\(state)"))
        #expect(error?.kind == .authorizationRefused)
        #expect(error?.code == "invalid_scope")
        // An attacker controls this text, and it is printed in terminals and logs.
        let hostile = self.error(of: callback("error=x%1B%5B31m&error_description=a%0Ab%00\(state)&state=\(state)"))
        #expect(hostile?.reason.contains("\u{1B}") == false)
        #expect(hostile?.reason.contains("\n") == false)
        #expect(hostile?.reason.contains(state) == false)
    }

    // MARK: Issuers

    @Test func rejectsACallbackOfAnotherIssuer() throws {
        let right = callback("code=abc&state=\(state)&iss=https%3A%2F%2Flogin.example.com")
        #expect(try authorization.code(of: right) == "abc")
        let wrong = error(of: callback("code=abc&state=\(state)&iss=https%3A%2F%2Fevil.example"))
        #expect(wrong?.kind == .invalidCallback)
        #expect(wrong?.reason.contains("RFC 9207") == true)
    }

    @Test func rejectsACallbackWithoutTheRequiredIssuer() throws {
        var server = ScriptedProvider.server
        server.namesIssuerInCallbacks = true
        let authorization = try Self.make(ScriptedProvider.system(), at: server)
        #expect(error(of: callback("code=abc&state=\(state)"), to: authorization)?.kind == .invalidCallback)
        // An error callback can be a mix-up attack too.
        #expect(error(of: callback("error=access_denied&state=\(state)"), to: authorization)?.kind == .invalidCallback)
    }

    // MARK: Loopback

    @Test func redirectsToAPortChosenLater() throws {
        var system = ScriptedProvider.system()
        system.redirectURI = URL(string: "http://127.0.0.1/callback")
        let authorization = try Self.make(system).redirecting(toPort: 50_123)
        #expect(authorization.url.absoluteString.contains("redirect_uri=http%3A%2F%2F127.0.0.1%3A50123%2Fcallback&"))
        let right = URL(string: "http://127.0.0.1:50123/callback?code=abc&state=\(state)")!
        #expect(authorization.matches(redirect: right))
        #expect(try authorization.code(of: right) == "abc")
        #expect(
            !authorization.matches(redirect: URL(string: "http://127.0.0.1:50124/callback?code=abc&state=\(state)")!)
        )
        #expect(!authorization.matches(redirect: URL(string: "http://127.0.0.1/callback?code=abc&state=\(state)")!))
    }

    @Test func descriptionsRedactTheStateAndTheKey() {
        var dumped = ""
        dump(authorization, to: &dumped)
        dump(OAuthCallback(callback("code=abc&state=\(state)"), to: authorization), to: &dumped)
        let text = "\(authorization) \(String(reflecting: authorization)) \(dumped)"
        #expect(!text.contains(state) && !text.contains("abc"))
        #expect(!text.contains(authorization.proofKey.verifier))
    }
}
#endif
