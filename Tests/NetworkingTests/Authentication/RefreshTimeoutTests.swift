import FoundationForNetworking
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The time limit of a token store for refreshes.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RefreshTimeoutTests {
    private let clock = ManualClock()

    /// A delegate that sends a request to a token server that never responds.
    private let silent = ScriptedAuthenticationDelegate<Session>(refresh: { session, _, network in
        try await network.data(
            HTTPRequestData(method: .post, scheme: "https", authority: "login.example.com", path: "/token")
        )
        return session
    })

    /// Checks that a request with a refused token fails after a time limit.
    private func expectFailure(after limit: Duration, with tokens: TokenStore<Session>) async throws {
        let transport = MockTransport { $0.path == "/token" ? .never : .status(.unauthorized) }
        let network = transport.authenticated(with: tokens).server(authority: "api.example.com")
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(HTTPRequestData(path: "orders")) }
        defer { call.cancel() }
        try await clock.waitForSleepers()
        let start = clock.now
        try #require(clock.nextDeadline.map { start.duration(to: $0) } == limit)
        clock.advance(by: limit)
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(transport.requests.map(\.path) == ["/orders", "/token"])
    }

    @Test func refreshHasATimeLimit() async throws {
        let session = Session(accessToken: "old", refreshToken: "refresh")
        try await expectFailure(after: .seconds(60), with: TokenStore(session, delegate: silent))
        try await expectFailure(after: .seconds(5), with: TokenStore(session, delegate: silent, timeout: .seconds(5)))
    }

    /// The server may have ended the old session when it sent the late one.
    @Test func lateSessionIsUsedAfterALaterRefreshHasFailed() async throws {
        let gate = MockGate()
        let isFirst = Mutex(true)
        let delegate = ScriptedAuthenticationDelegate<Session>(refresh: { _, _, _ in
            let isLate = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard isLate else { throw NetworkingError(.connectionLost, request: HTTPRequestData()) }
            // A task of its own, because the refresh is cancelled at its time limit.
            try await Task { try await gate.wait() }.value
            return Session(accessToken: "new", refreshToken: "newer")
        })
        let tokens = TokenStore(Session(accessToken: "old", refreshToken: "refresh"), delegate: delegate)
        let transport = MockTransport { request in
            request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        let network = transport.authenticated(with: tokens).server(authority: "api.example.com")
            .environment(\.clock, .manual(clock))
        let first = Task { try await network.data(HTTPRequestData(path: "orders")) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        await #expect(throws: NetworkingError.self) { try await first.value }
        await #expect(throws: NetworkingError.self) { try await network.data(HTTPRequestData(path: "orders")) }
        gate.open()
        try await eventually("the late session is used") { tokens.credentials?.accessToken == "new" }
        #expect(try await network.data(HTTPRequestData(path: "orders")).status == .ok)
    }

    @Test func refreshOfAStoredSessionHasATimeLimit() async throws {
        let session = Session(userID: "emily", accessToken: "old", refreshToken: "refresh")
        let tokens = TokenStore(session, in: InMemorySessionStorage(), delegate: silent, timeout: .seconds(7))
        try await expectFailure(after: .seconds(7), with: tokens)
    }
}
