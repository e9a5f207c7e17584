import Foundation
import Logging
import Networking
import NetworkingTesting
import Testing

/// Events that another package declares.
@Suite(.timeLimit(.minutes(20)))
struct CustomEventTests {
    private enum CompressionEvent: NetworkEvent {
        case compressed(from: Int, to: Int)

        var record: EventRecord {
            switch self {
            case .compressed(let before, let after): EventRecord("compressed", "\(before) to \(after) bytes")
            }
        }
    }

    private struct Compressed: NetworkingModifier {
        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            request.emit(CompressionEvent.compressed(from: 4_096, to: 512))
            request.emit(NetworkNote("gzip\nlevel 6"))
            let clock = NetworkEnvironment.current.clock
            request.emit(WaitEvent.waiting(.compressor, nil))
            let start = clock.now
            try await clock.sleep(for: .seconds(2))
            request.emit(WaitEvent.waited(.compressor, clock.now - start))
            return try await upstream.send(request)
        }
    }

    private enum LookupEvent: NetworkEvent {
        case found(String, for: HTTPRequestData)
        case missing

        var record: EventRecord {
            switch self {
            case .found(let place, let request):
                EventRecord("found", place, mark: EventMark(.cacheHit, detail: place)) {
                    "found in \(place) for \($0.line(for: request))"
                }
            case .missing: EventRecord("missing", mark: .cacheMiss) { _ in nil }
            }
        }
    }

    private struct MarkEvent: NetworkEvent {
        let record: EventRecord

        init(mark: EventMark?) {
            record = EventRecord("marked", mark: mark)
        }
    }

    /// A modifier that reports an event for each request.
    private struct Reporting: NetworkingModifier {
        let event: any NetworkEvent

        init(_ event: any NetworkEvent) {
            self.event = event
        }

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            request.emit(event)
            return try await upstream.send(request)
        }
    }

    /// A cache that has a response for each request.
    private struct DiskCached: NetworkingModifier {
        let body: Data

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            request.emit(LookupEvent.found("disk", for: request))
            return HTTPResponseData(request: request, data: body)
        }
    }

    private let network = AnyNetworkingComponent(MockTransport { _ in .ok() }.modified(Compressed()))

    @Test func observerCanMatchCustomEvents() async throws {
        let journal = Journal()
        let network =
            network.observed { event, _ in
                switch event {
                case CompressionEvent.compressed(let before, let after): journal.note("\(before) to \(after)")
                case let note as NetworkNote: journal.note(note.text)
                case WaitEvent.waited(.compressor, let duration): journal.note("waited \(duration)")
                default: break
                }
            }
            .environment(\.clock, .immediate())

        try await network.data(.lawful)

        #expect(journal.entries == ["4096 to 512", "gzip\nlevel 6", "waited 2.0 seconds"])
    }

    @Test func logContainsDescriptionsOfCustomEvents() async throws {
        let log = LogRecorder()

        try await network.logged(using: log.logger(.debug)).environment(\.clock, .immediate()).data(.lawful)

        let url = "GET https://laws.example/check"
        #expect(
            log.messages.dropFirst().prefix(4) == [
                "compressed(4096 to 512 bytes): \(url)", "gzip\u{FFFD}level 6: \(url)", "waiting (compressor): \(url)",
                "waited 2.0 seconds (compressor): \(url)",
            ]
        )
    }

    @Test func logRedactsMarkedSecretsOfCustomEvents() async throws {
        struct Leaking: NetworkingModifier {
            func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
                request.emit(NetworkNote("The key is k-4711."))
                return try await upstream.send(request)
            }
        }
        let log = LogRecorder()
        var request = HTTPRequestData.lawful
        request.markSecret("k-4711")

        let transport = MockTransport { _ in .ok() }
        try await transport.modified(Leaking()).logged(using: log.logger(.debug)).data(request)

        #expect(log.messages.contains { $0.hasPrefix("The key is ") })
        #expect(!log.messages.contains { $0.contains("k-4711") })
    }

    @Test func logHasNoLineForAnEventWithoutAMessage() async throws {
        let log = LogRecorder()

        let transport = MockTransport { _ in .ok() }
        try await transport.modified(Reporting(LookupEvent.missing)).logged(using: log.logger(.debug)).data(.lawful)

        #expect(log.messages.count == 2)
    }

    @Test func logRedactsTheMessagesOfCustomEvents() async throws {
        let log = LogRecorder()
        var request = HTTPRequestData.lawful
        request.markSecret("k-4711")
        var original = HTTPRequestData(authority: "laws.example", path: "/k-4711")
        original.queryItems = [URLQueryItem(name: "token", value: "SECRET")]

        let network = MockTransport { _ in .ok() }.modified(Reporting(LookupEvent.found("k-4711\n", for: original)))
        try await network.logged(using: log.logger(.debug)).data(request)

        let message = try #require(log.messages.first { $0.hasPrefix("found in ") })
        #expect(
            message == """
                found in <redacted>\u{FFFD} for GET https://laws.example/<redacted>?token=<redacted>: \
                GET https://laws.example/check
                """
        )
    }

    @Test func cacheOfAnotherPackageIsCountedLikeThatOfTheLibrary() async throws {
        let instrument = SessionInstrument()
        let transport = MockTransport { _ in .ok(Data("hello".utf8)) }

        let full = transport.modified(DiskCached(body: Data("hello".utf8))).instrument(instrument)
        let hit = try await full.data(.lawful)
        let empty = transport.modified(Reporting(LookupEvent.missing)).instrument(instrument)
        let miss = try await empty.data(.lawful)

        #expect(hit.metrics?.cache == EventMark(.cacheHit, detail: "disk"))
        #expect(hit.metrics?.cache?.cacheHit == nil)
        #expect(hit.metrics?.savedBytes == 5)
        #expect(hit.metrics?.waterfall().contains("from the cache (disk)") == true)
        #expect(miss.metrics?.cache == .cacheMiss)
        let statistics = instrument.statistics
        #expect(statistics.cacheResults == [EventMark(.cacheHit, detail: "disk"): 1, .cacheMiss: 1])
        #expect((statistics.cacheHits, statistics.cacheMisses, statistics.cacheRatio) == (1, 1, 0.5))
    }

    @Test func retriesOfAnotherPackageAreCountedLikeThoseOfTheLibrary() async throws {
        let instrument = SessionInstrument()
        let network = MockTransport { _ in .ok() }.modified(Reporting(MarkEvent(mark: .retry)))
            .modified(Reporting(MarkEvent(mark: .refresh))).modified(Reporting(MarkEvent(mark: .redirect)))
            .modified(Reporting(MarkEvent(mark: .shared)))

        let response = try await network.instrument(instrument).data(.lawful)

        #expect(response.metrics?.marks.map(\.mark) == [.shared, .redirect, .refresh, .retry])
        let statistics = instrument.statistics
        #expect((statistics.retries, statistics.redirects) == (1, 1))
        #expect((statistics.refreshes, statistics.shared) == (1, 1))
    }

    @Test func textsOfARecordAreCreatedOnlyWhenTheyAreShown() {
        let journal = Journal()
        @Sendable func noted(_ text: String) -> String {
            journal.note(text)
            return text
        }
        let record = EventRecord(
            "found",
            noted("details"),
            mark: .cacheMiss,
            attributes: [noted("attribute"): .number(1)]
        ) { _ in noted("message") }
        #expect(record.mark == .cacheMiss)
        #expect(record.name == "found")
        #expect(journal.entries.isEmpty)
        #expect(record.description == "found(details)")
        #expect(record.logMessage(redactedBy: .standard) == "message")
        #expect(record.attributes == ["attribute": .number(1)])
        #expect(journal.entries == ["details", "message", "attribute"])
    }

    @Test func recordHasTheDescriptionForWhatItDoesNotState() {
        let record = EventRecord("found", "disk")
        #expect(record.mark == .event("found(disk)"))
        #expect(record.logMessage(redactedBy: .standard) == "found(disk)")
        #expect(record.attributes == nil)
        #expect(EventRecord("found").description == "found")
        #expect(EventRecord("found", mark: .described).mark == .event("found"))
        #expect(EventRecord("found", mark: nil).mark == nil)
        #expect(EventRecord("found", mark: .event("other")).mark == .event("other"))
    }

    @Test func marksAreEqualByKindAndDetail() {
        #expect(EventMark(.cacheHit, detail: "fresh") == .cacheHit(.fresh))
        #expect(EventMark(.cacheHit) != .cacheHit(.fresh))
        #expect(EventMark.cacheHit(.stale) != .cacheHit(.fresh))
        #expect(EventMark(.cacheBypass, detail: "fresh") != .cacheHit(.fresh))
        #expect(Set([EventMark.retry, EventMark(.retry), .timeout, .deadline, .retryRefused(.budget)]).count == 4)
    }

    @Test func marksReturnTheValuesOfTheirFeature() {
        #expect(EventMark.cacheHit(.standIn).cacheHit == .standIn)
        #expect(EventMark.cacheBypass(.vary).cacheBypass == .vary)
        #expect(EventMark.retryRefused(.budget).retryRefusal == .budget)
        #expect(EventMark.retry.cacheHit == nil)
        #expect(EventMark(.retryRefused, detail: "unknown").retryRefusal == nil)
        #expect(EventMark.event("fresh").cacheHit == nil)
    }

    @Test func marksAreShortLines() {
        #expect(EventMark.cacheHit(.fresh).description == "cacheHit (fresh)")
        #expect(EventMark.deadline.description == "deadline")
        #expect(EventMark.event("a\nb").description == "a\u{FFFD}b")
        #expect(EventMark(EventMark.Kind("compressed"), detail: "gzip").description == "compressed (gzip)")
        #expect(EventMark.event(String(repeating: "é", count: 1_000)).detail?.count == 200)
        let oneCharacter = "e" + String(repeating: "\u{301}", count: 1_000)
        #expect(EventMark.event(oneCharacter).detail?.unicodeScalars.count == 200)
        #expect(EventMark.Kind(oneCharacter).name.unicodeScalars.count == 200)
        #expect(EventMark.Kind.cacheMiss.name == "cacheMiss")
    }

    @Test func metricsContainCustomEvents() async throws {
        let response = try await network.instrument().environment(\.clock, .immediate()).data(.lawful)

        let metrics = try #require(response.metrics)
        #expect(metrics.marks.first?.mark == .event("compressed(4096 to 512 bytes)"))
        #expect(metrics.marks.count == 2)
        #expect(metrics.breakdown.first { $0.kind == .wait(.compressor) }?.duration == .seconds(2))
    }

    @Test func waitsAreEqualByName() {
        #expect(Wait("compressor") == .compressor)
        #expect(Wait("concurrency-limit") == .concurrencyLimit)
        #expect(
            Set([
                Wait.concurrencyLimit, .rateLimit, .backoff, .delay, .connection, .credentials, .sharing, .reconnection,
            ])
            .count == 8
        )
        #expect(Wait.compressor.name == "compressor")
    }
}

extension Wait {
    fileprivate static let compressor = Wait("compressor")
}
