#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// What becomes of an access token that runs out or is refused.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct TokenRenewalTests {
    private let provider = ScriptedProvider()
    private let transport: MockTransport
    private let client = OAuthClient(ScriptedProvider.system())
    private let clock = ManualClock()
    private let network: AnyNetworkingComponent

    init() async throws {
        transport = provider.transport
        network = provider.network(client, over: transport, clock)
        try await network.oauth(client).signIn(with: provider.user)
    }

    private func get() async throws -> HTTPResponseData {
        try await network.data(HTTPRequestData(path: "orders"))
    }

    @Test func aRefusedTokenIsRenewedAndTheRequestSentAgain() async throws {
        provider.expireTokens()
        #expect(try await get().status == .ok)
        #expect(
            transport.places.dropFirst()
                == ["api.example.com/v1/orders", "login.example.com/token", "api.example.com/v1/orders"]
        )
        let form = provider.get(\.forms)[1]
        #expect(form == ["grant_type": "refresh_token", "refresh_token": "refresh-2", "client_id": "shop"])
        #expect(client.session?.accessToken == "access-3")
    }

    @Test func aTokenThatRunsOutIsRenewedBefore() async throws {
        clock.advance(by: .seconds(3_600 - 31))
        #expect(try await get().status == .ok)
        #expect(provider.get(\.forms).count == 1)
        clock.advance(by: .seconds(1))
        #expect(try await get().status == .ok)
        try await eventually("client.session?.accessToken == 'access-3'") { client.session?.accessToken == "access-3" }
        #expect(try await get().status == .ok)
        #expect(provider.get(\.forms).count == 2)
        #expect(transport.requests.last?.headerFields[.authorization] == "Bearer access-3")
    }

    @Test func refreshTokensRotate() async throws {
        for number in 3...6 {
            provider.expireTokens()
            #expect(try await get().status == .ok)
            #expect(client.session?.refreshToken == "refresh-\(number)")
            clock.advance(by: .seconds(60))
        }
        #expect(provider.get(\.forms).dropFirst().map { $0["refresh_token"] } == (2...5).map { "refresh-\($0)" })
    }

    @Test func aProviderThatDoesNotRotateKeepsTheRefreshToken() async throws {
        provider.set(\.rotates, false)
        for _ in 0..<3 {
            provider.expireTokens()
            #expect(try await get().status == .ok)
            #expect(client.session?.refreshToken == "refresh-2")
            clock.advance(by: .seconds(60))
        }
    }

    @Test func whatARenewalDoesNotSayStays() async throws {
        client.set(Session(accessToken: "a", refreshToken: "r", scope: "orders", idToken: "h.p.s"))
        provider.set(\.answers, [.text(#"{"access_token":"b","token_type":"bearer"}"#)])
        provider.state.withLock { _ = $0.accessTokens.insert("b") }
        #expect(try await get().status == .ok)
        #expect(client.session == Session(accessToken: "b", refreshToken: "r", scope: "orders", idToken: "h.p.s"))
    }

    @Test func manyRequestsMakeOneRenewal() async throws {
        provider.expireTokens()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 {
                group.addTask { try await get().status.code }
            }
            for try await status in group {
                #expect(status == 200)
            }
        }
        #expect(provider.get(\.forms).count == 2)
    }

    /// Whatever is in a token, it comes back as it was.
    @Test(arguments: ["+&=/", "%2B %25", "a b+c", "\\u00e9\\\"", "'();:@,?#[]!$*~"])
    func tokensWithSpecialCharactersSurvive(suffix: String) async throws {
        provider.set(\.answers, [.text(#"{"access_token":"a","token_type":"bearer","refresh_token":"r\#(suffix)"}"#)])
        try await network.oauth(client).signIn(with: provider.user)
        let token = try JSONDecoder().decode([String].self, from: Data(#"["r\#(suffix)"]"#.utf8))[0]
        #expect(client.session?.refreshToken == token)
        provider.expireTokens()
        provider.state.withLock { _ = $0.refreshTokens.insert(token) }
        #expect(try await get().status == .ok)
        #expect(provider.get(\.forms).last?["refresh_token"] == token)
    }

    @Test func aSessionThatTheProviderHasEndedNeedsTheUserAndIsAskedForOnce() async throws {
        provider.expireTokens()
        provider.set(\.refreshTokens, [])
        for _ in 0..<3 {
            let error = await #expect(throws: NetworkingError.self) { try await get() }
            #expect(error?.kind == .unauthorized)
            #expect(error?.response?.status == .unauthorized)
            #expect(oauthError(error)?.kind == .signInRequired)
            #expect(oauthError(error)?.code == "invalid_grant")
            clock.advance(by: .seconds(60))
        }
        #expect(provider.get(\.forms).count == 2)
        // Nothing is lost: it is the app's to decide.
        #expect(client.session?.refreshToken == "refresh-2")
        try await network.oauth(client).signIn(with: provider.user)
        #expect(try await get().status == .ok)
    }

    @Test func aSessionWithoutARefreshTokenNeedsTheUser() async throws {
        client.set(Session(accessToken: "old"))
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(oauthError(error)?.kind == .signInRequired)
        #expect(provider.get(\.forms).count == 1)
    }

    @Test func aSessionThatHasEndedIsKnownAndCanBeForgottenWithoutANetwork() async throws {
        #expect(!client.needsSignIn)
        provider.expireTokens()
        provider.set(\.refreshTokens, [])
        await #expect(throws: NetworkingError.self) { try await get() }
        #expect(client.needsSignIn)
        client.remove()
        #expect(client.session == nil)
        #expect(!client.needsSignIn)
        #expect(provider.get(\.revoked).isEmpty)
    }

    @Test func aTokenIsGivenOutForOtherUses() async throws {
        let account = network.oauth(client)
        #expect(try await account.validSession().accessToken == "access-2")
        clock.advance(by: .seconds(3_600))
        #expect(try await account.validSession().accessToken == "access-3")
        client.remove()
        await #expect(throws: NetworkingError.self) { try await account.validSession() }
    }

    /// The app's own token is asked for anew, and a user's is not replaced by it.
    @Test func anAppsTokenIsRenewedAndAUsersStays() async throws {
        try await network.oauth(client).signIn(with: .clientCredentials)
        provider.expireTokens()
        #expect(try await get().status == .ok)
        let app = OAuthClient(ScriptedProvider.system(), grant: .clientCredentials)
        let network = provider.network(app, over: transport, clock)
        provider.set(\.answers, [.text(#"{"access_token":"users","token_type":"bearer"}"#)])
        try await network.oauth(app).signIn(with: provider.user)
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(path: "orders"))
        }
        #expect(oauthError(error)?.kind == .signInRequired)
        #expect(app.session?.accessToken == "users")
    }

    @Test func aProviderThatIsDownIsAskedAgain() async throws {
        provider.expireTokens()
        provider.set(\.answers, [.status(.serviceUnavailable)])
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(error?.kind == .status)
        #expect(error?.isUnauthorized == false)
        #expect((error?.underlying as? NetworkingError)?.response?.status == .serviceUnavailable)
        #expect(try await get().status == .ok)
        provider.expireTokens()
        provider.set(\.answers, [.failing(.offline)])
        let offline = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(offline?.isOffline == true)
        #expect(try await get().status == .ok)
    }

    private static let damages: [MockResponse] = [
        .text(#"{"access_token":"secr"#), .text("<html>Sign in to the wireless network</html>"), .ok(),
        .failing(.truncated),
        .failing(.invalidResponse), ScriptedProvider.refusal("temporarily_unavailable", status: .serviceUnavailable),
        .status(.serviceUnavailable, headerFields: [.retryAfter: "7"]),
    ]

    /// Neither a response that was cut off nor one that something in between sent has ended the session.
    @Test(arguments: damages.indices)
    func damagedTokenResponseIsTriedAgain(number: Int) async throws {
        provider.expireTokens()
        provider.set(\.answers, [Self.damages[number]])
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(error?.isUnauthorized == false)
        #expect(error?.reason.contains("refresh failed: ") == true, "\(error?.reason ?? "")")
        #expect(!everyPrint(of: error as Any).contains("secr"))
        provider.set(\.answers, [Self.damages[number]])
        let order = HTTPRequestData(method: .post, path: "orders")
        let response = try await network.retry(.immediate()).environment(\.clock, .immediate()).data(order)
        #expect(response.status == .ok)
        #expect(response.attempts.count == 1)
        if number == 6 {
            let backoff = try #require(response.attempts.first?.backoff)
            #expect(.seconds(7) ... .seconds(7.7) ~= backoff)
        }
    }

    @Test func errorSaysWhichTokenEndpointFailed() async throws {
        provider.expireTokens()
        provider.set(\.answers, [.text("<html>Sign in to the wireless network</html>")])
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        let start =
            "The server refused the credentials, and their refresh failed: POST https://login.example.com/token failed. The token endpoint"
        #expect(error?.reason.hasPrefix(start) == true, "\(error?.reason ?? "")")
    }

    @Test func aProviderThatDoesNotAnswerIsGivenUp() async throws {
        provider.expireTokens()
        provider.set(\.answers, [.ok().delayed(by: .seconds(999))])
        let call = Task { try await get() }
        try await eventually("provider.get(.forms).count >= 2") { provider.get(\.forms).count >= 2 }
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(error?.isUnauthorized == false)
    }

    // MARK: Clocks

    /// The lifetime counts from when it was asked for, by the app's own clock.
    @Test(arguments: [Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 4_000_000_000)])
    func aWrongClockDoesNotMatter(date: Date) async throws {
        let clock = ManualClock(start: date)
        let client = OAuthClient(ScriptedProvider.system())
        let transport = provider.transport
        let network = provider.network(client, over: transport, clock)
        try await network.oauth(client).signIn(with: provider.user)
        let before = provider.get(\.forms).count
        #expect(try await network.data(HTTPRequestData(path: "orders")).status == .ok)
        #expect(provider.get(\.forms).count == before)
        clock.advance(by: .seconds(3_571))
        #expect(try await network.data(HTTPRequestData(path: "orders")).status == .ok)
        #expect(provider.get(\.forms).count == before + 1)
    }

    @Test(arguments: [0, 1, 29, -5, 1e300] as [Double])
    func aLifetimeThatIsNoneDoesNotLoop(lifetime: Double) async throws {
        provider.set(\.lifetime, lifetime)
        try await network.oauth(client).signIn(with: provider.user)
        for _ in 0..<10 {
            #expect(try await get().status == .ok)
        }
        #expect(provider.get(\.forms).count <= 4)
    }

    @Test func aLifetimeThatIsTextOrAbsentIsRead() async throws {
        provider.set(\.answers, [.text(#"{"access_token":"a","token_type":"bearer","expires_in":"60"}"#)])
        try await network.oauth(client).signIn(with: provider.user)
        #expect(client.session?.expirationDate == clock.date.addingTimeInterval(60))
        provider.set(\.lifetime, nil)
        try await network.oauth(client).signIn(with: provider.user)
        #expect(client.session?.expirationDate == nil)
        #expect(try await get().status == .ok)
    }
}
#endif
