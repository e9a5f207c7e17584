#if Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingOAuth
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Signing in with another device (RFC 8628).
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct DeviceCodeTests: ProviderSuite {
    let stack = ProviderStack()

    private func signIn() -> Task<Session, any Error> {
        Task { try await network.oauth(client).signIn(with: .deviceCode { _ in }) }
    }

    private final class Shown: Sendable {
        let code = Mutex<OAuthDeviceCode?>(nil)
    }

    /// Advances the clock to the next poll, which must be due after exactly that many seconds.
    private func advanceToPoll(after seconds: Int) async throws {
        let before = provider.get(\.forms).count
        let moment = clock.now.offset + .seconds(seconds)
        try await eventually("clock.nextDeadline?.offset == moment") { clock.nextDeadline?.offset == moment }
        clock.advance(by: .seconds(seconds))
        try await eventually("provider.get(.forms).count != before") { provider.get(\.forms).count != before }
    }

    @Test func pollsUntilTheUserApproves() async throws {
        let shown = Shown()
        let call = Task {
            try await network.oauth(client).signIn(with: .deviceCode { code in shown.code.withLock { $0 = code } })
        }
        try await advanceToPoll(after: 5)
        try await advanceToPoll(after: 5)
        provider.set(\.deviceIsApproved, true)
        try await advanceToPoll(after: 5)
        let session = try await call.value
        #expect(session == client.session)
        let code = try #require(shown.code.withLock { $0 })
        #expect(code.userCode == "WDJB-MJHT")
        #expect(code.verificationURL.absoluteString == "https://login.example.com/go")
        #expect("\(code)" == "Open https://login.example.com/go and enter WDJB-MJHT")
        var dumped = ""
        dump(code, to: &dumped)
        #expect(!dumped.contains("device-secret"))
        #expect(ScriptedProvider.form(transport.requests[0]) == ["scope": "orders profile", "client_id": "shop"])
        #expect(
            provider.get(\.forms)[2] == [
                "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "device-secret",
                "client_id": "shop",
            ]
        )
    }

    @Test func pollsLessOftenAfterSlowDown() async throws {
        let call = signIn()
        provider.set(
            \.scriptedResponses,
            [ScriptedProvider.refusal("slow_down"), ScriptedProvider.refusal("slow_down")]
        )
        try await advanceToPoll(after: 5)
        try await advanceToPoll(after: 10)
        provider.set(\.deviceIsApproved, true)
        try await advanceToPoll(after: 15)
        _ = try await call.value
    }

    @Test func pollsLessOftenAfterAConnectionError() async throws {
        let call = signIn()
        provider.set(\.scriptedResponses, [.failing(.offline)])
        try await advanceToPoll(after: 5)
        provider.set(\.deviceIsApproved, true)
        try await advanceToPoll(after: 10)
        _ = try await call.value
    }

    /// A longer wait could last until the code has expired, although the provider can be reached again.
    @Test func pollsEachMinuteDuringALongOutage() async throws {
        provider.set(\.deviceLifetime, 900)
        let call = signIn()
        provider.set(\.scriptedResponses, Array(repeating: .failing(.offline), count: 6))
        for seconds in [5, 10, 20, 40, 60, 60] {
            try await advanceToPoll(after: seconds)
        }
        provider.set(\.deviceIsApproved, true)
        try await advanceToPoll(after: 60)
        _ = try await call.value
    }

    @Test func pollsAtTheProvidersIntervalAfterAnOutage() async throws {
        let call = signIn()
        provider.set(
            \.scriptedResponses,
            [
                .failing(.offline), ScriptedProvider.refusal("authorization_pending"),
                ScriptedProvider.refusal("slow_down"), .failing(.offline),
            ]
        )
        try await advanceToPoll(after: 5)
        try await advanceToPoll(after: 10)
        try await advanceToPoll(after: 5)
        try await advanceToPoll(after: 10)
        provider.set(\.deviceIsApproved, true)
        try await advanceToPoll(after: 20)
        _ = try await call.value
    }

    @Test(arguments: [
        ("access_denied", OAuthError.Kind.denied), ("expired_token", .expired), ("invalid_client", .tokenRefused),
    ])
    func signInFailsWithTheProvidersError(code: String, kind: OAuthError.Kind) async throws {
        let call = signIn()
        provider.set(\.scriptedResponses, [ScriptedProvider.refusal(code)])
        try await advanceToPoll(after: 5)
        let error = await #expect(throws: OAuthError.self) { try await call.value }
        #expect(error?.kind == kind)
        #expect(client.session == nil)
    }

    @Test func signInFailsWhenTheCodeExpires() async throws {
        let call = signIn()
        for _ in 0..<11 {
            try await advanceToPoll(after: 5)
        }
        let error = await #expect(throws: OAuthError.self) { try await call.value }
        #expect(error?.kind == .expired)
        #expect(provider.get(\.devicePolls) == 11)
    }

    @Test func cancelledSignInStopsPolling() async throws {
        let call = signIn()
        try await advanceToPoll(after: 5)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await eventually("clock.nextDeadline == nil") { clock.nextDeadline == nil }
        #expect(provider.get(\.devicePolls) == 1)
    }

    @Test(arguments: [
        MockResponse.text("<html>"), .ok(), .status(.notFound), ScriptedProvider.refusal("invalid_client"),
    ])
    func throwsWhenTheProviderReturnsNoDeviceCode(response: MockResponse) async throws {
        let transport = MockTransport { _ in response }
        let error = await #expect(throws: OAuthError.self) {
            try await provider.network(client, over: transport).oauth(client).signIn(with: .deviceCode { _ in })
        }
        #expect(error?.kind == .invalidResponse || error?.kind == .tokenRefused)
    }

    @Test(arguments: ["http://localhost/go", "https://127.0.0.1/go", "http://login.example.com/go", "x-program:go"])
    func refusesAVerificationPageOnAnotherHost(page: String) async throws {
        let transport = MockTransport { _ in
            .text(#"{"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": "\#(page)"}"#)
        }
        let error = await #expect(throws: OAuthError.self) {
            try await provider.network(client, over: transport).oauth(client).signIn(with: .deviceCode { _ in })
        }
        #expect(error?.kind == .invalidResponse)
    }

    @Test func throwsWithoutADeviceAuthorizationEndpoint() async throws {
        var server = ScriptedProvider.server
        server.deviceAuthorizationEndpoint = nil
        let client = OAuthClient(OAuthSystem(server: server, clientID: "shop"))
        let error = await #expect(throws: OAuthError.self) {
            try await transport.oauth(client).signIn(with: .deviceCode { _ in })
        }
        #expect(error?.kind == .misconfigured)
    }
}
#endif
