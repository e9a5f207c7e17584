import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct DelayedTests {
    private let clock = ManualClock()

    @Test func nothingIsSentBeforeTheWaitIsOver() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.delayed(by: .seconds(3)).environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }

        try await clock.advance(by: .milliseconds(2_999), afterSleepers: 1)
        #expect(clock.sleepers == 1)
        #expect(transport.requests.isEmpty)
        clock.advance(by: .milliseconds(1))

        #expect(try await call.value.status == .ok)
        #expect(transport.requests.count == 1)
    }

    /// The ancestor library measured the time before it waited, so it did not report the three seconds.
    @Test func delayIsPartOfTheLoggedDuration() async throws {
        let log = LogRecorder()
        let network = MockTransport { _ in .ok() }.delayed(by: .seconds(3)).logged(using: log.logger())
            .environment(\.clock, .immediate())

        try await network.data(.lawful)

        #expect(log.messages.last == "← 200 OK GET https://laws.example/check, 0 bytes in 3000.0 ms")
    }

    @Test func delaysAddUp() async throws {
        let network = MockTransport { _ in .ok(Data("\(NetworkEnvironment.current.clock.now)".utf8)) }
            .delayed(by: .seconds(1)).delayed(by: .seconds(2)).environment(\.clock, .immediate())

        #expect(try await network.data(.lawful).data == Data("3.0 seconds".utf8))
    }

    @Test func delayOfZeroDoesNotWait() async throws {
        let events = EventRecorder()
        let request = HTTPRequestData.lawful.with { $0.addObserver(events) }
        let network = MockTransport { _ in .ok() }.delayed(by: .zero).environment(\.clock, .manual(clock))

        try await network.data(request)

        #expect(!events.names.contains("waiting"))
    }

    /// The ancestor library sent the request after the cancellation.
    @Test func callerThatIsCancelledDuringTheDelaySendsNothing() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.delayed(by: .seconds(3)).environment(\.clock, .manual(clock))
        try await expectCancelledWaitSendsNothing(network, over: transport, clock)
    }

    @Test func waitIsAnEvent() async throws {
        let events = EventRecorder()
        let request = HTTPRequestData.lawful.with { $0.addObserver(events) }
        let network = MockTransport { _ in .ok() }.delayed(by: .seconds(3)).environment(\.clock, .immediate())

        try await network.data(request)

        guard case WaitEvent.waiting(.delay, .seconds(3))? = events.events.first else {
            Issue.record("The first event is \(events.names)")
            return
        }
    }
}
