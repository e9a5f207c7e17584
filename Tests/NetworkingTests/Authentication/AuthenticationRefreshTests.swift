import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingAuthentication

/// Refreshes that take long, are frequent, or share limiters with the requests that wait for them.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct AuthenticationRefreshTests {
    private let server = TokenServer()
    private let transport: MockTransport
    private let clock = ManualClock()

    init() {
        transport = server.transport
    }

    private func store(
        expiringIn seconds: TimeInterval? = nil,
        leeway: Duration = .seconds(30),
        limit: RefreshLimit = .standard
    ) -> TokenStore<Session> {
        let date = seconds.map { clock.date.addingTimeInterval($0) }
        return TokenStore(server.session(expiring: date), delegate: server.delegate, leeway: leeway, limit: limit)
    }

    private func stack(
        _ store: TokenStore<Session>,
        over transport: MockTransport? = nil
    ) -> AnyNetworkingComponent {
        AnyNetworkingComponent(
            (transport ?? self.transport).authenticated(with: store).server(authority: "api.example.com")
                .environment(\.clock, .manual(clock))
        )
    }

    private func token(of store: TokenStore<Session>, becomes token: String) async throws {
        try await eventually("store.credentials?.accessToken == token") { store.credentials?.accessToken == token }
    }

    // MARK: Refreshing before the expiry

    @Test func hangingRefreshDoesNotHoldUpRequestsWithAValidToken() async throws {
        let store = store(expiringIn: 100, leeway: .seconds(120))
        let network = stack(store)
        server.delegate.hold()
        for _ in 0..<100 {
            #expect(try await network.me().status == .ok)
        }
        try await server.delegate.waitForCalls()
        #expect(server.refreshes == 1)
        // The refresh times out, and the token has 40 s left.
        clock.advance(by: .seconds(60))
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 1)
        clock.advance(by: .seconds(39))
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 1)
        server.delegate.release()
        clock.advance(by: .seconds(1))
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 2)
        #expect(transport.requests.last?.headerFields[.authorization] == "Bearer access-1")
        #expect(transport.requests.count == 103)
    }

    @Test func refreshWindowOfTheSessionReplacesTheLeewayOfTheStore() async throws {
        var session = server.session(expiring: clock.date.addingTimeInterval(400))
        session.refreshWindow = .seconds(300)
        let store = TokenStore(session, delegate: server.delegate)
        let network = stack(store)
        clock.advance(by: .seconds(99))
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 0)
        clock.advance(by: .seconds(1))
        #expect(try await network.me().status == .ok)
        try await token(of: store, becomes: "access-1")
        #expect(server.refreshes == 1)
        // The delegate returned a session without a window.
        #expect(store.credentials?.refreshWindow == .seconds(300))
    }

    @Test func sessionOfTheDelegateKeepsItsOwnRefreshWindow() async throws {
        struct Renewal: AuthenticationDelegate {
            func refresh(
                _ session: Session,
                after response: HTTPResponseData?,
                over network: any NetworkingComponent
            ) async throws -> Session {
                Session(accessToken: "new", refreshWindow: .seconds(5))
            }
        }
        let session = Session(userID: "emily", accessToken: "old", refreshToken: "r", refreshWindow: .seconds(300))
        let store = TokenStore(session, delegate: Renewal())
        let network = MockTransport { request in
            request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        .authenticated(with: store).server(authority: "api.example.com")
        #expect(try await network.me().status == .ok)
        #expect(store.credentials?.refreshWindow == .seconds(5))
        #expect(store.credentials?.userID == "emily")
    }

    @Test func requestsUseTheTokenOfABackgroundRefresh() async throws {
        let store = store(expiringIn: 20)
        let network = stack(store)
        server.delegate.hold()
        #expect(try await network.me().status == .ok)
        server.delegate.release()
        try await token(of: store, becomes: "access-1")
        #expect(try await network.me().status == .ok)
        let sent = transport.requests.map { $0.headerFields[.authorization] }
        #expect(sent == ["Bearer access-0", "Bearer access-1"])
        #expect(server.refreshes == 1)
    }

    /// The server starts to refuse the old token during the refresh.
    @Test func refusedRequestWaitsForTheBackgroundRefresh() async throws {
        let network = stack(store(expiringIn: 20))
        server.delegate.hold()
        #expect(try await network.me().status == .ok)
        server.expire()
        let events = EventRecorder()
        let call = Task { try await network.me { $0.addObserver(events) } }
        try await eventually("events.names.contains('waiting')") { events.names.contains("waiting") }
        server.delegate.release()
        #expect(try await call.value.status == .ok)
        #expect(server.refreshes == 1)
    }

    /// The refusal itself does not explain why the refresh failed.
    @Test func refusedRequestReportsTheFailureOfTheBackgroundRefresh() async throws {
        let store = store(expiringIn: 20)
        let network = stack(store)
        server.delegate.hold()
        #expect(try await network.me().status == .ok)
        server.expire()
        server.failRefreshes(with: NetworkingError(.connectionLost, request: .lawful))
        let events = EventRecorder()
        let call = Task { try await network.me { $0.addObserver(events) } }
        try await eventually("events.names.contains('waiting')") { events.names.contains("waiting") }
        server.delegate.release()
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .connectionLost)
    }

    @Test func requestsWaitWhenTheTokenExpiresDuringTheRefresh() async throws {
        let network = stack(store(expiringIn: 20))
        server.delegate.hold()
        #expect(try await network.me().status == .ok)
        clock.advance(by: .seconds(20))
        let events = EventRecorder()
        let call = Task { try await network.me { $0.addObserver(events) } }
        try await eventually("events.names.contains('waiting')") { events.names.contains("waiting") }
        #expect(transport.requests.count == 1)
        server.delegate.release()
        #expect(try await call.value.status == .ok)
        #expect(server.refreshes == 1)
    }

    /// Credentials of an app that read their store to determine their expiry and their user.
    private struct StoreReadingCredentials: AuthenticatingCredentials {
        final class Place: Sendable {
            let store = Mutex<TokenStore<StoreReadingCredentials>?>(nil)
        }

        static let method = AuthenticationMethod(rawValue: "looking")

        let place: Place

        var expirationDate: Date? {
            let isSignedIn = place.store.withLock { $0 }?.credentials != nil
            return isSignedIn ? .distantFuture : nil
        }

        var userID: String? {
            place.store.withLock { $0 }?.credentials == nil ? nil : "emily"
        }

        func apply(to request: inout HTTPRequestData) {}
    }

    @Test func credentialsMayUseTheirStore() async throws {
        let place = StoreReadingCredentials.Place()
        let credentials = StoreReadingCredentials(place: place)
        let delegate = ScriptedAuthenticationDelegate(refreshing: [.success(credentials)])
        let store = TokenStore(credentials, delegate: delegate)
        place.store.withLock { $0 = store }
        let network = MockTransport([.ok(), .status(.unauthorized), .ok()]).authenticated(with: store)
            .server(authority: "api.example.com")
        #expect(try await network.me().status == .ok)
        #expect(try await network.me().status == .ok)
        #expect(delegate.refreshes == 1)
        store.set(credentials)
        store.update(credentials)
        #expect(store.principal == Principal(id: "emily"))
        store.remove()
        #expect(store.credentials == nil)
        place.store.withLock { $0 = nil }
    }

    // MARK: The limit

    @Test(arguments: [true, false])
    func shortLivedTokensAreRefreshedAsOftenAsTheyExpire(isKnownToExpire: Bool) async throws {
        if isKnownToExpire {
            server.giveTokens(lifetime: .seconds(2))
        }
        let network = stack(store(expiringIn: isKnownToExpire ? 2 : nil))
        for second in 1...120 {
            clock.advance(by: .seconds(1))
            if !isKnownToExpire, second.isMultiple(of: 2) {
                server.expire()
            }
            #expect(try await network.me().status == .ok)
        }
        #expect((59...61).contains(server.refreshes))
    }

    /// Each refresh returns a token, and the server accepts none.
    @Test func refreshesWithoutAcceptanceAreLimited() async throws {
        let network = stack(store())
        server.refuseAll()
        for _ in 1...5 {
            #expect(try await network.me().status == .unauthorized)
        }
        let error = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(error?.kind == .unauthorized)
        #expect(error?.response?.status == .unauthorized)
        #expect(error?.retryAfter == .seconds(30))
        #expect(error?.reason.contains("refreshed 5 times within 30.0 seconds") == true)
        #expect(server.refreshes == 5)
        clock.advance(by: .seconds(30))
        #expect(try await network.me().status == .unauthorized)
        #expect(server.refreshes == 6)
    }

    /// An outage and the response of another server do not show that the credentials are accepted.
    @Test(arguments: [HTTPResponse.Status.internalServerError, .serviceUnavailable, .tooManyRequests, .found])
    func responsesThatShowNoAcceptanceDoNotLiftTheLimit(status: HTTPResponse.Status) async throws {
        let isRefused = Atomic(true)
        let transport = MockTransport { request in
            if request.authority != "api.example.com" { return .ok() }
            if isRefused.load(ordering: .relaxed) { return .status(.unauthorized) }
            return status == .found ? .redirect(to: "https://elsewhere.example/") : .status(status)
        }
        let network = stack(store(limit: RefreshLimit(1, per: .seconds(10))), over: transport)
        #expect(try await network.me().status == .unauthorized)
        isRefused.store(false, ordering: .relaxed)
        _ = try await network.me()
        isRefused.store(true, ordering: .relaxed)
        let error = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(error?.retryAfter == .seconds(10))
        #expect(server.refreshes == 1)
    }

    @Test func limitDoesNotApplyToTheNextUser() async throws {
        let store = store(limit: RefreshLimit(1, per: .seconds(30)))
        let network = stack(store)
        server.expire()
        server.failRefreshes(with: NetworkingError.unavailable)
        for _ in 1...2 {
            let error = await #expect(throws: NetworkingError.self) { try await network.me() }
            #expect(error?.kind == .status)
        }
        #expect(server.refreshes == 1)
        server.failRefreshes(with: nil)
        store.set(server.session(of: "james", expiring: clock.date.addingTimeInterval(-1)))
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 2)
    }

    /// A token server that is down does not sign users out.
    @Test func requestsBeyondTheLimitReportWhyRefreshesFailed() async throws {
        let network = stack(store())
        server.expire()
        server.failRefreshes(with: NetworkingError.unavailable)
        for _ in 1...5 {
            _ = await #expect(throws: NetworkingError.self) { try await network.me() }
        }
        clock.advance(by: .seconds(10))
        let error = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(error?.kind == .status)
        #expect(error?.retryAfter == .seconds(20))
        #expect(error?.reason.hasSuffix(" The next refresh may start in 20.0 seconds.") == true)
        #expect(server.refreshes == 5)
        server.failRefreshes(with: nil)
        clock.advance(by: .seconds(20))
        #expect(try await network.me().status == .ok)
    }

    @Test func acceptanceOfOlderCredentialsDoesNotDiscountLaterRefreshes() {
        let limit = RefreshLimit(2, per: .seconds(30))
        var tally = RefreshTally()
        tally.begin(from: 0, at: .zero)
        tally.begin(from: 1, at: .seconds(1))
        tally.removeAll(upTo: 1)
        #expect(tally.refusal(under: limit, at: .seconds(2)) == nil)
        tally.begin(from: 2, at: .seconds(2))
        #expect(tally.refusal(under: limit, at: .seconds(2))?.delay == .seconds(29))
    }

    // MARK: Limiters

    /// A delegate that sends its request over its own stack or over the stack of the waiting requests.
    private struct Renewing: AuthenticationDelegate {
        let network: StackBox

        func refresh(
            _ session: Session,
            after response: HTTPResponseData?,
            over network: any NetworkingComponent
        ) async throws -> Session {
            let request = HTTPRequestData(method: .post, url: URL(string: "https://api.example.com/refresh")!)
            return try await self.network.value.request(request, as: Session.self)
        }
    }

    @Test(arguments: ["same stack", "other stack"])
    func refreshPassesTheLimiterWhosePermitsTheWaitingRequestsHold(way: String) async throws {
        let transport = MockTransport { request in
            if request.path == "/refresh" { return .json(text: #"{"accessToken":"new"}"#) }
            return request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        let (limiter, rateLimiter) = (ConcurrencyLimiter(max: 1), RateLimiter(1, per: .seconds(60)))
        let place = StackBox()
        let store = TokenStore(Session(accessToken: "old", refreshToken: "r"), delegate: Renewing(network: place))
        let network = stack(store, over: transport).throttled(by: limiter, maximumWait: .zero)
            .rateLimited(by: rateLimiter, maximumWait: .zero)
        let other = transport.throttled(by: limiter, maximumWait: .zero)
            .rateLimited(by: rateLimiter, maximumWait: .zero)
        place.value = way == "same stack" ? AnyNetworkingComponent(network) : AnyNetworkingComponent(other)
        #expect(try await network.me().status == .ok)
        #expect(transport.requests.map(\.path) == ["/me", "/refresh", "/me"])
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))
    }

    /// A component of an app can send its own requests in the same way as the token store.
    @Test func anyComponentMaySendRequestsWithoutLimits() async throws {
        let limiter = ConcurrencyLimiter(max: 1)
        let transport = MockTransport { _ in .ok() }
        let other = AnyNetworkingComponent(
            transport.throttled(by: limiter, maximumWait: .zero).server(authority: "api.example.com")
        )
        let preparing = Sending { request, upstream in
            var environment = NetworkEnvironment.current
            environment.isThrottled = false
            _ = try await withEnvironment(environment) { try await other.data(HTTPRequestData(path: "key")) }
            return try await upstream.send(request)
        }
        let network = transport.modified(preparing).throttled(by: limiter).server(authority: "api.example.com")
        try await network.me()
        #expect(transport.requests.map(\.path) == ["/key", "/me"])
        #expect(limiter.inFlight == 0)
    }
}

extension NetworkingError {
    /// The error of a server that is down.
    fileprivate static var unavailable: NetworkingError {
        .refusedStatus(of: HTTPResponseData(request: .lawful, status: .serviceUnavailable))
    }
}

/// A reference to a stack that is created after its delegate.
private final class StackBox: Sendable {
    private let stack = Mutex<AnyNetworkingComponent?>(nil)

    var value: AnyNetworkingComponent {
        get { stack.withLock { $0! } }
        set { stack.withLock { $0 = newValue } }
    }
}
