import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Limits of the server beside the other parts of a stack, and on clocks that jump.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ServerLimitPairsTests {
    private let clock = ManualClock()
    private let limiter = ServerRateLimiter()

    private func inEnvironment(_ network: some NetworkingComponent) -> some NetworkingComponent {
        network.environment(\.clock, .manual(clock)).environment(\.random, RandomSource { 0 })
    }

    private func limited(_ field: String, _ further: [HTTPField.Name: String] = [:]) -> MockResponse {
        var fields: HTTPFields = [.rateLimit: field]
        for (name, value) in further { fields[name] = value }
        return .ok(headerFields: fields)
    }

    // MARK: Requests that are not sent

    @Test func requestThatIsRefusedFurtherInDoesNotCount() async throws {
        let isRefused = Locked(false)
        let transport = MockTransport { _ in limited("\"d\";r=1;t=30") }
        let network = inEnvironment(
            transport.modified("Refusing") { request, upstream in
                if isRefused.value { throw NetworkingError(.rejected, request: request) }
                return try await upstream.send(request)
            }
            .rateLimited(by: limiter, maximumWait: .zero)
        )
        try await network.data(.lawful)
        isRefused.withLock { $0 = true }
        for _ in 0..<5 { await #expect(throws: NetworkingError.self) { try await network.data(.lawful) } }
        isRefused.withLock { $0 = false }
        try await network.data(.lawful)
        #expect(transport.requests.count == 2)
    }

    @Test func requestThatIsTakenBackOpensNothing() throws {
        var gate = ServerLimitGate()
        let id = HTTPRequestData.lawful.id
        let (pass, other) = (gate.pass(id, at: .zero), gate.pass(id, at: .zero))
        let (first, second) = (try #require(pass), try #require(other))
        // The window is closed by a later report than the request.
        gate.end(first, with: .init(limits: [ServerLimit(remaining: 0, reset: .seconds(30))]), at: .zero)
        gate.refund(second)
        #expect(gate.wait(behind: 0, at: .zero) == .seconds(30))

        var full = ServerLimitGate()
        let ticket = full.pass(id, at: .zero)
        let limit = ServerLimit(quota: 20, remaining: 30, reset: .seconds(9))
        full.end(try #require(ticket), with: .init(limits: [limit]), at: .zero)
        for _ in 0..<20 {
            if let ticket = full.pass(id, at: .zero) { full.refund(ticket) }
        }
        var passed = 0
        while passed < 40, full.pass(id, at: .zero) != nil { passed += 1 }
        #expect(passed == 20)
    }

    // MARK: Caches and redirects

    @Test func storedResponsesNeitherWaitNorReport() async throws {
        let transport = MockTransport { _ in limited("\"d\";r=0;t=30", [.cacheControl: "max-age=600"]) }
        let network = inEnvironment(transport.rateLimited(by: limiter, maximumWait: .zero).cached())
        try await network.data(.lawful)
        for _ in 0..<5 {
            #expect(try await network.data(.lawful).headerFields[.rateLimit] == "\"d\";r=0;t=30")
            clock.advance(by: .seconds(6))
        }
        // The stored field has no effect after its window.
        try await network.data(.lawful.with { $0.cacheMode = .reload })
        #expect(transport.requests.count == 2)
    }

    @Test func fieldsOfAConfirmationCount() async throws {
        let transport = MockTransport { request in
            guard request.headerFields[.ifNoneMatch] != nil else {
                return limited("\"d\";r=9;t=30", [.cacheControl: "no-cache", .eTag: "\"1\""])
            }
            return .status(.notModified, headerFields: [.rateLimit: "\"d\";r=0;t=30"])
        }
        let network = inEnvironment(transport.rateLimited(by: limiter, maximumWait: .zero).cached())
        try await network.data(.lawful)
        try await network.data(.lawful)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.retryAfter == .seconds(30))
    }

    @Test(arguments: [["Age": "5"], ["Cache-Status": "edge; hit"]])
    func fieldsFromASharedCacheDoNotCount(fields: [String: String]) async throws {
        let further = Dictionary(uniqueKeysWithValues: fields.map { (HTTPField.Name($0.key)!, $0.value) })
        let transport = MockTransport { _ in limited("\"d\";r=0;t=30", further) }
        let network = inEnvironment(transport.rateLimited(by: limiter, maximumWait: .zero))
        for _ in 0..<5 { try await network.data(.lawful) }
    }

    @Test func limitOfARedirectingServerIsNotThatOfTheTarget() async throws {
        let transport = MockTransport { request in
            request.authority == "laws.example"
                ? .status(.found, headerFields: [.rateLimit: "\"d\";r=0;t=30", .location: "https://other.example/a"])
                : .ok()
        }
        let network = inEnvironment(transport.rateLimited(by: limiter, maximumWait: .zero))
        try await network.data(.lawful)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        let target = HTTPRequestData(scheme: "https", authority: "other.example", path: "a")
        for _ in 0..<5 { try await network.data(target) }
    }

    @Test func eachAttemptOfARetryCountsAndWaits() async throws {
        let transport = MockTransport([
            .status(.serviceUnavailable, headerFields: [.retryAfter: "5"]), limited("\"d\";r=9;t=30"),
        ])
        let network = inEnvironment(
            transport.rateLimited(by: limiter).retry(.immediate(), budget: .unlimited)
        )
        let call = Task { try await network.data(.lawful) }
        while transport.requests.count < 2 {
            try await eventually("the call waits") { clock.nextDeadline != nil || transport.requests.count == 2 }
            clock.advance(by: .seconds(1))
        }
        #expect(try await call.value.status == .ok)
        #expect(clock.now.offset >= .seconds(5))
    }

    // MARK: Clocks

    @Test func clockThatIsSetBackKeepsTheTimeLeft() throws {
        let clock = AdjustedClock()
        let network = NetworkClock(clock)
        clock.advance(by: .seconds(1_000_000))
        func refusal() -> Duration? {
            switch limiter.lines.enter(.lawful, .only, waitingUpTo: .zero, on: network) {
            case .passed(let ticket):
                limiter.lines.end(ticket, .only, with: nil, on: network)
                return nil
            case .refused(let wait): return wait
            case .waits: return .zero
            }
        }
        guard case .passed(let ticket) = limiter.lines.enter(.lawful, .only, waitingUpTo: .zero, on: network) else {
            Issue.record("The first request does not pass.")
            return
        }
        let report = ServerLimitGate.Report(limits: [ServerLimit(remaining: 0, reset: .seconds(30))])
        limiter.lines.end(ticket, .only, with: report, on: network)
        #expect(refusal() == .seconds(30))
        clock.advance(by: .seconds(-1_000_000))
        #expect(refusal() == .seconds(30))
        clock.advance(by: .seconds(20))
        #expect(refusal() == .seconds(10))
        clock.advance(by: .seconds(100 * 365 * 86_400))
        #expect(refusal() == nil)
    }

    @Test func waitOnAClockThatStopsEndsOnAnother() async throws {
        let transport = MockTransport([limited("\"d\";r=0;t=30"), .ok(), .ok()])
        let network = transport.rateLimited(by: limiter).environment(\.random, RandomSource { 0 })
        let late = ManualClock()
        late.advance(by: .seconds(500))
        let (first, second) = (
            network.environment(\.clock, .manual(clock)), network.environment(\.clock, .manual(late))
        )
        try await first.data(.lawful)
        var calls: [Task<HTTPResponseData, any Error>] = []
        for network in [first, second] {
            calls.append(Task { try await network.data(.lawful) })
            try await eventually("the call waits") { limiter.waiting == calls.count }
        }
        // Only the clock of the second call goes on, and it serves both.
        late.advance(by: .seconds(30))
        for call in calls { _ = try await call.value }
        #expect(transport.requests.count == 3)
    }

    // MARK: Absurd settings

    @Test func waitsOfAnyLengthAreHarmless() async throws {
        let forever = Duration.seconds(Int64.max)
        let held = HeldResponse()
        let transport = MockTransport { _ in .held(by: held) }
        let stacks: [AnyNetworkingComponent] = [
            AnyNetworkingComponent(transport.throttled(max: 1, maximumWait: forever)),
            AnyNetworkingComponent(transport.adaptiveLimit(in: 1...1, start: 1, maximumWait: forever)),
            AnyNetworkingComponent(transport.rateLimited(to: 1, per: .seconds(1), maximumWait: forever)),
            AnyNetworkingComponent(transport.rateLimited(by: ServerRateLimiter(), maximumWait: forever)),
            AnyNetworkingComponent(transport.rateLimited(by: AdaptiveRateLimiter(), maximumWait: forever)),
        ]
        for stack in stacks {
            clock.advance(by: .seconds(1_000_000))
            let network = stack.environment(\.clock, .manual(clock))
            let calls = (0..<2).map { _ in Task { try await network.data(.lawful) } }
            for _ in 0..<50 { await Task.yield() }
            for call in calls { call.cancel() }
            for call in calls { _ = await call.result }
        }
    }
}
