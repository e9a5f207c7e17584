import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// Named percentiles and connection metrics.
@Suite(.timeLimit(.minutes(20)))
struct PercentileTests {
    /// Returns `true` if a duration is at most 2 % above the expected one.
    private func isAt(_ milliseconds: Int, _ duration: Duration) -> Bool {
        (.milliseconds(milliseconds)...(.milliseconds(milliseconds) * 1.02)).contains(duration)
    }

    @Test func namedPercentilesAreThoseOfTheirRanks() {
        var durations = DurationDistribution()
        for milliseconds in (1...1_000).reversed() {
            durations.add(.milliseconds(milliseconds))
        }
        #expect(isAt(500, durations.p50))
        #expect(isAt(900, durations.p90))
        #expect(isAt(950, durations.p95))
        #expect(isAt(990, durations.p99))
    }

    @Test func percentilesOfAnEmptyDistributionAreZero() {
        let durations = DurationDistribution()
        #expect([durations.p90, durations.p95, durations.p99] == [.zero, .zero, .zero])
    }

    private struct Measured: NetworkingTransport {
        let metrics: ConnectionMetrics

        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            request.emit(ExchangeEvent.headReceived(HTTPResponse(status: .ok)))
            request.emit(ExchangeEvent.connectionMeasured(metrics))
            return HTTPResponseData(request: request)
        }
    }

    @Test func connectionMetricsOfTheTransportAreReported() async throws {
        var metrics = ConnectionMetrics()
        metrics.protocolVersion = "2"
        metrics.isReused = false
        metrics.peerAddress = "192.0.2.7"
        metrics.peerPort = 443
        metrics.connecting = .milliseconds(30)
        metrics.securing = .milliseconds(20)
        metrics.bytesSent = 120
        metrics.bytesReceived = 3_400
        let response = try await Measured(metrics: metrics).instrument().data(.lawful)
        let known = try #require(response.metrics?.spans.compactMap(\.connection).first)
        #expect(known == metrics)
        #expect(known.securing == .milliseconds(20))
        #expect(known.bytesReceived == 3_400)
    }

    @Test func descriptionListsTheKnownValues() {
        var metrics = ConnectionMetrics()
        #expect("\(metrics)" == "")
        metrics.isReused = false
        #expect("\(metrics)" == "new")
        metrics.isReused = true
        metrics.protocolVersion = "3"
        metrics.peerAddress = "2001:db8::1"
        #expect("\(metrics)" == "HTTP/3, reused, 2001:db8::1")
    }
}
