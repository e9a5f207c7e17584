import Foundation
import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct NetworkingTransportTests {
    @Test func exchangeTellsWhatHappensInOrder() async throws {
        let events = EventRecorder()
        let transport = MockTransport([.redirect(to: "/next"), .text("there")])

        try await transport.data(.lawful.with { $0.addObserver(events) })

        #expect(
            events.names == [
                "attemptStarted", "headReceived", "responseReceived", "attemptEnded", "redirected",
                "attemptStarted", "headReceived", "responseReceived", "attemptEnded",
            ]
        )
        #expect(events.requests.first?.path == "/check")
        #expect(events.requests.last?.path == "/next")
    }

    @Test func everyObserverHearsInTheOrderOfAdding() async throws {
        let journal = Journal()
        let request = HTTPRequestData.lawful.with {
            $0.addObserver(Naming(name: "first", journal: journal))
            $0.addObserver(Naming(name: "second", journal: journal))
        }

        try await MockTransport { _ in .ok() }.data(request)

        #expect(journal.entries == Array(repeating: ["first", "second"], count: 4).flatMap(\.self))
    }

    @Test func observerOfAModifierHearsOfThatSendAloneAndOnlyUpstream() async throws {
        let events = EventRecorder()
        let network = MockTransport { _ in .ok() }
            .modified(Observing(observer: events))
            .delayed(by: .seconds(1))
            .environment(\.clock, .immediate())

        let response = try await network.data(.lawful)
        #expect(events.names == ["attemptStarted", "headReceived", "responseReceived", "attemptEnded"])
        try await MockTransport { _ in .ok() }.data(response.sentRequest)

        #expect(events.names.count == 4)
    }

    @Test func eventIsNotMadeWhenNobodyListens() {
        HTTPRequestData.lawful.emit(unwanted())

        func unwanted() -> NetworkEvent {
            Issue.record("The event was made.")
            return .attemptStarted
        }
    }

    @Test func hopsPassTheServerModifiersUntouched() async throws {
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

    func observe(_ event: NetworkEvent, of request: HTTPRequestData) {
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
