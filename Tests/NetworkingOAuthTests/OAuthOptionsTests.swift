#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Testing

/// Options of a client and of a server.
@Suite(.timeLimit(.minutes(20)))
struct OAuthOptionsTests {
    private let provider = ScriptedProvider()
    private let clock = ManualClock()

    /// The number of token requests when a token with a lifetime of an hour is used at that age.
    private func tokenRequests(after age: Duration, _ client: OAuthClient) async throws -> Int {
        let transport = provider.transport
        let network = provider.network(client, over: transport, clock)
        try await network.oauth(client).signIn(with: provider.user)
        let session = client.session
        clock.advance(by: age)
        try await network.data(HTTPRequestData(path: "orders"))
        if age >= .seconds(3_500) {
            for _ in 1...1_000_000 where client.session == session { await Task.yield() }
        }
        return provider.get(\.forms).count
    }

    @Test func renewsATokenWithinTheLeeway() async throws {
        let client = OAuthClient(ScriptedProvider.system(), leeway: .seconds(100))
        #expect(try await tokenRequests(after: .seconds(3_500), client) == 2)
    }

    @Test func keepsATokenBeforeTheLeeway() async throws {
        let client = OAuthClient(ScriptedProvider.system(), leeway: .seconds(100))
        #expect(try await tokenRequests(after: .seconds(3_499), client) == 1)
    }

    @Test func requiresTheIssuerOnlyIfTheServerNamesIt() async throws {
        func server(names: Bool) -> OAuthServer {
            OAuthServer(
                issuer: "https://login.example.com",
                authorizationEndpoint: URL(string: "https://login.example.com/authorize"),
                tokenEndpoint: URL(string: "https://login.example.com/token")!,
                namesIssuerInCallbacks: names
            )
        }
        for names in [false, true] {
            let system = OAuthSystem(
                server: server(names: names),
                clientID: "shop",
                redirectURI: ScriptedProvider.redirectURI
            )
            let client = OAuthClient(system)
            // The callback of this provider has no issuer.
            let network = provider.network(client, over: provider.transport, clock)
            if names {
                let error = await #expect(throws: (any Error).self) {
                    try await network.oauth(client).signIn(with: provider.user)
                }
                #expect(oauthError(error)?.kind == .invalidCallback)
            } else {
                #expect(try await network.oauth(client).signIn(with: provider.user).accessToken == "access-2")
            }
        }
    }
}
#endif
