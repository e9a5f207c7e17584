#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Sessions with a key: how they begin, are stored, shared and renewed (RFC 9449).
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DPoPSessionTests {
    private let provider = DPoPProvider()
    private let transport: MockTransport

    init() {
        transport = provider.transport
    }

    private func get(over network: AnyNetworkingComponent) async throws -> HTTPResponse.Status {
        try await network.data(HTTPRequestData(path: "orders")).status
    }

    private var tokenRequests: Int {
        transport.destinations.count { $0 == "login.example.com/token" }
    }

    // MARK: Another device

    @Test(arguments: [nil, "n-1"])
    func eachPollHasAProofOfItsOwn(nonce: String?) async throws {
        let client = OAuthClient(DPoPProvider.system())
        let network = provider.network(client, over: transport)
        if let nonce { provider.set(\.nonces, ["login.example.com": nonce]) }
        let call = Task { try await network.oauth(client).signIn(with: .deviceCode { _ in }) }
        for poll in 1...3 {
            if poll == 3 { provider.set(\.deviceIsApproved, true) }
            let moment = provider.clock.now.offset + .seconds(5)
            try await eventually("the next poll is due") { provider.clock.nextDeadline?.offset == moment }
            provider.clock.advance(by: .seconds(5))
            // Only the first one learns the nonce.
            try await eventually("poll \(poll) is answered") { tokenRequests == poll + (nonce == nil ? 0 : 1) }
        }
        let session = try await call.value
        let key = try #require(session.dpopKey)
        let proofs = transport.proofs.compactMap(\.self)
        #expect(Set(proofs.map(\.thumbprint)) == [key.thumbprint])
        #expect(Set(proofs.compactMap { $0.claim("jti") }).count == tokenRequests)
        #expect(transport.requests[0].path == "/device")
        #expect(try await get(over: network) == .ok)
        #expect(provider.get(\.complaints).isEmpty)
    }

    // MARK: Storages

    /// A storage behind a network, which keeps encoded sessions and has one lock.
    private final class EncodedSessions: SharedSessionStorage {
        private let sessions = Mutex<[String: Data]>([:])
        private let isLocked = Mutex(false)
        let locks = Mutex(0)

        func session(for userID: String) async throws -> Session? {
            let data = sessions.withLock { $0[userID] }
            return try data.map { try JSONDecoder().decode(Session.self, from: $0) }
        }

        /// Waits until a session is stored, which a client does in the background.
        func stores(_ session: Session) async throws {
            try await eventually("the session is stored") { try await self.session(for: "") == session }
        }

        func save(_ session: Session) async throws {
            let data = try JSONEncoder().encode(session)
            sessions.withLock { $0[session.userID ?? ""] = data }
        }

        func removeSession(for userID: String) async throws {
            sessions.withLock { $0[userID] = nil }
        }

        func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome {
            let isAcquired = isLocked.withLock { isLocked in
                defer { isLocked = true }
                return !isLocked
            }
            guard isAcquired else { return .held(retryAfter: .milliseconds(1)) }
            locks.withLock { $0 += 1 }
            return .acquired(SessionLock { [self] in isLocked.withLock { $0 = false } })
        }
    }

    private func machine(
        _ storage: EncodedSessions,
        grant: OAuthGrant? = nil
    ) async throws -> (client: OAuthClient, network: AnyNetworkingComponent) {
        let client = try await OAuthClient(DPoPProvider.system(), sharing: storage, grant: grant)
        return (client, provider.network(client, over: transport))
    }

    @Test func machinesShareTheKeyAndOneRefresh() async throws {
        let storage = EncodedSessions()
        let first = try await machine(storage)
        let session = try await first.network.oauth(first.client).signIn(with: provider.user)
        try await storage.stores(session)
        let second = try await machine(storage)
        #expect(second.client.session?.dpopKey == session.dpopKey)
        for round in 1...2 {
            provider.expireTokens()
            for machine in [second, first] { #expect(try await get(over: machine.network) == .ok) }
            #expect(first.client.session == second.client.session)
            #expect(first.client.session?.dpopKey == session.dpopKey)
            #expect(try await storage.session(for: "")?.dpopKey == session.dpopKey)
            #expect(tokenRequests == round + 1)
        }
        // The provider has refused no refresh token, each of which it accepts once.
        #expect(provider.get(\.complaints).isEmpty)
        #expect(!first.client.needsSignIn && !second.client.needsSignIn)
        // A new sign-in replaces the key on the other machine, too.
        let next = try await first.network.oauth(first.client).signIn(with: provider.user)
        try await storage.stores(next)
        provider.expireTokens()
        #expect(try await get(over: first.network) == .ok)
        let third = try await machine(storage)
        #expect(third.client.session?.dpopKey == next.dpopKey)
        #expect(next.dpopKey != session.dpopKey)
    }

    // MARK: Renewal

    @Test func renewedTokensOfTheAppKeepTheirKey() async throws {
        let client = OAuthClient(DPoPProvider.system(.preferred), grant: .clientCredentials)
        let network = provider.network(client, over: transport)
        let text = #"{"access_token": "old", "token_type": "DPoP", "expires_in": 60}"#
        provider.set(\.scriptedTokens, [.text(text)])
        let key = try #require(try await network.oauth(client).signIn().dpopKey)
        provider.clock.advance(by: .seconds(60))
        #expect(try await get(over: network) == .ok)
        #expect(client.session?.dpopKey == key)
        #expect(Set(transport.proofs.compactMap { $0?.thumbprint }) == [key.thumbprint])
        #expect(provider.get(\.complaints).isEmpty)
    }

    @Test func tokensOfTheAppDoNotBecomeBearerTokens() async throws {
        let client = OAuthClient(DPoPProvider.system(.preferred), grant: .clientCredentials)
        let network = provider.network(client, over: transport)
        let text = #"{"access_token": "old", "token_type": "DPoP", "expires_in": 60}"#
        provider.set(\.scriptedTokens, [.text(text)])
        try await network.oauth(client).signIn()
        provider.clock.advance(by: .seconds(60))
        provider.set(\.tokenType, "Bearer")
        await #expect(throws: NetworkingError.self) { try await get(over: network) }
        #expect(transport.requests.allSatisfy { $0.headerFields[.authorization] != "Bearer bearer" })
    }

    @Test func bearerSessionIsNotRenewedIfAKeyIsRequired() async throws {
        provider.set(\.tokenType, "Bearer")
        for (dpop, isRenewed) in [(OAuthDPoP.preferred, true), (.required, false)] {
            let transport = provider.transport
            let client = OAuthClient(DPoPProvider.system(dpop))
            let network = provider.network(client, over: transport)
            client.set(Session(accessToken: "old", refreshToken: "refresh"))
            if isRenewed {
                #expect(try await get(over: network) == .ok)
            } else {
                let error = await #expect(throws: NetworkingError.self) { try await get(over: network) }
                #expect(oauthError(error)?.kind == .signInRequired)
                #expect(!transport.destinations.contains("login.example.com/token"))
            }
        }
    }
}
#endif
