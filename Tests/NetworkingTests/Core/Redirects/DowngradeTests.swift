import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// Redirects from https to http, which a policy has to allow.
@Suite(.timeLimit(.minutes(20)))
struct DowngradeTests {
    private func arrivals(_ policy: RedirectPolicy) async throws -> [String?] {
        let transport = MockTransport([.redirect(to: "http://laws.example/plain", status: .found), .ok()])
        try await transport.redirected(policy).data(.lawful)
        return transport.requests.map(\.scheme)
    }

    @Test func policyMustAllowDowngrades() async throws {
        for policy in [RedirectPolicy.follow, .follow(upTo: 3), .follow.strippingCredentials(.userAgent)] {
            #expect(!policy.allowsDowngrade)
            #expect(try await arrivals(policy) == ["https"])
        }
        for policy in [
            RedirectPolicy.follow.allowingDowngrade(), .follow(upTo: 3).allowingDowngrade().deciding { _ in .follow },
        ] {
            #expect(policy.allowsDowngrade)
            #expect(try await arrivals(policy) == ["https", "http"])
        }
    }
}
