import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// `server(endpoints:)` in a stack.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ServerEndpointsTests {
    private let clock = ManualClock()
    private let endpoints = ServerEndpoints("api.example", endpoints: ["a.example", "b.example", "c.example"])
    private let twoGroups = ServerEndpoints("api.example", groups: [["a.example", "b.example"], ["c.example"]])
    private let request = HTTPRequestData(path: "users")

    private func authorities(_ transport: MockTransport) -> [String] {
        transport.requests.map { $0.authority ?? "" }
    }

    /// A stack with retries that do not wait.
    private func retried(
        _ transport: MockTransport,
        _ endpoints: ServerEndpoints,
        upTo count: Int = 3
    ) -> some NetworkingComponent {
        transport.server(endpoints: endpoints)
            .retry(.immediate(maximumRetries: count), budget: .unlimited)
            .environment(\.clock, .manual(clock))
            .environment(\.random, .seeded(7))
    }

    // MARK: Attempts

    @Test func eachRetryMovesOnAndThenStartsOver() async throws {
        let transport = MockTransport { _ in .status(.serviceUnavailable) }
        let response = try await retried(transport, endpoints).data(request)
        let sent = authorities(transport)
        #expect(sent.count == 4)
        #expect(Set(sent.prefix(3)) == ["a.example", "b.example", "c.example"])
        #expect(response.attempts.compactMap(\.response?.endpoint) == Array(sent.prefix(3)))
        #expect(response.endpoint == sent.last)
    }

    @Test func retryMovesOnToTheNextGroup() async throws {
        let transport = MockTransport { request in
            request.authority == "c.example" ? .ok() : .failure(.connection)
        }
        let response = try await retried(transport, twoGroups).data(request)
        #expect(Set(authorities(transport).prefix(2)) == ["a.example", "b.example"])
        #expect(response.endpoint == "c.example")
        #expect(transport.requests.count == 3)
    }

    @Test func singleEndpointIsRetried() async throws {
        let transport = MockTransport([.failure(.connection), .status(.badGateway), .ok()])
        let response = try await retried(transport, ServerEndpoints("api.example", endpoints: ["a.example"]))
            .data(request)
        #expect(response.status == .ok)
        #expect(authorities(transport) == ["a.example", "a.example", "a.example"])
    }

    enum Write: CaseIterable {
        case put, putWithKey, postWithKey, getAfterLoss, putAfterRefusal, postAfterRefusal, idempotentPost

        var mayMoveOn: Bool {
            self != .put && self != .idempotentPost
        }

        var failure: MockResponse {
            switch self {
            case .put, .putWithKey, .postWithKey, .getAfterLoss, .idempotentPost: .failure(.connectionLost)
            case .putAfterRefusal, .postAfterRefusal: .failure(.connection)
            }
        }

        func apply(to request: inout HTTPRequestData) {
            switch self {
            case .put, .putWithKey, .putAfterRefusal: request.method = .put
            case .postWithKey, .postAfterRefusal, .idempotentPost: request.method = .post
            case .getAfterLoss: break
            }
            if self == .putWithKey || self == .postWithKey { request.headerFields[.idempotencyKey] = "\"1\"" }
            if self == .idempotentPost { request.isIdempotent = true }
        }
    }

    @Test(arguments: Write.allCases)
    func writeMovesOnOnlyIfItIsKnownNotToBeSentTwice(write: Write) async throws {
        let transport = MockTransport([write.failure, .ok()])
        try await retried(transport, endpoints).data(request.with { write.apply(to: &$0) })
        let sent = authorities(transport)
        #expect(sent.count == 2)
        #expect((sent.first != sent.last) == write.mayMoveOn, "\(sent)")
    }

    private struct ShopError: Error, Decodable {}

    @Test(arguments: [HTTPRequest.Method.put, .get], [0, 1, 2])
    func errorOfTheAppHidesNoEndpoint(method: HTTPRequest.Method, place: Int) async throws {
        let transport = MockTransport([.json(text: "{}", status: .serviceUnavailable), .ok()])
        let inner: any NetworkingComponent =
            switch place {
            case 0: transport.checkedStatusCode(as: ShopError.self).server(endpoints: endpoints)
            case 1: transport.server(endpoints: endpoints).checkedStatusCode(as: ShopError.self)
            default:
                transport.modified("Shop") { request, upstream in
                    let response = try await upstream.send(request)
                    if response.status != .ok { throw ShopError() }
                    return response
                }
                .server(endpoints: endpoints)
            }
        let policy = RetryPolicy.immediate(maximumRetries: 1).deciding { _ in .retryWithBackoff }
        let network = AnyNetworkingComponent(inner).retry(policy, budget: .unlimited)
            .environment(\.random, .seeded(7))
        try await network.data(request.with { $0.method = method })
        let sent = authorities(transport)
        #expect(sent.count == 2)
        if method == .put { #expect(sent.first == sent.last, "\(sent)") }
    }

    @Test func attemptsAtTheSameTimeUseDifferentEndpoints() async throws {
        let gate = HeldResponse()
        let transport = MockTransport { _ in .held(by: gate) }
        let network = transport.server(endpoints: twoGroups)
        let hedged = request.with { $0.endpointVisits = EndpointVisits() }
        let calls = (0..<3).map { _ in Task { try await network.data(hedged) } }
        try await eventually("three attempts are in flight") { transport.requests.count == 3 }
        #expect(Set(authorities(transport)) == ["a.example", "b.example", "c.example"])
        let error = await #expect(throws: NetworkingError.self) { try await network.data(hedged) }
        #expect(error?.kind == .rejected)
        #expect(error?.reason.contains("already has an attempt") == true)
        gate.respond()
        for call in calls { _ = try await call.value }
    }

    @Test func endpointThatIsUsedAgainIsNotFree() async throws {
        let gate = HeldResponse()
        let sent = Atomic(0)
        let transport = MockTransport { _ in
            sent.add(1, ordering: .relaxed).newValue == 2 ? .held(by: gate) : .ok()
        }
        let network = transport.server(endpoints: ServerEndpoints("api.example", endpoints: ["a.example"]))
        let hedged = request.with { $0.endpointVisits = EndpointVisits() }
        try await network.data(hedged)
        let second = Task { try await network.data(hedged) }
        try await eventually("the second attempt is in flight") { transport.requests.count == 2 }
        let error = await #expect(throws: NetworkingError.self) { try await network.data(hedged) }
        #expect(error?.kind == .rejected)
        gate.respond()
        _ = try await second.value
    }

    // MARK: Ejection

    @Test func failingEndpointIsLeftOutAndProbed() async throws {
        let isDown = Locked(true)
        let transport = MockTransport { request in
            isDown.value && request.authority == "a.example" ? .failure(.connection) : .ok()
        }
        let events = EventRecorder()
        let network = transport.server(endpoints: endpoints).environment(\.clock, .manual(clock))
            .environment(\.random, .seeded(1)).observed(by: events)
        for _ in 0..<60 { _ = try? await network.data(request) }
        #expect(endpoints.statuses.map(\.isEjected) == [true, false, false])
        let ejections = events.events.compactMap { $0 as? EndpointEvent }
            .filter { if case .ejected("a.example", let time) = $0 { time >= .seconds(30) } else { false } }
        #expect(ejections.count == 1)

        isDown.withLock { $0 = false }
        clock.advance(by: .seconds(34))
        try await network.data(request)
        #expect(events.events.contains { $0 as? EndpointEvent == .probing("a.example") })
        #expect(events.events.contains { $0 as? EndpointEvent == .returned("a.example") })
        #expect(endpoints.statuses.allSatisfy { !$0.isEjected && $0.inFlight == 0 })
    }

    @Test(arguments: [true, false])
    func probeHasTheTimeLimitOfTheStack(limitsHead: Bool) async throws {
        let held = HeldResponse()
        let isDown = Locked(true)
        let transport = MockTransport { request in
            guard request.authority == "a.example" else { return .ok() }
            return isDown.value ? .failure(.connection) : .held(by: held)
        }
        let limited = AnyNetworkingComponent(
            limitsHead
                ? AnyNetworkingComponent(transport.timeout(head: .seconds(60)))
                : AnyNetworkingComponent(transport.timeout(.seconds(60)))
        )
        let network = limited.server(endpoints: endpoints).environment(\.clock, .manual(clock))
            .environment(\.random, .seeded(1))
        for _ in 0..<60 { _ = try? await network.data(request) }
        isDown.withLock { $0 = false }
        clock.advance(by: .seconds(34))
        let probe = Task { try await network.data(request) }
        try await held.waitForRequests()
        clock.advance(by: .seconds(30))
        try await network.data(request)
        held.respond()
        _ = try await probe.value
        #expect(endpoints.statuses.allSatisfy { !$0.isEjected })
    }

    @Test func stacksShareTheirEndpoints() async throws {
        let failing = MockTransport { request in request.authority == "a.example" ? .failure(.timeout) : .ok() }
        let first = failing.server(endpoints: endpoints).environment(\.clock, .manual(clock))
        for _ in 0..<60 { _ = try? await first.data(request) }
        let other = MockTransport { _ in .ok() }
        let second = other.server(endpoints: endpoints).environment(\.clock, .manual(clock))
        for _ in 0..<60 { try await second.data(request) }
        #expect(Set(authorities(other)) == ["b.example", "c.example"])
    }

    @Test func panicUsesAllEndpoints() async throws {
        let transport = MockTransport { _ in .failure(.connection) }
        let events = EventRecorder()
        let network = transport.server(endpoints: endpoints).environment(\.clock, .manual(clock))
            .environment(\.random, .seeded(1)).observed(by: events)
        for _ in 0..<60 { _ = try? await network.data(request) }
        #expect(events.events.filter { $0 as? EndpointEvent == .panicked }.count == 1)
        #expect(Set(authorities(transport).suffix(30)) == ["a.example", "b.example", "c.example"])
    }

    struct Harmless: CustomTestStringConvertible {
        let testDescription: String
        let response: @Sendable () -> MockResponse

        static let all = [
            Harmless(testDescription: "no network") { .failure(.offline) },
            Harmless(testDescription: "deadline") { .failure(.deadline) },
            Harmless(testDescription: "limit of the stack") { .failure(.rejected) },
            Harmless(testDescription: "certificate") { .failure(.tls) },
            Harmless(testDescription: "cancellation") { .failure(CancellationError()) },
            Harmless(testDescription: "error of the app") { .failure(URLError(.unknown)) },
            Harmless(testDescription: "invalid request") { .failure(.invalidRequest) },
            Harmless(testDescription: "404") { .status(.notFound) },
            Harmless(testDescription: "429") { .status(.tooManyRequests) },
            Harmless(testDescription: "501") { .status(.notImplemented) },
        ]
    }

    @Test(arguments: Harmless.all)
    func localFailuresEjectNothing(failure: Harmless) async {
        let network = MockTransport { _ in failure.response() }.server(endpoints: endpoints)
        for _ in 0..<60 { _ = try? await network.data(request) }
        #expect(endpoints.statuses.allSatisfy { !$0.isEjected && $0.inFlight == 0 })
    }

    @Test func deviceWithoutANetworkEjectsNothing() async {
        let network = MockTransport { _ in .failure(.nameResolution) }.server(endpoints: endpoints)
            .environment(\.connectivity, ManualConnectivity(.offline))
        for _ in 0..<60 { _ = try? await network.data(request) }
        #expect(endpoints.statuses.allSatisfy { !$0.isEjected })
    }

    @Test func failureOfAnotherServerFurtherInEjectsNothing() async {
        let network = MockTransport()
            .modified("Tokens") { request, _ in
                throw NetworkingError(.connection, request: HTTPRequestData(authority: "tokens.example"))
            }
            .server(endpoints: endpoints)
        for _ in 0..<60 { _ = try? await network.data(request) }
        #expect(endpoints.statuses.allSatisfy { !$0.isEjected })
    }

    @Test func cancelledCallEndsItsAttempt() async throws {
        let transport = MockTransport { _ in .held(by: HeldResponse()) }
        let network = transport.server(endpoints: endpoints)
        let call = Task { try await network.data(request) }
        try await eventually("the attempt is in flight") { endpoints.statuses.contains { $0.inFlight == 1 } }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(endpoints.statuses.allSatisfy { $0.inFlight == 0 })
    }

    // MARK: Description

    @Test func errorNamesTheEndpoint() async {
        let network = MockTransport { _ in .failure(.connection) }.server(endpoints: endpoints)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(endpoints.server.members.contains(error?.endpoint ?? ""))
        #expect(error?.request.authority == error?.endpoint)
    }

    @Test func outlineHasTheGroupsAndWeights() {
        let weighted = ServerEndpoints(
            "api.example",
            groups: [[.init("a.example", weight: 3), "b.example"], ["c.example"]]
        )
        let network = MockTransport().server(endpoints: weighted)
        #expect(
            network.outline.hasPrefix("server(endpoints: api.example: a.example × 3.0, b.example; c.example)")
        )
        #expect(network.authority == "api.example")
    }

    @Test func recommendedPlaceHasNoDiagnostics() {
        let network = MockTransport().timeout(.seconds(5)).server(endpoints: endpoints)
            .authenticated(with: BearerCredentials(token: "token")).cookies(in: CookieJar()).throttled(max: 6)
            .redirected().retry().deduplicated().cached().deadline(.seconds(9)).server(prefixPath: "v1")
        #expect(network.diagnostics == [])
    }

    @Test func diagnosticsReportTheWrongPlace() {
        func messages(_ network: some NetworkingComponent) -> [String] {
            network.diagnostics.map(\.message).filter { $0.hasPrefix("server(endpoints:") }
        }
        let transport = MockTransport()
        let signed = transport.server(endpoints: endpoints).modified(InRole(role: .signing))
        #expect(messages(signed).count == 1 && messages(signed)[0].contains("instead of the endpoint"))
        #expect(messages(transport.retry().server(endpoints: endpoints))[0].contains("outside retry"))
        #expect(messages(transport.cached().server(endpoints: endpoints))[0].contains("outside cached"))
        #expect(messages(transport.deduplicated().server(endpoints: endpoints))[0].contains("outside cached or dedu"))
        #expect(messages(transport.server(endpoints: endpoints).timeout(.seconds(1)))[0].contains("inside timeout"))
        #expect(messages(transport.circuitBreaker().server(endpoints: endpoints))[0].contains("outside circuitBreaker"))
        #expect(messages(transport.server(endpoints: endpoints).circuitBreaker())[0].contains("inside circuitBreaker"))
        let patient = CircuitBreaker.Policy(failureRatio: 0.8, connectionFailures: nil)
        #expect(messages(transport.server(endpoints: endpoints).circuitBreaker(patient)).isEmpty)
        let second = transport.server(endpoints: endpoints).server(authority: "other.example")
        #expect(messages(second)[0].contains("has no effect"))
        #expect(messages(transport.server(endpoints: endpoints).server(authority: "API.example:443")).isEmpty)
    }

    @Test func eventsDescribeThemselves() {
        let ejected = EndpointEvent.ejected("a.example", for: .seconds(30))
        #expect(ejected.description.hasPrefix("endpointEjected(a.example, 30.0 s"))
        #expect(EndpointEvent.picked("a.example").record.mark == nil)
        let all: [EndpointEvent] = [
            .picked("a"), .probing("a"), .ejected("a", for: .zero), .returned("a"), .panicked, .noneLeft,
        ]
        #expect(Set(all.map { $0.record.logMessage(redactedBy: .standard) ?? "" }).count == all.count)
        #expect(Set(all.map(\.description)).count == all.count)
    }
}

private struct InRole: NetworkingModifier {
    let role: StackRole
    var stackPart: StackPart { StackPart(roles: [role]) }
}
