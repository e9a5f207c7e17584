import Foundation
import Networking
import NetworkingTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20)))
struct NetworkingTransportTests {
    @Test func exchangeReportsItsEventsInOrder() async throws {
        let events = EventRecorder()
        let transport = MockTransport([.redirect(to: "/next"), .text("there")])

        try await transport.data(.lawful.with { $0.addObserver(events) })

        #expect(
            events.names == [
                "exchangeStarted", "headReceived", "responseReceived", "exchangeEnded", "redirected",
                "exchangeStarted", "headReceived", "responseReceived", "exchangeEnded",
            ]
        )
        #expect(events.requests.first?.path == "/check")
        #expect(events.requests.last?.path == "/next")
    }

    /// A transport that reports its upload progress, and loses its first connection after two bytes.
    private final class CountingTransport: NetworkingTransport {
        private let isFirst = Atomic(true)

        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            let isFirst = isFirst.exchange(false, ordering: .relaxed)
            for count in Int64(0)...(isFirst ? 2 : 1) {
                request.progressHandler?(TransferProgress(sent: BytesSent(count: count)))
            }
            if isFirst {
                var error = NetworkingError(.connectionLost, request: request)
                error.noResponseAfter = .seconds(1)
                throw error
            }
            return HTTPResponseData(request: request, status: .ok, data: Data("there".utf8))
        }
    }

    private func ends(_ events: EventRecorder) -> [String] {
        events.events.map { "\($0)" }.filter { $0.hasPrefix("exchangeEnded") }
    }

    private func upload(
        _ events: EventRecorder,
        _ handler: (@Sendable (TransferProgress) -> Void)? = nil
    ) -> HTTPRequestData {
        .lawful.with {
            $0.method = .put
            $0.body = .stream {
                AsyncStream { continuation in
                    continuation.yield(Data("12345".utf8))
                    continuation.yield(Data("67".utf8))
                    continuation.finish()
                }
            }
            $0.progressHandler = handler
            $0.addObserver(events)
        }
    }

    @Test func endOfAnExchangeCountsABodyOfUnknownLength() async throws {
        let events = EventRecorder()
        let counts = Mutex<[Int64]>([])
        let transport = MockTransport([.redirect(to: "/next", status: .temporaryRedirect), .text("there")])

        try await transport.data(upload(events) { progress in counts.withLock { $0.append(progress.sent.count) } })

        #expect(
            ends(events) == ["exchangeEnded(sent: 7, received: 0)", "exchangeEnded(sent: 7, received: 5)"]
        )
        // The caller's own handler receives the progress too.
        #expect(counts.withLock { $0.last } == 7)
    }

    @Test func endOfARepeatedExchangeCountsItsOwnBytes() async throws {
        let events = EventRecorder()

        try await CountingTransport().data(upload(events))

        #expect(ends(events) == ["exchangeEnded(sent: 1, received: 5)"])
    }

    // MARK: Kept connections that ended

    /// A transport that reuses connections, which end before some of the responses.
    private final class ClosingTransport: NetworkingTransport {
        let outcomes: Mutex<[Outcome]>

        enum Outcome {
            case closed
            case failed
            case response(Int)
        }

        init(_ outcomes: Outcome...) {
            self.outcomes = Mutex(outcomes)
        }

        func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
            switch outcomes.withLock({ $0.removeFirst() }) {
            case .response(let code): return HTTPResponseData(request: request, status: .init(code: code), data: Data())
            case .failed: throw NetworkingError(.tls, request: request)
            case .closed:
                var error = NetworkingError(.connectionLost, request: request)
                error.noResponseAfter = .seconds(1)
                throw error
            }
        }
    }

    @Test func repeatedExchangeOfTheTransportIsAnAttempt() async throws {
        let events = EventRecorder()
        let response = try await ClosingTransport(.closed, .closed, .response(200))
            .data(.lawful.with { $0.addObserver(events) })
        #expect(response.attempts.map(\.number) == [1, 2])
        #expect(response.attempts.allSatisfy { ($0.error as? NetworkingError)?.kind == .connectionLost })
        #expect(response.attempts.map(\.elapsed) == [.seconds(1), .seconds(1)])
        #expect(
            events.names == [
                "exchangeStarted", "exchangeFailed", "exchangeStarted", "exchangeFailed",
                "exchangeStarted", "responseReceived", "exchangeEnded",
            ]
        )
        #expect(Set(events.requests.map(\.exchangeNumber)).count == 3)
    }

    @Test func repetitionsOfTheTransportFollowThoseOfRetry() async throws {
        let response = try await ClosingTransport(.closed, .response(503), .closed, .response(200))
            .retry(.immediate())
            .data(.lawful)
        #expect(response.attempts.map(\.number) == [1, 2])
        #expect(response.attempts.map(\.response?.status) == [.serviceUnavailable, nil])
        #expect(response.attempts.first?.response?.attempts.count == 1)
    }

    @Test func repetitionsBeforeAFailureFollowTheAttemptsOfRetry() async throws {
        let network = ClosingTransport(.response(503), .closed, .failed).retry(.immediate())
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .tls)
        #expect(error?.attempts.map(\.number) == [1, 2])
        #expect(error?.attempts.map(\.response?.status) == [.serviceUnavailable, nil])
    }

    @Test func transportRepeatsNothingIfRetriesAreOff() async throws {
        let transport = ClosingTransport(.closed, .closed, .response(200))
        let error = await #expect(throws: NetworkingError.self) {
            try await transport.data(.lawful.with { $0.retryPolicy = .never })
        }
        #expect(error?.kind == .connectionLost)
        await #expect(throws: NetworkingError.self) {
            try await transport.environment(\.retries, .off).data(.lawful)
        }
        #expect(try await transport.data(.lawful).status == .ok)
    }

    @Test func repetitionsOfTheTransportAreLimited() async throws {
        let transport = ClosingTransport(.closed, .closed, .response(200))
        transport.outcomes.withLock { $0 = Array(repeating: .closed, count: 17) }
        let error = await #expect(throws: NetworkingError.self) { try await transport.data(.lawful) }
        #expect(error?.attempts.count == 16)
    }

    @Test func observersAreNotifiedInTheOrderOfAdding() async throws {
        let journal = Journal()
        let request = HTTPRequestData.lawful.with {
            $0.addObserver(Naming(name: "first", journal: journal))
            $0.addObserver(Naming(name: "second", journal: journal))
        }

        try await MockTransport { _ in .ok() }.data(request)

        #expect(journal.entries == Array(repeating: ["first", "second"], count: 4).flatMap(\.self))
    }

    @Test func observerOfAModifierGetsEventsOfItsOwnSendUpstreamOnly() async throws {
        let events = EventRecorder()
        let network = MockTransport { _ in .ok() }
            .modified(Observing(observer: events))
            .delayed(by: .seconds(1))
            .environment(\.clock, .immediate())

        let response = try await network.data(.lawful)
        #expect(events.names == ["exchangeStarted", "headReceived", "responseReceived", "exchangeEnded"])
        try await MockTransport { _ in .ok() }.data(response.sentRequest)

        #expect(events.names.count == 4)
    }

    @Test func eventIsNotCreatedWithoutAnObserver() {
        HTTPRequestData.lawful.emit(unwanted())

        func unwanted() -> any NetworkEvent {
            Issue.record("The event was made.")
            return ExchangeEvent.started
        }
    }

    @Test func hopsAreNotChangedByTheServerModifiers() async throws {
        let transport = MockTransport([.redirect(to: "/next"), .ok()])
        let network = transport.server(prefixPath: "v1").server(authority: "a.example")

        try await network.data(HTTPRequestData(path: "users"))

        #expect(transport.requests.map(\.path) == ["/v1/users", "/next"])
    }
}

// MARK: - Parts

private struct Naming: NetworkEventObserver {
    let name: String
    let journal: Journal

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        journal.note(name)
    }
}

private struct Observing: NetworkingModifier {
    let observer: EventRecorder

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        request.addObserver(observer)
        return try await upstream.send(request)
    }
}
