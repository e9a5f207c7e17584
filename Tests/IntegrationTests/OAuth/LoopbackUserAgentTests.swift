#if LoopbackRedirect && TestServer && (os(Linux) || os(macOS))
import Foundation
import Networking
import NetworkingOAuth
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// The receiver of OAuth redirects over real sockets.
    @Suite(.timeLimit(.minutes(20)))
    struct LoopbackUserAgentTests {
        @Test func redirectCompletesTheSignIn() async throws {
            let transport = MockTransport { _ in .json(["access_token": "token-1", "token_type": "Bearer"]) }
            try await withSignIn(over: transport) { page, signIn in
                let response = try await page.redirect("code=a%2Bb%20c")
                #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(response.contains("You can close this page."))
                for field in [
                    "Connection: close", "Cache-Control: no-store", "Referrer-Policy: no-referrer",
                    "X-Content-Type-Options: nosniff", "Content-Security-Policy: default-src 'none'",
                ] {
                    #expect(response.contains("\r\n\(field)"))
                }
                #expect(!response.contains("script"))
                #expect(!response.contains("a+b c"))
                #expect(try await signIn.value.accessToken == "token-1")
                let form = try #require(transport.requests.last.flatMap(\.formItems))
                #expect(form["code"] == "a+b c")
                #expect(form["redirect_uri"] == "http://127.0.0.1:\(page.port)/callback")
                #expect(throws: RawConnection.Refused.self) { try RawConnection(port: page.port) }
            }
        }

        @Test func deniedAuthorizationThrowsAnError() async throws {
            try await withSignIn { page, signIn in
                let response = try await page.redirect("error=access_denied&error_description=No+way")
                #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(response.contains("You were not signed in"))
                let error = await #expect(throws: OAuthError.self) { try await signIn.value }
                #expect(error?.isDenied == true)
            }
        }

        @Test func pageShowsTheAppsTexts() async throws {
            var texts = LoopbackUserAgent.Texts()
            texts.language = "de"
            texts.title = "Anmeldung \"A&B\""
            texts.received = "Fertig <b>"
            try await withSignIn(texts: texts) { page, signIn in
                let response = try await page.redirect("code=1")
                #expect(response.contains("<html lang=\"de\">"))
                #expect(response.contains("<title>Anmeldung &quot;A&amp;B&quot;</title>"))
                #expect(response.contains("<p>Fertig &lt;b&gt;</p>"))
                _ = try await signIn.value
            }
        }

        // MARK: Requests that do not end the wait

        /// An attacker may control another name that resolves to this address.
        @Test func rejectsOtherHosts() async throws {
            try await withSignIn { page, signIn in
                let target = page.target("code=1")
                for host in ["evil.example:\(page.port)", "localhost:\(page.port)", "127.0.0.1", "127.0.0.1:1", ""] {
                    let response = try await RawConnection.get(target, host: host, port: page.port)
                    #expect(response.hasPrefix("HTTP/1.1 403 "))
                }
                let without = try await RawConnection.send("GET \(target) HTTP/1.0\r\n\r\n", port: page.port)
                #expect(without.hasPrefix("HTTP/1.1 403 "))
                let hosts = "Host: \(page.authority)\r\nHost: \(page.authority)\r\n"
                let twice = try await RawConnection.send("GET \(target) HTTP/1.1\r\n\(hosts)\r\n", port: page.port)
                #expect(twice.hasPrefix("HTTP/1.1 403 "))
                try await page.finish(signIn)
            }
        }

        @Test func rejectsRedirectsOfOtherSignIns() async throws {
            try await withSignIn { page, signIn in
                for query in [
                    "", "?code=1", "?code=1&state=", "?code=1&state=other", "?state=\(page.state)&code=1&code=2",
                ] {
                    let response = try await RawConnection.get(
                        "/callback\(query)",
                        host: page.authority,
                        port: page.port
                    )
                    #expect(response.hasPrefix("HTTP/1.1 400 "))
                    #expect(response.contains("does not belong"))
                }
                try await page.finish(signIn)
            }
        }

        @Test func rejectsOtherPathsAndMethods() async throws {
            try await withSignIn { page, signIn in
                let query = "?code=1&state=\(page.state)"
                for path in [
                    "/favicon.ico", "/", "/callback/", "/CALLBACK", "//callback", "/callback%20", "/%63allback",
                ] {
                    let response = try await RawConnection.get(path + query, host: page.authority, port: page.port)
                    #expect(response.hasPrefix("HTTP/1.1 404 "))
                }
                for method in ["POST", "PUT", "get"] {
                    let response = try await RawConnection.send(
                        "\(method) /callback\(query) HTTP/1.1\r\nHost: \(page.authority)\r\nContent-Length: 4\r\n\r\nbody",
                        port: page.port
                    )
                    #expect(response.hasPrefix("HTTP/1.1 405 "))
                    #expect(response.contains("\r\nAllow: GET\r\n"))
                }
                try await page.finish(signIn)
            }
        }

        @Test func rejectsMalformedRequests() async throws {
            try await withSignIn { page, signIn in
                for nonsense in [
                    "\u{16}\u{3}\u{1}\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n folded\r\n\r\n",
                ] {
                    #expect(try await RawConnection.send(nonsense, port: page.port).hasPrefix("HTTP/1.1 400 "))
                }
                let long = "GET /callback?\(String(repeating: "a", count: 40_000))"
                #expect(try await RawConnection.send(long, port: page.port).hasPrefix("HTTP/1.1 431 "))
                try await page.finish(signIn)
            }
        }

        /// Browsers open connections before they send a request.
        @Test func idleConnectionsDoNotBlockTheRedirect() async throws {
            try await withSignIn { page, signIn in
                let idle = try (0..<20).map { _ in try RawConnection(port: page.port) }
                idle[0].send("GET /callback?code=1&sta")
                try await page.finish(signIn)
                for connection in idle {
                    #expect(await connection.rest() == "")
                }
            }
        }

        /// The redirect waits until some of the idle connections have timed out.
        @Test func manyIdleConnectionsTimeOut() async throws {
            try await withManualClock { clock in
                try await withSignIn { page, signIn in
                    let before = clock.sleepers
                    let idle = try (0..<100).map { _ in try RawConnection(port: page.port) }
                    async let end: Void = page.finish(signIn)
                    try await clock.waitForSleepers(before + 64)
                    #expect(clock.sleepers == before + 64)
                    clock.advance(by: .seconds(10))
                    try await end
                    #expect(await idle[0].rest() == "")
                }
            }
        }

        @Test func slowRequestsTimeOut() async throws {
            try await withManualClock { clock in
                try await withSignIn { page, signIn in
                    let before = clock.sleepers
                    let slow = try RawConnection(port: page.port)
                    slow.send("GET /callback?code=1")
                    try await clock.waitForSleepers(before + 1)
                    clock.advance(by: .seconds(9))
                    slow.send("&state=\(page.state)")
                    clock.advance(by: .seconds(1))
                    #expect(await slow.rest() == "")
                    try await page.finish(signIn)
                }
            }
        }

        @Test func onlyOneOfTwoRedirectsSucceeds() async throws {
            try await withSignIn { page, signIn in
                async let first = try? page.redirect("code=1")
                async let second = try? page.redirect("code=1")
                let statuses = await [first, second].map { ($0 ?? "").prefix { $0 != "\r\n" } }
                #expect(statuses.filter { $0 == "HTTP/1.1 200 OK" }.count == 1)
                // Or the listener was closed already.
                #expect(statuses.contains("HTTP/1.1 410 Gone") || statuses.contains(""))
                _ = try await signIn.value
            }
        }

        // MARK: Ports

        @Test func concurrentSignInsUseSeparatePorts() async throws {
            try await withSignIn { first, firstSignIn in
                try await withSignIn { second, secondSignIn in
                    #expect(first.port != second.port)
                    let crossed = try await RawConnection.get(
                        first.target("code=1"),
                        host: second.authority,
                        port: second.port
                    )
                    #expect(crossed.hasPrefix("HTTP/1.1 400 "))
                    try await second.finish(secondSignIn)
                }
                try await first.finish(firstSignIn)
            }
        }

        @Test func errorNamesThePortInUse() async throws {
            try await withTestServer { server in
                var environment = NetworkEnvironment.current
                environment.clock = .immediate()
                let error = await #expect(throws: OAuthError.self) {
                    try await withEnvironment(environment) {
                        try await withSignIn(redirectURI: "http://127.0.0.1:\(server.port)/callback") { _, _ in }
                    }
                }
                #expect(error?.kind == .misconfigured)
                #expect(error?.reason.contains("Port \(server.port) of 127.0.0.1") == true)
                #expect(error?.reason.contains("in use") == true)
            }
        }

        /// Another process may be about to release the port.
        @Test func waitsUntilThePortIsReleased() async throws {
            try await withManualClock { clock in
                let server = try await TestServer.start()
                async let stop: Void = {
                    // How long the sign-in may take, and the wait for the port.
                    try await clock.waitForSleepers(2)
                    await server.stop()
                    clock.advance(by: .milliseconds(50))
                }()
                try await withSignIn(redirectURI: "http://127.0.0.1:\(server.port)/callback") { page, signIn in
                    try await page.finish(signIn)
                }
                try await stop
            }
        }

        /// Waits for a redirect, is cancelled, and waits again on the same port.
        private struct Hesitant: OAuthUserAgent {
            func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
                var authorization = authorization
                for _ in 1...2 {
                    let (pages, showing) = AsyncStream.makeStream(of: URL.self)
                    let waiting = Task { [authorization] in
                        try await LoopbackUserAgent { showing.yield($0) }.authorize(authorization)
                    }
                    var iterator = pages.makeAsyncIterator()
                    let page = try Page(try #require(await iterator.next()))
                    authorization = authorization.redirecting(toPort: page.port)
                    let idle = try RawConnection(port: page.port)
                    idle.send("GET /call")
                    waiting.cancel()
                    await #expect(throws: CancellationError.self) { try await waiting.value }
                    #expect(await idle.rest() == "")
                    #expect(throws: RawConnection.Refused.self) { try RawConnection(port: page.port) }
                }
                throw OAuthError.denied
            }
        }

        @Test func cancellationReleasesThePort() async throws {
            let error = await #expect(throws: OAuthError.self) {
                try await MockTransport().oauth(.tool()).signIn(with: .authorizationCode(Hesitant()))
            }
            #expect(error?.isDenied == true)
        }

        @Test func newSignInTakesOverThePort() async throws {
            let transport = MockTransport { _ in .json(["access_token": "token-1"]) }
            let (pages, showing) = AsyncStream.makeStream(of: URL.self)
            let agent = LoopbackUserAgent { showing.yield($0) }
            var iterator = pages.makeAsyncIterator()
            var port = 0
            try await withSignIn { page, signIn in
                port = page.port
                try await page.finish(signIn)
            }
            let account = transport.oauth(.tool(redirectURI: "http://127.0.0.1:\(port)/callback"))
            let former = Task { try await account.signIn(with: .authorizationCode(agent)) }
            _ = await iterator.next()
            let signIn = Task { try await account.signIn(with: .authorizationCode(agent)) }
            let page = try Page(try #require(await iterator.next()))
            let error = await #expect(throws: OAuthError.self) { try await former.value }
            #expect(error?.kind == .superseded)
            try await page.finish(signIn)
        }

        /// A browser started by the tool outlives it.
        @Test func childProcessesDoNotKeepThePortOpen() async throws {
            let child = Process()
            child.executableURL = URL(filePath: "/bin/sleep")
            child.arguments = ["30"]
            defer { child.terminate() }
            var port = 0
            try await withSignIn { page, signIn in
                port = page.port
                let idle = try RawConnection(port: port)
                try child.run()
                try await page.finish(signIn)
                #expect(await idle.rest() == "")
            }
            try await withSignIn(redirectURI: "http://127.0.0.1:\(port)/callback") { page, signIn in
                try await page.finish(signIn)
            }
        }

        @Test(arguments: [
            "http://localhost/callback", "HTTP://LocalHost/callback", "http://127.0.0.1", "http://127.0.0.1/a%20b/",
        ])
        func acceptsLoopbackRedirectURIs(redirectURI: String) async throws {
            try await withSignIn(redirectURI: redirectURI) { page, signIn in
                try await page.finish(signIn)
            }
        }

        /// A browser may look the name up as either address (RFC 8252 section 8.3).
        @Test(arguments: [false, true])
        func listensOnBothAddressesOfLocalhost(isPortGiven: Bool) async throws {
            let port = isPortGiven ? try await freePort() : nil
            let place = port.map { ":\($0)" } ?? ""
            try await withSignIn(redirectURI: "http://localhost\(place)/callback") { page, signIn in
                #expect(port == nil || port == page.port)
                let other = try RawConnection(port: page.port, isIPv6: true)
                other.send("GET /callback?code=abc&state=\(page.state) HTTP/1.1\r\nHost: \(page.authority)\r\n\r\n")
                #expect(await other.rest().hasPrefix("HTTP/1.1 200 OK\r\n"))
                _ = try await signIn.value
                #expect(throws: RawConnection.Refused.self) { try RawConnection(port: page.port) }
                #expect(throws: RawConnection.Refused.self) { try RawConnection(port: page.port, isIPv6: true) }
            }
        }

        /// The other program would receive the code.
        @Test func portOfAnotherProgramOnTheOtherAddressIsAnError() async throws {
            let port = try await freePort()
            let other = try OtherListener(port: port)
            defer { other.close() }
            let error = await #expect(throws: OAuthError.self) {
                try await withSignIn(redirectURI: "http://localhost:\(port)/callback") { _, _ in }
            }
            #expect(error?.kind == .misconfigured)
            #expect(error?.reason.contains("Port \(port) of ::1") == true)
            // The address itself is not concerned.
            try await withSignIn(redirectURI: "http://127.0.0.1:\(port)/callback") { page, signIn in
                try await page.finish(signIn)
            }
        }

        @Test(
            arguments: [
                "https://127.0.0.1/callback", "http://example.com/callback", "http://[::1]/callback", "app:/callback",
                "http://127.0.0.1:0/callback", "http://127.0.0.1:70000/callback",
            ]
        )
        func rejectsOtherRedirectURIs(redirectURI: String) async throws {
            let error = await #expect(throws: OAuthError.self) {
                try await withSignIn(redirectURI: redirectURI) { _, _ in Issue.record("a listener was started") }
            }
            #expect(error?.kind == .misconfigured)
        }

        // MARK: Opening

        @Test func failureToOpenThePageEndsTheSignIn() async throws {
            struct NoBrowser: Error {}
            let agent = LoopbackUserAgent { _ in throw NoBrowser() }
            await #expect(throws: NoBrowser.self) {
                try await MockTransport().oauth(.tool()).signIn(with: .authorizationCode(agent))
            }
        }

        /// The page may come from metadata, which another party controls.
        @Test(arguments: ["file:///bin/sh", "http://example.com/authorize", "calculator:"])
        func opensOnlySecurePages(endpoint: String) async throws {
            let agent = LoopbackUserAgent { Issue.record("opened \($0)") }
            let client = OAuthClient.tool(authorizationEndpoint: endpoint)
            let error = await #expect(throws: OAuthError.self) {
                try await MockTransport().oauth(client).signIn(with: .authorizationCode(agent))
            }
            #expect(error?.kind == .misconfigured)
        }

        /// Some browsers keep the process that opens them waiting.
        @Test func openingMayOutlastTheRedirect() async throws {
            let transport = MockTransport { _ in .json(["access_token": "token-1"]) }
            let agent = LoopbackUserAgent { url in
                _ = try await Page(url).redirect("code=1")
                try await Task.sleep(for: .seconds(3_600))
            }
            let session = try await transport.oauth(.tool()).signIn(with: .authorizationCode(agent))
            #expect(session.accessToken == "token-1")
        }

        /// Some openers ignore cancellation.
        @Test func signInCompletesAlthoughOpeningNeverReturns() async throws {
            let transport = MockTransport { _ in .json(["access_token": "token-1"]) }
            let end = Suspension<Void>()
            let agent = LoopbackUserAgent { url in
                _ = try await Page(url).redirect("code=1")
                await Task.detached { try? await end.value() }.value
            }
            let session = try await transport.oauth(.tool()).signIn(with: .authorizationCode(agent))
            #expect(session.accessToken == "token-1")
            end.resume()
        }

        @Test(arguments: ["file:///bin/sh", "javascript:alert(1)", "-a"])
        func opensOnlyWebPages(url: String) async throws {
            let url = try #require(URL(string: url))
            let error = await #expect(throws: OAuthError.self) { try await LoopbackUserAgent.openInBrowser(url) }
            #expect(error?.reason.contains("neither http nor https") == true)
        }
    }
}

