import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience

/// The limit of a server, and the requests that wait for it.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct AdaptiveLimitTests {
    private let clock = ManualClock()
    private let limiter = AdaptiveLimiter()

    private func network(_ transport: MockTransport, maximumWait: Duration? = nil) -> some NetworkingComponent {
        transport.adaptiveLimit(by: limiter, maximumWait: maximumWait).environment(\.clock, .manual(clock))
    }

    private var limit: Int {
        limiter.limit(of: "laws.example")
    }

    private func sends(
        _ numbers: ClosedRange<Int>,
        _ priority: RequestPriority = .normal,
        over network: some NetworkingComponent
    ) -> [Task<HTTPResponseData, any Error>] {
        numbers.map { number in
            Task { try await network.data(.lawful("/\(number)").with { $0.priority = priority }) }
        }
    }

    // MARK: The state machine

    private func gradient(start: Int = 6) -> Gradient {
        Gradient(in: 1...200, start: start, jitter: 0.5, at: .zero)
    }

    /// Adds the latencies of a window, with as many requests in flight as the limit allows.
    private func addWindow(_ latency: Int, _ gradient: inout Gradient, at now: inout Duration) {
        for _ in 1...25 {
            while gradient.inFlight < gradient.allowed { gradient.begin() }
            while gradient.inFlight > gradient.allowed { gradient.end() }
            now += .milliseconds(4)
            gradient.add(.latency(.milliseconds(latency)), sentWith: gradient.inFlight, at: now)
        }
        now += .milliseconds(4)
    }

    @Test func limitGrowsWhileTheLatencyIsThatWithoutLoad() {
        var gradient = gradient()
        var now = Duration.zero
        for _ in 1...3 { addWindow(10, &gradient, at: &now) }
        #expect(gradient.baseline == .milliseconds(10))
        #expect(gradient.limit > 10)
        // 1.25 × 10 / 25 is a half.
        let before = gradient.limit
        addWindow(25, &gradient, at: &now)
        #expect(abs(gradient.limit - (before / 2 + (before / 2).squareRoot())) < 1e-9)
    }

    @Test func limitOfAClientThatDoesNotUseItDoesNotGrow() {
        var gradient = gradient(start: 20)
        var now = Duration.zero
        for _ in 1...100 {
            now += .milliseconds(10)
            gradient.begin()
            gradient.add(.latency(.milliseconds(10)), sentWith: gradient.inFlight, at: now)
            gradient.end()
        }
        // At most five times as many as were in flight.
        #expect(gradient.limit == 5)
    }

    @Test func dropsLowerTheLimitOncePerWindow() {
        var gradient = gradient(start: 20)
        var now = Duration.zero
        for _ in 1...20 { gradient.begin() }
        for _ in 1...24 {
            now += .milliseconds(5)
            gradient.add(.drop, sentWith: 20, at: now)
        }
        #expect(gradient.limit == 18)
        now += .milliseconds(5)
        // The 25th result ends the window.
        gradient.add(.drop, sentWith: 20, at: now)
        #expect(gradient.limit == 18)
        gradient.add(.drop, sentWith: 20, at: now)
        #expect(abs(gradient.limit - 16.2) < 1e-9)
        for _ in 1...10_000 {
            now += .milliseconds(5)
            gradient.add(.drop, sentWith: 20, at: now)
        }
        #expect(gradient.limit == 1)
        #expect(gradient.allowed == 1)
    }

    @Test func baselineIsMeasuredAgainWithThreeRequestsInFlight() {
        var gradient = gradient()
        var now = Duration.zero
        while now < .seconds(59) { addWindow(10, &gradient, at: &now) }
        #expect(gradient.allowed > 3)
        now = .seconds(61)
        gradient.advance(to: now)
        #expect(gradient.allowed == 3)
        let limit = gradient.limit
        // Requests from before the measurement do not count.
        for _ in 1...100 { gradient.add(.latency(.milliseconds(50)), sentWith: 60, at: now) }
        #expect(gradient.baseline == .milliseconds(10))
        #expect(gradient.allowed == 3)
        for _ in 1...25 { gradient.add(.latency(.milliseconds(20)), sentWith: 3, at: now) }
        #expect(gradient.baseline == .milliseconds(20))
        #expect(gradient.limit == limit)
        #expect(gradient.allowed == Int(limit))
    }

    @Test func measurementEndsAfterASecondWithoutEnoughSamples() {
        var gradient = gradient()
        var now = Duration.zero
        while now < .seconds(59) { addWindow(10, &gradient, at: &now) }
        now = .seconds(61)
        gradient.advance(to: now)
        #expect(gradient.allowed == 3)
        gradient.advance(to: now + .milliseconds(999))
        #expect(gradient.allowed == 3)
        gradient.advance(to: now + .seconds(1))
        #expect(gradient.allowed > 3)
        #expect(gradient.baseline == .milliseconds(10))
    }

    // MARK: Requests

    @Test func requestsBeyondTheLimitWaitAndOthersAreRefused() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let network = network(transport)
        var calls = sends(1...6, over: network)
        try await held.waitForRequests(6)
        let waiting = sends(7...12, over: network)
        try await eventually("six wait") { limiter.waiting == 6 }
        #expect(limiter.inFlight == 6)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful("/13")) }
        #expect(error?.kind == .rejected)
        calls += waiting
        held.respond()
        for call in calls { _ = try await call.value }
        #expect(transport.requests.count == 12)
        #expect(limiter.inFlight == 0)
        #expect(limiter.waiting == 0)
    }

    @Test func lowestPriorityIsShedFirst() async throws {
        let held = HeldResponse()
        let network = network(MockTransport { _ in .held(by: held) })
        let calls = sends(1...6, over: network)
        try await held.waitForRequests(6)
        let low = sends(7...7, .low, over: network)
        try await eventually("one waits") { limiter.waiting == 1 }
        let normal = sends(8...12, over: network)
        try await eventually("six wait") { limiter.waiting == 6 }
        let high = sends(13...13, .high, over: network)
        let error = await #expect(throws: NetworkingError.self) { try await low[0].value }
        #expect(error?.kind == .rejected)
        #expect(limiter.waiting == 6)
        for call in calls + normal + high { call.cancel() }
        for call in calls + normal + high { _ = await call.result }
        #expect(limiter.inFlight == 0)
        #expect(limiter.waiting == 0)
    }

    @Test func cancelledCallerLeavesTheQueue() async throws {
        let held = HeldResponse()
        let network = network(MockTransport { _ in .held(by: held) })
        let calls = sends(1...6, over: network)
        try await held.waitForRequests(6)
        let waiting = sends(7...7, over: network)[0]
        try await eventually("one waits") { limiter.waiting == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(limiter.waiting == 0)
        #expect(limiter.inFlight == 6)
        held.respond()
        for call in calls { _ = try await call.value }
        #expect(limiter.inFlight == 0)
    }

    @Test func waitEndsAfterItsMaximum() async throws {
        let held = HeldResponse()
        let network = network(MockTransport { _ in .held(by: held) }, maximumWait: .seconds(1))
        let calls = sends(1...6, over: network)
        try await held.waitForRequests(6)
        let waiting = sends(7...7, over: network)[0]
        try await eventually("one waits") { limiter.waiting == 1 }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: NetworkingError.self) { try await waiting.value }
        #expect(error?.kind == .rejected)
        #expect(limiter.waiting == 0)
        for call in calls { call.cancel() }
        for call in calls { _ = await call.result }
    }

    @Test(arguments: [MockResponse.status(503), .status(429), .failure(.timeout), .failure(.connectionLost)])
    func dropsOfTheServerLowerTheLimit(response: MockResponse) async {
        let network = network(MockTransport { _ in response })
        _ = try? await network.data(.lawful)
        #expect(limit == 5)
        #expect(limiter.inFlight == 0)
    }

    @Test(arguments: [MockResponse.status(404), .status(500), .failure(.tls), .ok()])
    func otherResultsDoNot(response: MockResponse) async {
        let network = network(MockTransport { _ in response })
        _ = try? await network.data(.lawful)
        #expect(limit == 6)
        #expect(limiter.inFlight == 0)
    }

    @Test func sinkHoldsItsPermitUntilItsBodyHasArrived() async throws {
        let gate = MockGate()
        let transport = MockTransport { _ in .chunks(["a", .wait(for: gate), "b"]) }
        let network = network(transport)
        let request = HTTPRequestData.lawful.with { $0.sink = CollectingSink() }
        let download = Task { try await network.data(request) }
        try await transport.waitForChunks(1)
        #expect(limiter.inFlight == 1)
        gate.open()
        _ = try await download.value
        #expect(limiter.inFlight == 0)
    }

    @Test func eachServerHasItsOwnLimitAndTheirNumberIsBounded() async {
        let network = network(MockTransport { _ in .status(503) })
        for number in 1...1_000 {
            _ = try? await network.data(HTTPRequestData(scheme: "https", authority: "\(number).example", path: "/"))
        }
        #expect(limit == 6)
        #expect(limiter.limit(of: "1000.example") == 5)
        #expect(limiter.limit(of: "1.example") == 6)
    }

    @Test func listenersHearOfChanges() async {
        let events = EventRecorder()
        let network = network(MockTransport { _ in .status(503) }).observed(by: events)
        _ = try? await network.data(.lawful)
        #expect("\(events.events)".contains("limitChanged(5)"))
    }

    @Test func wrongPlacesAreReported() {
        let transport = MockTransport()
        func reports(_ network: some NetworkingComponent) -> [String] {
            network.diagnostics.map(\.message).filter { $0.hasPrefix("adaptiveLimit") }
        }
        #expect(reports(transport.retry().adaptiveLimit()).count == 1)
        #expect(reports(transport.cached().adaptiveLimit()).count == 1)
        #expect(reports(transport.adaptiveLimit().timeout(.seconds(1))).count == 1)
        #expect(reports(transport.adaptiveLimit(by: limiter).adaptiveLimit(by: limiter)).count == 1)
        let right = transport.timeout(.seconds(10)).adaptiveLimit().circuitBreaker().retry().cached()
        #expect(right.diagnostics.isEmpty)
    }
}
