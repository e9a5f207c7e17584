import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingObservability

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct InstrumentedTests {
    private let instrument = SessionInstrument()
    private let clock = ManualClock()

    /// Returns the durations of a call by part, without parts of zero, and checks that they add up to the total.
    private func parts(_ metrics: CallMetrics?, _ location: SourceLocation = #_sourceLocation) -> [String: Duration] {
        guard let metrics else { return [:] }
        let breakdown = metrics.breakdown
        #expect(breakdown.map(\.duration).reduce(.zero, +) == metrics.duration, sourceLocation: location)
        #expect(breakdown.allSatisfy { $0.duration >= .zero }, sourceLocation: location)
        let named = breakdown.filter { $0.duration > .zero }.map { ("\($0.kind)", $0.duration) }
        return Dictionary(named, uniquingKeysWith: +)
    }

    private func metrics(
        of request: HTTPRequestData,
        over network: some NetworkingComponent
    ) async throws -> CallMetrics? {
        try await network.data(request).metrics
    }

    /// Waits for the event that starts the measurement, because the limiter counts the waiter slightly earlier.
    private func waitForAWaiter(_ events: EventRecorder) async throws {
        try await eventually("events.names.contains('waiting')") { events.names.contains("waiting") }
    }

    // MARK: Durations of the parts

    @Test func delayIsReportedWithItsDuration() async throws {
        let network = MockTransport { _ in .ok() }.delayed(by: .seconds(3)).instrument()
            .environment(\.clock, .immediate())
        let metrics = try await network.data(.lawful).metrics
        #expect(metrics?.duration == .seconds(3))
        #expect(parts(metrics) == ["wait (delay)": .seconds(3)])
        #expect(metrics?.outcome == .response(200))
        #expect(metrics?.attempts == 1)
    }

    @Test func retriesReportTheirAttemptsAndBackoffs() async throws {
        let network = MockTransport([
            .status(.serviceUnavailable).delayed(by: .seconds(1)),
            .status(.serviceUnavailable).delayed(by: .seconds(2)),
            .text("hello").delayed(by: .seconds(3)),
        ])
        .retry(.constant(.seconds(10))).instrument(instrument).environment(\.clock, .immediate())
        let response = try await network.data(.lawful)
        let metrics = try #require(response.metrics)
        #expect(parts(metrics) == ["wait (backoff)": .seconds(20), "first byte": .seconds(6)])
        #expect(metrics.attempts == 3)
        #expect(metrics.receivedBytes == 5)
        let attempts = metrics.spans.filter { if case .attempt = $0.kind { true } else { false } }
        #expect(attempts.map(\.kind) == [.attempt(1), .attempt(2), .attempt(3)])
        #expect(attempts.map(\.duration) == [.seconds(1), .seconds(2), .seconds(3)])
        #expect(attempts.map(\.offset) == [.zero, .seconds(11), .seconds(23)])
        #expect(metrics.marks.map(\.mark) == [.retry, .retry])
        #expect(instrument.statistics.retries == 2)
        #expect(instrument.statistics.attempts == 3)
    }

    /// The time of a modifier itself: before it sends the request upstream, and after the response.
    @Test func timeOfModifiersIsMeasured() async throws {
        let network = MockTransport { _ in .ok().delayed(by: .seconds(1)) }
            .modified(Slow(before: .seconds(2), after: .seconds(4)))
            .modified(Slower(before: .seconds(8), after: .seconds(16)))
            .instrument().environment(\.clock, .immediate())
        let metrics = try await network.data(.lawful).metrics
        #expect(parts(metrics) == ["first byte": .seconds(1), "slow": .seconds(6), "slower": .seconds(24)])
        #expect(
            metrics?.spans.map(\.kind) == [
                .call, .modifier("slower"), .modifier("slow"), .attempt(1), .firstByte, .body,
            ]
        )
        #expect(metrics?.spans.map(\.parent) == [nil, 0, 1, 2, 3, 3])
        #expect(metrics?.spans.map(\.duration) == [31, 31, 7, 1, 1, 0].map { .seconds($0) })
    }

    @Test func phasesFollowTheEventsOfTheTransport() async throws {
        struct PhasedTransport: NetworkingTransport {
            let isUpload: Bool

            func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                let clock = NetworkEnvironment.current.clock
                if isUpload {
                    request.emit(ExchangeEvent.readingBody)
                    try await clock.sleep(for: .seconds(1))
                    request.emit(ExchangeEvent.bodyRead)
                    request.emit(ExchangeEvent.connecting)
                    try await clock.sleep(for: .seconds(2))
                    request.emit(ExchangeEvent.connected)
                }
                try await clock.sleep(for: .seconds(4))
                request.emit(ExchangeEvent.headReceived(HTTPResponse(status: .init(code: 103))))
                try await clock.sleep(for: .seconds(8))
                request.emit(ExchangeEvent.headReceived(HTTPResponse(status: .ok)))
                var metrics = ConnectionMetrics()
                metrics.protocolVersion = "2"
                request.emit(ExchangeEvent.connectionMeasured(metrics))
                try await clock.sleep(for: .seconds(16))
                return HTTPResponseData(request: request, data: Data(count: 7))
            }
        }

        func network(isUpload: Bool) -> some NetworkingComponent {
            PhasedTransport(isUpload: isUpload).instrument().environment(\.clock, .immediate())
        }
        let read = try await metrics(of: .lawful, over: network(isUpload: false))
        #expect(parts(read) == ["first byte": .seconds(12), "body": .seconds(16)])
        let upload = HTTPRequestData(url: URL(string: "https://example.com/")!, body: .data(Data(count: 3)))
        let uploadMetrics = try await metrics(of: upload, over: network(isUpload: true))
        #expect(
            parts(uploadMetrics) == [
                "reading body": .seconds(1), "connecting": .seconds(2), "first byte": .seconds(12),
                "body": .seconds(16),
            ]
        )
        #expect(uploadMetrics?.sentBytes == 3)
        #expect(uploadMetrics?.receivedBytes == 7)
        #expect(uploadMetrics?.spans.compactMap(\.connection).map(\.protocolVersion) == ["2"])
    }

    @Test func waitForAPermitIsReported() async throws {
        let transport = MockTransport { _ in .ok().delayed(by: .seconds(5)) }
        let limiter = ConcurrencyLimiter(max: 1)
        let events = EventRecorder()
        let network = transport.throttled(by: limiter).observed(by: events).instrument()
            .environment(\.clock, .manual(clock))
        let first = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        let second = Task { try await network.data(.lawful) }
        try await waitForAWaiter(events)
        clock.advance(by: .seconds(5))
        let short = try await first.value.metrics
        try await clock.advance(by: .seconds(5), afterSleepers: 1)
        let long = try await second.value.metrics
        #expect(parts(short) == ["first byte": .seconds(5)])
        #expect(parts(long) == ["wait (concurrency-limit)": .seconds(5), "first byte": .seconds(5)])
    }

    // MARK: Caching and sharing

    @Test func cacheHitReportsItsSavedBytes() async throws {
        let transport = MockTransport { _ in .ok(Data("hello".utf8), headerFields: [.cacheControl: "max-age=60"]) }
        let network = transport.cached().instrument(instrument).environment(\.clock, .manual(clock))
        let miss = try #require(try await metrics(of: .lawful, over: network))
        let hit = try #require(try await metrics(of: .lawful, over: network))
        #expect(miss.cache == .cacheMiss)
        #expect(hit.cache == .cacheHit(.fresh))
        #expect((miss.attempts, miss.receivedBytes, miss.savedBytes) == (1, 5, 0))
        #expect((hit.attempts, hit.receivedBytes, hit.savedBytes) == (0, 0, 5))
        let statistics = instrument.statistics
        #expect(statistics.cacheResults == [.cacheHit(.fresh): 1, .cacheMiss: 1])
        #expect((statistics.cacheHits, statistics.cacheMisses, statistics.cacheBypasses) == (1, 1, 0))
        #expect(statistics.cacheRatio == 0.5)
        #expect(statistics.savedBytes == 5)
        #expect(statistics.receivedBytes == 5)
    }

    @Test func resultsOfAnyCacheAreBounded() async throws {
        struct Lookup: NetworkEvent {
            let record: EventRecord
        }
        struct Numbered: NetworkingModifier {
            func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
                let mark = EventMark(.cacheHit, detail: "\(request.path ?? "")")
                request.emit(Lookup(record: EventRecord("lookup", mark: mark)))
                return try await upstream.send(request)
            }
        }
        let network = MockTransport { _ in .ok() }.modified(Numbered()).instrument(instrument)
        for number in 0..<100 {
            try await network.data(.lawful.with { $0.path = "/\(number)" })
        }
        let statistics = instrument.statistics
        #expect(statistics.cacheHits == 100)
        #expect(statistics.cacheResults.count == 65)
        #expect(statistics.cacheResults[EventMark(.cacheHit)] == 36)
    }

    @Test func waitForASharedExchangeIsReported() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let inFlightRequests = InFlightRequests()
        let events = EventRecorder()
        let network = transport.deduplicated(sharing: inFlightRequests).observed(by: events).instrument(instrument)
            .environment(\.clock, .manual(clock))
        let first = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()
        clock.advance(by: .seconds(1))
        let second = Task { try await network.data(.lawful) }
        try await waitForAWaiter(events)
        clock.advance(by: .seconds(2))
        held.respond()
        let (creator, waiter) = try await (first.value.metrics, second.value.metrics)
        #expect(parts(creator) == ["first byte": .seconds(3)])
        #expect(parts(waiter) == ["wait (sharing)": .seconds(2)])
        #expect((creator?.isShared, waiter?.isShared) == (false, true))
        #expect((creator?.attempts, waiter?.attempts) == (1, 0))
        #expect(instrument.statistics.shared == 1)
        #expect(instrument.statistics.attempts == 1)
    }

    /// The exchange continues for the other callers, but is no longer part of the cancelled call.
    @Test func cancelledWaiterGetsNoFurtherEvents() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let inFlightRequests = InFlightRequests()
        let ended = Locked<[CallMetrics]>([])
        let events = EventRecorder()
        let network = transport.deduplicated(sharing: inFlightRequests).observed(by: events)
            .instrument { ended.append($0) }
            .environment(\.clock, .manual(clock))
        let first = Task { try await network.data(.lawful) }
        try await transport.waitForRequests()
        let second = Task { try await network.data(.lawful) }
        try await waitForAWaiter(events)
        clock.advance(by: .seconds(1))
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        clock.advance(by: .seconds(2))
        held.respond()
        _ = try await second.value
        let metrics = ended.value
        #expect(metrics.map(\.outcome) == [.cancelled, .response(200)])
        #expect(metrics.map(\.duration) == [.seconds(1), .seconds(3)])
        #expect(parts(metrics.first) == ["first byte": .seconds(1)])
        #expect(parts(metrics.last) == ["wait (sharing)": .seconds(3)])
    }

    // MARK: Endings

    @Test func cancelledCallsAreCountedAsCancelled() async throws {
        let ended = Locked<[CallMetrics]>([])
        let network = MockTransport { _ in .ok() }.delayed(by: .seconds(10))
            .instrument(instrument) { ended.append($0) }
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(4))
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        let metrics = try #require(ended.value.first)
        #expect(metrics.outcome == .cancelled)
        #expect(parts(metrics) == ["wait (delay)": .seconds(4)])
        #expect(metrics.attempts == 0)
        let statistics = instrument.statistics
        #expect((statistics.calls, statistics.cancellations, statistics.successes) == (1, 1, 0))
        #expect(statistics.durations.count == 0)
    }

    @Test func failuresHaveMetricsAndAreCountedByKind() async throws {
        struct Others: Error {}

        let network = MockTransport { request in
            switch request.path {
            case "/status": .status(.notFound)
            case "/others": .failure(Others())
            default: .failure(NetworkingError(.connectionLost, request: request))
            }
        }
        .instrument(instrument).server(authority: "example.com")
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(HTTPRequestData(path: "lost"))
        }
        #expect(error?.metrics?.outcome == .failure(.connectionLost))
        #expect(error?.metrics?.attempts == 1)
        await #expect(throws: Others.self) { try await network.data(HTTPRequestData(path: "others")) }
        try await network.data(HTTPRequestData(path: "status"))
        let statistics = instrument.statistics
        #expect(statistics.failures == [.connectionLost: 1, .status: 1])
        #expect(statistics.otherFailures == 1)
        #expect(statistics.statuses == [404: 1])
        #expect(statistics.calls == 3)
    }

    // MARK: Nesting and concurrency

    @Test func innerInstrumentMeasuresItsPart() async throws {
        let inner = SessionInstrument()
        let network = MockTransport { _ in .ok().delayed(by: .seconds(1)) }
            .delayed(by: .seconds(2)).instrument(inner)
            .delayed(by: .seconds(4)).instrument(instrument)
            .environment(\.clock, .immediate())
        let metrics = try await network.data(.lawful).metrics
        #expect(parts(metrics) == ["wait (delay)": .seconds(6), "first byte": .seconds(1)])
        #expect(parts(inner.recent.first) == ["wait (delay)": .seconds(2), "first byte": .seconds(1)])
        #expect(inner.recent.first?.spans.map(\.kind).dropFirst(1).first == .modifier("delayed"))
        #expect((inner.statistics.attempts, instrument.statistics.attempts) == (1, 1))
    }

    /// An inner instrument does not report the cache of an outer one.
    @Test func innerInstrumentIgnoresACacheOutside() async throws {
        let inner = SessionInstrument()
        let network = MockTransport { _ in .ok() }.instrument(inner).cached().instrument(instrument)
        try await network.data(HTTPRequestData(method: .post, url: URL(string: "https://example.com/")!))
        try await network.data(.lawful)
        #expect(inner.recent.map(\.cache) == [nil, nil])
        #expect(inner.statistics.cacheRatio == nil)
        #expect(instrument.recent.last?.cache == .cacheMiss)
    }

    /// A waiter of a failed exchange that starts a new one reports the parts of the new one.
    @Test func retryAfterASharedFailureHasItsOwnParts() async throws {
        let transport = MockTransport { request -> MockResponse in
            .failure(NetworkingError(.connectionLost, request: request)).delayed(by: .seconds(1))
        }
        let inFlightRequests = InFlightRequests()
        let events = EventRecorder()
        let network = transport.deduplicated(waitersRetryOnFailure: true, sharing: inFlightRequests)
            .observed(by: events)
            .instrument(instrument).environment(\.clock, .manual(clock))
        let first = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        let second = Task { try await network.data(.lawful) }
        try await waitForAWaiter(events)
        clock.advance(by: .seconds(1))
        await #expect(throws: NetworkingError.self) { try await first.value }
        try await clock.advance(by: .seconds(1), afterSleepers: 1)
        let error = await #expect(throws: NetworkingError.self) { try await second.value }
        #expect(parts(error?.metrics) == ["wait (sharing)": .seconds(1), "first byte": .seconds(1)])
        #expect(error?.metrics?.attempts == 1)
    }

    /// A modifier may send several requests at once.
    ///
    /// Each moment is counted once.
    @Test func concurrentExchangesAddUpToTheDuration() async throws {
        struct Twice: NetworkingModifier {
            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                async let first = upstream.send(request)
                async let second = upstream.send(request)
                _ = try await first
                return try await second
            }
        }

        let network = MockTransport { _ in .ok().delayed(by: .seconds(2)) }.throttled(max: 5).modified(Twice())
            .instrument().environment(\.clock, .manual(clock))
        async let response = network.data(.lawful)
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        let metrics = try await response.metrics
        #expect(metrics?.duration == .seconds(2))
        #expect(parts(metrics) == ["first byte": .seconds(2)])
        let attempts = metrics?.spans.filter { $0.kind.isAttempt }
        #expect(attempts?.map(\.duration) == [.seconds(2), .seconds(2)])
        #expect(metrics?.attempts == 2)
    }

    /// A call with very many parts keeps its first and last parts.
    ///
    /// Each part that has started also ends.
    @Test func callWithTooManyPartsKeepsTheFirstAndTheLast() async throws {
        struct Repeating: NetworkingModifier {
            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                for _ in 0..<5_000 {
                    _ = try await upstream.send(request)
                }
                let response = try await upstream.send(request)
                try await NetworkEnvironment.current.clock.sleep(for: .seconds(1))
                return response
            }
        }

        let network = MockTransport { _ in .ok() }.retry().modified(Repeating())
            .modified(Slow(before: .zero, after: .seconds(2))).instrument().environment(\.clock, .immediate())
        let metrics = try #require(try await metrics(of: .lawful, over: network))
        #expect(parts(metrics) == ["repeating": .seconds(1), "slow": .seconds(2)])
        #expect(metrics.attempts == 5_001)
        #expect(metrics.spans.count < 10_000)
        #expect(metrics.byteCount < 1 << 20)
        let attempts = metrics.spans.compactMap { span in
            if case .attempt(let number) = span.kind { number } else { nil }
        }
        #expect(attempts.prefix(3) == [1, 2, 3])
        #expect(attempts.suffix(3) == [4_999, 5_000, 5_001])
        #expect(attempts.count < 5_001)
        #expect(attempts == attempts.sorted())
        #expect(metrics.spans.allSatisfy { $0.duration <= metrics.duration && $0.duration >= .zero })
    }

    @Test func thousandsOfCallsAtOnceAreAllCounted() async throws {
        let network = MockTransport { _ in .text("hello") }.throttled(max: 8).retry().instrument(instrument)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<1_000 {
                group.addTask {
                    var request = HTTPRequestData(url: URL(string: "https://example.com/\(index)")!)
                    request.route = "/{id}"
                    let metrics = try await network.data(request).metrics
                    let sum = metrics?.breakdown.map(\.duration).reduce(.zero, +)
                    #expect(sum == metrics?.duration)
                }
            }
            try await group.waitForAll()
        }
        let statistics = instrument.statistics
        #expect((statistics.calls, statistics.successes, statistics.attempts) == (1_000, 1_000, 1_000))
        #expect(statistics.receivedBytes == 5_000)
        #expect(statistics.routes.mapValues(\.count).map { "\($0.key) \($0.value)" } == ["GET example.com/{id} 1000"])
        #expect(instrument.recent.count == 20)
    }

    // MARK: Recorded calls

    @Test func latestCallsAreKeptOldestFirst() async throws {
        let instrument = SessionInstrument(keeping: 3)
        let network = MockTransport { _ in .ok() }.instrument(instrument).server(authority: "example.com")
        for index in 0..<5 {
            try await network.data(HTTPRequestData(path: "\(index)"))
        }
        #expect(instrument.recent.map(\.request.path) == ["/2", "/3", "/4"])
        instrument.reset()
        #expect(instrument.recent.isEmpty)
        #expect(instrument.statistics.calls == 0)
    }

    @Test func numberOfHostsAndRoutesIsLimited() async throws {
        let network = MockTransport { _ in .ok() }.instrument(instrument)
        for index in 0..<300 {
            try await network.data(HTTPRequestData(url: URL(string: "https://host\(index).example/")!))
        }
        let statistics = instrument.statistics
        #expect(statistics.routes.count == 257)
        #expect(statistics.hosts["*"]?.count == 44)
        #expect(statistics.hosts["host7.example"]?.count == 1)
        #expect(statistics.durations.count == 300)
    }

    @Test func metricsContainNoSecret() async throws {
        var request = HTTPRequestData(
            method: .post,
            url: URL(string: "https://example.com/login?token=hunter2&page=1")!,
            body: .data(Data("hunter2".utf8))
        )
        request.headerFields[.authorization] = "Bearer hunter2"
        let network = MockTransport { _ in .text("hunter2") }.instrument(instrument)
        let metrics = try #require(try await metrics(of: request, over: network))
        #expect(!everyPrint(of: metrics).contains("hunter2"))
        #expect(!metrics.waterfall().contains("hunter2"))
        #expect(!everyPrint(of: instrument.statistics).contains("hunter2"))
        var refused = request
        refused.url = URL(string: "https://emily:hunter2@example.com/")!
        await #expect(throws: NetworkingError.self) { try await network.data(refused) }
        #expect(!everyPrint(of: instrument.statistics).contains("hunter2"))
        #expect(metrics.request.headerFields.isEmpty)
        #expect(metrics.request.body == nil)
        #expect("\(metrics)".hasPrefix("POST https://example.com/login?token=<redacted>&page=1 → 200 in "))
    }

    @Test func stackWithoutInstrumentHasNoMetrics() async throws {
        let response = try await MockTransport { _ in .ok() }.retry().data(.lawful)
        #expect(response.metrics == nil)
        // The request of a response is not measured when it is sent again.
        let measured = try await MockTransport { _ in .ok() }.instrument(instrument).data(.lawful)
        try await MockTransport { _ in .ok() }.retry().data(measured.sentRequest)
        #expect(instrument.statistics.attempts == 1)
        #expect(instrument.recent.first?.attempts == 1)
    }

    // MARK: The waterfall

    /// Requests for the pages of a list differ only in their query.
    @Test func waterfallOfASessionHasRedactedQueries() async throws {
        let network = MockTransport { _ in .ok() }.instrument(instrument)
        for target in ["/list?page=1", "/list?page=2&token=hunter2", "/list"] {
            try await network.data(HTTPRequestData(url: try #require(URL(string: "https://example.com\(target)"))))
        }
        var marked = HTTPRequestData(authority: "example.com", path: "reset/hunter2")
        marked.query.ticket = "hunter2"
        marked.markSecret("hunter2")
        try await network.data(marked)
        let names = instrument.waterfall(width: 10).split(separator: "\n").dropFirst()
            .map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        #expect(
            names == [
                "GET /list?page=1", "GET /list?page=2&token=<redacted>", "GET /list",
                "GET /reset/<redacted>?ticket=<redacted>",
            ]
        )
    }

    @Test func waterfallOfACallListsItsParts() async throws {
        let network = MockTransport([
            .status(.serviceUnavailable).delayed(by: .milliseconds(10)),
            .text("hello").delayed(by: .milliseconds(10)),
        ])
        .modified(Slow(before: .milliseconds(20), after: .zero))
        .retry(.constant(.milliseconds(20)))
        .instrument().environment(\.clock, .immediate())
        let metrics = try #require(try await metrics(of: .lawful, over: network))
        #expect(
            metrics.waterfall(width: 16) == """
                GET https://laws.example/check → 200 in 80.0 ms, 2 attempts, 5 bytes in
                  slow            ██████            30.0 ms
                    attempt 1         ██            10.0 ms
                  wait (backoff)        ████        20.0 ms
                  slow                      ██████  30.0 ms
                    attempt 2                   ██  10.0 ms
                """
        )
    }
}

/// A modifier that waits before it sends a request upstream, and after the response.
private struct Slow: NetworkingModifier {
    let before: Duration
    let after: Duration

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let clock = NetworkEnvironment.current.clock
        try await clock.sleep(for: before)
        let response = try await upstream.send(request)
        try await clock.sleep(for: after)
        return response
    }
}

private struct Slower: NetworkingModifier {
    let before: Duration
    let after: Duration

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await Slow(before: before, after: after).send(request, upstream: upstream)
    }
}
