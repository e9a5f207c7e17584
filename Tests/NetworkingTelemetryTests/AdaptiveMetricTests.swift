#if Telemetry
import Foundation
import HTTPTypes
import MetricsTestKit
import Networking
import NetworkingTelemetry
import NetworkingTesting
import TestSupport
import Testing
import Tracing

/// The metrics of the parts that adapt to servers, and of refused requests.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct AdaptiveMetricTests {
    private static let adaptive: Set<TelemetryMetric> = [
        .rejections, .circuitChanges, .concurrencyLimit, .serverLimits, .endpointChanges, .hedges, .wonHedges,
        .refusedHedges, .fallbacks,
    ]

    private let metrics = TestMetrics()
    private let clock = ManualClock()

    private func telemetry(
        _ network: some NetworkingComponent,
        maximumSeries: Int = 2_000
    ) -> some NetworkingComponent {
        var options = TelemetryOptions()
        options.maximumSeries = maximumSeries
        return network.telemetry(tracer: NoOpTracer(), metrics: metrics, options: options)
            .environment(\.clock, .manual(clock))
            .environment(\.random, RandomSource { 0 })
    }

    /// The values of the metrics of adaptive parts, by label and dimensions without the common prefix.
    private var recorded: [String: [Double]] {
        let counters = metrics.counters.map { ($0.label, $0.dimensions, [Double($0.totalValue)]) }
        let recorders = metrics.recorders.map { ($0.label, $0.dimensions, $0.values) }
        return (counters + recorders).filter { label, _, _ in Self.adaptive.contains { $0.rawValue == label } }
            .reduce(into: [:]) { recorded, series in
                let dimensions = series.1.map { " \($0)=\($1)".replacing("networking.", with: "") }.joined()
                recorded[series.0.replacing("networking.client.", with: "") + dimensions, default: []] += series.2
            }
    }

    private func waiting() -> Double? {
        metrics.meters(label: TelemetryMetric.waiting.rawValue).first?.lastValue
    }

    // MARK: Parts

    @Test func countsTheChangesOfACircuitAndItsRejections() async throws {
        let responses = Array(repeating: MockResponse.failure(.connection), count: 5) + [.ok()]
        let network = telemetry(MockTransport(responses).circuitBreaker())
        for _ in 1...7 { _ = try? await network.data(.lawful) }
        let opened = ["circuit.changes circuit.state=open": [1.0], "rejections rejection.reason=circuit-open": [2]]
        #expect(recorded == opened)
        clock.advance(by: .seconds(5))
        try await network.data(.lawful)
        #expect(
            recorded
                == opened.merging(
                    ["circuit.changes circuit.state=halfOpen": [1], "circuit.changes circuit.state=closed": [1]]
                ) { $1 }
        )
    }

    @Test func countsTheRequestsThatAThrottleRefuses() async {
        let network = telemetry(MockTransport { _ in .failure(.connection) }.adaptiveThrottle())
        for _ in 1...4 { _ = try? await network.data(.lawful) }
        #expect(recorded == ["rejections rejection.reason=adaptive-throttle": [3]])
    }

    enum Limit: CaseIterable {
        case fixed, adaptive
    }

    @Test(arguments: Limit.allCases)
    func countsTheRequestsForWhichALimitHasNoPlace(limit: Limit) async throws {
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(9)) }
        let limited: any NetworkingComponent =
            switch limit {
            case .fixed: transport.throttled(max: 1, queue: 1, maximumWait: .seconds(2))
            case .adaptive: transport.adaptiveLimit(in: 1...1, start: 1, maximumWait: .seconds(2))
            }
        let network = telemetry(AnyNetworkingComponent(limited))
        let first = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        let second = Task { try await network.data(.lawful) }
        try await eventually("a request waits") { waiting() == 1 }
        try await clock.waitForSleepers(2)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(recorded == ["rejections rejection.reason=concurrency-limit": [1]])
        clock.advance(by: .seconds(2))
        await #expect(throws: NetworkingError.self) { try await second.value }
        #expect(recorded == ["rejections rejection.reason=concurrency-limit": [2]])
        first.cancel()
        _ = try? await first.value
    }

    @Test func countsTheRequestsThatWouldWaitForARate() async throws {
        let network = telemetry(MockTransport { _ in .ok() }.rateLimited(to: 1, per: .seconds(60), maximumWait: .zero))
        for _ in 1...3 { _ = try? await network.data(.lawful) }
        #expect(recorded == ["rejections rejection.reason=rate-limit": [2]])
    }

    @Test func countsLimitsOfServersAndTheWaitsForThem() async throws {
        let limit: HTTPFields = [HTTPField.Name("RateLimit")!: "\"default\";r=0;t=30"]
        let limiter = ServerRateLimiter()
        let transport = MockTransport { _ in .ok(headerFields: limit) }
        let network = telemetry(transport.rateLimited(by: limiter))
        try await network.data(.lawful)
        let call = Task { try await network.data(.lawful) }
        try await clock.advance(by: .seconds(30), afterSleepers: 1)
        _ = try await call.value
        #expect(recorded == ["server_limits server_limit.change=exhausted": [2]])
        let waits = metrics.recorders(label: TelemetryMetric.waitDuration.rawValue)
        #expect(waits.flatMap(\.dimensions).map(\.1) == ["rate-limit"])
        #expect(waits.flatMap(\.values) == [30])
        let impatient = telemetry(transport.rateLimited(by: limiter, maximumWait: .zero))
        await #expect(throws: NetworkingError.self) { try await impatient.data(.lawful) }
        #expect(recorded["rejections rejection.reason=rate-limit"] == [1])
    }

    @Test func countsReductionsOfTheRate() async throws {
        let network = telemetry(MockTransport { _ in .status(429) }.rateLimited(by: AdaptiveRateLimiter()))
        try await network.data(.lawful)
        #expect(recorded == ["server_limits server_limit.change=reduced": [1]])
    }

    @Test func recordsEachNewLimitOfAServer() async throws {
        let network = telemetry(MockTransport { _ in .status(503) }.adaptiveLimit())
        try await network.data(.lawful)
        #expect(recorded == ["concurrency.limit server.address=laws.example server.port=443": [5]])
    }

    @Test func countsHedges() async throws {
        let transport = MockTransport([.never, .ok()])
        let network = telemetry(transport.hedged(.after(.milliseconds(100), extraLoad: 1)))
        let call = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()
        try await clock.advance(by: .milliseconds(100), afterSleepers: 1)
        _ = try await call.value
        #expect(recorded == ["hedges": [1], "hedges.won": [1]])
    }

    @Test(arguments: [0.01, 1])
    func countsRefusedHedgesByReason(extraLoad: Double) async throws {
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(1)) }
        let network = telemetry(transport.throttled(max: 1).hedged(.after(.milliseconds(100), extraLoad: extraLoad)))
        let call = Task { try await network.data(.lawful) }
        try await clock.advance(by: .milliseconds(100), afterSleepers: 2)
        try await eventually("the hedge is refused") {
            recorded.keys.contains { $0.hasPrefix("hedges.refused") }
        }
        clock.advance(by: .milliseconds(900))
        _ = try await call.value
        let expected: [String: [Double]] =
            extraLoad < 1
            ? ["hedges.refused hedge.refusal=budget": [1]]
            : [
                "hedges": [1], "hedges.refused hedge.refusal=rejected": [1],
                "rejections rejection.reason=concurrency-limit": [1],
            ]
        #expect(recorded == expected)
    }

    @Test func countsEjectionsAndReturnsOfEndpoints() async throws {
        let endpoints = ServerEndpoints("api.example", endpoints: ["a.example", "b.example"])
        let transport = MockTransport { [clock] request in
            clock.now.offset == .zero && request.authority == "a.example" ? .failure(.connection) : .ok()
        }
        let network = telemetry(transport.server(endpoints: endpoints))
        let request = HTTPRequestData(path: "users")
        for _ in 1...40 { _ = try? await network.data(request) }
        #expect(recorded == ["endpoint.changes endpoint.change=ejected": [1]])
        clock.advance(by: .seconds(60))
        for _ in 1...40 { _ = try? await network.data(request) }
        #expect(
            recorded == [
                "endpoint.changes endpoint.change=ejected": [1], "endpoint.changes endpoint.change=returned": [1],
            ]
        )
    }

    @Test func countsFallbacksByOutcome() async throws {
        let broken = MockTransport { _ in .failure(.connection) }
        try await telemetry(broken.fallback(to: MockTransport { _ in .ok() })).data(.lawful)
        #expect(recorded == ["fallbacks fallback.outcome=used": [1]])
        _ = try? await telemetry(broken.fallback(to: MockTransport { _ in .failure(.tls) })).data(.lawful)
        #expect(recorded["fallbacks fallback.outcome=failed"] == [1])
    }

    @Test func countsTheRequestsAfterAShutdown() async throws {
        let shutdown = StackShutdown()
        let network = telemetry(MockTransport { _ in .ok() }.drained(by: shutdown))
        try await network.data(.lawful)
        try await shutdown.drain()
        _ = try? await network.data(.lawful)
        #expect(recorded == ["rejections rejection.reason=shutdown": [1]])
    }

    // MARK: Events

    private static let events: [(any NetworkEvent, String)] = [
        (LimitEvent.rejected(.connection), "rejections rejection.reason=connection"),
        (AdaptiveThrottleEvent.rejected(probability: 0.5), "rejections rejection.reason=adaptive-throttle"),
        (EndpointEvent.noneLeft, "rejections rejection.reason=endpoints"),
        (EndpointEvent.ejected("a", for: .seconds(1)), "endpoint.changes endpoint.change=ejected"),
        (EndpointEvent.returned("a"), "endpoint.changes endpoint.change=returned"),
        (EndpointEvent.panicked, "endpoint.changes endpoint.change=panicked"),
        (HedgingEvent.refused(.tooManyLosers), "hedges.refused hedge.refusal=tooManyLosers"),
        (
            OwnEvent(.rejected, ["networking.rejection.reason": .word("quota")]),
            "rejections rejection.reason=quota"
        ),
        (
            OwnEvent(.circuitChanged, ["networking.circuit.state": .word("open")]),
            "circuit.changes circuit.state=open"
        ),
        (OwnEvent(.endpointChanged), "endpoint.changes"), (OwnEvent(.serverLimit), "server_limits"),
        (OwnEvent(.hedge), "hedges"), (OwnEvent(.hedgeWon), "hedges.won"), (OwnEvent(.hedgeRefused), "hedges.refused"),
        (OwnEvent(.fallback), "fallbacks"),
    ]

    @Test(arguments: Self.events.indices)
    func countsEachEventOnce(index: Int) async throws {
        let (event, series) = Self.events[index]
        let network = telemetry(MockTransport { _ in .ok() }.modified(Emitting(event)))
        try await network.data(.lawful)
        try await network.data(.lawful)
        #expect(recorded == [series: [2]])
    }

    @Test func countsNoEventWithoutAMetric() async throws {
        let events: [any NetworkEvent] = [EndpointEvent.picked("a"), EndpointEvent.probing("a")]
        for event in events {
            try await telemetry(MockTransport { _ in .ok() }.modified(Emitting(event))).data(.lawful)
        }
        #expect(recorded.isEmpty)
    }

    @Test(arguments: [.infinity, -.infinity, .nan, -1, 1e300, nil] as [Double?])
    func recordsNoNumberOfAnotherPackageThatIsNoCount(number: Double?) async throws {
        let attributes = { (name: String) in number.map { [name: EventValue.number($0)] } ?? [:] }
        let evicted = OwnEvent(nil, attributes("networking.cache.evicted"), name: "cacheEvicted")
        for event in [OwnEvent(.limitChanged, attributes("networking.limit")), evicted] {
            try await telemetry(MockTransport { _ in .ok() }.modified(Emitting(event))).data(.lawful)
        }
        #expect(recorded.isEmpty)
        #expect(metrics.counters(label: TelemetryMetric.cacheEvictions.rawValue).isEmpty)
    }

    // MARK: Laws

    @Test func stackWithoutThesePartsRecordsNoneOfTheirMetrics() async throws {
        let transport = MockTransport([.status(503), .ok(headerFields: [.cacheControl: "max-age=60"]), .status(404)])
        let network = telemetry(
            transport.timeout(.seconds(10)).throttled(max: 6).retry(.immediate()).deduplicated().cached()
                .deadline(.seconds(30))
        )
        for path in ["/a", "/a", "/b"] { try await network.data(.lawful.with { $0.path = path }) }
        #expect(transport.requests.count == 3)
        #expect(recorded.isEmpty)
    }

    /// Sends requests through all parts, to servers that all fail, with secrets of the app and words of the server.
    private func failEverywhere(_ count: Int, maximumSeries: Int = 2_000) async {
        let transport = MockTransport { request in
            let number = request.authority ?? ""
            return .status(
                503,
                headerFields: [
                    HTTPField.Name("RateLimit")!: "\"s3cret-\(number)\";r=0;t=1;pk=:czNjcmV0:", .retryAfter: "1",
                    .server: "s3cret",
                ]
            )
        }
        let breaker = CircuitBreaker(.app) { $0.path ?? "" }
        let network = telemetry(
            transport.adaptiveLimit().rateLimited(by: ServerRateLimiter(), maximumWait: .zero).adaptiveThrottle()
                .circuitBreaker(by: breaker).fallback { _, _ in throw Secret() },
            maximumSeries: maximumSeries
        )
        for number in 1...count {
            let request = HTTPRequestData(
                scheme: "https",
                authority: "\(number).example",
                path: "/s3cret?token=s3cret",
                headerFields: HeaderFields([.authorization: "s3cret"])
            )
            for _ in 1...3 { _ = try? await network.data(request) }
        }
    }

    @Test func labelsContainNoSecretAndNoKey() async {
        await failEverywhere(20)
        let series = Set(recorded.keys.filter { !$0.hasPrefix("concurrency.limit") })
        #expect(recorded.keys.contains { $0.hasPrefix("concurrency.limit server.address=1.example") })
        #expect(
            series.isSuperset(
                of: ["circuit.changes circuit.state=open", "rejections rejection.reason=circuit-open"]
            )
        )
        #expect(!recorded.keys.contains { $0.contains("s3cret") || $0.contains("czNjcmV0") })
        #expect(!series.contains { $0.contains("example") })
    }

    @Test func numberOfSeriesDoesNotGrowWithTheServers() async {
        await failEverywhere(100, maximumSeries: 5)
        #expect(recorded.keys.filter { $0.hasPrefix("concurrency.limit") }.count == 6)
        #expect(recorded.keys.filter { !$0.hasPrefix("concurrency.limit") }.count < 10)
        #expect(!recorded.keys.contains { $0.hasSuffix("overflow=true") && !$0.hasPrefix("concurrency.limit") })
    }
}

private struct Secret: Error, CustomStringConvertible {
    var description: String { "s3cret" }
}

private struct Emitting: NetworkingModifier {
    let event: any NetworkEvent

    init(_ event: any NetworkEvent) {
        self.event = event
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        request.emit(event)
        return try await upstream.send(request)
    }
}

/// An event of another package.
private struct OwnEvent: NetworkEvent {
    let record: EventRecord

    init(_ kind: EventMark.Kind?, _ attributes: [String: EventValue] = [:], name: String = "own") {
        record = EventRecord(name, mark: kind.map { EventMark($0, detail: "arbitrary") }, attributes: attributes)
    }
}
#endif
