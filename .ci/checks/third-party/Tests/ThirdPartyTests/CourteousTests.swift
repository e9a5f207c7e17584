import Logging
import Networking
import NetworkingTesting
import Testing
import ThirdParty

@Suite(.timeLimit(.minutes(20)))
struct CourteousTests {
    @Test func keepsTheLaws() async throws {
        try await checkLaws(of: Courteous(pause: .zero))
    }

    @Test func reportsItsWaitToListeners() async throws {
        let clock = ManualClock()
        let recorder = EventRecorder()
        let transport = MockTransport { _ in .ok() }
        let network = transport.courteous(pausing: .seconds(2)).observed(by: recorder)
            .environment(\.clock, .manual(clock))
        async let response = network.data(.lawful)
        try await clock.advance(by: .seconds(2), afterSleepers: 1)
        _ = try await response
        let events = recorder.events.compactMap { $0 as? WaitEvent }.map(\.description)
        #expect(events == ["waiting(courtesy, 2.0 seconds)", "waited(courtesy, 2.0 seconds)"])
    }

    /// The line at the start of the wait contains its duration already.
    @Test func logHasNoLineForTheEndOfATimedWait() async throws {
        let log = LogRecorder()
        let network = MockTransport { _ in .ok() }.courteous(pausing: .seconds(2)).logged(using: log.logger(.trace))
            .environment(\.clock, .immediate())
        try await network.data(.lawful)
        let lines = log.messages.filter { $0.contains("courtesy") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("2.0 seconds") == true)
    }

    @Test func operationOfAWaitThrowsItsError() async throws {
        struct Refused: Error {}
        let recorder = EventRecorder()
        var observed = HTTPRequestData.lawful
        observed.addObserver(recorder)
        let request = observed
        await #expect(throws: Refused.self) {
            try await request.waiting(.courtesy, upTo: .seconds(9)) { throw Refused() }
        }
        let events = recorder.events.compactMap { $0 as? WaitEvent }
        #expect(events.first?.description == "waiting(courtesy, 9.0 seconds)")
        #expect(events.count == 2)
        #expect(Wait.courtesy.isTimed)
        #expect(!Wait("confirmation").isTimed)
    }
}
