#if Telemetry
import Foundation
import HTTPTypes
import Metrics
import MetricsTestKit
import NetworkingTelemetry
import NetworkingTesting
import TestSupport
import Testing
import Tracing

import Networking

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct MetricTests {
    private let metrics = TestMetrics()
    private let clock = ManualClock()

    private func telemetry(
        _ network: some NetworkingComponent,
        _ change: (inout TelemetryOptions) -> Void = { _ in }
    ) -> some NetworkingComponent {
        var options = TelemetryOptions()
        change(&options)
        return network.telemetry(tracer: NoOpTracer(), metrics: metrics, options: options)
    }

    /// The recorded values of a distribution, keyed by its dimensions.
    private func values(_ metric: TelemetryMetric) -> [String: [Double]] {
        var values: [String: [Double]] = [:]
        for recorder in metrics.recorders(label: metric.rawValue) {
            values[text(recorder.dimensions)] = recorder.values
        }
        return values
    }

    private func counts(_ metric: TelemetryMetric) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for counter in metrics.counters(label: metric.rawValue) {
            counts[text(counter.dimensions)] = counter.totalValue
        }
        return counts
    }

    private func levels(_ metric: TelemetryMetric) -> [String: [Double]] {
        var levels: [String: [Double]] = [:]
        for meter in metrics.meters(label: metric.rawValue) {
            levels[text(meter.dimensions)] = meter.values
        }
        return levels
    }

    private func text(_ dimensions: [(String, String)]) -> String {
        dimensions.map { "\($0)=\($1)" }.joined(separator: " ")
    }

    private static let server = "http.request.method=GET server.address=api.example.com server.port=443"

    @Test func recordsDurationsInSeconds() async throws {
        let transport = MockTransport([
            .ok().delayed(by: .milliseconds(250)), .status(.notFound).delayed(by: .seconds(2)),
        ])
        let network = telemetry(transport).environment(\.clock, .immediate())
        let request = HTTPRequestData(authority: "api.example.com", path: "/users/42")
        try await network.data(request)
        try await network.data(request.with { $0.route = "/users/{id}" })
        let expected = [
            "\(Self.server) http.response.status_code=200": [0.25],
            "\(Self.server) url.template=/users/{id} http.response.status_code=404 error.type=404": [2],
        ]
        #expect(values(.requestDuration) == expected)
        #expect(values(.callDuration) == expected)
        #expect(values(.callAttempts) == expected.mapValues { _ in [1] })
        let areAggregated = metrics.recorders(label: "http.client.request.duration").map(\.aggregate)
        #expect(areAggregated == [true, true])
        // These metrics are off by default.
        #expect(
            values(.requestBodySize).isEmpty && values(.responseBodySize).isEmpty && levels(.activeRequests).isEmpty
        )
    }

    @Test func recordsTheErrorKindOfAFailure() async throws {
        let transport = MockTransport { throw NetworkingError(.connectionLost, request: $0) }
        _ = try? await telemetry(transport).data(HTTPRequestData(authority: "api.example.com"))
        #expect(values(.requestDuration).keys.map { $0 } == ["\(Self.server) error.type=connectionLost"])
    }

    @Test func recordsTheProtocolVersionOfAnExchange() async throws {
        struct Measured: NetworkingTransport {
            func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                var metrics = ConnectionMetrics()
                metrics.protocolVersion = "2"
                request.emit(ExchangeEvent.connectionMeasured(metrics))
                return HTTPResponseData(request: request)
            }
        }
        try await telemetry(Measured()).data(HTTPRequestData(authority: "api.example.com"))
        // The transport reports no head, so the exchange has no status.
        #expect(values(.requestDuration).keys.map { $0 } == ["\(Self.server) network.protocol.version=2"])
        #expect(values(.callDuration).keys.map { $0 } == ["\(Self.server) http.response.status_code=200"])
    }

    @Test func recordsBodySizesAndActiveRequestsIfEnabled() async throws {
        let transport = MockTransport { _ in .ok(Data(count: 11)).delayed(by: .seconds(1)) }
        let network = telemetry(transport) {
            $0.recordsBodySizes = true
            $0.recordsActiveRequests = true
        }
        .environment(\.clock, .manual(clock))
        let call = Task {
            try await network.data(
                HTTPRequestData(
                    method: .put,
                    authority: "api.example.com",
                    body: .data(Data(count: 7), contentType: "a/b")
                )
            )
        }
        try await clock.waitForSleepers()
        let server = "http.request.method=PUT server.address=api.example.com server.port=443"
        #expect(levels(.activeRequests).keys.map { $0 } == [server])
        let meter = try #require(metrics.meters(label: "http.client.active_requests").first)
        #expect(meter.lastValue == 1)
        clock.advance(by: .seconds(1))
        _ = try await call.value
        #expect(meter.lastValue == 0)
        #expect(values(.requestBodySize) == ["\(server) http.response.status_code=200": [7]])
        #expect(values(.responseBodySize) == ["\(server) http.response.status_code=200": [11]])
    }

    @Test func countsRetriesAndRedirectsByReason() async throws {
        let transport = MockTransport([
            .status(.serviceUnavailable), .failure(NetworkingError(.connectionLost, request: .lawful)),
            .redirect(to: "https://api.example.com/b"), .ok(), .status(.badGateway), .status(.badGateway),
        ])
        let network = telemetry(transport.retry(.immediate(maximumRetries: 3)))
        try await network.data(.lawful)
        #expect(counts(.retries) == ["error.type=503": 1, "error.type=connectionLost": 1])
        #expect(counts(.redirects) == ["": 1])
        #expect(values(.callAttempts).values.map { $0 } == [[4]])
        let impatient = telemetry(transport.retry(.immediate(maximumRetries: 1)))
        try await impatient.data(.lawful)
        #expect(counts(.refusedRetries) == ["networking.retry.refusal=exhausted": 1])
    }

    @Test func recordsQueueLengthAndWaitDuration() async throws {
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(3)) }
        let network = telemetry(transport.throttled(max: 1)).environment(\.clock, .manual(clock))
        let first = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        let second = Task { try await network.data(.lawful) }
        let third = Task { try await network.data(.lawful) }
        func waiting() -> Double? {
            metrics.meters(label: TelemetryMetric.waiting.rawValue).first?.lastValue
        }
        try await eventually("waiting() == 2") { waiting() == 2 }
        // A cancelled caller leaves the queue.
        third.cancel()
        _ = try? await third.value
        #expect(waiting() == 1)
        clock.advance(by: .seconds(3))
        _ = try await first.value
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(3))
        _ = try await second.value
        #expect(waiting() == 0)
        #expect(values(.waitDuration) == ["networking.wait.reason=concurrency-limit": [0, 3]])
    }

    @Test func countsCacheOutcomes() async throws {
        let transport = MockTransport { [clock] _ in
            .ok(headerFields: [.cacheControl: "max-age=60", .date: NetworkClock.manual(clock).date.httpDate])
        }
        let network = telemetry(transport.cached()).environment(\.clock, .manual(clock))
        for _ in 0..<3 {
            try await network.data(.lawful)
        }
        try await network.data(.lawful.with { $0.method = .delete })
        #expect(counts(.cacheOutcomes)["networking.cache.outcome=missed"] == 1)
        #expect(counts(.cacheOutcomes)["networking.cache.outcome=fresh"] == 2)
    }

    @Test func countsASharedExchangeOnce() async throws {
        let inFlightRequests = InFlightRequests()
        let transport = MockTransport([.status(.serviceUnavailable).delayed(by: .seconds(1)), .ok()])
        let network = telemetry(transport.retry(.immediate()).deduplicated(sharing: inFlightRequests))
            .environment(
                \.clock,
                .manual(clock)
            )
        var calls = [Task { try await network.data(.lawful) }]
        try await clock.waitForSleepers()
        for _ in 0..<4 {
            calls.append(Task { try await network.data(.lawful) })
        }
        try await eventually("inFlightRequests.waiting >= 5") { inFlightRequests.waiting >= 5 }
        clock.advance(by: .seconds(1))
        for call in calls {
            _ = try await call.value
        }
        #expect(values(.requestDuration).values.flatMap { $0 }.sorted() == [0, 1])
        #expect(counts(.retries) == ["error.type=503": 1])
        #expect(values(.callDuration).values.flatMap { $0 }.count == 5)
        #expect(counts(.sharedCalls) == ["": 4])
        #expect(values(.waitDuration).keys.map { $0 } == ["networking.wait.reason=sharing"])
    }

    @Test func countsTimeouts() async throws {
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(9)) }
        let network = telemetry(transport.timeout(.seconds(2))).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        _ = try? await call.value
        #expect(counts(.timeouts) == ["networking.timeout.scope=attempt": 1])
        #expect(values(.requestDuration).values.flatMap { $0 } == [2])
    }

    @Test func limitsTheNumberOfSeries() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = telemetry(transport) { $0.maximumSeries = 3 }
        for index in 0..<10 {
            for _ in 0..<2 {
                try await network.data(HTTPRequestData(authority: "host-\(index).example"))
            }
        }
        let recorded = values(.requestDuration)
        #expect(recorded.count == 4)
        #expect(recorded["otel.metric.overflow=true"]?.count == 14)
        #expect(recorded.values.map(\.count).sorted() == [2, 2, 2, 14])
    }

    @Test func labelsContainNoSecret() async throws {
        struct Failure: Error, CustomStringConvertible {
            var description: String { "s3cret" }
        }
        let transport = MockTransport([
            .redirect(to: "https://api.example.com/s3cret?token=s3cret"), .failure(Failure()),
        ])
        let network = telemetry(transport.retry(.immediate()).cached()) {
            $0.recordsBodySizes = true
            $0.recordsActiveRequests = true
        }
        _ = try? await network.data(
            HTTPRequestData(
                authority: "api.example.com",
                path: "/s3cret?token=s3cret",
                headerFields: HeaderFields([.authorization: "s3cret"])
            )
        )
        let labels =
            metrics.recorders.map { ($0.label, $0.dimensions) } + metrics.counters.map { ($0.label, $0.dimensions) }
            + metrics.meters.map { ($0.label, $0.dimensions) }
        #expect(labels.count > 5)
        #expect(!"\(labels)".contains("s3cret"))
        #expect(labels.allSatisfy { label, _ in TelemetryMetric(rawValue: label) != nil })
    }

    @Test func durationBucketsAreThoseOfOpenTelemetry() {
        #expect(TelemetryMetric.durationBuckets.count == 14)
        #expect(TelemetryMetric.durationBuckets == TelemetryMetric.durationBuckets.sorted())
        #expect(TelemetryMetric.requestDuration.rawValue == "http.client.request.duration")
    }
}
#endif
