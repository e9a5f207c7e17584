import Foundation
import Networking
import NetworkingOAuth
import NetworkingTestServer

/// Signs in to a command-line tool on the pages of an OAuth provider, which also runs on this machine.
enum OAuthSignIn {
    static func show() async throws {
        try await withTestServer { server in
            let provider = Provider()
            provider.script(server)
            Terminal.title("21. OAuth: sign in on a provider's page")
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

    /// Signs in with a browser that follows the redirect to the port of the user agent.
    private static func signIn(_ account: OAuthProxy) async throws {
        let browser = LoopbackUserAgent { url in
            let asked = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems?.map(\.name) ?? []
            Terminal.say("The browser opens \(url.path()) with \(asked.joined(separator: ", ")).")
            try await URLSession.shared.data(HTTPRequestData(method: .get, url: url))
        }
        try await account.signIn(with: .authorizationCode(browser))
        Terminal.say(
            "The provider has redirected the browser to this machine. The tokens are redacted: \(account.client)"
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
        Terminal.say("The token expired, and the next request still got \(again.status).")
        try Tour.expect(client.session?.accessToken != former && again.status == .ok, "a token is renewed")
    }

    private static func signOut(_ account: OAuthProxy, at provider: Provider) async throws {
        Terminal.code("try await account.signOut()")
        try await account.signOut()
        Terminal.say("Signed out. The provider has revoked \(provider.revocations) tokens.")
        try Tour.expect(account.session == nil && provider.revocations == 2, "both tokens are revoked")
    }
}
