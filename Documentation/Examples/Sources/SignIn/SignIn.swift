import Backend
import Foundation
import Networking
import NetworkingOAuth

/// A command-line tool that signs in on the pages of a provider, and stays signed in between its runs.
struct Tool: Sendable {
    private let network: any NetworkingComponent
    private let client: OAuthClient

    /// Creates the tool, signed in if an earlier run has stored a session.
    init(provider: URL, api: URL, sessionsIn directory: URL) throws {
        let storage = FileSessionStorage(directory: directory)
        client = OAuthClient(
            .provider(
                issuer: provider.absoluteString,
                clientID: "example-tool",
                // Registered without a port: the tool listens on a free one while the user signs in.
                redirectURI: URL(string: "http://127.0.0.1/callback"),
                scopes: ["orders"]
            ),
            session: try storage.session(for: ""),
            in: storage
        )
        network = URLSession.shared
            .timeout(.seconds(10))
            .authenticated(oauth: client)
            .retry()
            .server(baseURL: api)
    }

    var isSignedIn: Bool {
        client.session != nil
    }

    /// Signs in with an authorization code and PKCE.
    ///
    /// In a tool, the closure is `{ try await LoopbackUserAgent.openInBrowser($0) }`.
    func signIn(openInBrowser open: @escaping @Sendable (URL) async throws -> Void) async throws {
        let agent = LoopbackUserAgent { page in
            print("Sign in at \(page.host() ?? "the provider")\(page.path())")
            try await open(page)
        }
        try await network.oauth(client).signIn(with: .authorizationCode(agent))
    }

    func orders() async throws -> [String] {
        try await network.request(.get("orders"), as: [String].self)
    }

    /// Removes the tokens from this machine, and has the provider revoke them.
    func signOut() async throws {
        try await network.oauth(client).signOut()
    }
}

@main
enum SignIn {
    static func main() async {
        let service = ProviderService()
        await withBackend(service) { server in
            try await withTemporaryDirectory { directory in
                let sessions = directory.appending(path: "sessions")
                let first = try Tool(provider: server.url, api: server.url, sessionsIn: sessions)
                expect(!first.isSignedIn, "the first run starts without a session")
                try await first.signIn { try await service.openInBrowser($0) }
                print("The orders: \(try await first.orders().joined(separator: ", "))")

                let second = try Tool(provider: server.url, api: server.url, sessionsIn: sessions)
                expect(second.isSignedIn, "the next run finds the session")
                service.expireAccessToken()
                let orders = try await second.orders()
                print("The next run, with an expired token: \(orders.count) orders, without another sign-in")
                expect(orders.count == 2 && service.signIns == 1, "the refresh token renews the session")

                try await second.signOut()
                print("Signed out. The provider has revoked \(service.revocations) tokens.")
                expect(!second.isSignedIn && service.revocations == 2, "both tokens are revoked")
                let third = try Tool(provider: server.url, api: server.url, sessionsIn: sessions)
                expect(!third.isSignedIn, "nothing is left on this machine")
                do {
                    _ = try await third.orders()
                    expect(false, "a call without a session fails")
                } catch let error as NetworkingError where error.isUnauthorized {
                    print("After that: \(error.localizedDescription)")
                }
            }
        }
    }
}
