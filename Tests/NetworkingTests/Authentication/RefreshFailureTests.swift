import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Refreshes without a response, delegates that outlive their refresh, and delegates that implement nothing.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RefreshFailureTests {
    private let server = TokenServer()
    private let transport: MockTransport
    private let clock = ManualClock()

    init() {
        transport = server.transport
    }

    private func store(
        expiringIn seconds: TimeInterval? = nil,
        limit: RefreshLimit = .standard
    ) -> TokenStore<Session> {
        let date = seconds.map { clock.date.addingTimeInterval($0) }
        return TokenStore(server.session(expiring: date), delegate: server.delegate, limit: limit)
    }

    private func stack(_ store: TokenStore<Session>, retries: Int = 0) -> AnyNetworkingComponent {
        let policy = retries == 0 ? RetryPolicy.never : .exponential(maximumRetries: retries)
        return AnyNetworkingComponent(
            transport.authenticated(with: store).retry(policy).server(authority: "api.example.com")
                .environment(\.clock, .manual(clock))
        )
    }

    // MARK: The limit

    private static let withoutResponse: [NetworkingError.Kind] = [
        .offline, .connection, .nameResolution, .timeout, .connectionLost, .tls, .truncated, .deadline, .rejected,
    ]

    /// A device without a network for a few seconds would otherwise lock its user out afterwards.
    @Test(arguments: withoutResponse)
    func refreshWithoutAResponseDoesNotCount(kind: NetworkingError.Kind) async throws {
        let network = stack(store(expiringIn: -1))
        server.failRefreshes(with: NetworkingError(kind, request: .lawful))
        for number in 1...20 {
            let error = await #expect(throws: NetworkingError.self) { try await network.me() }
            #expect(error?.kind == kind)
            #expect(error?.retryAfter == nil)
            #expect(server.refreshes == number)
        }
        server.failRefreshes(with: nil)
        #expect(try await network.me().status == .ok)
    }

    @Test func refreshThatExceedsItsTimeLimitDoesNotCount() async throws {
        let network = stack(store(expiringIn: -1, limit: RefreshLimit(1, per: .seconds(1_000))))
        server.delegate.hold()
        for number in 1...3 {
            let call = Task { try await network.me() }
            try await server.delegate.waitForCalls(number)
            clock.advance(by: .seconds(60))
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.kind == .timeout)
        }
        server.delegate.release()
        #expect(try await network.me().status == .ok)
    }

    private struct Unknown: Error {}

    private static let withResponse: [any Error] = [
        NetworkingError.refusedStatus(of: HTTPResponseData(request: .lawful, status: .serviceUnavailable)),
        NetworkingError.refusedStatus(of: HTTPResponseData(request: .lawful, status: .badRequest)),
        NetworkingError(.invalidResponse, request: .lawful), NetworkingError(.decoding, request: .lawful), Unknown(),
    ]

    @Test(arguments: withResponse.indices)
    func refusedRefreshCounts(number: Int) async throws {
        let network = stack(store(expiringIn: -1))
        server.failRefreshes(with: Self.withResponse[number])
        for _ in 1...8 {
            _ = await #expect(throws: NetworkingError.self) { try await network.me() }
        }
        #expect(server.refreshes == 5)
    }

    @Test func retryWaitsUntilTheNextRefreshMayStart() async throws {
        let network = stack(store(expiringIn: -1, limit: RefreshLimit(1, per: .seconds(30))), retries: 1)
        server.failRefreshes(
            with: NetworkingError.refusedStatus(of: HTTPResponseData(request: .lawful, status: .serviceUnavailable))
        )
        _ = await #expect(throws: NetworkingError.self) { try await network.me { $0.retryPolicy = .never } }
        let call = Task { try await network.me() }
        try await clock.waitForSleepers()
        #expect(try #require(clock.nextDeadline).offset >= .seconds(30))
        server.failRefreshes(with: nil)
        clock.advanceToNextDeadline()
        let response = try await call.value
        #expect(response.status == .ok)
        #expect(server.refreshes == 2)
    }

    /// The server would refuse them, and the error would not say when to try again.
    @Test func expiredTokenIsNotSentAtTheLimit() async throws {
        let network = stack(store(expiringIn: -1, limit: RefreshLimit(1, per: .seconds(30))))
        server.failRefreshes(with: NetworkingError(.decoding, request: .lawful))
        for _ in 1...3 {
            _ = await #expect(throws: NetworkingError.self) { try await network.me() }
        }
        clock.advance(by: .seconds(10))
        let error = await #expect(throws: NetworkingError.self) { try await network.me() }
        #expect(error?.retryAfter == .seconds(20))
        #expect(transport.requests.isEmpty)
        #expect(server.refreshes == 1)
    }

    @Test func validTokenIsSentAtTheLimit() async throws {
        let network = stack(store(expiringIn: 20, limit: RefreshLimit(1, per: .seconds(300))))
        server.failRefreshes(with: NetworkingError(.decoding, request: .lawful))
        for _ in 1...3 {
            #expect(try await network.me().status == .ok)
        }
        try await eventually("the refresh has ended") { server.delegate.active == 0 }
        #expect(server.refreshes == 1)
    }

    // MARK: Signing in with a short token

    /// The server issues such tokens only, so a refresh would return another one.
    @Test(arguments: [true, false])
    func signInWithAShortTokenIsNotFollowedByARefresh(isUpdate: Bool) async throws {
        let store = TokenStore<Session>(delegate: server.delegate)
        let network = stack(store)
        let session = server.session(expiring: clock.date.addingTimeInterval(20))
        if isUpdate { store.update(session) } else { store.set(session) }
        for _ in 1...3 {
            #expect(try await network.me().status == .ok)
        }
        clock.advance(by: .seconds(19))
        #expect(try await network.me().status == .ok)
        #expect(server.delegate.calls.isEmpty)
        clock.advance(by: .seconds(1))
        #expect(try await network.me().status == .ok)
        #expect(server.refreshes == 1)
    }

    @Test func signInWithALongTokenIsRefreshedAheadOfItsExpiry() async throws {
        let store = TokenStore<Session>(delegate: server.delegate)
        let network = stack(store)
        store.set(server.session(expiring: clock.date.addingTimeInterval(100)))
        #expect(try await network.me().status == .ok)
        clock.advance(by: .seconds(70))
        #expect(try await network.me().status == .ok)
        try await eventually("the token is refreshed") { store.credentials?.accessToken == "access-1" }
    }

    @Test func signInWithAnExpiredTokenIsFollowedByARefresh() async throws {
        let store = TokenStore<Session>(delegate: server.delegate)
        store.set(server.session(expiring: clock.date.addingTimeInterval(-1)))
        #expect(try await stack(store).me().status == .ok)
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer access-1"])
    }

    // MARK: Tasks that a delegate starts

    /// Such a task runs longer than the refresh, so it is not a part of it.
    @Test func taskThatADelegateStartsSendsRequestsLikeAnyOther() async throws {
        let gate = MockGate()
        let place = StackPlace()
        let sync = Mutex<Task<HTTPResponseData, any Error>?>(nil)
        let delegate = ScriptedAuthenticationDelegate<Session>(refresh: { [server] _, _, _ in
            // Requests of the delegate itself have no credentials.
            let own = try await place.network.me { $0.path = "/own" }
            #expect(own.status == .unauthorized)
            #expect(!NetworkEnvironment.current.isThrottled)
            sync.withLock { sync in
                sync = Task {
                    try await gate.wait()
                    #expect(NetworkEnvironment.current.isThrottled)
                    return try await place.network.me { $0.path = "/sync" }
                }
            }
            return server.session(expiring: .distantFuture)
        })
        let limiter = ConcurrencyLimiter(max: 1)
        let store = TokenStore(Session(accessToken: "old", refreshToken: "r"), delegate: delegate)
        let network = transport.throttled(by: limiter, maximumWait: .zero).authenticated(with: store)
            .server(authority: "api.example.com")
        place.network = AnyNetworkingComponent(network)
        #expect(try await network.me().status == .ok)
        gate.open()
        let task = try #require(sync.withLock { $0 })
        #expect(try await task.value.status == .ok)
        let sent = transport.requests.map { $0.headerFields[.authorization] }
        #expect(sent == ["Bearer old", nil, "Bearer access-0", "Bearer access-0"])
    }

    /// A second refresh during the first one would wait for itself.
    @Test func nestedOperationsOfOneStoreEndSeparately() async {
        let store = store()
        await store.withoutCredentials {
            await store.withoutCredentials { #expect(store.isRenewing) }
            #expect(store.isRenewing)
        }
        #expect(!store.isRenewing)
    }

    @Test func limitersApplyAgainAfterTheOperation() async throws {
        let gate = MockGate()
        let task = await withoutThrottling {
            #expect(!NetworkEnvironment.current.isThrottled)
            return Task {
                try await gate.wait()
                return NetworkEnvironment.current.isThrottled
            }
        }
        gate.open()
        #expect(try await task.value)
        #expect(NetworkEnvironment.current.isThrottled)
        // A value that the app sets is not limited to an operation.
        var environment = NetworkEnvironment.current
        environment.isThrottled = false
        await withEnvironment(environment) {
            #expect(!NetworkEnvironment.current.isThrottled)
            environment.isThrottled = true
            #expect(environment.isThrottled)
        }
    }

    // MARK: Delegates that hang

    /// Other processes would otherwise be unable to refresh the session until this one ends.
    @Test func hangingDelegateKeepsTheLockUntilTheTimeLimitOnly() async throws {
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            try storage.save(server.session())
            server.expire()
            let hanging = ScriptedAuthenticationDelegate<Session>(refresh: { session, _, _ in session })
            hanging.hold(ignoringCancellation: true)
            defer { hanging.release() }
            let session = try #require(try storage.session(for: "emily"))
            let first = TokenStore(session, in: storage, delegate: hanging)
            let call = Task { try await stack(first).me() }
            try await hanging.waitForCalls()
            clock.advance(by: .seconds(60))
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.kind == .timeout)
            #expect(hanging.active == 1)

            try await eventually("the lock is released") {
                let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
                return names.allSatisfy { $0.hasSuffix(".json") }
            }
            let second = TokenStore(session, in: FileSessionStorage(directory: directory), delegate: server.delegate)
            #expect(try await stack(second).me().status == .ok)
            #expect(server.refreshes == 1)
        }
    }

    /// The lock arrives when the refresh has ended.
    @Test func lockThatArrivesAfterTheTimeLimitIsReleased() async throws {
        let storage = SlowLockStorage()
        let session = server.session()
        let store = TokenStore(session, in: storage, delegate: server.delegate)
        server.expire()
        let call = Task { try await stack(store).me() }
        try await eventually("the store waits for the lock") { storage.isWaiting }
        clock.advance(by: .seconds(60))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(error?.reason.contains("has held the lock") == true)
        storage.gate.open()
        try await eventually("the lock is released") { storage.released == 1 }
        #expect(server.refreshes == 0)
    }

    // MARK: Delegates that implement nothing

    private struct Nothing: AuthenticationDelegate {
        typealias Credentials = Session

        // The type of the response is wrong, so this is not the method of the protocol.
        func refresh(
            _ session: Session,
            after response: HTTPResponse?,
            over network: any NetworkingComponent
        ) async throws -> Session {
            session
        }
    }

    @Test(arguments: [true, false])
    func delegateWithAnotherSignatureIsNamed(isExpired: Bool) async throws {
        let date = isExpired ? clock.date.addingTimeInterval(-1) : nil
        let network = stack(TokenStore(Session(accessToken: "old", expirationDate: date), delegate: Nothing()))
        for _ in 1...10 {
            let error = await #expect(throws: NetworkingError.self) { try await network.me() }
            #expect(error?.kind == .unimplemented)
            #expect(error?.reason.contains("Nothing implements neither authorize(over:)") == true)
            #expect(error?.reason.contains("No user is signed in") == false)
        }
    }

    @Test func missingAuthorizeIsNamed() async throws {
        let error = await #expect(throws: NetworkingError.self) {
            try await stack(TokenStore<Session>(delegate: Nothing())).me()
        }
        #expect(error?.kind == .unauthorized)
        #expect(error?.reason.contains("The delegate Nothing does not implement authorize(over:)") == true)
        let plain = await #expect(throws: NetworkingError.self) { try await stack(TokenStore<Session>()).me() }
        #expect(plain?.reason.hasSuffix("authenticationMethod to .anonymous.") == true)
    }
}

/// A reference to a stack that is created after its delegate.
private final class StackPlace: Sendable {
    private let stack = Mutex<AnyNetworkingComponent?>(nil)

    var network: AnyNetworkingComponent {
        get { stack.withLock { $0! } }
        set { stack.withLock { $0 = newValue } }
    }
}

/// A storage whose lock arrives late, even if the caller is cancelled.
private final class SlowLockStorage: SessionStorage, SharedSessionStorage {
    let gate = MockGate()
    private let sessions = InMemorySessionStorage()
    private let state = Mutex((waiting: false, released: 0))

    var isWaiting: Bool { state.withLock { $0.waiting } }
    var released: Int { state.withLock { $0.released } }

    func session(for userID: String) -> Session? { sessions.session(for: userID) }
    func save(_ session: Session) { sessions.save(session) }
    func removeSession(for userID: String) { sessions.removeSession(for: userID) }
    func userIDs() -> [String] { sessions.userIDs() }
    func removeAll() { sessions.removeAll() }

    func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome {
        state.withLock { $0.waiting = true }
        await Task.detached { [gate] in try? await gate.wait() }.value
        return .acquired(SessionLock { [self] in state.withLock { $0.released += 1 } })
    }
}
