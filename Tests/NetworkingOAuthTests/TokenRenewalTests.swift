#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The renewal of access tokens that expire or are refused.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TokenRenewalTests: ProviderSuite {
    let stack = ProviderStack()

    init() async throws {
        try await network.oauth(client).signIn(with: provider.user)
    }

    private func get() async throws -> HTTPResponseData {
        try await network.data(HTTPRequestData(path: "orders"))
    }

    @Test func renewsARefusedTokenAndRetriesTheRequest() async throws {
        provider.expireTokens()
        #expect(try await get().status == .ok)
        #expect(
            transport.destinations.dropFirst()
                == ["api.example.com/v1/orders", "login.example.com/token", "api.example.com/v1/orders"]
        )
        let form = provider.get(\.forms)[1]
        #expect(form == ["grant_type": "refresh_token", "refresh_token": "refresh-2", "client_id": "shop"])
        #expect(client.session?.accessToken == "access-3")
    }

    @Test func renewsATokenBeforeItExpires() async throws {
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

    @Test func keepsTheRefreshTokenIfTheProviderDoesNotRotate() async throws {
        provider.set(\.rotates, false)
        for _ in 0..<3 {
            provider.expireTokens()
            #expect(try await get().status == .ok)
            #expect(client.session?.refreshToken == "refresh-2")
            clock.advance(by: .seconds(60))
        }
    }

    @Test func keepsSessionFieldsThatARenewalOmits() async throws {
        client.set(Session(accessToken: "a", refreshToken: "r", scope: "orders", idToken: "h.p.s"))
        provider.set(\.scriptedResponses, [.text(#"{"access_token":"b","token_type":"bearer"}"#)])
        provider.state.withLock { _ = $0.accessTokens.insert("b") }
        #expect(try await get().status == .ok)
        #expect(client.session == Session(accessToken: "b", refreshToken: "r", scope: "orders", idToken: "h.p.s"))
    }

    @Test func concurrentRequestsShareOneRenewal() async throws {
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

    @Test(arguments: ["+&=/", "%2B %25", "a b+c", "\\u00e9\\\"", "'();:@,?#[]!$*~"])
    func sendsRefreshTokensWithSpecialCharactersUnchanged(suffix: String) async throws {
        provider.set(
            \.scriptedResponses,
            [.text(#"{"access_token":"a","token_type":"bearer","refresh_token":"r\#(suffix)"}"#)]
        )
        try await network.oauth(client).signIn(with: provider.user)
        let token = try JSONDecoder().decode([String].self, from: Data(#"["r\#(suffix)"]"#.utf8))[0]
        #expect(client.session?.refreshToken == token)
        provider.expireTokens()
        provider.state.withLock { _ = $0.refreshTokens.insert(token) }
        #expect(try await get().status == .ok)
        #expect(provider.get(\.forms).last?["refresh_token"] == token)
    }

    @Test func endedSessionRequiresSignInAndIsRefreshedOnce() async throws {
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
        // The session stays until the app removes it.
        #expect(client.session?.refreshToken == "refresh-2")
        try await network.oauth(client).signIn(with: provider.user)
        #expect(try await get().status == .ok)
    }

    @Test func sessionWithoutARefreshTokenRequiresSignIn() async throws {
        client.set(Session(accessToken: "old"))
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(oauthError(error)?.kind == .signInRequired)
        #expect(provider.get(\.forms).count == 1)
    }

    @Test func endedSessionCanBeRemovedWithoutARequest() async throws {
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

    @Test func validSessionReturnsARenewedToken() async throws {
        let account = network.oauth(client)
        #expect(try await account.validSession().accessToken == "access-2")
        clock.advance(by: .seconds(3_600))
        #expect(try await account.validSession().accessToken == "access-3")
        client.remove()
        await #expect(throws: NetworkingError.self) { try await account.validSession() }
    }

    /// The client renews a token of the app itself, but does not replace a user's token with one.
    @Test func renewsAnAppsTokenButNeverReplacesAUsers() async throws {
        try await network.oauth(client).signIn(with: .clientCredentials)
        provider.expireTokens()
        #expect(try await get().status == .ok)
        let app = OAuthClient(ScriptedProvider.system(), grant: .clientCredentials)
        let network = provider.network(app, over: transport, clock)
        provider.set(\.scriptedResponses, [.text(#"{"access_token":"users","token_type":"bearer"}"#)])
        try await network.oauth(app).signIn(with: provider.user)
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(path: "orders"))
        }
        #expect(oauthError(error)?.kind == .signInRequired)
        #expect(app.session?.accessToken == "users")
    }

    @Test func renewalIsTriedAgainAfterAnOutage() async throws {
        provider.expireTokens()
        provider.set(\.scriptedResponses, [.status(.serviceUnavailable)])
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(error?.kind == .status)
        #expect(error?.isUnauthorized == false)
        #expect((error?.underlying as? NetworkingError)?.response?.status == .serviceUnavailable)
        #expect(try await get().status == .ok)
        provider.expireTokens()
        provider.set(\.scriptedResponses, [.failing(.offline)])
        let offline = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(offline?.isOffline == true)
        #expect(try await get().status == .ok)
    }

    private static let damagedResponses: [MockResponse] = [
        .text(#"{"access_token":"secr"#), .text("<html>Sign in to the wireless network</html>"), .ok(),
        .failing(.truncated),
        .failing(.invalidResponse), ScriptedProvider.refusal("temporarily_unavailable", status: .serviceUnavailable),
        .status(.serviceUnavailable, headerFields: [.retryAfter: "7"]),
    ]

    /// A truncated response, or a page sent by a proxy, does not mean that the session has ended.
    @Test(arguments: damagedResponses.indices)
    func renewalIsTriedAgainAfterADamagedResponse(number: Int) async throws {
        provider.expireTokens()
        provider.set(\.scriptedResponses, [Self.damagedResponses[number]])
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        #expect(error?.isUnauthorized == false)
        #expect(error?.reason.contains("refresh failed: ") == true, "\(error?.reason ?? "")")
        #expect(!everyPrint(of: error as Any).contains("secr"))
        provider.set(\.scriptedResponses, [Self.damagedResponses[number]])
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
        provider.set(\.scriptedResponses, [.text("<html>Sign in to the wireless network</html>")])
        let error = await #expect(throws: NetworkingError.self) { try await get() }
        let start =
            "The server refused the credentials, and their refresh failed: POST https://login.example.com/token failed. The token endpoint"
        #expect(error?.reason.hasPrefix(start) == true, "\(error?.reason ?? "")")
    }

    @Test func renewalTimesOut() async throws {
        provider.expireTokens()
        provider.set(\.scriptedResponses, [.ok().delayed(by: .seconds(999))])
        let call = Task { try await get() }
        try await eventually("provider.get(.forms).count >= 2") { provider.get(\.forms).count >= 2 }
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(error?.isUnauthorized == false)
    }

    // MARK: Clocks

    /// The lifetime counts from the time of the request, by the app's clock.
    @Test(arguments: [Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 4_000_000_000)])
    func wrongSystemClockDoesNotAffectRenewal(date: Date) async throws {
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
    func invalidLifetimesDoNotCauseARenewalLoop(lifetime: Double) async throws {
        provider.set(\.lifetime, lifetime)
        try await network.oauth(client).signIn(with: provider.user)
        for _ in 0..<10 {
            #expect(try await get().status == .ok)
        }
        #expect(provider.get(\.forms).count <= 4)
    }

    @Test func readsALifetimeGivenAsTextOrAbsent() async throws {
        provider.set(\.scriptedResponses, [.text(#"{"access_token":"a","token_type":"bearer","expires_in":"60"}"#)])
        try await network.oauth(client).signIn(with: provider.user)
        #expect(client.session?.expirationDate == clock.date.addingTimeInterval(60))
        provider.set(\.lifetime, nil)
        try await network.oauth(client).signIn(with: provider.user)
        #expect(client.session?.expirationDate == nil)
        #expect(try await get().status == .ok)
    }
}
#endif
