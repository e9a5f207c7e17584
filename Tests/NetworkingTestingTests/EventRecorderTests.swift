import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct EventRecorderTests {
    private let events = EventRecorder()

    @Test func recordsUpstreamEvents() async throws {
        let network = MockTransport([.status(.serviceUnavailable), .ok()]).observed(by: events).retry()
            .environment(\.clock, .immediate())

        try await network.data(.lawful)

        #expect(events.names.filter { $0 == "exchangeStarted" }.count == 2)
        // The retry is outside, so its events are not recorded.
        #expect(!events.names.contains("retrying"))
        #expect(events.requests.count == events.events.count)
        #expect(Set(events.requests.map { "\($0)" }) == ["GET https://laws.example/check"])
    }

    @Test func namesOmitAssociatedValues() {
        events.observe(ExchangeEvent.started, of: .lawful)
        events.observe(ExchangeEvent.headReceived(HTTPResponse(status: .ok)), of: .lawful)

        #expect(events.names == ["exchangeStarted", "headReceived"])
    }

    @Test func ignoresEventsOfOtherStacks() async throws {
        let network = MockTransport { _ in .ok() }
        try await network.data(.lawful)
        try await network.observed(by: EventRecorder()).data(.lawful)

        #expect(events.events.isEmpty)
    }
}
