#if Telemetry
import MetricsTestKit
import Networking
import NetworkingTelemetry
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct TelemetryLawsTests {
    @Test func telemetryKeepsTheLaws() async throws {
        let wrap: @Sendable (AnyNetworkingComponent) -> AnyNetworkingComponent = { upstream in
            AnyNetworkingComponent(upstream.telemetry(tracer: W3CTracer(), metrics: TestMetrics()))
        }
        try await checkLaws(around: wrap)
        try await checkLaws { wrap(AnyNetworkingComponent($0.traced().retry().deduplicated().cached())) }
        try await checkLaws { AnyNetworkingComponent(wrap($0).traced().retry().deduplicated().cached()) }
    }

    @Test func telemetryTracesAndReadsTheRoute() {
        var request = HTTPRequestData()
        request.route = "/users/{id}"
        let network = MockTransport().telemetry(tracer: W3CTracer(), metrics: TestMetrics())
        #expect(network.modifiers.first?.stackPart.roles == [.tracing])
        #expect(network.diagnostics(for: request) == [])
    }

    /// A hop off the caller's actor and back costs more than the rest of a stack.
    @Test func staysOnTheCallersActor() async throws {
        let network = MockTransport { _ in .ok() }.telemetry(tracer: W3CTracer(), metrics: TestMetrics())
        #expect(try await CountingActor().jobs(during: network) == 0)
    }
}
#endif
