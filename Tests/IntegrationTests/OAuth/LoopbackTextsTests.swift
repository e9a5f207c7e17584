#if LoopbackRedirect && TestServer && (os(Linux) || os(macOS))
import Foundation
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization
import Testing

extension Loopback {
    /// The page for a redirect of another sign-in, and the agent that opens the system's browser.
    @Suite(.timeLimit(.minutes(20)))
    struct LoopbackTextsTests {
        private static func client() -> OAuthClient {
            let server = OAuthServer(
                authorizationEndpoint: URL(string: "https://login.example.com/authorize"),
                tokenEndpoint: URL(string: "https://login.example.com/token")!
            )
            let redirectURI = URL(string: "http://127.0.0.1/callback")
            return OAuthClient(OAuthSystem(server: server, clientID: "tool", redirectURI: redirectURI))
        }

        @Test func redirectOfAnotherSignInShowsTheAppsText() async throws {
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
                try await MockTransport().oauth(Self.client()).signIn(with: .authorizationCode(agent))
            }
            #expect(shown.withLock { $0 }.contains("<p>Falsche Seite</p>"))
        }

        #if os(Linux)
        /// Runs in a separate process, in which a test program replaces `xdg-open`.
        @Test func opensThePageInTheSystemBrowser() async throws {
            await #expect(processExitsWith: .success) {
                let folder = FileManager.default.temporaryDirectory.appending(path: "networking-browser-\(UUID())")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: folder) }
                let (opener, opened) = (folder.appending(path: "xdg-open"), folder.appending(path: "opened"))
                try Data("#!/bin/sh\nprintf %s \"$1\" >'\(opened.path)'\nexit 3\n".utf8).write(to: opener)
                try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: opener.path)
                setenv("PATH", "\(folder.path):/usr/bin:/bin", 1)

                let browser = OAuthGrant.authorizationCode(LoopbackUserAgent.systemBrowser)
                let error = await #expect(throws: OAuthError.self) {
                    try await MockTransport().oauth(LoopbackTextsTests.client()).signIn(with: browser)
                }
                #expect(error?.kind == .misconfigured)
                #expect(error?.reason.contains("xdg-open (status 3)") == true)
                let page = try String(contentsOf: opened, encoding: .utf8)
                #expect(page.hasPrefix("https://login.example.com/authorize?"))
            }
        }
        #endif
    }
}
#endif
