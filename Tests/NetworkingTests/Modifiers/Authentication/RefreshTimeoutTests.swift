import Networking
import NetworkingTesting
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How long a token store waits for new tokens.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct RefreshTimeoutTests {
    private let clock = ManualClock()

    /// Asks a server of tokens that never answers.
    private let silent = ScriptedAuthenticationDelegate<Session>(refresh: { session, _, network in
        try await network.data(
            HTTPRequestData(method: .post, scheme: "https", authority: "login.example.com", path: "/token")
        )
        return session
    })

    /// The time after which a request fails whose token is refused.
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

    @Test func aRefreshHasATimeLimit() async throws {
        let session = Session(accessToken: "old", refreshToken: "refresh")
        try await expectFailure(after: .seconds(60), with: TokenStore(session, delegate: silent))
        try await expectFailure(after: .seconds(5), with: TokenStore(session, delegate: silent, timeout: .seconds(5)))
    }

    @Test func aRefreshOfAStoredSessionHasOneToo() async throws {
        let session = Session(userID: "emily", accessToken: "old", refreshToken: "refresh")
        let tokens = TokenStore(session, in: InMemorySessionStorage(), delegate: silent, timeout: .seconds(7))
        try await expectFailure(after: .seconds(7), with: tokens)
    }
}
