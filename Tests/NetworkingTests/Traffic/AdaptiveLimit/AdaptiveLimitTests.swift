import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// The limit of a server, and the requests that wait for it.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
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

    @Test(arguments: [(0.0, 51), (0.5, 60), (1.0, 69)])
    func timeOfABaselineVariesByFifteenPercent(jitter: Double, seconds: Int) {
        var gradient = Gradient(in: 1...200, start: 6, jitter: jitter, at: .zero)
        for _ in 1...25 { gradient.add(.latency(.milliseconds(10)), sentWith: 1, at: .zero) }
        #expect(gradient.baseline == .milliseconds(10))
        gradient.advance(to: .seconds(seconds) - .milliseconds(1))
        #expect(gradient.holdTime(at: .zero) == nil)
        gradient.advance(to: .seconds(seconds))
        #expect(gradient.holdTime(at: .seconds(seconds)) == .seconds(1))
    }

    @Test func limitStaysWithinItsRange() {
        var gradient = gradient()
        var now = Duration.zero
        while now < .seconds(30) { addWindow(10, &gradient, at: &now) }
        #expect(gradient.limit == 200)
        for _ in 1...8 { addWindow(10_000, &gradient, at: &now) }
        #expect((4...7).contains(gradient.limit))
        // With so few requests, this is the latency without load.
        for _ in 1...100 { addWindow(10_000, &gradient, at: &now) }
        #expect(gradient.limit == 200)
    }

    @Test func latencyOfAClockThatJumpsIsNoBaseline() {
        var gradient = gradient()
        for _ in 1...25 {
            gradient.add(.latency(.seconds(-5)), sentWith: 1, at: .milliseconds(200))
        }
        #expect(gradient.baseline == nil)
        #expect(gradient.limit.isFinite && gradient.limit >= 1)
    }

    @Test func fewRequestsOfAWindowAreMeasured() {
        var gradient = gradient()
        var now = Duration.zero
        func measured(_ count: Int) -> Int {
            (1...count).count { _ in gradient.measuresNext(at: now) }
        }
        #expect(measured(1_000) == 50)
        // Those of the window have given no results.
        now = .seconds(1)
        #expect(measured(10) == 10)
        for _ in 1...25 { gradient.add(.latency(.milliseconds(10)), sentWith: 1, at: now) }
        #expect(measured(1_000) == 50)
        now = .seconds(62)
        gradient.advance(to: now)
        #expect(gradient.holdTime(at: now) != nil)
        #expect(measured(100) == 100)
    }

    // MARK: Requests

    /// Makes calls one after the other, with a latency of 10 ms.
    private func measureBaseline(over transport: MockTransport) async throws {
        let network = network(transport)
        transport.on(.get, "/baseline", .ok().delayed(by: .milliseconds(10)))
        for _ in 1...25 {
            let call = Task { try await network.data(.lawful("/baseline")) }
            try await clock.waitForSleepers()
            clock.advance(by: .milliseconds(10))
            _ = try await call.value
        }
        #expect(limiter.baseline(of: "laws.example") == .milliseconds(10))
    }

    @Test(arguments: [false, true])
    func latencyIsTheTimeToTheHead(hasSink: Bool) async throws {
        let transport = MockTransport()
        let network = network(transport)
        for number in 1...25 {
            let gate = MockGate()
            transport.on(.get, "/\(number)", .chunks(["a", .wait(for: gate), "b"]).delayed(by: .milliseconds(10)))
            let request = HTTPRequestData.lawful("/\(number)").with { $0.sink = hasSink ? CollectingSink() : nil }
            let call = Task { try await network.data(request) }
            try await clock.waitForSleepers()
            clock.advance(by: .milliseconds(10))
            try await transport.waitForChunks(2 * number - 1)
            clock.advance(by: .seconds(3))
            gate.open()
            _ = try await call.value
        }
        #expect(limiter.baseline(of: "laws.example") == .milliseconds(10))
    }

    @Test func waitingRequestsAreSentWhenTheMeasurementIsOver() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        try await measureBaseline(over: transport)
        let limit = limit
        #expect(limit > 3)
        clock.advance(by: .seconds(70))
        let calls = sends(1...4, over: network(transport))
        try await held.waitForRequests(3)
        try await eventually("one waits") { limiter.waiting == 1 }
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(999))
        #expect(limiter.waiting == 1)
        clock.advance(by: .milliseconds(1))
        try await held.waitForRequests(4)
        held.respond()
        for call in calls { _ = try await call.value }
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))
        #expect(clock.sleepers == 0)
    }

    @Test func earlyAlarmOfAMeasurementIsRepeated() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        try await measureBaseline(over: transport)
        clock.advance(by: .seconds(70))
        let calls = sends(1...3, over: network(transport))
        defer { for call in calls { call.cancel() } }
        try await held.waitForRequests(3)
        let (key, clock) = ("laws.example", NetworkClock.manual(clock))
        let admission = limiter.admit(key, .normal, mayWait: true, jitter: { 0.5 }, on: clock)
        guard case .waits(let place, _, _?) = admission else {
            Issue.record("\(admission as Any)")
            return
        }
        limiter.serveAfterHold(key, on: clock)
        #expect(place.wait.isPending)
        self.clock.advance(by: .seconds(1))
        #expect(!place.wait.isPending)
    }

    @Test func extraAttemptDoesNotWait() async throws {
        let held = HeldResponse()
        let network = network(MockTransport { _ in .held(by: held) })
        let calls = sends(1...6, over: network)
        try await held.waitForRequests(6)
        let error = await #expect(throws: NetworkingError.self) {
            try await network.data(.lawful("/7").with { $0.waitsForPermits = false })
        }
        #expect(error?.kind == .rejected)
        #expect(limiter.waiting == 0)
        held.respond()
        for call in calls { _ = try await call.value }
    }

    @Test func waitingRequestsAreSentByPriorityAndInTheOrderOfArrival() async throws {
        let limiter = AdaptiveLimiter(in: 5...5, start: 5)
        let helds = (0...9).map { _ in HeldResponse() }
        let transport = MockTransport()
        for (number, held) in helds.enumerated() { transport.on(.get, "/\(number)", .held(by: held)) }
        let network = transport.adaptiveLimit(by: limiter).environment(\.clock, .manual(clock))
        var calls = sends(0...4, over: network)
        for held in helds[0...4] { try await held.waitForRequests() }
        for (number, priority) in [(5, RequestPriority.low), (6, .normal), (7, .normal), (8, .high), (9, .high)] {
            calls += sends(number...number, priority, over: network)
            try await eventually("it waits") { limiter.waiting == number - 4 }
        }
        for (ended, next) in zip(0...4, [8, 9, 6, 7, 5]) {
            helds[ended].respond()
            try await helds[next].waitForRequests()
            #expect(limiter.inFlight == 5)
        }
        for held in helds[5...9] { held.respond() }
        for call in calls { _ = try await call.value }
        #expect((limiter.inFlight, limiter.waiting) == (0, 0))
    }

    @Test func cancelledRequestsAndDeadlinesLeaveTheLimit() async throws {
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let network = network(transport)
        for number in 1...3 {
            let call = sends(number...number, over: network)[0]
            try await held.waitForRequests(number)
            call.cancel()
            _ = await call.result
        }
        let late = Task {
            try await network.deadline(.seconds(1)).environment(\.clock, .manual(clock)).data(.lawful("/late"))
        }
        try await held.waitForRequests(4)
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: NetworkingError.self) { try await late.value }
        #expect(error?.kind == .deadline)
        #expect(limit == 6)
        #expect(limiter.inFlight == 0)
    }

    @Test func cachedResponseNeedsNoPermit() async throws {
        let limiter = AdaptiveLimiter(in: 1...1, start: 1)
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        transport.on(.get, "/cached", .ok(headerFields: [.cacheControl: "max-age=60"]))
        let network = transport.adaptiveLimit(by: limiter).cached().environment(\.clock, .manual(clock))
        try await network.data(.lawful("/cached"))
        let busy = sends(1...1, over: network)[0]
        try await held.waitForRequests()
        try await network.data(.lawful("/cached"))
        #expect(limiter.inFlight == 1)
        held.respond()
        _ = try await busy.value
    }

    @Test func errorOfTheAppLowersTheLimitByItsResponse() async {
        struct Problem: Error, Decodable {}
        let transport = MockTransport { _ in .json(text: "{}", status: .tooManyRequests) }
        let network = network(transport)
        let checked = transport.checkedStatusCode(as: Problem.self).adaptiveLimit(by: limiter)
        await #expect(throws: Problem.self) { try await checked.data(.lawful) }
        #expect(limit == 5)
        _ = network
    }

    @Test func stacksWithDifferentClocksShareTheLimits() async throws {
        let late = ManualClock()
        late.advance(by: .seconds(1_000))
        let transport = MockTransport()
        try await measureBaseline(over: transport)
        let other = transport.adaptiveLimit(by: limiter).environment(\.clock, .manual(late))
        let call = Task { try await other.data(.lawful("/baseline")) }
        try await late.waitForSleepers()
        late.advance(by: .milliseconds(10))
        _ = try await call.value
        #expect(limiter.baseline(of: "laws.example") == .milliseconds(10))
        #expect(limiter.inFlight == 0)
    }

    @Test func requestsToFurtherServersPassWhileAllAreBusy() {
        let clock = NetworkClock.manual(clock)
        for number in 0..<300 {
            let admission = limiter.admit("\(number)", .normal, mayWait: true, jitter: { 0 }, on: clock)
            #expect((admission == nil) == (number >= 256))
        }
        #expect(limiter.inFlight == 256)
        limiter.giveBack("7", on: clock)
        #expect(limiter.admit("new", .normal, mayWait: true, jitter: { 0 }, on: clock) != nil)
    }

    /// Many tasks at once, with cancelled callers, drops, displaced requests and measurements.
    @Test func tasksShareALimiter() async throws {
        let hammer = Hammer()
        let limiter = AdaptiveLimiter(in: 1...8, start: 4)
        let time = clock
        let transport = MockTransport { request in
            (request.path?.hashValue ?? 0) % 7 == 0 ? .status(503) : .ok()
        }
        let network = transport.adaptiveLimit(by: limiter, maximumWait: .seconds(5))
            .environment(\.clock, .manual(time))
        await hammer.run(tasks: 64, rounds: 40) { random, task, round in
            let priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
            let request = HTTPRequestData.lawful("/\(task)-\(round)").with { $0.priority = priority }
            let call = Task { try await network.data(request) }
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                await random.yield(upTo: 3)
                call.cancel()
            case 1: time.advance(by: .milliseconds(Int.random(in: 0...3_000, using: &random)))
            default: break
            }
            _ = await call.result
        }
        #expect((limiter.inFlight, limiter.waiting) == (0, 0), "\(hammer)")
        #expect((1...8).contains(limiter.limit(of: "laws.example")), "\(hammer)")
        try await network.data(.lawful)
    }

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
        #expect(error?.request.path == "/7")
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

    @Test func waitEndsIfTheClockMovesWhileItBegins() async throws {
        let clock = MovingClock()
        let held = HeldResponse()
        let network = MockTransport { _ in .held(by: held) }.adaptiveLimit(by: limiter, maximumWait: .seconds(1))
            .environment(\.clock, NetworkClock(clock))
        let calls = sends(1...6, over: network)
        defer { for call in calls { call.cancel() } }
        try await held.waitForRequests(6)
        clock.move(by: .seconds(1)) { [limiter] in limiter.waiting == 1 }
        let isRejected = Locked(false)
        let call = Task {
            do {
                try await network.data(.lawful)
            } catch let error as NetworkingError where error.kind == .rejected {
                isRejected.withLock { $0 = true }
            }
        }
        defer { call.cancel() }
        try await eventually("the call waits or ends") { limiter.waiting == 1 || isRejected.withLock { $0 } }
        clock.moveNow()
        try await eventually("the wait ends") { isRejected.withLock { $0 } }
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

    @Test func listenersAreNotifiedOfChanges() async {
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
        let wrong: [(String, [String])] = [
            ("outside retry", reports(transport.retry().adaptiveLimit())),
            ("outside cached", reports(transport.cached().adaptiveLimit())),
            ("outside deduplicated", reports(transport.deduplicated().adaptiveLimit())),
            ("inside timeout", reports(transport.adaptiveLimit().timeout(.seconds(1)))),
            ("the same limiter", reports(transport.adaptiveLimit(by: limiter).adaptiveLimit(by: limiter))),
        ]
        for (text, reports) in wrong {
            #expect(reports.count == 1)
            #expect(reports.first?.contains(text) == true)
        }
        let right = transport.timeout(.seconds(10)).adaptiveLimit().circuitBreaker().retry().cached()
        #expect(right.diagnostics.isEmpty)
    }
}
