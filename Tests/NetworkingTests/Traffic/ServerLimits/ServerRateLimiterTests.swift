import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ServerRateLimiterTests {
    private let clock = ManualClock()
    private let limiter = ServerRateLimiter()

    private func network(
        _ transport: MockTransport,
        maximumWait: Duration? = nil
    ) -> some NetworkingComponent {
        transport.rateLimited(by: limiter, maximumWait: maximumWait)
            .environment(\.clock, .manual(clock)).environment(\.random, RandomSource { 0 })
    }

    private func limited(_ field: String, _ further: HTTPFields = [:]) -> MockResponse {
        .ok(headerFields: [.rateLimit: field] + further)
    }

    /// A transport that closes the limit for a time with its first response, and reports nothing in later ones.
    private func closing(for seconds: Int) -> MockTransport {
        let responses = Locked([limited("\"d\";r=0;t=\(seconds)")])
        return MockTransport { _ in responses.withLock { $0.popLast() } ?? .ok() }
    }

    // MARK: Waiting

    @Test func waitingRequestsAreSentWhenTheWindowEnds() async throws {
        let transport = closing(for: 30)
        let network = network(transport)
        try await network.data(.lawful)
        let calls = (0..<3).map { _ in Task { try await network.data(.lawful) } }
        try await eventually("the calls wait") { limiter.waiting == 3 }
        clock.advance(by: .seconds(29))
        #expect(limiter.waiting == 3)
        clock.advance(by: .seconds(1))
        for call in calls { _ = try await call.value }
        #expect(transport.requests.count == 4)
    }

    /// The clock moves to the end of the window before one of its reads while the request starts to wait.
    @Test(arguments: 2...9)
    func waitEndsIfTheClockMovesWhileItBegins(read: Int) async throws {
        let clock = MovingClock()
        let network = closing(for: 30).rateLimited(by: limiter).environment(\.clock, NetworkClock(clock))
            .environment(\.random, RandomSource { 0 })
        try await network.data(.lawful)
        _ = clock.move(by: .seconds(30), beforeRead: read)
        let isOver = Locked(false)
        let call = Task {
            _ = try await network.data(.lawful)
            isOver.withLock { $0 = true }
        }
        defer { call.cancel() }
        try await eventually("the call waits or ends") { limiter.waiting == 1 || isOver.withLock { $0 } }
        clock.moveNow()
        try await eventually("the call ends") { isOver.withLock { $0 } }
    }

    @Test func spreadRequestsAreSentInTheOrderOfPriority() async throws {
        let responses = Locked([limited("\"d\";r=4;t=40", [.rateLimitPolicy: "\"d\";q=100;w=60"])])
        let transport = MockTransport { _ in responses.withLock { $0.popLast() } ?? .ok() }
        let network = network(transport)
        try await network.data(.lawful)
        try await network.data(.lawful)
        var calls: [Task<HTTPResponseData, any Error>] = []
        for (name, priority) in [("low", RequestPriority.low), ("normal", .normal), ("high", .high)] {
            let request = HTTPRequestData(scheme: "https", authority: "laws.example", path: name)
                .with { $0.priority = priority }
            calls.append(Task { try await network.data(request) })
            try await eventually("the call waits") { limiter.waiting == calls.count }
        }
        for index in [2, 1, 0] {
            clock.advance(by: .seconds(10))
            _ = try await calls[index].value
        }
        #expect(transport.requests.suffix(3).map(\.path) == ["/high", "/normal", "/low"])
    }

    @Test func requestsOfLowerPriorityDoNotMakeTheWaitTooLong() async throws {
        let responses = Locked([limited("\"d\";r=4;t=40", [.rateLimitPolicy: "\"d\";q=100;w=60"])])
        let transport = MockTransport { _ in responses.withLock { $0.popLast() } ?? .ok() }
        let network = network(transport, maximumWait: .seconds(25))
        try await network.data(.lawful)
        try await network.data(.lawful)
        let low = (0..<2).map { _ in Task { try await network.data(.lawful.with { $0.priority = .low }) } }
        try await eventually("the calls wait") { limiter.waiting == 2 }
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful.with { $0.priority = .low }) }
        let high = Task { try await network.data(.lawful.with { $0.priority = .high }) }
        try await eventually("the urgent call waits") { limiter.waiting == 3 }
        clock.advance(by: .seconds(10))
        #expect(try await high.value.status == .ok)
        for call in low { call.cancel() }
        for call in low { _ = try? await call.value }
    }

    @Test func aLaterResponseEndsTheWait() async throws {
        let held = HeldResponse()
        let transport = MockTransport { request in
            request.path == "/held" ? .held(by: held) : limited("\"d\";r=1;t=30")
        }
        let network = network(transport)
        try await network.data(.lawful)
        let slow = Task { try await network.data(.held) }
        try await eventually("the request is sent") { transport.requests.count == 2 }
        let call = Task { try await network.data(.lawful) }
        try await eventually("the call waits") { limiter.waiting == 1 }
        held.respond(with: limited("\"d\";r=5;t=30"))
        _ = try await slow.value
        _ = try await call.value
        #expect(transport.requests.count == 3)
    }

    @Test func cancelledCallerLeavesTheQueueAtOnce() async throws {
        let network = network(closing(for: 30))
        try await network.data(.lawful)
        let call = Task { try await network.data(.lawful) }
        try await eventually("the call waits") { limiter.waiting == 1 }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(limiter.waiting == 0)
    }

    @Test func timeLimitOfTheCallerEndsTheWait() async throws {
        let transport = closing(for: 30)
        let network = network(transport).timeout(.seconds(5)).environment(\.clock, .manual(clock))
        try await network.data(.lawful)
        let call = Task { try await network.data(.lawful) }
        try await eventually("the call waits") { limiter.waiting == 1 }
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .timeout)
        #expect(limiter.waiting == 0)
        #expect(transport.requests.count == 1)
    }

    @Test func waitBeyondTheDeadlineIsRejectedAtOnce() async throws {
        let network = closing(for: 30).rateLimited(by: limiter).deadline(.seconds(20))
            .environment(\.clock, .manual(clock)).environment(\.random, RandomSource { 0 })
        try await network.data(.lawful)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.kind == .rejected)
        #expect(error?.retryAfter == .seconds(30))
    }

    @Test func waitThatBecomesTooLongIsRejected() async throws {
        let held = HeldResponse()
        let transport = MockTransport { request in
            request.path == "/held" ? .held(by: held) : limited("\"d\";r=0;t=10")
        }
        let network = network(transport, maximumWait: .seconds(15))
        let slow = Task {
            try await network.data(.held)
        }
        try await eventually("the request is sent") { transport.requests.count == 1 }
        try await network.data(.lawful)
        let call = Task { try await network.data(.lawful) }
        try await eventually("the call waits") { limiter.waiting == 1 }
        held.respond(with: .status(.tooManyRequests, headerFields: [.retryAfter: "60"]))
        _ = try await slow.value
        clock.advance(by: .seconds(15))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .rejected)
        #expect(error?.retryAfter == .seconds(45))
        #expect(error?.reason.contains("A limit that the server reports is reached") == true)
    }

    // MARK: Counting

    /// The server counts, and the client keeps to its number with many callers at once.
    @Test func callersNeverExceedTheRemainingNumber() async throws {
        let remaining = Locked(200)
        let refused = Locked(0)
        let transport = MockTransport { _ in
            let left = remaining.withLock { remaining in
                remaining -= 1
                return remaining
            }
            if left < 0 { refused.withLock { $0 += 1 } }
            return limited("\"d\";r=\(max(0, left));t=60")
        }
        let network = network(transport, maximumWait: .zero)
        try await network.data(.lawful)
        await withTaskGroup { group in
            for _ in 0..<64 {
                group.addTask { for _ in 0..<20 { _ = try? await network.data(.lawful) } }
            }
        }
        #expect(refused.value == 0)
        #expect((65...200).contains(transport.requests.count))
    }

    /// Each request is sent before the response to an earlier one, so there is never a moment without requests.
    @Test func overlappingRequestsLetTheNumberRise() throws {
        var gate = ServerLimitGate()
        let first = gate.pass(HTTPRequestData.lawful.id, at: .zero)
        let second = gate.pass(HTTPRequestData.lawful.id, at: .zero)
        var underway = try #require(second)
        func report(_ remaining: Int) -> ServerLimitGate.Report {
            .init(limits: [ServerLimit(policy: "d", remaining: remaining, reset: .seconds(3_600))])
        }
        gate.end(try #require(first), with: report(3), at: .zero)
        for _ in 0..<20 {
            let next = gate.pass(HTTPRequestData.lawful.id, at: .zero)
            gate.end(underway, with: report(100), at: .zero)
            underway = try #require(next)
        }
    }

    @Test func concurrentRequestsAreLimited() async throws {
        let gate = MockGate()
        let transport = MockTransport { request in
            let fields: HTTPFields = [.rateLimitPolicy: "\"c\";q=2;qu=\"concurrent-requests\""]
            return request.path == "/first"
                ? .ok(headerFields: fields) : .chunks([.wait(for: gate)], headerFields: fields)
        }
        let network = network(transport)
        try await network.data(HTTPRequestData(scheme: "https", authority: "laws.example", path: "first"))
        let calls = (0..<5).map { _ in Task { try await network.data(.lawful) } }
        try await eventually("three calls wait") { limiter.waiting == 3 && transport.requests.count == 3 }
        gate.open()
        for call in calls { _ = try await call.value }
        #expect(transport.requests.count == 6)
    }

    @Test func unitOfAPolicyIsRemembered() async throws {
        let state = "\"size\";r=0;t=60"
        let first = limited(state, [.rateLimitPolicy: "\"size\";q=9;w=60;qu=\"content-bytes\""])
        let responses = Locked([first])
        let transport = MockTransport { _ in responses.withLock { $0.popLast() } ?? limited(state) }
        let network = network(transport, maximumWait: .zero)
        for _ in 0..<3 { try await network.data(.lawful) }
        #expect(transport.requests.count == 3)
        // A server that names the unit of requests later is limited again.
        responses.withLock { $0 = [limited(state, [.rateLimitPolicy: "\"size\";q=9;w=60"])] }
        try await network.data(.lawful)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
    }

    @Test func numberOfRememberedUnitsIsBounded() throws {
        var gate = ServerLimitGate()
        for number in 0..<500 {
            let ticket = gate.pass(HTTPRequestData.lawful.id, at: .zero)
            let limit = ServerLimit(policy: "\(number)", unit: .contentBytes, quota: 9)
            gate.end(try #require(ticket), with: .init(limits: [limit]), at: .zero)
        }
        #expect(gate.count == ServerLimitGate.maximumCount)
    }

    @Test func usersDoNotShareAQuota() async throws {
        let transport = MockTransport { _ in limited("\"d\";r=0;t=60") }
        for token in ["amy", "bob"] {
            let network =
                transport.authenticated(
                    with: Networking.Session(userID: token, accessToken: token),
                    at: ["laws.example"]
                )
                .rateLimited(by: limiter, maximumWait: .zero).environment(\.clock, .manual(clock))
            try await network.data(.lawful)
            await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        }
        #expect(transport.requests.count == 2)
    }

    @Test func cookiesOfOneSessionShareAQuotaAndSessionsDoNot() async throws {
        let remaining = Locked([0, 1])
        let transport = MockTransport { _ in
            // The server changes the cookie with each response, and the limit goes on.
            let number = remaining.withLock { $0.popLast() }
            return limited("\"d\";r=\(number ?? 9);t=60", [.setCookie: "a=\(Int.random(in: 0...Int.max))"])
        }
        func network() throws -> some NetworkingComponent {
            let jar = CookieJar()
            try jar.set(Cookie(name: "a", value: "1", domain: "laws.example", created: clock.date))
            return transport.cookies(in: jar).rateLimited(by: limiter, maximumWait: .zero)
                .environment(\.clock, .manual(clock))
        }
        let first = try network()
        try await first.data(.lawful)
        try await first.data(.lawful)
        await #expect(throws: NetworkingError.self) { try await first.data(.lawful) }
        try await network().data(.lawful)
        #expect(transport.requests.count == 3)
    }

    @Test func numberOfLimitsIsBounded() async throws {
        let network = network(MockTransport { _ in limited("\"d\";r=9;t=60") })
        for number in 0..<3_000 {
            try await network.data(HTTPRequestData(scheme: "https", authority: "\(number).example"))
        }
        #expect((800...1_024).contains(limiter.lines.count))
        let number = Locked(0)
        let next: @Sendable (inout Int) -> Int = { number in
            number += 1
            return 1_000 + number
        }
        let partitions = MockTransport { _ in
            limited("\"d\";r=9;t=60;pk=:\(number.withLock(next)):")
        }
        let before = limiter.lines.count
        for _ in 0..<500 { try await self.network(partitions).data(.lawful) }
        #expect(limiter.lines.count <= before + ServerLimitGate.maximumCount)
    }

    @Test func serversWithoutLimitsAreForgottenFirst() async throws {
        try await network(closing(for: 3_000)).data(.lawful)
        let network = network(MockTransport { _ in .ok() })
        for number in 0..<3_000 {
            try await network.data(HTTPRequestData(scheme: "https", authority: "\(number).example"))
        }
        #expect((800...1_024).contains(limiter.lines.keys))
        #expect(limiter.lines.count == 1)
    }

    @Test func limitContinuesOnAnotherClock() async throws {
        try await network(closing(for: 30)).data(.lawful)
        clock.advance(by: .seconds(10))
        let other = ManualClock()
        other.advance(by: .seconds(1_000))
        let network = MockTransport { _ in .ok() }.rateLimited(by: limiter, maximumWait: .zero)
            .environment(\.clock, .manual(other))
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.retryAfter == .seconds(20))
    }

    // MARK: Responses

    @Test(arguments: [HTTPResponse.Status.tooManyRequests, .serviceUnavailable])
    func refusalOfACacheDoesNotCount(status: HTTPResponse.Status) async throws {
        let adaptive = AdaptiveRateLimiter()
        for age in ["0", "5"] {
            let fields: HTTPFields = [.retryAfter: "600", .age: age]
            let response = HTTPResponseData(request: .lawful, status: status, headerFields: fields)
            #expect((limiter.report(on: response) == nil) == (age == "5"))
            #expect((adaptive.report(on: response) == nil) == (age == "5"))
        }
        let transport = MockTransport { _ in .status(status, headerFields: [.retryAfter: "600", .age: "5"]) }
        let network = network(transport, maximumWait: .zero)
        try await network.data(.lawful)
        try await network.data(.lawful)
        #expect(transport.requests.count == 2)
    }

    @Test func refusalThatBecameAnErrorCounts() async throws {
        let transport = MockTransport { _ in .status(.tooManyRequests, headerFields: [.retryAfter: "30"]) }
        let network = transport.checkedStatusCode().rateLimited(by: limiter, maximumWait: .zero)
            .environment(\.clock, .manual(clock)).environment(\.random, RandomSource { 0 })
        let status = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(status?.kind != .rejected)
        let refusal = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(refusal?.kind == .rejected)
        #expect(refusal?.retryAfter == .seconds(30))
        #expect(transport.requests.count == 1)
    }

    @Test func eachHopOfARedirectCountsAndNoneIsDelayed() async throws {
        let transport = MockTransport { request in
            let fields: HTTPFields = [.rateLimit: "\"d\";r=0;t=60", .location: "/target"]
            return .status(request.path == "/check" ? .found : .ok, headerFields: fields)
        }
        let network = network(transport, maximumWait: .zero)
        #expect(try await network.data(.lawful).status == .ok)
        #expect(transport.requests.count == 2)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
    }

    @Test func fieldsOfAnAppAreReadByAClosure() async throws {
        let field = try #require(HTTPField.Name("X-RateLimit-Reset-Requests"))
        let custom = ServerRateLimiter { response in
            response.headerFields[field] == "6m0s" ? [ServerLimit(remaining: 0, reset: .seconds(360))] : nil
        }
        let network = MockTransport { _ in .ok(headerFields: [field: "6m0s"]) }
            .rateLimited(by: custom, maximumWait: .zero)
            .environment(\.clock, .manual(clock)).environment(\.random, RandomSource { 0 })
        try await network.data(.lawful)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(error?.retryAfter == .seconds(360))
    }

    @Test func numbersOfAClosureAreBounded() {
        let limit = ServerLimit(
            quota: -1,
            window: .seconds(-1),
            remaining: .min,
            reset: Duration(secondsComponent: .max, attosecondsComponent: 0)
        )
        #expect((limit.quota, limit.window, limit.remaining) == (0, .zero, 0))
        #expect((limit.reset ?? .zero) < .seconds(4_000_000_000))
    }

    @Test func keyOfTheAppSeparatesLimits() async throws {
        let limiter = ServerRateLimiter(key: .custom { $0.path ?? "" })
        let transport = MockTransport { _ in limited("\"d\";r=0;t=60") }
        let network = transport.rateLimited(by: limiter, maximumWait: .zero).environment(\.clock, .manual(clock))
        for path in ["a", "b"] {
            let request = HTTPRequestData(scheme: "https", authority: "laws.example", path: path)
            try await network.data(request)
            await #expect(throws: NetworkingError.self) { try await network.data(request) }
        }
        #expect(transport.requests.count == 2)
    }

    @Test func requestWithoutThrottlingPasses() async throws {
        let transport = closing(for: 30)
        let network = network(transport, maximumWait: .zero)
        try await network.data(.lawful)
        try await network.data(.lawful.with { $0.isThrottled = false })
        #expect(transport.requests.count == 2)
    }

    @Test func responseHasItsLimits() {
        let response = HTTPResponseData(
            request: .lawful,
            headerFields: [
                .rateLimitPolicy: "\"burst\";q=100;w=60, \"size\";q=9;qu=\"content-bytes\"",
                .rateLimit: "\"burst\";r=5;t=30;pk=:YQ==:",
            ]
        )
        #expect(
            response.serverLimits == [
                ServerLimit(
                    policy: "burst",
                    partition: "YQ==",
                    quota: 100,
                    window: .seconds(60),
                    remaining: 5,
                    reset: .seconds(30)
                ),
                ServerLimit(policy: "size", unit: .contentBytes, quota: 9),
            ]
        )
        #expect(response.serverLimits.first?.description == "\"burst\": 5 of 100 requests, for 30.0 seconds")
    }

    @Test(arguments: RateLimitProblem.Kind.allCases)
    func problemIsRead(kind: RateLimitProblem.Kind) {
        let body = """
            {"type": "https://iana.org/assignments/http-problem-types#\(kind.rawValue)", "violated-policies": ["day"]}
            """
        var response = HTTPResponseData(
            request: .lawful,
            status: .tooManyRequests,
            headerFields: [.contentType: "application/problem+json; charset=utf-8"],
            data: Data(body.utf8)
        )
        #expect(response.rateLimitProblem == RateLimitProblem(kind: kind, violatedPolicies: ["day"]))
        response.headerFields[.contentType] = "application/json"
        #expect(response.rateLimitProblem == nil)
    }

    @Test func eventNamesTheLimitWithoutForgedLines() async throws {
        let recorder = EventRecorder()
        let network = network(closing(for: 30), maximumWait: .zero).observed(by: recorder)
        try await network.data(.lawful)
        #expect(
            recorder.events.map { "\($0)" }.contains("rateLimitExhausted(\"d\": 0 of ? requests, for 30.0 seconds)")
        )
        let forged = RateLimitEvent.exhausted(ServerLimit(policy: "a\nforged", unit: ServerLimit.Unit("b\nforged")))
        #expect(!forged.description.contains("\n"))
        #expect(forged.record.mark == EventMark(.serverLimit, detail: "exhausted"))
    }
}

extension HTTPRequestData {
    fileprivate static var held: HTTPRequestData {
        HTTPRequestData(scheme: "https", authority: "laws.example", path: "held")
    }
}

extension HTTPFields {
    fileprivate static func + (lhs: HTTPFields, rhs: HTTPFields) -> HTTPFields {
        var fields = lhs
        for field in rhs { fields.append(field) }
        return fields
    }
}
