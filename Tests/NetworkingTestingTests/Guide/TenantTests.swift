import HTTPTypes
import Networking
import NetworkingTesting
import Testing

enum Tenant: NetworkEnvironmentKey {
    static let defaultValue = "public"
}

extension NetworkEnvironment {
    var tenant: String {
        get { self[Tenant.self] }
        set { self[Tenant.self] = newValue }
    }
}

@Suite struct TenantTests {
    @Test func tenantsShareNoResponse() async throws {
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=100"]) }
        let network = transport.cached()
        for tenant in ["blue", "red", "blue"] {
            let request = HTTPRequestData(authority: "api.example.com", path: "/items")
            try await network.environment(\.tenant, tenant).data(request)
        }
        #expect(transport.requests.count == 2)
    }
}
