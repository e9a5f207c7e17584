import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct AdaptiveRateLimiterTests {
    private let clock = ManualClock()
    private let limiter = AdaptiveRateLimiter()
    private let id = HTTPRequestData.lawful.id
    private let held = HTTPRequestData(scheme: "https", authority: "laws.example", path: "held")

    private func network(_ transport: MockTransport, maximumWait: Duration? = nil) -> some NetworkingComponent {
        transport.rateLimited(by: limiter, maximumWait: maximumWait).environment(\.clock, .manual(clock))
    }

    // MARK: The formulas

    /// The figures are those of a program with botocore's formulas.
    @Test func rateFollowsTheFormulas() throws {
        var gate = AdaptiveRateGate()
        // The tickets are of requests that were sent before the first refusal.
        var before = AdaptiveRateGate()
        func respond(_ report: AdaptiveRateGate.Report, at seconds: Double) throws {
            let ticket = before.pass(id, at: .zero)
            gate.end(try #require(ticket), with: report, at: .seconds(seconds))
        }
        for number in 1...40 { try respond(.accepted, at: Double(number) / 10) }
        #expect(gate.rate == nil)
        try respond(.throttled, at: 4.1)
        var rates = [gate.rate]
        for number in 1...30 {
            try respond(.accepted, at: 4.1 + Double(number) / 5)
            if number % 5 == 0 { rates.append(gate.rate) }
        }
        for time in [10.3, 10.4] {
            try respond(.throttled, at: time)
            rates.append(gate.rate)
        }
        let expected = [6.99998, 9.64891, 10.00001, 10.45326, 11.33340, 11.33334, 11.33333, 3.96667, 2.77667]
        try #require(rates.count == expected.count)
        for (rate, expected) in zip(rates, expected) {
            #expect(abs((rate ?? 0) - expected) < 1e-4, "\(rates)")
        }
    }

    @Test func tokensAreTakenOnlyByRequestsThatPass() throws {
        var gate = try limitedGate()
        #expect(gate.rate == 0.5)
        #expect(gate.pass(id, at: .zero) == nil)
        #expect(gate.wait(behind: 0, at: .zero) == .seconds(2))
        for _ in 0..<100 { #expect(gate.pass(id, at: .seconds(1.9)) == nil) }
        let passed = gate.pass(id, at: .seconds(2))
        let ticket = try #require(passed)
        #expect(gate.wait(behind: 0, at: .seconds(2)).map { abs($0 / .seconds(1) - 2) < 1e-6 } == true)
        gate.refund(ticket)
        #expect(gate.wait(behind: 0, at: .seconds(2)) == .zero)
        #expect(gate.wait(behind: 3, at: .seconds(2)).map { abs($0 / .seconds(1) - 6) < 1e-6 } == true)
        // The bucket holds one token at low rates, however long it fills.
        #expect(gate.pass(id, at: .seconds(1_000)) != nil)
        #expect(gate.pass(id, at: .seconds(1_000)) == nil)
    }

    @Test func extremeMomentsAreHarmless() throws {
        var gate = try limitedGate()
        for seconds in [0, 1, Int64(1) << 40, 1] {
            let ticket = gate.pass(id, at: .seconds(seconds))
            if let ticket { gate.end(ticket, with: .accepted, at: .seconds(seconds)) }
            let rate = try #require(gate.rate)
            #expect(rate.isFinite && rate >= 0.5)
        }
    }

    private func limitedGate() throws -> AdaptiveRateGate {
        var gate = AdaptiveRateGate()
        let ticket = gate.pass(id, at: .zero)
        gate.end(try #require(ticket), with: .throttled, at: .zero)
        return gate
    }

    // MARK: The modifier

    @Test func nothingIsLimitedBeforeTheFirstRefusal() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = network(transport, maximumWait: .zero)
        for _ in 0..<100 { try await network.data(.lawful) }
        #expect(transport.requests.count == 100)
    }

    @Test(arguments: [HTTPResponse.Status.tooManyRequests, .serviceUnavailable])
    func refusalLimitsTheAuthority(status: HTTPResponse.Status) async throws {
        let transport = MockTransport { $0.authority == "laws.example" ? .status(status) : .ok() }
        let network = network(transport, maximumWait: .zero)
        try await network.data(.lawful)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .rejected)
        #expect(error?.retryAfter == .seconds(2))
        #expect(error?.reason.contains("The rate that the server accepts is reached") == true)
        #expect(transport.requests.count == 1)
        for _ in 0..<20 { try await network.data(HTTPRequestData(scheme: "https", authority: "other.example")) }
    }

    @Test func waitingRequestsAreSentAtTheRate() async throws {
        let responses = Locked([MockResponse.status(.tooManyRequests)])
        let transport = MockTransport { _ in responses.withLock { $0.popLast() } ?? .ok() }
        let network = network(transport)
        try await network.data(.lawful)
        let calls = (0..<2).map { _ in Task { try await network.data(.lawful) } }
        try await eventually("both calls wait") { limiter.waiting == 2 }
        clock.advance(by: .seconds(2))
        try await eventually("one call is sent") { transport.requests.count == 2 }
        try await eventually("one call waits") { limiter.waiting == 1 }
        clock.advance(by: .seconds(2))
        for call in calls { _ = try await call.value }
    }

    @Test func waitEndsWhenTheRateChanges() async throws {
        let response = HeldResponse()
        let transport = MockTransport { request in
            request.path == "/held" ? .held(by: response) : .status(.tooManyRequests)
        }
        let network = network(transport)
        let slow = Task {
            try await network.data(held)
        }
        try await eventually("the request is sent") { transport.requests.count == 1 }
        try await network.data(.lawful)
        let call = Task { try await network.data(.lawful) }
        try await eventually("the call waits") { limiter.waiting == 1 }
        // The server reports its limits now, so there is no rate any longer.
        response.respond(with: .ok(headerFields: [.rateLimit: "\"d\";r=50;t=30"]))
        _ = try await slow.value
        _ = try await call.value
        #expect(transport.requests.count == 3)
    }

    @Test func deadlineAndCancellationEndTheWait() async throws {
        let transport = MockTransport { _ in .status(.tooManyRequests) }
        let network = network(transport)
        try await network.data(.lawful)
        let error = await #expect(throws: NetworkingError.self) {
            try await network.deadline(.seconds(1)).environment(\.clock, .manual(clock)).data(.lawful)
        }
        #expect(error?.kind == .rejected)
        let call = Task { try await network.data(.lawful) }
        try await eventually("the call waits") { limiter.waiting == 1 }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(limiter.waiting == 0)
        // No token was lost.
        clock.advance(by: .seconds(2))
        try await network.data(.lawful)
    }

    @Test func noRateIsGuessedWhileTheServerReportsItsLimits() async throws {
        let transport = MockTransport { _ in
            .status(.tooManyRequests, headerFields: [.rateLimit: "\"d\";r=0;t=30"])
        }
        let network = network(transport, maximumWait: .zero)
        for _ in 0..<20 { try await network.data(.lawful) }
        #expect(transport.requests.count == 20)
    }

    @Test func statusesCanBeChosen() async throws {
        let limiter = AdaptiveRateLimiter(refusedWith: [.forbidden])
        let network = MockTransport { _ in .status(.forbidden) }.rateLimited(by: limiter, maximumWait: .zero)
            .environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
    }

    @Test func numberOfAuthoritiesIsBounded() async throws {
        let network = network(MockTransport { _ in .status(.tooManyRequests) })
        for number in 0..<3_000 {
            try await network.data(HTTPRequestData(scheme: "https", authority: "\(number).example"))
        }
        #expect((800...1_024).contains(limiter.lines.count))
    }

    @Test func manyCallersLoseNoTokenAndNoCaller() async throws {
        let clock = NetworkClock.manual(clock)
        let lines = limiter.lines
        let hammer = Hammer()
        if case .passed(let ticket) = lines.enter(.lawful, .only, waitingUpTo: .zero, on: clock) {
            lines.end(ticket, .only, with: .throttled, on: clock)
        }
        let callers = Task {
            await hammer.run(tasks: 16, rounds: 100) { random, _, _ in
                guard
                    case .waits(let place, _) = lines.enter(.lawful, .only, waitingUpTo: .seconds(9_999_999), on: clock)
                else { return }
                if random.once(in: 2) {
                    await random.yield(upTo: 3)
                    if place.wait.resume(with: .failure(CancellationError())) { lines.leave(place, .only, on: clock) }
                }
                guard (try? await place.wait.value()) != nil, let ticket = lines.ticket(of: place, .only) else {
                    return
                }
                lines.end(ticket, .only, with: .accepted, on: clock)
            }
        }
        let time = Task {
            while !Task.isCancelled {
                self.clock.advance(by: .seconds(1))
                await Task.yield()
            }
        }
        await callers.value
        time.cancel()
        await time.value
        #expect(limiter.waiting == 0, "\(hammer)")
    }
}

extension LineKey {
    /// The key of a test whose requests count towards the same limits.
    static let only = LineKey(of: .lawful)
}
