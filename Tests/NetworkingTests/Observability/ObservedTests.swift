import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingObservability
@testable import NetworkingResilience
@testable import NetworkingTraffic

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ObservedTests {
    @Test func listenerReceivesEventsFromUpstreamOnly() async throws {
        let (outer, inner) = (EventRecorder(), EventRecorder())
        let network = MockTransport { _ in .ok() }.observed(by: inner).delayed(by: .seconds(1)).observed(by: outer)
            .environment(\.clock, .immediate())
        try await network.data(.lawful)
        #expect(
            outer.names == [
                "callStarted", "waiting", "waited", "exchangeStarted", "headReceived", "responseReceived",
                "exchangeEnded",
                "callEnded",
            ]
        )
        #expect(
            inner.names == [
                "callStarted", "exchangeStarted", "headReceived", "responseReceived", "exchangeEnded", "callEnded",
            ]
        )
    }

    @Test func failuresAndCancellationsAreReported() async throws {
        let events = EventRecorder()
        let clock = ManualClock()
        let network = MockTransport().delayed(by: .seconds(1)).observed(by: events).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(events.names == ["callStarted", "waiting", "waited", "callFailed"])
        guard case CallEvent.failed(is CancellationError)? = events.events.last else {
            Issue.record("\(String(describing: events.events.last))")
            return
        }
    }

    @Test func closureReceivesEventsWithTheirRequests() async throws {
        let journal = Journal()
        let network = MockTransport([.status(.serviceUnavailable), .ok()]).retry(.immediate())
            .observed { event, request in
                switch event {
                case CallEvent.started: journal.note("started \(request)")
                case RetryEvent.retrying(let attempt): journal.note("retrying after \(attempt.number)")
                case ExchangeEvent.ended(sent: 0, received: _): journal.note("ended")
                case CallEvent.ended(let response) where response.status == .ok: journal.note("ok")
                default: break
                }
            }
        try await network.data(HTTPRequestData(authority: "example.com"))
        #expect(
            journal.entries == ["started GET https://example.com/", "ended", "retrying after 1", "ended", "ok"]
        )
        #expect("\(network.outline)".contains("observed"))
        #expect(!"\(network.outline)".contains("ClosureObserver"))
    }

    /// Recorders and logs distinguish events by their names.
    @Test func eventNamesAreUnique() {
        let request = HTTPRequestData.lawful
        let response = HTTPResponseData(request: request)
        let attempt = Attempt(number: 1, result: .success(response), elapsed: .zero)
        let events: [any NetworkEvent] = [
            CallEvent.started, CallEvent.ended(response), CallEvent.failed(CancellationError()),
            WaitEvent.waiting(.concurrencyLimit, .seconds(1)), WaitEvent.waited(.concurrencyLimit, .seconds(2)),
            ExchangeEvent.started, ExchangeEvent.readingBody, ExchangeEvent.bodyRead, ExchangeEvent.connecting,
            ExchangeEvent.connected, ExchangeEvent.headReceived(response.http),
            ExchangeEvent.connectionMeasured(ConnectionMetrics()), ExchangeEvent.responseReceived(response),
            ExchangeEvent.ended(sent: 1, received: 2), ExchangeEvent.failed(CancellationError()),
            RedirectEvent.redirected(to: request), RedirectEvent.refused(.downgrade),
            RetryEvent.retrying(attempt), RetryEvent.refused(.budget), AuthenticationEvent.refreshing,
            CredentialsEvent.withheld(WithheldCredentials(["Authorization"], reason: .otherServer)),
            CacheEvent.hit(.stale), CacheEvent.missed, CacheEvent.stored, CacheEvent.evicted(count: 3),
            CacheEvent.revalidated, CacheEvent.bypassed(.method), CacheEvent.failed(CancellationError()),
            DeduplicationEvent.shared, TimeoutEvent.expired(after: .seconds(4)),
            DeadlineEvent.exceeded(after: .seconds(5)), DeprecationEvent.announced(.sunset), NetworkNote("hello"),
        ]
        let recorder = EventRecorder()
        for event in events {
            recorder.observe(event, of: request)
            #expect(Mirror(reflecting: event).children.map { "\($0.value)" } == [event.description])
        }
        #expect(Set(recorder.names).count == events.count)
        #expect(
            recorder.names == [
                "callStarted", "callEnded", "callFailed", "waiting", "waited", "exchangeStarted", "readingBody",
                "bodyRead", "connecting", "connected", "headReceived", "connectionMeasured", "responseReceived",
                "exchangeEnded", "exchangeFailed", "redirected", "redirectRefused", "retrying", "retryRefused",
                "refreshingCredentials", "credentialsWithheld", "cacheHit", "cacheMissed", "cacheStored",
                "cacheEvicted", "cacheRevalidated", "cacheBypassed", "cacheFailed", "shared", "timedOut",
                "deadlineExceeded", "deprecated", "hello",
            ]
        )
    }

    @Test func eventsStateTheirLinesInLogs() {
        let request = HTTPRequestData.lawful
        let response = HTTPResponseData(request: request)
        let attempt = Attempt(number: 1, result: .success(response), elapsed: .zero)
        let withheld = WithheldCredentials(["Authorization"], reason: .otherServer)
        var next = HTTPRequestData(authority: "laws.example", path: "/next")
        next.queryItems = [URLQueryItem(name: "token", value: "SECRET")]
        let messages: [(any NetworkEvent, String?)] = [
            (CallEvent.started, nil), (CallEvent.ended(response), nil), (CallEvent.failed(CancellationError()), nil),
            (WaitEvent.waiting(.concurrencyLimit, .seconds(1)), "waiting 1.0 seconds (concurrency-limit)"),
            (WaitEvent.waiting(.sharing, nil), "waiting (sharing)"),
            (WaitEvent.waited(.concurrencyLimit, .seconds(2)), "waited 2.0 seconds (concurrency-limit)"),
            (WaitEvent.waited(.backoff, .seconds(2)), nil), (ExchangeEvent.started, nil),
            (ExchangeEvent.readingBody, "reading the body before connecting"), (ExchangeEvent.bodyRead, nil),
            (ExchangeEvent.headReceived(response.http), nil), (ExchangeEvent.failed(CancellationError()), nil),
            (RedirectEvent.redirected(to: next), "redirected to GET https://laws.example/next?token=<redacted>"),
            (RedirectEvent.refused(.downgrade), "redirect not followed (downgrade)"),
            (RetryEvent.retrying(attempt), "retrying (attempt \(attempt))"),
            (RetryEvent.refused(.budget), "not retried (budget)"),
            (AuthenticationEvent.refreshing, "refreshing credentials"),
            (CredentialsEvent.withheld(withheld), "\(withheld)"),
            (CacheEvent.hit(.stale), "served from the cache (stale)"), (CacheEvent.missed, nil),
            (CacheEvent.stored, nil), (CacheEvent.evicted(count: 3), nil), (CacheEvent.revalidated, nil),
            (CacheEvent.bypassed(.method), "not cached (method)"),
            (CacheEvent.failed(CancellationError()), "the cache failed (CancellationError)"),
            (DeduplicationEvent.shared, "sharing the exchange of an identical request"),
            (TimeoutEvent.expired(after: .seconds(4)), "timed out after 4.0 seconds"),
            (DeadlineEvent.exceeded(after: .seconds(5)), "deadline of 5.0 seconds exceeded"),
            (OfflineEvent.refused, "offline(refused)"), (DeprecationEvent.announced(.sunset), nil),
            (NetworkNote("hello"), "hello"),
        ]
        for (event, message) in messages {
            #expect(event.record.logMessage(redactedBy: .standard) == message)
        }
    }

    @Test func eventsStateTheirMarks() {
        let request = HTTPRequestData.lawful
        let response = HTTPResponseData(request: request)
        let attempt = Attempt(number: 1, result: .success(response), elapsed: .zero)
        let withheld = WithheldCredentials(["Authorization"], reason: .otherServer)
        let marks: [(any NetworkEvent, EventMark?)] = [
            (CallEvent.started, nil), (ExchangeEvent.started, nil), (WaitEvent.waiting(.backoff, nil), nil),
            (CredentialsEvent.withheld(withheld), nil), (RedirectEvent.redirected(to: request), .redirect),
            (RedirectEvent.refused(.downgrade), nil), (RetryEvent.retrying(attempt), .retry),
            (RetryEvent.refused(.budget), .retryRefused(.budget)), (AuthenticationEvent.refreshing, .refresh),
            (CacheEvent.hit(.stale), .cacheHit(.stale)), (CacheEvent.missed, .cacheMiss),
            (CacheEvent.bypassed(.method), .cacheBypass(.method)), (CacheEvent.stored, nil),
            (CacheEvent.evicted(count: 3), nil), (CacheEvent.revalidated, nil),
            (CacheEvent.failed(CancellationError()), nil), (DeduplicationEvent.shared, .shared),
            (TimeoutEvent.expired(after: .seconds(4)), .timeout),
            (DeadlineEvent.exceeded(after: .seconds(5)), .deadline),
            (DeprecationEvent.announced(.sunset), .deprecated),
            (CookieEvent.added(count: 2), .event("cookiesAdded(2)")), (NetworkNote("hello"), .event("hello")),
        ]
        for (event, mark) in marks {
            #expect(event.record.mark == mark)
        }
    }

    /// The fields of a listener are sent with each exchange, may differ each time, and are validated like other fields.
    @Test func listenerMayAddFieldsToEachExchange() async throws {
        struct Numbering: NetworkEventObserver {
            let journal = Journal()

            func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}

            func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
                journal.note("\(request)")
                return [.requestID: "\(journal.entries.count)"]
            }
        }

        let transport = MockTransport { request in
            switch request.path {
            case "/start": .redirect(to: "/busy")
            case "/busy" where request.headerFields[.requestID] == "2": .status(.serviceUnavailable)
            default: .ok()
            }
        }
        let network = transport.retry(.immediate()).observed(by: Numbering()).server(authority: "example.com")
        let response = try await network.data(HTTPRequestData(path: "start"))
        #expect(response.status == .ok)
        #expect(transport.requests.map { $0.headerFields[.requestID] } == ["1", "2", "3", "4"])
        #expect(transport.requests.map(\.path) == ["/start", "/busy", "/start", "/busy"])
    }

    @Test func sharedExchangeHasTheFieldsOfOneListener() async throws {
        struct Naming: NetworkEventObserver {
            let name: String

            func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}

            func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
                [.requestID: name]
            }
        }

        let transport = MockTransport { _ in .ok() }
        let clock = ManualClock()
        let inFlightRequests = InFlightRequests()
        let network = transport.delayed(by: .seconds(1)).deduplicated(sharing: inFlightRequests)
            .environment(\.clock, .manual(clock))
        let first = Task { try await network.observed(by: Naming(name: "first")).data(.lawful) }
        try await clock.waitForSleepers()
        let second = Task { try await network.observed(by: Naming(name: "second")).data(.lawful) }
        try await eventually("inFlightRequests.waiting >= 2") { inFlightRequests.waiting >= 2 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        clock.advance(by: .seconds(1))
        _ = try await second.value
        #expect(transport.requests.map { $0.headerFields[.requestID] } == ["second"])
    }
}

extension HTTPField.Name {
    fileprivate static let requestID = HTTPField.Name("X-Request-ID")!
}

extension Deprecation {
    /// An announcement without `Deprecation`.
    fileprivate static let sunset = Deprecation(
        isDeprecated: false,
        date: nil,
        sunset: Date(timeIntervalSince1970: 0),
        documentation: nil,
        sunsetPolicy: nil,
        successor: nil
    )
}
