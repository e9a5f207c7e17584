#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Signing in, being signed in, and signing out.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OAuthClientTests: ProviderSuite {
    let stack = ProviderStack()

    private func get(_ network: AnyNetworkingComponent? = nil) async throws -> String {
        String(decoding: try await (network ?? self.network).data(HTTPRequestData(path: "orders")).data, as: UTF8.self)
    }

    // MARK: Signing in

    @Test func signsInAndSendsTheToken() async throws {
        let session = try await network.oauth(client).signIn(with: provider.user)
        #expect(session == client.session)
        #expect(session.accessToken == "access-2")
        #expect(session.refreshToken == "refresh-2")
        #expect(session.expirationDate == clock.date.addingTimeInterval(3_600))
        #expect(try await get() == "hello")
        #expect(transport.destinations == ["login.example.com/token", "api.example.com/v1/orders"])
        #expect(transport.requests[1].headerFields[.authorization] == "Bearer access-2")
    }

    @Test func tokenRequestFollowsTheStandard() async throws {
        try await network.oauth(client).signIn(with: provider.user)
        let request = try #require(transport.requests.first)
        #expect(request.method == .post)
        #expect(request.headerFields[.contentType] == "application/x-www-form-urlencoded")
        #expect(request.headerFields[.accept] == "application/json")
        #expect(request.headerFields[.authorization] == nil)
        var form = provider.get(\.forms)[0]
        let verifier = form.removeValue(forKey: "code_verifier") ?? ""
        #expect(ProofKey(verifier: verifier) != nil)
        #expect(
            form == [
                "grant_type": "authorization_code", "code": "code-1", "redirect_uri": "com.example.shop:/callback",
                "client_id": "shop",
            ]
        )
    }

    @Test func usesAnExistingSession() async throws {
        try await network.oauth(client).signIn(with: provider.user)
        let later = OAuthClient(ScriptedProvider.system(), session: client.session)
        let transport = provider.transport
        #expect(try await get(provider.network(later, over: transport, clock)) == "hello")
        #expect(transport.destinations == ["api.example.com/v1/orders"])
    }

    @Test func throwsUnauthorizedWhenNotSignedIn() async {
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(error?.kind == .unauthorized)
        #expect(transport.requests.isEmpty)
    }

    /// An error that needs no request to the provider has the same reason each time.
    @Test func repeatedRequestsThrowTheSameError() async throws {
        var reasons: Set<String> = []
        for _ in 0..<20 {
            let error = await #expect(throws: NetworkingError.self) { try await get() }
            reasons.insert(error?.reason ?? "")
        }
        #expect(reasons.count == 1)
        #expect(reasons.first?.contains("network.oauth(client).signIn(with:)") == true)
    }

    /// The example of the guide.
    @Test func signsInWithTheTestOfTheGuide() async throws {
        struct Agreeing: OAuthUserAgent {
            func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
                let page = URLComponents(url: authorization.url, resolvingAgainstBaseURL: true)
                let state = page?.queryItems?.first { $0.name == "state" }?.value ?? ""
                return OAuthCallback(
                    URL(string: "\(authorization.redirectURI)?code=abc&state=\(state)")!,
                    to: authorization
                )
            }
        }

        let clock = ManualClock()
        let transport = MockTransport { request in
            request.path == "/token"
                ? .text(#"{"access_token": "a", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r"}"#)
                : .text("hello")
        }
        let network =
            transport
            .authenticated(oauth: client)
            .server(authority: "api.example.com")
            .environment(\.clock, .manual(clock))

        try await network.oauth(client).signIn(with: .authorizationCode(Agreeing()))
        clock.advance(by: .seconds(3600))
        try await network.data(HTTPRequestData(path: "orders"))
        #expect(transport.requests.map(\.path) == ["/token", "/token", "/orders"])
    }

    @Test func requestSignsInWithTheClientsGrant() async throws {
        let client = OAuthClient(ScriptedProvider.system(), grant: provider.user)
        let network = provider.network(client, over: transport, clock)
        #expect(try await get(network) == "hello")
        #expect(transport.destinations == ["login.example.com/token", "api.example.com/v1/orders"])
        #expect(client.session?.accessToken == "access-2")
    }

    @Test func concurrentRequestsSignInOnce() async throws {
        let pages = Pages()
        let client = OAuthClient(
            ScriptedProvider.system(),
            grant: .authorizationCode(ScriptedAgent { try await pages.show($0) })
        )
        let network = provider.network(client, over: transport, clock)
        async let first = get(network)
        async let second = get(network)
        async let third = network.oauth(client).client.session
        let page = try await pages.next()
        page.callback.resume(with: .success(provider.approve(page.authorization.url)))
        _ = try await (first, second, third)
        #expect(pages.count == 1)
        #expect(transport.destinations.filter { $0 == "login.example.com/token" }.count == 1)
    }

    @Test func signInWithoutAGrantThrows() async {
        let error = await #expect(throws: OAuthError.self) { try await network.oauth(client).signIn() }
        #expect(error?.kind == .misconfigured)
    }

    @Test func newSignInSupersedesTheFormerOne() async throws {
        let pages = Pages()
        let grant = OAuthGrant.authorizationCode(ScriptedAgent { try await pages.show($0) })
        let first = Task { try await network.oauth(client).signIn(with: grant) }
        let lost = try await pages.next()
        let second = Task { try await network.oauth(client).signIn(with: grant) }
        let error = await #expect(throws: OAuthError.self) { try await first.value }
        #expect(error?.kind == .superseded)
        let page = try await pages.next()
        lost.callback.resume(with: .success(provider.approve(lost.authorization.url)))
        page.callback.resume(with: .success(provider.approve(page.authorization.url)))
        #expect(try await second.value == client.session)
        #expect(provider.get(\.forms).count == 1)
    }

    @Test func cancelledSignInClosesThePage() async throws {
        let pages = Pages()
        let grant = OAuthGrant.authorizationCode(ScriptedAgent { try await pages.show($0) })
        let call = Task { try await network.oauth(client).signIn(with: grant) }
        let page = try await pages.next()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await eventually("!page.callback.isPending") { !page.callback.isPending }
        #expect(client.session == nil)
        #expect(transport.requests.isEmpty)
    }

    @Test func signInPageWithoutCallbackTimesOut() async throws {
        let pages = Pages()
        let client = OAuthClient(ScriptedProvider.system(), signInTimeout: .seconds(300))
        let network = provider.network(client, over: transport, clock)
        let grant = OAuthGrant.authorizationCode(ScriptedAgent { try await pages.show($0) })
        let call = Task { try await network.oauth(client).signIn(with: grant) }
        _ = try await pages.next()
        clock.advance(by: .seconds(300))
        let error = await #expect(throws: OAuthError.self) { try await call.value }
        #expect(error?.kind == .expired)
    }

    @Test func rejectsTheCallbackOfAnotherPage() async throws {
        let other = Pages()
        let grant = OAuthGrant.authorizationCode(ScriptedAgent { try await other.show($0) })
        let otherSignIn = Task { try await network.oauth(OAuthClient(ScriptedProvider.system())).signIn(with: grant) }
        let foreign = try await other.next().authorization
        struct Mistaken: OAuthUserAgent {
            let provider: ScriptedProvider
            let foreign: OAuthAuthorization

            func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
                OAuthCallback(provider.approve(foreign.url), to: foreign)
            }
        }
        let error = await #expect(throws: OAuthError.self) {
            try await network.oauth(client)
                .signIn(with: .authorizationCode(Mistaken(provider: provider, foreign: foreign)))
        }
        #expect(error?.kind == .invalidCallback)
        #expect(transport.requests.isEmpty)
        otherSignIn.cancel()
    }

    /// The user signs out while the code is exchanged.
    ///
    /// The token that arrives later is discarded.
    @Test func signOutDuringSignInWins() async throws {
        let (provider, client) = (provider, client)
        let scripted = provider.transport
        let transport = MockTransport { request in
            let response = try await scripted.data(request)
            client.remove()
            return MockResponse(status: response.status, data: response.data)
        }
        let error = await #expect(throws: OAuthError.self) {
            try await provider.network(client, over: transport, clock).oauth(client).signIn(with: provider.user)
        }
        #expect(error?.kind == .superseded)
        #expect(client.session == nil)
    }

    /// The requests hold the permits while they wait for the sign-in, so a sign-in that needed one would deadlock.
    @Test func signInNeedsNoPermitOfTheLimiter() async throws {
        let pages = Pages()
        let client = OAuthClient(
            ScriptedProvider.system(),
            grant: .authorizationCode(ScriptedAgent { try await pages.show($0) })
        )
        let network = AnyNetworkingComponent(provider.network(client, over: transport, clock).throttled(max: 1))
        async let session = network.oauth(client).signIn()
        let page = try await pages.next()
        let events = EventNames()
        let call = Task {
            var request = HTTPRequestData(path: "orders")
            request.addObserver(events)
            return try await network.data(request).status
        }
        try await eventually("events.text.contains('waiting')") { events.text.contains("waiting") }
        page.callback.resume(with: .success(provider.approve(page.authorization.url)))
        #expect(try await session == client.session)
        #expect(try await call.value == .ok)
    }

    /// Otherwise the request would wait for the sign-in that it belongs to.
    @Test func requestsOfAUserAgentCarryNoToken() async throws {
        let stack = StackBox()
        let agent = ScriptedAgent { [provider] authorization in
            let response = try await stack.network.data(HTTPRequestData(path: "help"))
            #expect(response.status == .unauthorized)
            return provider.approve(authorization.url)
        }
        let client = OAuthClient(ScriptedProvider.system(), grant: .authorizationCode(agent))
        stack.set(provider.network(client, over: transport, clock))
        try await stack.network.oauth(client).signIn()
        #expect(transport.destinations == ["api.example.com/v1/help", "login.example.com/token"])
        #expect(transport.requests[0].headerFields[.authorization] == nil)
    }

    @Test func closedPageIsNotShownAgainAutomatically() async throws {
        let pages = Journal()
        let agent = ScriptedAgent { _ in
            pages.note("shown")
            throw OAuthError.denied
        }
        let client = OAuthClient(ScriptedProvider.system(), grant: .authorizationCode(agent))
        let network = provider.network(client, over: transport, clock)
        for _ in 0..<3 {
            let error = await #expect(throws: NetworkingError.self) { try await get(network) }
            #expect(oauthError(error)?.isDenied == true)
        }
        #expect(pages.entries.count == 1)
        await #expect(throws: OAuthError.self) { try await network.oauth(client).signIn() }
        #expect(pages.entries.count == 2)
    }

    /// The user has asked for the page, so it may be shown for the next request, too.
    @Test func pageIsShownAgainAfterAnExplicitSignIn() async throws {
        struct Failure: Error {}
        let pages = Journal()
        let agent = ScriptedAgent { _ in
            pages.note("shown")
            guard pages.entries.count == 2 else { throw OAuthError.denied }
            throw Failure()
        }
        let client = OAuthClient(ScriptedProvider.system(), grant: .authorizationCode(agent))
        let network = provider.network(client, over: transport, clock)
        await #expect(throws: NetworkingError.self) { try await get(network) }
        await #expect(throws: Failure.self) { try await network.oauth(client).signIn() }
        await #expect(throws: NetworkingError.self) { try await get(network) }
        #expect(pages.entries.count == 3)
    }

    /// The next user has not closed a page.
    @Test func pageIsShownAgainAfterASignOut() async throws {
        let pages = Journal()
        let agent = ScriptedAgent { _ in
            pages.note("shown")
            throw OAuthError.denied
        }
        let client = OAuthClient(ScriptedProvider.system(), grant: .authorizationCode(agent))
        let network = provider.network(client, over: transport, clock)
        await #expect(throws: NetworkingError.self) { try await get(network) }
        client.remove()
        await #expect(throws: NetworkingError.self) { try await get(network) }
        #expect(pages.entries.count == 2)
    }

    @Test func signInParametersReplaceThoseOfTheSystem() async throws {
        var system = ScriptedProvider.system()
        system.authorizationParameters = [
            URLQueryItem(name: "prompt", value: "none"), URLQueryItem(name: "ui", value: "de"),
        ]
        let client = OAuthClient(system)
        let lines = Journal()
        let agent = ScriptedAgent { [provider] authorization in
            lines.note(authorization.url.query() ?? "")
            return provider.approve(authorization.url)
        }
        try await provider.network(client, over: transport, clock).oauth(client)
            .signIn(
                with: .authorizationCode(agent),
                parameters: [URLQueryItem(name: "prompt", value: "login"), URLQueryItem(name: "state", value: "x")]
            )
        #expect(lines.text.hasSuffix("&scope=orders%20profile&prompt=login&ui=de"))
    }

    // MARK: Through the stack

    /// The stack sees the token requests like any other request, but does not add its header fields to them.
    @Test func stackRecordsTokenRequestsButDoesNotChangeThem() async throws {
        let recorder = RequestRecorder()
        let network = network.checkedStatusCode().recorded(by: recorder)
            .server(headerField: .userAgent, "Shop/2.1").server(customHeaderField: "X-Tenant", "7")
        try await network.oauth(client).signIn(with: provider.user)
        let request = try #require(recorder.requests.first)
        #expect(request.url?.absoluteString == "https://login.example.com/token")
        #expect(request.headerFields[.userAgent] == nil)
        #expect(request.headerFields.count == 2)
    }

    @Test func checkedStatusCodeKeepsTheProvidersError() async throws {
        provider.set(\.scriptedResponses, [ScriptedProvider.refusal("invalid_client")])
        let error = await #expect(throws: OAuthError.self) {
            try await network.checkedStatusCode().oauth(client).signIn(with: provider.user)
        }
        #expect(error?.code == "invalid_client")
    }

    @Test func authenticationMethodSelectsTheClient() async throws {
        var system = ScriptedProvider.system()
        system.authenticationMethod = AuthenticationMethod(rawValue: "partner")
        let partner = OAuthClient(
            system,
            session: Session(accessToken: "partner-token", expirationDate: clock.date.addingTimeInterval(999))
        )
        try await network.oauth(client).signIn(with: provider.user)
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(oauth: client).authenticated(oauth: partner)
            .server(authority: "api.example.com").environment(\.clock, .manual(clock))
        for method in [AuthenticationMethod.oauth, system.authenticationMethod, .anonymous] {
            var request = HTTPRequestData(path: "orders")
            request.authenticationMethod = method
            try await network.data(request)
        }
        #expect(
            transport.requests.map { $0.headerFields[.authorization] } == [
                "Bearer access-2", "Bearer partner-token", nil,
            ]
        )
    }

    // MARK: Setting, subscribing, signing out

    @Test func changesReportSetAndRemovedSessions() async throws {
        let changes = client.changes
        let account = network.oauth(client)
        account.set(Session(accessToken: "given", refreshToken: "given-too"))
        try await account.signIn(with: provider.user)
        try await account.signOut()
        var seen: [String] = []
        for await change in changes {
            switch change {
            case .set(let session): seen.append("set \(session.accessToken)")
            case .refreshed(let session): seen.append("refreshed \(session.accessToken)")
            case .removed: seen.append("removed")
            }
            if seen.count == 3 { break }
        }
        #expect(seen == ["set given", "set access-2", "removed"])
    }

    @Test func signingOutRevokesBothTokens() async throws {
        let account = network.oauth(client)
        try await account.signIn(with: provider.user)
        try await account.signOut()
        #expect(client.session == nil)
        #expect(provider.get(\.revoked) == ["refresh-2", "access-2"])
        let form = ScriptedProvider.form(transport.requests[1])
        #expect(form == ["token": "refresh-2", "token_type_hint": "refresh_token", "client_id": "shop"])
        await #expect(throws: NetworkingError.self) { try await get() }
        try await account.signOut()
        #expect(provider.get(\.revoked).count == 2)
    }

    @Test func failedRevocationThrowsAndSignsOut() async throws {
        let account = network.oauth(client)
        try await account.signIn(with: provider.user)
        provider.set(\.revocationResponse, .status(.serviceUnavailable))
        let refused = await #expect(throws: OAuthError.self) { try await account.signOut() }
        #expect(refused?.kind == .revocation)
        #expect(refused?.statusCode == 503)
        #expect(client.session == nil)
        account.set(Session(accessToken: "given"))
        provider.set(\.revocationResponse, .failing(.offline))
        let offline = await #expect(throws: OAuthError.self) { try await account.signOut() }
        #expect(offline?.kind == .revocation)
        #expect(client.session == nil)
        // Some providers can only revoke one type of token.
        account.set(Session(accessToken: "given"))
        provider.set(\.revocationResponse, ScriptedProvider.refusal("unsupported_token_type"))
        try await account.signOut()
    }

    /// The caller is cancelled after the provider has issued the tokens, and before they are stored.
    @Test func cancelledSignInStoresNothing() async throws {
        let signIn = Mutex<Task<Session, any Error>?>(nil)
        var environment = NetworkEnvironment.current
        environment.secureRandom = SecureRandomSource { count in
            // The store draws the random id of the sign-in just before it stores the session.
            if count == 16, provider.get(\.forms).count == 1 { signIn.withLock { $0 }?.cancel() }
            return Array(repeating: 7, count: count)
        }
        let gate = MockGate()
        let slow = Sending { request, upstream in
            try await gate.wait()
            return try await upstream.send(request)
        }
        let network = network.modified(slow)
        let task = await withEnvironment(environment) {
            Task { try await network.oauth(client).signIn(with: provider.user) }
        }
        signIn.withLock { $0 = task }
        // The caller waits for the provider.
        for _ in 0..<1_000 {
            await Task.yield()
        }
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(provider.get(\.forms).count == 1)
        #expect(client.session == nil)
    }

    /// The app's own credentials renew a token that they have fetched, and no other.
    @Test func tokenFromAnotherSourceIsNotReplacedByTheAppsOwn() async throws {
        try await network.oauth(client).signIn(with: .clientCredentials)
        client.set(Session(accessToken: "token of a user"))
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(error?.kind == .unauthorized)
        #expect((error?.underlying as? OAuthError)?.kind == .signInRequired)
        #expect(provider.get(\.forms).count == 1)
        #expect(client.session?.accessToken == "token of a user")
    }

    @Test func signOutCancelsASignInInProgress() async throws {
        let pages = Pages()
        let grant = OAuthGrant.authorizationCode(ScriptedAgent { try await pages.show($0) })
        let call = Task { try await network.oauth(client).signIn(with: grant) }
        let page = try await pages.next()
        try await network.oauth(client).signOut()
        page.callback.resume(with: .success(provider.approve(page.authorization.url)))
        let error = await #expect(throws: OAuthError.self) { try await call.value }
        #expect(error?.kind == .superseded)
        #expect(client.session == nil)
    }

    /// Runs on many threads for the thread sanitizer.
    ///
    /// Every call must return, whichever operation wins.
    @Test func concurrentSignInsAndSignOutsComplete() async throws {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                group.addTask { [network, client, provider] in
                    let account = network.oauth(client)
                    let call = Task {
                        switch number % 6 {
                        case 0: _ = try? await account.signIn(with: provider.user)
                        case 1: try? await account.signOut()
                        case 2: client.set(Session(accessToken: "given-\(number)", refreshToken: "none-\(number)"))
                        case 3: client.remove()
                        case 4: provider.expireTokens()
                        default: _ = try? await network.data(HTTPRequestData(path: "orders"))
                        }
                        _ = client.needsSignIn
                    }
                    if number.isMultiple(of: 7) { call.cancel() }
                    await call.value
                }
            }
        }
        client.remove()
        #expect(client.session == nil)
        let session = try await network.oauth(client).signIn(with: provider.user)
        #expect(session == client.session)
        #expect(try await get() == "hello")
    }

    @Test func storesTheSession() async throws {
        let storage = InMemorySessionStorage()
        let client = OAuthClient(ScriptedProvider.system(), in: storage)
        let account = provider.network(client, over: transport, clock).oauth(client)
        try await account.signIn(with: provider.user)
        #expect(storage.session(for: "") == client.session)
        #expect(storage.session(for: "")?.refreshToken == "refresh-2")
        try await account.signOut()
        #expect(storage.userIDs().isEmpty)
    }

    @Test func releasesTheClientAfterUse() async throws {
        weak var last: OAuthClient?
        do {
            let client = OAuthClient(ScriptedProvider.system(), grant: provider.user)
            last = client
            #expect(try await get(provider.network(client, over: transport, clock)) == "hello")
        }
        #expect(last == nil)
    }
}

/// A stack that is set after its creation.
private final class StackBox: Sendable {
    private let stack = Mutex<AnyNetworkingComponent?>(nil)

    var network: AnyNetworkingComponent { stack.withLock { $0 } ?? AnyNetworkingComponent(MockTransport()) }

    func set(_ network: AnyNetworkingComponent) {
        stack.withLock { $0 = network }
    }
}

/// The names of events.
private final class EventNames: NetworkEventObserver {
    private let lines = Journal()

    var text: String { lines.text }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        lines.note("\(event)")
    }
}

/// Sign-in pages that stay open until a test completes them.
private final class Pages: Sendable {
    struct Page {
        let authorization: OAuthAuthorization
        let callback: Suspension<URL>
    }

    private let shown = AsyncStream.makeStream(of: Page.self)
    private let journal = Journal()

    var count: Int { journal.entries.count }

    func show(_ authorization: OAuthAuthorization) async throws -> URL {
        let page = Page(authorization: authorization, callback: Suspension())
        journal.note("shown")
        shown.continuation.yield(page)
        return try await page.callback.value()
    }

    func next() async throws -> Page {
        for await page in shown.stream {
            return page
        }
        throw CancellationError()
    }
}
#endif
