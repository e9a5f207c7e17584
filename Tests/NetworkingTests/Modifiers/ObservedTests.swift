import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct ObservedTests {
    @Test func aListenerHearsFromItsPlaceOn() async throws {
        let (outer, inner) = (EventRecorder(), EventRecorder())
        let network = MockTransport { _ in .ok() }.observed(by: inner).delayed(by: .seconds(1)).observed(by: outer)
            .environment(\.clock, .immediate())
        try await network.data(.lawful)
        #expect(
            outer.names == [
                "callStarted", "waiting", "waited", "attemptStarted", "headReceived", "responseReceived",
                "attemptEnded",
                "callEnded",
            ]
        )
        #expect(
            inner.names == [
                "callStarted", "attemptStarted", "headReceived", "responseReceived", "attemptEnded", "callEnded",
            ]
        )
    }

    @Test func failuresAndCancellationsAreHeard() async throws {
        let events = EventRecorder()
        let clock = ManualClock()
        let network = MockTransport().delayed(by: .seconds(1)).observed(by: events).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await clock.waitForSleepers()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(events.names == ["callStarted", "waiting", "waited", "callFailed"])
        guard case .callFailed(is CancellationError)? = events.events.last else {
            Issue.record("\(String(describing: events.events.last))")
            return
        }
    }

    /// Every event has its method, with what it brings.
    @Test func aListenerHasAMethodForEachEvent() {
        let listener = AllEars()
        let request = HTTPRequestData.lawful
        let response = HTTPResponseData(request: request)
        let attempt = Attempt(number: 1, result: .success(response), elapsed: .zero)
        let events: [NetworkEvent] = [
            .callStarted, .callEnded(response), .callFailed(CancellationError()), .waiting(.slot, .seconds(1)),
            .waited(.slot, .seconds(2)), .attemptStarted, .readingBody, .bodyRead, .connecting, .connected,
            .headReceived(response.http), .connectionMeasured(ConnectionMetrics()), .attemptEnded(sent: 1, received: 2),
            .attemptFailed(CancellationError()), .redirected(to: request), .redirectRefused(.downgrade),
            .retrying(attempt), .retryRefused(.budget), .refreshingCredentials,
            .credentialsWithheld(NetworkEvent.WithheldCredentials(["Authorization"], reason: .otherServer)),
            .cacheHit(.stale), .cacheMissed, .cacheStored, .cacheEvicted(count: 3), .cacheRevalidated,
            .cacheBypassed(.method), .cacheFailed(CancellationError()), .shared, .timedOut(after: .seconds(4)),
            .deadlineExceeded(after: .seconds(5)), .note("hello"),
        ]
        for event in events {
            listener.observe(event, of: request)
        }
        #expect(listener.journal.entries.count == events.count)
        #expect(Set(listener.journal.entries).count == events.count)
        #expect(
            listener.journal.entries == events.map { "\("\($0)".prefix { $0 != "(" })" }
        )
        // And one that implements none does nothing.
        for event in events {
            NoEars().observe(event, of: request)
        }
    }

    /// What a listener names goes out with each exchange, another value each time, and is checked as the rest is.
    @Test func aListenerMayNameFieldsForEachExchange() async throws {
        struct Numbering: NetworkEventObserver {
            let journal = Journal()

            func observe(_ event: NetworkEvent, of request: HTTPRequestData) {}

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

    @Test func aSharedExchangeAsksOneOfThoseWhoListen() async throws {
        struct Naming: NetworkEventObserver {
            let name: String

            func observe(_ event: NetworkEvent, of request: HTTPRequestData) {}

            func headerFields(forAttempt request: HTTPRequestData) -> HTTPFields {
                [.requestID: name]
            }
        }

        let transport = MockTransport { _ in .ok() }
        let clock = ManualClock()
        let flights = Flights()
        let network = transport.delayed(by: .seconds(1)).deduplicated(sharing: flights)
            .environment(\.clock, .manual(clock))
        let first = Task { try await network.observed(by: Naming(name: "first")).data(.lawful) }
        try await clock.waitForSleepers()
        let second = Task { try await network.observed(by: Naming(name: "second")).data(.lawful) }
        try await eventually("flights.waiting >= 2") { flights.waiting >= 2 }
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

private struct NoEars: NetworkEventListener {}

/// Notes which method was called.
private struct AllEars: NetworkEventListener {
    let journal = Journal()

    func callStarted(_ request: HTTPRequestData) { journal.note("callStarted") }
    func callEnded(_ response: HTTPResponseData, _ request: HTTPRequestData) { journal.note("callEnded") }
    func callFailed(_ error: any Error, _ request: HTTPRequestData) { journal.note("callFailed") }
    func waiting(_ wait: NetworkEvent.Wait, upTo limit: Duration?, _ request: HTTPRequestData) {
        journal.note("waiting")
    }
    func waited(_ wait: NetworkEvent.Wait, _ duration: Duration, _ request: HTTPRequestData) { journal.note("waited") }
    func attemptStarted(_ request: HTTPRequestData) { journal.note("attemptStarted") }
    func readingBody(_ request: HTTPRequestData) { journal.note("readingBody") }
    func bodyRead(_ request: HTTPRequestData) { journal.note("bodyRead") }
    func connecting(_ request: HTTPRequestData) { journal.note("connecting") }
    func connected(_ request: HTTPRequestData) { journal.note("connected") }
    func headReceived(_ head: HTTPResponse, _ request: HTTPRequestData) { journal.note("headReceived") }
    func connectionMeasured(_ metrics: ConnectionMetrics, _ request: HTTPRequestData) {
        journal.note("connectionMeasured")
    }
    func attemptEnded(sent: Int64, received: Int64, _ request: HTTPRequestData) { journal.note("attemptEnded") }
    func attemptFailed(_ error: any Error, _ request: HTTPRequestData) { journal.note("attemptFailed") }
    func redirected(to next: HTTPRequestData, _ request: HTTPRequestData) { journal.note("redirected") }
    func redirectRefused(_ refusal: NetworkEvent.RedirectRefusal, _ request: HTTPRequestData) {
        journal.note("redirectRefused")
    }
    func retrying(_ attempt: Attempt, _ request: HTTPRequestData) { journal.note("retrying") }
    func retryRefused(_ refusal: RetryRefusal, _ request: HTTPRequestData) { journal.note("retryRefused") }
    func refreshingCredentials(_ request: HTTPRequestData) { journal.note("refreshingCredentials") }
    func credentialsWithheld(_ withheld: NetworkEvent.WithheldCredentials, _ request: HTTPRequestData) {
        journal.note("credentialsWithheld")
    }
    func cacheHit(_ hit: NetworkEvent.CacheHit, _ request: HTTPRequestData) { journal.note("cacheHit") }
    func cacheMissed(_ request: HTTPRequestData) { journal.note("cacheMissed") }
    func cacheStored(_ request: HTTPRequestData) { journal.note("cacheStored") }
    func cacheEvicted(count: Int, _ request: HTTPRequestData) { journal.note("cacheEvicted") }
    func cacheRevalidated(_ request: HTTPRequestData) { journal.note("cacheRevalidated") }
    func cacheBypassed(_ reason: CacheBypass, _ request: HTTPRequestData) { journal.note("cacheBypassed") }
    func cacheFailed(_ error: any Error, _ request: HTTPRequestData) { journal.note("cacheFailed") }
    func shared(_ request: HTTPRequestData) { journal.note("shared") }
    func timedOut(after limit: Duration, _ request: HTTPRequestData) { journal.note("timedOut") }
    func deadlineExceeded(after limit: Duration, _ request: HTTPRequestData) { journal.note("deadlineExceeded") }
    func note(_ text: String, _ request: HTTPRequestData) { journal.note("note") }
}
