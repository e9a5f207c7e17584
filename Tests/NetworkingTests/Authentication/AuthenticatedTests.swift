import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct AuthenticatedTests {
    private let server = TokenServer()
    private let transport: MockTransport
    private let store: TokenStore<Session>
    private let network: AnyNetworkingComponent
    private let clock = ManualClock()

    init() {
        transport = server.transport
        store = TokenStore(server.session(), delegate: server.delegate)
        network = Self.stack(transport, store, clock)
    }

    private static func stack(
        _ transport: some NetworkingComponent,
        _ store: TokenStore<Session>,
        _ clock: ManualClock
    ) -> AnyNetworkingComponent {
        AnyNetworkingComponent(
            transport.authenticated(with: store).server(authority: "api.example.com")
                .environment(\.clock, .manual(clock))
        )
    }

    /// Starts requests and waits until all of them wait for credentials.
    private func begin(
        _ count: Int,
        over network: some NetworkingComponent
    ) async throws
        -> [Task<HTTPResponseData, any Error>]
    {
        let events = EventRecorder()
        let calls = (0..<count).map { _ in Task { try await network.me { $0.addObserver(events) } } }
        try await eventually("!(events.names.count(where: { $0 == 'waiting' }) < count)") {
            !(events.names.count(where: { $0 == "waiting" }) < count)
        }
        return calls
    }

    /// Starts requests, of which the first calls the delegate, and lets the delegate answer when all of them wait.
    private func beginTogether(
        _ count: Int,
        over network: some NetworkingComponent
    ) async throws -> [Task<HTTPResponseData, any Error>] {
        server.delegate.hold()
        let calls = try await begin(count, over: network)
        server.delegate.release()
        return calls
    }

    // MARK: Applying

    @Test func sendsTheCredentials() async throws {
        let response = try await network.me()
        #expect(response.data == Data("hello".utf8))
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer access-0"])
        #expect(response.principal == Principal(id: "emily"))
        #expect(network.principal(for: HTTPRequestData(path: "me")) == Principal(id: "emily"))
        #expect(server.refreshes == 0)
    }

    @Test func requestOfASignedOutUserFailsWithoutBeingSent() async {
        let store = TokenStore<Session>()
        let network = Self.stack(transport, store, clock)
        let error = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(error?.kind == .unauthorized)
        #expect(error?.isUnauthorized == true)
        #expect(transport.requests.isEmpty)
    }

    @Test func delegateIsCalledOnceForTheFirstCredentials() async throws {
        let network = Self.stack(transport, TokenStore(delegate: server.delegate), clock)
        for call in try await beginTogether(10, over: network) {
            #expect(try await call.value.status == .ok)
        }
        #expect(server.authorizations == 1)
        #expect(transport.requests.count == 10)
    }

    @Test func delegateErrorFailsEveryWaitingRequest() async throws {
        struct Broken: Error {}
        let network = Self.stack(transport, TokenStore(delegate: server.delegate), clock)
        server.failRefreshes(with: Broken())
        for call in try await beginTogether(10, over: network) {
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.kind == .unauthorized)
            #expect(error?.underlying is Broken)
        }
        #expect(server.authorizations == 1)
        #expect(transport.requests.isEmpty)
        server.failRefreshes(with: nil)
        #expect(try await network.me().status == .ok)
    }

    @Test func requestMayOmitCredentials() async throws {
        let network = transport.authenticated(with: store) { $0.path?.hasPrefix("/public") == true }
            .server(authority: "api.example.com")
        try await network.data(HTTPRequestData(path: "public/news"))
        try await network.me { $0.authenticationMethod = .anonymous }
        try await network.me { $0.authenticationMethod = .basic }
        try await network.me { $0.headerFields[.authorization] = "Bearer own" }
        #expect(transport.requests.map { $0.headerFields[.authorization] } == [nil, nil, nil, "Bearer own"])
        #expect(server.refreshes == 0)
        #expect(network.principal(for: HTTPRequestData(path: "public/news")) == nil)
    }

    @Test func authenticationMethodSelectsTheCredentials() async throws {
        let network =
            transport
            .authenticated(with: BasicCredentials(user: "emily", password: "pass"))
            .authenticated(with: store)
            .server(authority: "api.example.com")
        try await network.me()
        try await network.me { $0.authenticationMethod = .basic }
        #expect(
            transport.requests.map { $0.headerFields[.authorization] } == ["Bearer access-0", "Basic ZW1pbHk6cGFzcw=="]
        )
    }

    /// Either of the two modifiers may be the outer one.
    @Test func keyAndTokenAreSentTogether() async throws {
        let key = HTTPField.Name("X-API-Key")!
        let network = transport.authenticated(with: store)
            .authenticated(with: APIKeyCredentials("key", in: .header(key)))
            .server(authority: "api.example.com")
        let response = try await network.me()
        #expect(transport.requests.last?.headerFields[.authorization] == "Bearer access-0")
        #expect(transport.requests.last?.headerFields[key] == "key")
        #expect(response.principal == network.principal(for: HTTPRequestData(path: "me")))
        let before = response.principal
        store.set(server.session(of: "james"))
        #expect(network.principal(for: HTTPRequestData(path: "me")) != before)
    }

    /// A cache must know before the request which user its response belongs to.
    @Test func requestBelongsToTheUserOfTheOutermostToken() async throws {
        let (outer, inner) = (Session(userID: "emily", accessToken: "e"), Session(userID: "james", accessToken: "j"))
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(with: inner).authenticated(with: outer)
            .server(authority: "api.example.com")
        let response = try await network.me()
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer e"])
        #expect(response.principal == Principal(id: "emily"))
        #expect(network.principal(for: network.resolved(HTTPRequestData(path: "me"))) == Principal(id: "emily"))
    }

    /// A transport keeps the connections of different users apart, and those of one user open.
    @Test func connectionsBelongToTheUserAndNotToTheToken() async throws {
        let noted = Locked<[ConnectionOwner?]>([])
        let transport = MockTransport { _ in .ok() }
        let noting = transport.modified("Notes owners") { request, upstream in
            noted.withLock { $0.append(ConnectionOwner(of: request)) }
            return try await upstream.send(request)
        }
        let network = Self.stack(noting, store, clock)
        try await network.me()
        store.update(Session(accessToken: "renewed"))
        try await network.me()
        store.set(Session(userID: "james", accessToken: "renewed"))
        try await network.me()
        #expect(
            transport.requests.map { $0.headerFields[.authorization] } == [
                "Bearer access-0", "Bearer renewed", "Bearer renewed",
            ]
        )
        let owners = noted.value
        #expect(owners[0] != nil)
        #expect(owners[0] == owners[1])
        #expect(owners[0] != owners[2])
    }

    // MARK: Allowed servers

    @Test func otherAuthoritiesGetNoCredentials() async throws {
        let events = EventRecorder()
        try await network.data(
            HTTPRequestData(url: URL(string: "https://elsewhere.example/me")!).with { $0.addObserver(events) }
        )
        #expect(transport.requests.map { $0.headerFields[.authorization] } == [nil])
        #expect(
            events.names == [
                "credentialsWithheld", "exchangeStarted", "headReceived", "responseReceived", "exchangeEnded",
            ]
        )
        try await network.data(HTTPRequestData(url: URL(string: "https://API.example.com/me")!))
        #expect(transport.requests.last?.headerFields[.authorization] == "Bearer access-0")
    }

    @Test func namedAuthoritiesGetTheCredentials() async throws {
        let network = transport.authenticated(with: store, at: ["Files.example.com", "api.example.com:8443"])
        try await network.data(HTTPRequestData(authority: "files.example.com:443"))
        try await network.data(HTTPRequestData(authority: "api.example.com:8443"))
        try await network.data(HTTPRequestData(authority: "api.example.com"))
        let sent = transport.requests.map { $0.headerFields[.authorization] }
        #expect(sent == ["Bearer access-0", "Bearer access-0", nil])
    }

    @Test func requestWithoutAServerIsAnError() async {
        let network = transport.authenticated(with: store)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("server(authority:)") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test func credentialsAreNotSentOverPlainHTTP() async {
        let error = await #expect(throws: NetworkingError.self) {
            try await network.me { $0.scheme = "http" }
        }
        #expect(error?.kind == .invalidRequest)
        let key = transport.authenticated(with: APIKeyCredentials("secret", in: .query("appid")))
            .server(authority: "api.example.com")
        let other = await #expect(throws: NetworkingError.self) { try await key.me { $0.scheme = "http" } }
        #expect(other?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: [("https://api.example.com/there", true), ("https://elsewhere.example/there", false)])
    func outerRedirectsDoNotSendCredentialsToAnotherServer(location: String, isHome: Bool) async throws {
        let transport = MockTransport { request in
            request.path == "/me" ? .redirect(to: location) : .ok()
        }
        let network = transport.authenticated(with: store).redirected().server(authority: "api.example.com")
        try await network.me()
        let sent = transport.requests.map { $0.headerFields[.authorization] }
        #expect(sent == ["Bearer access-0", isHome ? "Bearer access-0" : nil])
    }

    /// A 401 of another server does not concern these credentials.
    @Test(arguments: ["https://api.example.com/there", "https://elsewhere.example/there"])
    func refusalAfterARedirectRefreshesForTheSameServerOnly(location: String) async throws {
        let transport = MockTransport { request in
            request.path == "/me" ? .redirect(to: location) : .status(.unauthorized)
        }
        _ = try await Self.stack(transport, store, clock).me()
        #expect(server.refreshes == (location.contains("elsewhere") ? 0 : 1))
    }

    /// The server of another stack is not the server of this one.
    @Test func requestOfAnotherStackIsAssignedToAServerAgain() async throws {
        let other = try await transport.server(authority: "cdn.example").data(HTTPRequestData(path: "file"))
        try await network.data(other.sentRequest)
        #expect(transport.requests.map { $0.headerFields[.authorization] } == [nil, nil])
        let own = try await network.me()
        try await network.data(own.sentRequest.with { $0.headerFields[.authorization] = nil })
        #expect(transport.requests.last?.headerFields[.authorization] == "Bearer access-0")
    }

    @Test func requestThatDisablesServerMutationsIsUnchanged() async throws {
        let request = HTTPRequestData(scheme: "https", authority: "api.example.com", path: "me")
            .with { $0.serverMutations = .disabled }
        let response = try await network.data(request)
        try await network.data(response.sentRequest)
        #expect(transport.requests.map { $0.headerFields[.authorization] } == [nil, nil])
    }

    @Test func keyInARedirectOfTheServerIsRedacted() async throws {
        let log = LogRecorder()
        let transport = MockTransport { request in
            request.path == "/me" ? .redirect(to: "/me/?appid=secret-1") : .ok()
        }
        let network = transport.authenticated(with: APIKeyCredentials("secret-1", in: .query("appid"))).redirected()
            .logged(using: log.logger(.trace), detail: .body()).server(authority: "api.example.com")
        let response = try await network.me()
        #expect(transport.requests.map { $0.query["appid"] } == ["secret-1", "secret-1"])
        #expect(!everyPrint(of: response).contains("secret-1"))
        #expect(!everyPrint(of: response.sentRequest).contains("secret-1"))
        #expect(!log.text.contains("secret-1"))
    }

    // MARK: Refreshing

    @Test func refusedRequestIsSentAgainAfterARefresh() async throws {
        server.expire()
        let response = try await network.me()
        #expect(response.status == .ok)
        #expect(server.refreshes == 1)
        #expect(server.causes == [401])
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer access-0", "Bearer access-1"])
        #expect(store.credentials?.accessToken == "access-1")
    }

    @Test func requestRefusedWithAnErrorIsSentAgainAfterARefresh() async throws {
        server.expire()
        let network = Self.stack(transport.checkedStatusCode(), store, clock)
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 1)
    }

    @Test func thousandRefusalsStartOneRefresh() async throws {
        server.expire()
        for call in try await beginTogether(1_000, over: network) {
            #expect(try await call.value.status == .ok)
        }
        #expect(server.refreshes == 1)
        #expect(transport.requests.count == 2_000)
    }

    /// The request's token was refused after a refresh for another request had returned a new one.
    @Test func lateRefusalUsesTheNewTokenWithoutARefresh() async throws {
        let late = Suspension<Void>()
        let arrived = Suspension<Void>()
        let transport = MockTransport { [server] request in
            if request.path == "/late", request.headerFields[.authorization] == "Bearer access-0" {
                arrived.resume()
                try await late.value()
                return .status(.unauthorized)
            }
            return try await server.transport.exchange(request).status == .ok ? .ok() : .status(.unauthorized)
        }
        let network = Self.stack(transport, store, clock)
        let call = Task { try await network.data(HTTPRequestData(path: "late")) }
        try await arrived.value()
        server.expire()
        #expect(try await network.me().status == .ok)
        late.resume()
        #expect(try await call.value.status == .ok)
        #expect(server.refreshes == 1)
    }

    @Test func eachExpiryStartsARefresh() async throws {
        for round in 1...4 {
            server.expire()
            #expect(try await network.me().status == .ok)
            #expect(server.refreshes == round)
        }
    }

    @Test func refusalOfTheNewTokenIsReturned() async throws {
        server.refuseAll()
        let response = try await network.me()
        #expect(response.status == .unauthorized)
        #expect(response.principal == Principal(id: "emily"))
        #expect(server.refreshes == 1)
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [HTTPResponse.Status.forbidden, .internalServerError, .notFound])
    func otherStatusesAreReturned(status: HTTPResponse.Status) async throws {
        let network = Self.stack(MockTransport { _ in .status(status) }, store, clock)
        #expect(try await network.me().status == status)
        #expect(server.refreshes == 0)
    }

    @Test func otherErrorsAreThrownAtOnce() async {
        struct Broken: Error {}
        let network = Self.stack(MockTransport { _ in throw Broken() }, store, clock)
        await #expect(throws: Broken.self) { try await network.me() }
        #expect(server.refreshes == 0)
    }

    @Test func refusalOfFixedCredentialsIsReturned() async throws {
        let network = transport.authenticated(with: BearerCredentials(token: "no")).server(authority: "api.example.com")
        #expect(try await network.me().status == .unauthorized)
        #expect(transport.requests.count == 1)
    }

    @Test func streamedBodyIsNotSentAgain() async throws {
        server.expire()
        let response = try await network.me { request in
            request.method = .post
            request.body = .stream(AsyncStream { $0.finish() })
        }
        #expect(response.status == .unauthorized)
        #expect(transport.requests.count == 1)
        #expect(server.refreshes == 0)
    }

    /// Returns a stack whose server refuses the first token.
    private func refusingStack(preemptive isPreemptive: Bool) -> (MockTransport, AnyNetworkingComponent) {
        let transport = MockTransport { request in
            let isAccepted = request.headerFields[.authorization] == "Bearer access-1"
            // Chunks reach the sink at once.
            return isAccepted ? .chunks([.text("hello")]) : .chunks([.text("refused")], status: .unauthorized)
        }
        let network = transport.authenticated(with: store, preemptive: isPreemptive)
            .server(authority: "api.example.com")
        return (transport, AnyNetworkingComponent(network))
    }

    /// The sink would receive the body of the 401 followed by that of the next response.
    @Test(arguments: [true, false])
    func sinkWithTheBodyOfTheRefusalIsNotUsedAgain(isPreemptive: Bool) async throws {
        let (transport, network) = refusingStack(preemptive: isPreemptive)
        for (sink, isRestartable) in [(CollectingSink { _ in .take }, false), (CollectingSink { _ in .take }, true)] {
            store.set(server.session())
            let used: any ResponseSink = isRestartable ? RestartableSink(sink: sink) : sink
            let response = try await network.me { $0.sink = used }
            #expect(response.status == (isRestartable ? .ok : .unauthorized))
            #expect(sink.chunks.last == Data((isRestartable ? "hello" : "refused").utf8))
            #expect(sink.finished == (isRestartable ? transport.requests.count - 1 : 1))
        }
        let sink = CollectingSink()
        store.set(Session(userID: "emily", accessToken: "old", refreshToken: "refresh-1"))
        #expect(try await network.me { $0.sink = sink }.status == .unauthorized)
        #expect(sink.heads.count == (isPreemptive ? 2 : 3))
    }

    @Test(arguments: [true, false])
    func sinkRequestsTheRemainingBytesWhenTheRequestIsSentAgain(isPreemptive: Bool) async throws {
        let (transport, network) = refusingStack(preemptive: isPreemptive)
        let sink = CollectingSink { _ in .take }
        #expect(try await network.me { $0.sink = ResumingSink(collector: sink) }.status == .ok)
        let ranges = transport.requests.map { $0.headerFields[.range] }
        #expect(ranges == (isPreemptive ? [nil, "bytes=7-"] : [nil, "bytes=7-", "bytes=14-"]))
    }

    // MARK: Refreshing before the expiry

    @Test func tokensAreRefreshedBeforeTheyExpire() async throws {
        store.set(server.session(expiring: clock.date.addingTimeInterval(60)))
        try await network.me()
        clock.advance(by: .seconds(29))
        try await network.me()
        #expect(server.refreshes == 0)
        clock.advance(by: .seconds(1))
        try await network.me()
        try await eventually("store.credentials?.accessToken == 'access-1'") {
            store.credentials?.accessToken == "access-1"
        }
        #expect(server.refreshes == 1)
        #expect(server.causes == [nil])
        #expect(transport.requests.allSatisfy { $0.headerFields[.authorization] != nil })
    }

    @Test func thousandRequestsWithAnExpiredTokenStartOneRefresh() async throws {
        for round in 1...3 {
            store.set(server.session(expiring: clock.date))
            for call in try await beginTogether(1_000, over: network) {
                #expect(try await call.value.status == .ok)
            }
            #expect(server.refreshes == round)
            clock.advance(by: .seconds(60))
        }
    }

    /// The token has not expired yet.
    @Test func failedEarlyRefreshDoesNotFailTheRequest() async throws {
        store.set(server.session(expiring: clock.date.addingTimeInterval(40)))
        server.failRefreshes(with: TokenServer.Spent())
        #expect(try await network.me().status == .ok)
        clock.advance(by: .seconds(30))
        #expect(try await network.me().status == .ok)
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 1)
    }

    /// The clock of the device or of the server is wrong.
    @Test func newTokenIsUsedEvenIfItHasExpired() async throws {
        server.giveTokens(lifetime: .seconds(-1_000))
        store.set(server.session(expiring: clock.date.addingTimeInterval(-10)))
        for _ in 1...10 {
            #expect(try await network.me().status == .ok)
        }
        #expect(server.refreshes == 1)
    }

    /// The token is used until its expiry and refreshed after it.
    @Test func tokenIsRefreshedAtItsExpiryAfterAFailedEarlyRefresh() async throws {
        store.set(server.session(expiring: clock.date.addingTimeInterval(40)))
        server.failRefreshes(with: TokenServer.Spent())
        #expect(try await network.me().status == .ok)
        clock.advance(by: .seconds(30))
        #expect(try await network.me().status == .ok)
        server.failRefreshes(with: nil)
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 1)
        clock.advance(by: .seconds(10))
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 2)
    }

    // MARK: Failures

    @Test func failedRefreshFailsEveryWaitingRequestAndCanBeRepeated() async throws {
        struct Broken: Error {}
        server.expire()
        server.failRefreshes(with: Broken())
        for call in try await beginTogether(10, over: network) {
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.kind == .unauthorized)
            #expect(error?.underlying is Broken)
            #expect(error?.response?.status == .unauthorized)
        }
        #expect(server.refreshes == 1)
        server.failRefreshes(with: nil)
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 2)
    }

    @Test func refreshThatFailsWithANetworkErrorHasItsKind() async {
        server.expire()
        server.failRefreshes(with: NetworkingError(.offline, request: .lawful))
        let error = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(error?.isOffline == true)
        #expect(store.credentials != nil)
    }

    @Test func refreshHasATimeLimit() async throws {
        server.expire()
        server.delegate.hold()
        let calls = try await begin(2, over: network)
        try await server.delegate.waitForCalls()
        clock.advance(by: .seconds(60))
        for call in calls {
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.kind == .timeout)
        }
    }

    /// Another sign-in would not repair the request.
    @Test func refreshWithAnInvalidRequestHasThatKind() async {
        server.expire()
        server.failRefreshes(with: NetworkingError(.invalidRequest, request: .lawful))
        let error = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(error?.kind == .invalidRequest)
    }

    /// The delegate waits for a callback that is never called.
    @Test func requestsFailIfTheDelegateDoesNotReturn() async throws {
        struct Stuck: AuthenticationDelegate {
            let begun = Suspension<Void>()

            func authorize(over network: any NetworkingComponent) async throws -> BearerCredentials {
                begun.resume()
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
                return BearerCredentials(token: "never")
            }
        }

        let stuck = Stuck()
        let network = transport.authenticated(with: TokenStore(delegate: stuck)).server(authority: "api.example.com")
            .environment(\.clock, .manual(clock))
        let calls = try await begin(2, over: network)
        try await stuck.begun.value()
        clock.advance(by: .seconds(60))
        for call in calls {
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.kind == .timeout)
        }
        #expect(try await begin(1, over: network).count == 1)
        clock.advance(by: .seconds(60))
    }

    /// The late session may hold the only valid refresh token.
    @Test func lateSessionIsStored() async throws {
        server.expire()
        server.delegate.hold(ignoringCancellation: true)
        let call = try await begin(1, over: network)[0]
        try await server.delegate.waitForCalls()
        clock.advance(by: .seconds(60))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        server.delegate.release()
        try await eventually("store.credentials?.accessToken == 'access-1'") {
            store.credentials?.accessToken == "access-1"
        }
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 1)
    }

    /// All operations on a store run concurrently.
    ///
    /// Every request ends.
    @Test func everyRequestEndsDuringConcurrentChanges() async throws {
        let clock = ManualClock()
        let limit = RefreshLimit(.max, per: .seconds(1))
        let store = TokenStore(server.session(), delegate: server.delegate, limit: limit)
        let network = Self.stack(transport, store, clock)
        await withTaskGroup { group in
            for number in 0..<32 {
                group.addTask { [server] in
                    for round in 0..<50 {
                        switch (number + round) % 8 {
                        case 0: store.set(server.session(of: round.isMultiple(of: 2) ? "emily" : "james"))
                        case 1: server.expire()
                        case 2: store.update(server.session())
                        case 3 where round % 10 == 0: store.remove()
                        case 4:
                            let call = Task { try await network.me() }
                            await Task.yield()
                            call.cancel()
                            _ = await call.result
                        default: _ = try? await network.me()
                        }
                        _ = store.principal
                    }
                }
            }
        }
        store.set(server.session())
        #expect(try await network.me().status == .ok)
    }

    @Test func refreshLimitIsConfigurable() async throws {
        let limit = RefreshLimit(1, per: .seconds(10))
        let network = Self.stack(
            transport,
            TokenStore(server.session(), delegate: server.delegate, limit: limit),
            clock
        )
        server.refuseAll()
        #expect(try await network.me().status == .unauthorized)
        let error = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(error?.retryAfter == .seconds(10))
    }

    @Test func parallelRefreshesAreLimited() async throws {
        server.refuseAll()
        for _ in 1...5 {
            _ = try await network.me()
        }
        let calls = (0..<10).map { _ in Task { [network] in try await network.me() } }
        for call in calls {
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.response?.status == .unauthorized)
        }
        #expect(server.refreshes == 5)
    }

    // MARK: Cancellation

    @Test func refreshContinuesAfterItsStarterIsCancelled() async throws {
        server.expire()
        server.delegate.hold()
        let first = try await begin(1, over: network)[0]
        let second = try await begin(1, over: network)[0]
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        server.delegate.release()
        #expect(try await second.value.status == .ok)
        #expect(server.refreshes == 1)
    }

    /// The refresh token may already be spent, so the new session must be stored.
    @Test func refreshContinuesWithoutWaitingRequests() async throws {
        server.expire()
        server.delegate.hold()
        let call = try await begin(1, over: network)[0]
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        let next = try await begin(1, over: network)[0]
        server.delegate.release()
        #expect(try await next.value.status == .ok)
        #expect(server.refreshes == 1)
        #expect(store.credentials?.accessToken == "access-1")
    }

    // MARK: Signing in and out

    @Test func signOutDuringARefreshTakesEffect() async throws {
        server.expire()
        server.delegate.hold()
        let calls = try await begin(10, over: network)
        store.remove()
        // The calls fail at once, before the refresh has ended.
        for call in calls {
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.kind == .unauthorized)
        }
        server.delegate.release()
        #expect(store.credentials == nil)
        // Only the delegate can sign a user in again.
        #expect(try await network.me().status == .ok)
        #expect(server.authorizations == 1)
    }

    @Test func signOutDuringTheFirstAuthorizationTakesEffect() async throws {
        store.remove()
        server.delegate.hold()
        let calls = try await begin(1, over: network)
        store.remove()
        let error = await #expect(throws: NetworkingError.self) { try await calls[0].value }
        #expect(error?.kind == .unauthorized)
        server.delegate.release()
        #expect(server.authorizations == 1)
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: ["set", "update"])
    func credentialsThatAreSetDuringARefreshAreKept(how: String) async throws {
        server.expire()
        server.delegate.hold()
        let calls = try await begin(10, over: network)
        let session = Session(userID: "emily", accessToken: "none", refreshToken: "refresh-0")
        how == "set" ? store.set(session) : store.update(session)
        for call in calls {
            #expect(try await call.value.status == .ok)
        }
        server.delegate.release()
        #expect(store.credentials == session)
        #expect(server.refreshes == 1)
    }

    @Test func refusedRequestIsNotSentAgainForAnotherUser() async throws {
        server.expire()
        server.delegate.hold()
        let refused = try await begin(1, over: network)[0]
        store.set(Session(userID: "james", accessToken: "none"))
        #expect(try await refused.value.status == .unauthorized)
        #expect(transport.requests.count == 1)
    }

    @Test func waitingRequestIsNotSentForAnotherUser() async throws {
        store.set(server.session(expiring: clock.date.addingTimeInterval(-1)))
        server.delegate.hold()
        let waiting = try await begin(1, over: network)[0]
        store.set(Session(userID: "james", accessToken: "none"))
        let error = await #expect(throws: NetworkingError.self) { try await waiting.value }
        #expect(error?.kind == .unauthorized)
        #expect(transport.requests.isEmpty)
    }

    /// An order of Emily must not be placed on the account of James.
    @Test(arguments: ["retry", "redirected"])
    func repeatedRequestsAreSentForTheSameUser(modifier: String) async throws {
        let transport = MockTransport { [store] request in
            store.set(Session(userID: "james", accessToken: "james"))
            return modifier == "retry" ? .status(.serviceUnavailable) : .redirect(to: "/there")
        }
        let authenticated = AnyNetworkingComponent(transport.authenticated(with: store))
        let network =
            modifier == "retry"
            ? AnyNetworkingComponent(authenticated.retry(.immediate()))
            : AnyNetworkingComponent(authenticated.redirected())
        let response = try await network.server(authority: "api.example.com").me()
        #expect(transport.requests.count == 1)
        #expect(response.principal == Principal(id: "emily"))
        if modifier == "retry" {
            #expect(response.retryRefusal == .anotherUser)
        }
    }

    @Test func principalsWithoutAUserIDChangeWithTheSession() async throws {
        let store = TokenStore(BearerCredentials(token: "1"))
        var seen = [store.principal]
        store.set(BearerCredentials(token: "2"))
        seen.append(store.principal)
        store.remove()
        seen.append(store.principal)
        #expect(Set(seen).count == 3)
        store.update(BearerCredentials(token: "3"))
        #expect(store.principal == seen[2])
        #expect(!seen.contains { $0.id.contains("1") && $0.id.count < 16 })
    }

    // MARK: The delegate's own requests

    /// The delegate may use the whole stack without waiting for itself.
    @Test(arguments: ["upstream", "stack"])
    func requestOfTheDelegateSkipsItsOwnModifier(way: String) async throws {
        struct Renewing: AuthenticationDelegate {
            let box: Suspension<AnyNetworkingComponent>
            let way: String

            func refresh(
                _ session: Session,
                after response: HTTPResponseData?,
                over network: any NetworkingComponent
            ) async throws -> Session {
                let network = way == "stack" ? try await box.value() : AnyNetworkingComponent(network)
                let url = URL(string: "https://api.example.com/refresh")!
                return session.renewed(
                    accessToken: String(decoding: try await network.data(HTTPRequestData(url: url)).data, as: UTF8.self)
                )
            }
        }

        let transport = MockTransport { request in
            if request.path == "/refresh" { return .text("new") }
            return request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        let box = Suspension<AnyNetworkingComponent>()
        let store = TokenStore(Session(accessToken: "old"), delegate: Renewing(box: box, way: way))
        let network = Self.stack(transport, store, clock)
        box.resume(with: .success(network))
        #expect(try await network.me().status == .ok)
        #expect(transport.requests.map(\.path) == ["/me", "/refresh", "/me"])
        #expect(transport.requests[1].headerFields[.authorization] == nil)
    }

    // MARK: Challenges

    @Test(arguments: [
        (#"Bearer realm="x", error="invalid_token""#, 1), (#"Bearer error="insufficient_scope""#, 0),
        ("Basic realm=\"x\"", 0), (#"Basic realm="x", Bearer"#, 1), ("Unheard-Of", 0), ("=,,\"", 1),
    ])
    func challengeDecidesWhetherToRefresh(challenge: String, refreshes: Int) async throws {
        let transport = MockTransport { _ in
            .status(.unauthorized, headerFields: [.wwwAuthenticate: challenge])
        }
        _ = try await Self.stack(transport, store, clock).me()
        #expect(server.refreshes == refreshes)
    }

    @Test func credentialsMayBeSentAfterAChallengeOnly() async throws {
        let transport = MockTransport { request in
            request.headerFields.contains(.authorization)
                ? .ok() : .status(.unauthorized, headerFields: [.wwwAuthenticate: "Basic realm=\"x\""])
        }
        let network =
            transport.authenticated(
                with: BasicCredentials(user: "emily", password: "pass"),
                preemptive: false
            )
            .server(authority: "api.example.com")
        #expect(try await network.me().status == .ok)
        #expect(transport.requests.map { $0.headerFields.contains(.authorization) } == [false, true])
    }

    @Test(arguments: [
        ("Basic realm=\"x\", Bearer", "Bearer access-0"), ("Basic realm=\"x\"", "Basic ZW1pbHk6cGFzcw=="),
        ("Digest realm=\"x\", nonce=\"y\"", nil),
    ])
    func strongestAvailableSchemeIsUsed(challenge: String, sent: String?) async throws {
        let transport = MockTransport { request in
            request.headerFields.contains(.authorization)
                ? .ok() : .status(.unauthorized, headerFields: [.wwwAuthenticate: challenge])
        }
        let basic = BasicCredentials(user: "emily", password: "pass")
        for network in [
            AnyNetworkingComponent(
                transport.authenticated(with: basic, preemptive: false).authenticated(with: store, preemptive: false)
                    .server(authority: "api.example.com")
            ),
            AnyNetworkingComponent(
                transport.authenticated(with: store, preemptive: false).authenticated(with: basic, preemptive: false)
                    .server(authority: "api.example.com")
            ),
        ] {
            _ = try await network.me()
            #expect(transport.requests.last?.headerFields[.authorization] == sent)
        }
    }

    // MARK: Separate users

    @Test func usersDoNotShareAnExchange() async throws {
        let suspensions = ["Bearer e": Suspension<Void>(), "Bearer j": Suspension<Void>()]
        let transport = MockTransport { request in
            let token = request.headerFields[.authorization] ?? ""
            try await suspensions[token]?.value()
            return .text(token)
        }
        let recorder = RequestRecorder()
        let store = TokenStore(Session(userID: "emily", accessToken: "e"))
        let network = transport.recorded(by: recorder).authenticated(with: store).deduplicated()
            .server(authority: "api.example.com")
        let emilys = Task { try await network.me() }
        try await recorder.waitForRequests(1)
        store.remove()
        store.set(Session(userID: "james", accessToken: "j"))
        let james = Task { try await network.me() }
        try await recorder.waitForRequests(2)
        for suspension in suspensions.values {
            suspension.resume()
        }
        #expect(try await emilys.value.data == Data("Bearer e".utf8))
        #expect(try await emilys.value.principal == Principal(id: "emily"))
        #expect(try await james.value.data == Data("Bearer j".utf8))
        #expect(try await james.value.principal == Principal(id: "james"))
    }

    // MARK: Reporting

    @Test func changesAreReportedToEveryReader() async throws {
        var first = store.changes.makeAsyncIterator()
        var second = store.changes.makeAsyncIterator()
        server.expire()
        try await network.me()
        store.remove()
        store.set(server.session())
        for _ in 0..<1 {
            #expect(await first.next()?.name == "refreshed")
            #expect(await first.next()?.name == "removed")
            #expect(await first.next()?.name == "set")
            #expect(await second.next()?.name == "refreshed")
            #expect(await second.next()?.name == "removed")
            #expect(await second.next()?.name == "set")
        }
    }

    @Test func outlineListsCredentialsAndAuthorities() {
        #expect(
            "\(transport.authenticated(with: store, at: ["b.example", "A.example"], preemptive: false).outline)"
                .contains("authenticated(with: Session, at: a.example, b.example, preemptive: false)")
        )
    }

    @Test func closureProvidesTokens() async throws {
        let network = transport.authenticated(withBearer: { "access-0" }).server(authority: "api.example.com")
        #expect(try await network.me().status == .ok)
        #expect(try await network.me().status == .ok)
    }
}

/// A sink that can restart from the first byte.
private struct RestartableSink: ForwardingSink {
    let sink: any ResponseSink

    var canRestart: Bool {
        true
    }
}

extension CredentialChange {
    fileprivate var name: String {
        switch self {
        case .set: "set"
        case .refreshed: "refreshed"
        case .removed: "removed"
        }
    }
}