// MARK: A pending sign-in

/// Runs an operation with the page of a sign-in that waits for its redirect.
private func withSignIn(
    redirectURI: String = "http://127.0.0.1/callback",
    texts: LoopbackUserAgent.Texts = .init(),
    over transport: MockTransport = MockTransport { _ in .json(["access_token": "token-1"]) },
    _ operation: (Page, Task<Session, any Error>) async throws -> Void
) async throws {
    let (pages, showing) = AsyncStream.makeStream(of: URL.self)
    let agent = LoopbackUserAgent(texts: texts) { showing.yield($0) }
    let signIn = Task {
        defer { showing.finish() }
        return try await transport.oauth(.tool(redirectURI: redirectURI)).signIn(with: .authorizationCode(agent))
    }
    defer { signIn.cancel() }
    for await url in pages {
        return try await operation(try Page(url), signIn)
    }
    _ = try await signIn.value
}

/// Returns a port that a listener has just released.
private func freePort() async throws -> Int {
    var port = 0
    try await withSignIn { page, signIn in
        port = page.port
        try await page.finish(signIn)
    }
    return port
}

/// A program that listens on the IPv6 loopback address.
private struct OtherListener {
    private let socket: Int32

    init(port: Int) throws {
        socket = RawConnection.makeSocket(AF_INET6)
        let status = RawConnection.withIPv6Address(port) { bind(socket, $0, $1) }
        try #require(status == 0 && listen(socket, 1) == 0)
    }

