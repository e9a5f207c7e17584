#if Telemetry
import Foundation
import HTTPTypes
import InMemoryTracing
import MetricsTestKit
import Networking
import NetworkingTelemetry
import NetworkingTesting
import Testing
import Tracing

/// Counters for events of caches and token stores.
@Suite(.timeLimit(.minutes(20)))
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

    @Test(
        arguments: [
            (.retry, .retries, "networking.retry"), (.retryRefused, .refusedRetries, "networking.retry.refused"),
            (.redirect, .redirects, "networking.redirect"), (.shared, .sharedCalls, "networking.shared"),
            (.refresh, .credentialRefreshes, "networking.credentials.refresh"),
            (.timeout, .timeouts, "networking.timeout"), (.deadline, .timeouts, "networking.deadline"),
            (.cacheHit, .cacheOutcomes, "networking.cache"), (.cacheMiss, .cacheOutcomes, "networking.cache"),
            (.cacheBypass, .cacheOutcomes, "networking.cache"),
        ] as [(EventMark.Kind, TelemetryMetric, String)]
    )
    func countsEventsOfOtherPackagesByTheirMarks(
        kind: EventMark.Kind,
        metric: TelemetryMetric,
        name: String
    ) async throws {
        let tracer = W3CTracer()
        let network = MockTransport { _ in .ok() }
            .modified(Reporting(EventRecord("marked", mark: EventMark(kind, detail: "arbitrary"))))
            .telemetry(tracer: tracer, metrics: metrics)
        try await network.data(HTTPRequestData(authority: "api.example.com"))
        #expect(count(metric) == 1)
        #expect(!metrics.counters(label: metric.rawValue).flatMap(\.dimensions).contains { $0.1 == "arbitrary" })
        #expect(tracer.calls.first?.events.map(\.name) == [name])
    }

    private func events(of record: EventRecord) async throws -> [SpanEvent] {
        let tracer = W3CTracer()
        let network = MockTransport { _ in .ok() }.modified(Reporting(record))
            .telemetry(tracer: tracer, metrics: metrics)
        var request = HTTPRequestData(authority: "api.example.com")
        request.markSecret("k-4711")
        try await network.data(request)
        return tracer.calls.first?.events ?? []
    }

    @Test func spanHasTheEventsOfOtherPackagesThatStateAttributes() async throws {
        let record = EventRecord(
            "pageFound",
            "k-4711",
            attributes: ["shop.disk": .word("ssd"), "shop.pages": .number(2), "shop.key": .word("key k-4711")]
        )
        let event = try #require(try await events(of: record).first)
        #expect(event.name == "pageFound")
        #expect(event.attributes["shop.disk"]?.toSpanAttribute() == .string("ssd"))
        #expect(event.attributes["shop.pages"]?.toSpanAttribute() == .double(2))
        #expect(event.attributes["shop.key"]?.toSpanAttribute() == .string("key <redacted>"))
        #expect(try await events(of: EventRecord("pageFound", attributes: [:])).map(\.name) == ["pageFound"])
    }

    @Test func spanHasNoTextsOfOtherPackages() async throws {
        #expect(try await events(of: EventRecord("pageFound", "on the disk") { _ in "found" }).isEmpty)
        let mark = EventMark(EventMark.Kind("page"), detail: "on the disk")
        #expect(try await events(of: EventRecord("pageFound", mark: mark)).isEmpty)
        #expect(try await events(of: NetworkNote("found on the disk").record).isEmpty)
        // The name of an event is not the kind of a mark.
        #expect(try await events(of: EventRecord("retry")).isEmpty)
        #expect(try await events(of: NetworkNote("waited").record).isEmpty)
        #expect(count(.retries) == 0)
    }

    @Test func metricDistinguishesTheWordsThatAnotherPackageStates() async throws {
        let outcome: [String: EventValue] = ["networking.cache.outcome": .word("disk")]
        _ = try await events(of: EventRecord("pageFound", mark: EventMark(.cacheHit), attributes: outcome))
        let counters = metrics.counters(label: TelemetryMetric.cacheOutcomes.rawValue)
        #expect(counters.flatMap(\.dimensions).map(\.1) == ["disk"])
    }
}

private struct Reporting: NetworkingModifier {
    let record: EventRecord

    init(_ record: EventRecord) {
        self.record = record
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        request.emit(OwnEvent(record: record))
        return try await upstream.send(request)
    }
}

private struct OwnEvent: NetworkEvent {
    let record: EventRecord
}
#endif
