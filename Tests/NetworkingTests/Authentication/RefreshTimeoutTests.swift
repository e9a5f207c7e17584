import FoundationForNetworking
import Networking
import NetworkingTesting
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

    @Test func refreshOfAStoredSessionHasATimeLimit() async throws {
        let session = Session(userID: "emily", accessToken: "old", refreshToken: "refresh")
        let tokens = TokenStore(session, in: InMemorySessionStorage(), delegate: silent, timeout: .seconds(7))
        try await expectFailure(after: .seconds(7), with: tokens)
    }
}