    func close() {
        RawConnection.closeSocket(socket)
    }
}

/// Runs an operation with a clock that only the test advances.
private func withManualClock(_ operation: (ManualClock) async throws -> Void) async throws {
    let clock = ManualClock()
    var environment = NetworkEnvironment.current
    environment.clock = .manual(clock)
    try await withEnvironment(environment) { try await operation(clock) }
}

extension OAuthClient {
    fileprivate static func tool(
        authorizationEndpoint: String = "https://login.example.com/authorize",
        redirectURI: String = "http://127.0.0.1/callback"
    ) -> OAuthClient {
        let server = OAuthServer(
            authorizationEndpoint: URL(string: authorizationEndpoint),
            tokenEndpoint: URL(string: "https://login.example.com/token")!
        )
        return OAuthClient(OAuthSystem(server: server, clientID: "tool", redirectURI: URL(string: redirectURI)))
    }
}

/// The parameters in the URL of the provider's page.
private struct Page {
    let state: String
    let port: Int
    let authority: String
    private let path: String

    init(_ url: URL) throws {
        let items = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems)
        func item(_ name: String) throws -> String {
            try #require(items.first { $0.name == name }?.value)
        }
        let redirectURI = try #require(URL(string: try item("redirect_uri")))
        state = try item("state")
        port = try #require(redirectURI.port)
        authority = "\(try #require(redirectURI.host()).lowercased()):\(port)"
        let path = redirectURI.path(percentEncoded: true)
        self.path = path.isEmpty ? "/" : path
    }

    /// The path and query of the redirect.
    func target(_ query: String) -> String {
        "\(path)?\(query)&state=\(state)"
    }

    /// Follows the redirect like a browser and returns the response.
    func redirect(_ query: String) async throws -> String {
        try await RawConnection.get(target(query), host: authority, port: port)
    }

    /// Completes the sign-in.
    func finish(_ signIn: Task<Session, any Error>) async throws {
        #expect(try await redirect("code=1").hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(try await signIn.value.accessToken == "token-1")
    }
}

extension HTTPRequestData {
    /// The fields of a form body.
    fileprivate var formItems: [String: String]? {
        guard let data = body?.data else { return nil }
        var components = URLComponents()
        components.percentEncodedQuery = String(decoding: data, as: UTF8.self).replacing("+", with: "%20")
        let pairs = components.queryItems?.map { ($0.name, $0.value ?? "") }
        return pairs.map { Dictionary($0) { _, last in last } }
    }
}
#endif
