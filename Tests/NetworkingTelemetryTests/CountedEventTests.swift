#if Telemetry
import Foundation
import HTTPTypes
import MetricsTestKit
import Networking
import NetworkingTelemetry
import NetworkingTesting
import Testing
import Tracing

/// Counters for events of caches and token stores.
@Suite(.timeLimit(.minutes(5)))
struct CountedEventTests {
    private let metrics = TestMetrics()

    private func count(_ metric: TelemetryMetric) -> Int64 {
        metrics.counters(label: metric.rawValue).reduce(0) { $0 + $1.totalValue }
    }

    @Test func countsCacheEvictions() async throws {
        let transport = MockTransport { _ in
            .ok(Data(count: 40_000), headerFields: [.cacheControl: "max-age=60"])
        }
        let network = transport.cached(in: MemoryCacheStore(costLimit: 100_000))
            .telemetry(tracer: NoOpTracer(), metrics: metrics)
            .server(authority: "api.example.com")
        for number in 1...2 { try await network.data(HTTPRequestData(path: "\(number)")) }
        #expect(count(.cacheEvictions) == 0)
        for number in 3...5 { try await network.data(HTTPRequestData(path: "\(number)")) }
        #expect(count(.cacheEvictions) == 3)
    }

    @Test func countsCredentialRefreshes() async throws {
        let delegate = ScriptedAuthenticationDelegate<Session>(refreshing: [.success(Session(accessToken: "new"))])
        let tokens = TokenStore(Session(accessToken: "old"), delegate: delegate)
        let transport = MockTransport { request in
            request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        let network = transport.authenticated(with: tokens)
            .telemetry(tracer: NoOpTracer(), metrics: metrics)
            .server(authority: "api.example.com")
        for _ in 1...2 { try await network.data(HTTPRequestData(path: "orders")) }
        #expect(count(.credentialRefreshes) == 1)
    }
}
#endif
