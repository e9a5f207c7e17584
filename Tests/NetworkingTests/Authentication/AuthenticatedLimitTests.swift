import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// A time limit outside of `authenticated`, over a transport that enforces it.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct AuthenticatedLimitTests {
    private let clock = ManualClock()
    private let journal = Journal()
    private let old = Session(userID: "emily", accessToken: "old", refreshToken: "refresh")
    private let new = Session(userID: "emily", accessToken: "new", refreshToken: "refresh")

    /// A network with a `deadline` of five seconds.
    private func network(
        _ transport: PromptTransport,
        _ tokens: TokenStore<Session>,
        preemptive: Bool = true
    ) -> some NetworkingComponent {
        transport.timeout(.seconds(90)).authenticated(with: tokens, at: ["laws.example"], preemptive: preemptive)
            .deadline(.seconds(5)).environment(\.clock, .manual(clock))
    }

    /// Refuses every token but the new one.
    private static func answer(_ request: HTTPRequestData) -> HTTPResponseData {
        let isAccepted = request.headerFields[.authorization] == "Bearer new"
        return HTTPResponseData(request: request, status: isAccepted ? .ok : .unauthorized)
    }

    /// The refresh continues when the callers that started and joined it have left.
    @Test(arguments: [Session?.none, Session(userID: "emily", accessToken: "old", refreshToken: "refresh")])
    func waitForCredentialsEndsAtTheLimit(session: Session?) async throws {
        let delegate = ScriptedAuthenticationDelegate<Session>(
            authorizing: [.success(new)],
            refreshing: [.success(new)]
        )
        let tokens = TokenStore(session, delegate: delegate)
        let network = network(PromptTransport(Self.answer), tokens)
        delegate.hold()
        let first = Task { try await network.data(.lawful) }
        try await delegate.waitForCalls()
        let second = Task { try await network.data(.lawful) }
        // Each call waits for its limit, and the store for its own.
        try await eventually("all limits are set") { clock.sleepers == 3 }
        clock.advance(by: .seconds(5))
        for call in [first, second] {
            let error = await #expect(throws: NetworkingError.self) { try await call.value }
            #expect(error?.kind == .deadline)
        }
        #expect(delegate.active == 1)
        delegate.release()
        #expect(try await network.data(.lawful).status == .ok)
        #expect(delegate.calls.count == 1)
    }

    @Test func limitOnAnotherClockEndsTheWaitForCredentials() async throws {
        let delegate = ScriptedAuthenticationDelegate<Session>(authorizing: [.success(new)])
        let network = PromptTransport(Self.answer)
            .authenticated(with: TokenStore(delegate: delegate), at: ["laws.example"])
            .environment(\.clock, .manual(ManualClock())).deadline(.seconds(5))
            .environment(\.clock, .manual(clock))
        delegate.hold()
        let call = Task { try await network.data(.lawful) }
        try await delegate.waitForCalls()
        try await eventually("the limit is set") { clock.sleepers == 1 }
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        delegate.release()
    }

    @Test func refusedRequestIsNotSentAgainAfterTheLimit() async throws {
        let tokens = TokenStore(old)
        let transport = PromptTransport.late(clock, journal) { [new] request in
            tokens.set(new)
            return Self.answer(request)
        }
        let network = network(transport, tokens)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .deadline)
        #expect(journal.entries == ["sent"])
    }

    @Test func refreshDoesNotStartAfterTheLimit() async throws {
        let delegate = ScriptedAuthenticationDelegate<Session>(refreshing: [.success(new)])
        let network = network(.late(clock, journal, Self.answer), TokenStore(old, delegate: delegate))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .deadline)
        #expect(delegate.calls.isEmpty)
    }

    @Test func requestIsNotSentWithCredentialsAfterTheLimit() async throws {
        let network = network(.late(clock, journal, Self.answer), TokenStore(new), preemptive: false)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .deadline)
        #expect(journal.entries == ["sent"])
    }
}
