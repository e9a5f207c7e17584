import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import Testing

@testable import NetworkingCore

@Suite(.timeLimit(.minutes(20)))
struct NetworkEventTests {
    @Test func exchangeReportsItsEvents() async throws {
        let log = EventLog()
        var request = HTTPRequestData(authority: "example.com")
        request.addObserver(log)
        try await MockTransport { _ in .text("12345") }.data(request)
        #expect(log.lines == ["started GET https://example.com/", "head 200", "all of 5", "ended 5"])
    }

    @Test func redirectReportsEachHop() async throws {
        let log = EventLog()
        var request = HTTPRequestData(authority: "example.com", path: "a")
        request.addObserver(log)
        try await MockTransport([.redirect(to: "/b"), .text("12345")]).data(request)
        #expect(
            log.lines == [
                "started GET https://example.com/a", "head 302", "all of 0", "ended 0",
                "redirected GET https://example.com/b", "started GET https://example.com/b", "head 200", "all of 5",
                "ended 5",
            ]
        )
    }

    @Test func failedAttemptReportsItsEnd() async {
        let log = EventLog()
        var request = HTTPRequestData(authority: "example.com")
        request.addObserver(log)
        _ = try? await MockTransport([.failure(URLError(.timedOut))]).data(request)
        #expect(log.lines.first == "started GET https://example.com/")
        #expect(log.lines.count == 2)
    }

    @Test func observersAreNotifiedInOrder() {
        let one = EventLog()
        let other = EventLog()
        var request = HTTPRequestData(path: "a")
        request.addObserver(one)
        var copy = request
        copy.addObserver(other)
        copy.emit(ExchangeEvent.started)
        request.emit(ExchangeEvent.ended(sent: 0, received: 1))
        #expect(one.lines == ["started GET /a", "ended 1"])
        #expect(other.lines == ["started GET /a"])
    }

    @Test func eventIsNotCreatedWithoutAnObserver() {
        let made = Mutex(false)
        HTTPRequestData()
            .emit(
                {
                    made.withLock { $0 = true }
                    return ExchangeEvent.started
                }()
            )
        #expect(!made.withLock { $0 })
    }

    /// The listener of a trace names header fields and needs no events.
    @Test func eventIsNotCreatedForAListenerThatNeedsNone() async throws {
        let transport = Reporting()
        let request = HTTPRequestData(authority: "example.com")
        let response = try await transport.traced().data(request)
        #expect(transport.made.withLock { $0 } == 0)
        #expect(response.sentRequest.headerFields.contains(.traceParent))

        var observed = request
        observed.addObserver(EventLog())
        try await transport.traced().data(observed)
        #expect(transport.made.withLock { $0 } == 1)
    }

    @Test func backgroundWorkHasNoListener() {
        struct Naming: NetworkEventObserver {
            var observesEvents: Bool { false }
            func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {}
        }
        var request = HTTPRequestData(path: "a")
        request.addObserver(Naming())
        #expect(request.hasObservers && !request.isObserved)
        #expect(!request.inBackground.hasObservers)
    }

    @Test func equalityIgnoresObservers() {
        let request = HTTPRequestData(path: "a")
        var other = request
        other.addObserver(EventLog())
        #expect(other == request)
    }

    @Test func descriptionsContainNoSecret() {
        let head = HTTPResponse(status: .ok, headerFields: [.setCookie: "session=hunter2"])
        let request = HTTPRequestData(path: "a?token=hunter2", headerFields: [.authorization: "hunter2"])
        #expect(!everyPrint(of: ExchangeEvent.headReceived(head)).contains("hunter2"))
        #expect(!everyPrint(of: RedirectEvent.redirected(to: request)).contains("hunter2"))
    }
}

/// Counts the events that it creates.
private final class Reporting: NetworkingTransport {
    let made = Mutex(0)

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        request.emit(
            {
                made.withLock { $0 += 1 }
                return ExchangeEvent.started
            }()
        )
        return HTTPResponseData(request: request)
    }
}

/// Records the events that it receives.
private final class EventLog: NetworkEventObserver {
    private let state = Mutex<[String]>([])

    var lines: [String] {
        state.withLock { $0 }
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        let line =
            switch event {
            case ExchangeEvent.started: "started \(request)"
            case ExchangeEvent.headReceived(let head): "head \(head.status.code)"
            case ExchangeEvent.responseReceived(let response): "all of \(response.body.count)"
            case ExchangeEvent.ended(_, let received): "ended \(received)"
            case ExchangeEvent.failed: "failed"
            case RedirectEvent.redirected(let next): "redirected \(next)"
            default: "\(event)"
            }
        state.withLock { $0.append(line) }
    }
}
