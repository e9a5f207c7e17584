import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct EnvironmentValueTests {
    @Test func valueAppliesToUpstreamComponents() async throws {
        let network = MockTransport { _ in .text("\(NetworkEnvironment.current.random.next())") }
            .environment(\.random, RandomSource { 42 })

        let response = try await network.data(.lawful)

        #expect(String(decoding: response.data, as: UTF8.self) == "42")
    }

    @Test func otherValuesAreUnchanged() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(5))
        let network = MockTransport { _ in .text("\(NetworkEnvironment.current.clock.now)") }
            .environment(\.random, .seeded(1))
            .environment(\.clock, .manual(clock))

        let response = try await network.data(.lawful)

        #expect(String(decoding: response.data, as: UTF8.self) == "5.0 seconds")
    }

    @Test func clockAppliesToWaitsUpstreamOnly() async throws {
        let (inner, outer) = (ManualClock(), ManualClock())
        let network = MockTransport { _ in .ok() }
            .delayed(by: .seconds(1))
            .environment(\.clock, .manual(inner))
            .delayed(by: .seconds(2))
            .environment(\.clock, .manual(outer))
        let call = Task { try await network.data(.lawful) }

        try await outer.advance(by: .seconds(2), afterSleepers: 1)
        try await inner.advance(by: .seconds(1), afterSleepers: 1)

        #expect(try await call.value.status == .ok)
    }

    @Test func valueIsNotPrinted() {
        let network = MockTransport().environment(\.apiKey, "secret")
        var text = ""
        dump(network, to: &text)

        #expect(text.contains("MockTransport"))
        #expect(!text.contains("secret"))
        #expect(!"\(network)".contains("secret"))
    }
}

private enum APIKeyKey: NetworkEnvironmentKey {
    static let defaultValue = ""
}

extension NetworkEnvironment {
    fileprivate var apiKey: String {
        get { self[APIKeyKey.self] }
        set { self[APIKeyKey.self] = newValue }
    }
}
