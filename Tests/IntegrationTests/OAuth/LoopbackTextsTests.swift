#if LoopbackRedirect && TestServer && (os(Linux) || os(macOS))
import Foundation
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization
import Testing

extension Loopback {
    /// What a browser is shown that comes with something else, and the agent that opens one by itself.
    @Suite(.timeLimit(.minutes(5)))
    struct LoopbackTextsTests {
        private func client(at endpoint: String = "https://login.example.com/authorize") -> OAuthClient {
            let server = OAuthServer(
                authorizationEndpoint: URL(string: endpoint),
                tokenEndpoint: URL(string: "https://login.example.com/token")!
            )
            let redirectURI = URL(string: "http://127.0.0.1/callback")
            return OAuthClient(OAuthSystem(server: server, clientID: "tool", redirectURI: redirectURI))
        }

        @Test func whatDoesNotBelongHereIsToldSoInTheAppsWords() async throws {
            struct Looked: Error {}
            var texts = LoopbackUserAgent.Texts()
            texts.unexpected = "Falsche Seite"
            let shown = Mutex("")
            let agent = LoopbackUserAgent(texts: texts) { page in
                let items = URLComponents(url: page, resolvingAgainstBaseURL: true)?.queryItems ?? []
                let address = items.first { $0.name == "redirect_uri" }?.value ?? ""
                let url = try #require(URL(string: "\(address)?code=1&state=another"))
                let (data, _) = try await URLSession.shared.data(from: url)
                shown.withLock { $0 = String(decoding: data, as: UTF8.self) }
                throw Looked()
            }
            await #expect(throws: Looked.self) {
                try await MockTransport().oauth(client()).signIn(with: .authorizationCode(agent))
            }
            #expect(shown.withLock { $0 }.contains("<p>Falsche Seite</p>"))
        }

        /// No program is started for an address that is no page.
        @Test func theSystemsBrowserIsAskedToOpenThePage() async throws {
            let client = client(at: "javascript:alert(1)")
            let error = await #expect(throws: OAuthError.self) {
                try await MockTransport().oauth(client)
                    .signIn(with: .authorizationCode(LoopbackUserAgent.systemBrowser))
            }
            #expect(error?.kind == .misconfigured)
            #expect(error?.reason.contains("neither http nor https") == true)
        }
    }
}
#endif
