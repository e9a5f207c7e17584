import Foundation
import Networking
import NetworkingOAuth
import NetworkingTestServer

/// Somebody signs in to a command-line tool on the pages of a provider, which is on this machine too.
enum SigningInElsewhere {
    static func show() async throws {
        try await withTestServer { server in
            let provider = Provider()
            provider.script(server)
            Terminal.title("19. Signed in elsewhere: OAuth")
            Terminal.code(
                """
                let client = OAuthClient(
                    .provider(
                        issuer: "https://login.example.com",
                        clientID: "quickstart",
                        redirectURI: URL(string: "http://127.0.0.1/callback"),
                        scopes: ["cups"]
                    )
                )
                let network = URLSession.shared.authenticated(oauth: client).server(authority: "api.example.com")
                let account = network.oauth(client)
                try await account.signIn(with: .authorizationCode(LoopbackUserAgent.systemBrowser))
                """
            )
            let client = OAuthClient(
                .provider(
                    issuer: server.url.absoluteString,
                    clientID: "quickstart",
                    redirectURI: URL(string: "http://127.0.0.1/callback"),
                    scopes: ["cups"]
                )
            )
            let network = URLSession.shared.authenticated(oauth: client).server(baseURL: server.url)
            let account = network.oauth(client)
            try await signIn(account)
            try await use(network, of: client, at: provider)
            try await signOut(account, at: provider)
        }
    }

    /// What the browser would do is done here: it follows the page back to the port that the user agent listens on.
    private static func signIn(_ account: OAuthProxy) async throws {
        let browser = LoopbackUserAgent { url in
            let asked = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems?.map(\.name) ?? []
            Terminal.say("The browser opens \(url.path()) with \(asked.joined(separator: ", ")).")
            try await URLSession.shared.data(HTTPRequestData(method: .get, url: url))
        }
        try await account.signIn(with: .authorizationCode(browser))
        Terminal.say(
            "The provider has sent it back to a port of this machine. What is printed of the tokens: \(account.client)"
        )
    }

    private static func use(
        _ network: some NetworkingComponent,
        of client: OAuthClient,
        at provider: Provider
    ) async throws {
        let cups = try await network.data(HTTPRequestData(path: "cups"))
        Terminal.say("A request with the token: \(String(decoding: cups.data, as: UTF8.self))")
        let former = client.session?.accessToken
        provider.expire()
        let again = try await network.data(HTTPRequestData(path: "cups"))
        Terminal.say("The token ran out, and the next request got \(again.status) all the same.")
        try Tour.expect(client.session?.accessToken != former && again.status == .ok, "a token is renewed")
    }

    private static func signOut(_ account: OAuthProxy, at provider: Provider) async throws {
        Terminal.code("try await account.signOut()")
        try await account.signOut()
        Terminal.say("Signed out; the provider was told to void \(provider.revocations) tokens.")
        try Tour.expect(account.session == nil && provider.revocations == 2, "both tokens are void")
    }
}
