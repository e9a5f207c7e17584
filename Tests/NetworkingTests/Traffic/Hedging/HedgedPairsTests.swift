import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore
@testable import NetworkingResilience
@testable import NetworkingTraffic

/// `hedged` beside the other parts of a stack.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct HedgedPairsTests {
    private let clock = ManualClock()
    private let events = EventRecorder()
    private let eager = HedgingPolicy.after(.milliseconds(100), extraLoad: 1)
    private let request = HTTPRequestData(path: "users")

    private func start(
        _ network: some NetworkingComponent,
        _ request: HTTPRequestData
    ) -> Task<HTTPResponseData, any Error> {
        let network = network.observed(by: events).environment(\.clock, .manual(clock))
        return Task { try await network.data(request) }
    }

    private func sent(_ count: Int, by server: PacedServer) async throws {
        try await eventually("\(count) requests are sent") { server.count == count }
    }

    // MARK: Endpoints

    private func endpoints(_ names: String...) -> ServerEndpoints {
        ServerEndpoints("api.example", endpoints: names.map { .init($0) })
    }

    @Test func extraAttemptUsesAnotherEndpoint() async throws {
        for _ in 0..<8 {
            let server = PacedServer([.init(head: .seconds(10)), .init(head: .milliseconds(50))])
            let network = server.server(endpoints: endpoints("a.example", "b.example")).hedged(eager)
            let call = start(network, request)
            try await sent(1, by: server)
            clock.advance(by: .milliseconds(100))
            try await sent(2, by: server)
            #expect(Set(server.requests.map(\.authority)) == ["a.example", "b.example"])
            try await clock.waitForSleepers(2)
            clock.advance(by: .milliseconds(50))
            let response = try await call.value
            #expect(response.endpoint == server.requests[1].authority)
            #expect(response.url?.host() == "api.example")
        }
    }

    @Test func noExtraAttemptWithoutAnotherEndpoint() async throws {
        let server = PacedServer([.init(head: .seconds(1))])
        let hedged = Hedged(policy: eager, budget: .unlimited)
        let call = start(server.server(endpoints: endpoints("a.example")).modified(hedged), request)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await eventually("the hedge is refused") { events.names.contains("hedgeRefused") }
        clock.advance(by: .milliseconds(900))
        #expect(try await call.value.bodyText == "1")
        #expect(server.count == 1)
        #expect(hedged.routes.route(of: server.requests[0].with { $0.authority = "api.example" }).withdraw())
    }

    @Test func retryMovesOnFromTheEndpointsOfAllAttempts() async throws {
        for _ in 0..<8 {
            let server = PacedServer { $0 == 3 ? .init(head: .zero) : .init(head: .zero, status: .badGateway) }
            let network = server.server(endpoints: endpoints("a.example", "b.example", "c.example"))
                .hedged(eager).retry(.immediate())
            #expect(try await start(network, request).value.status == .ok)
            #expect(Set(server.requests.map(\.authority)).count == 3)
        }
    }

    @Test func writeThatMayBeHedgedStaysAtItsEndpoint() async throws {
        let server = PacedServer([.init(head: .seconds(1))])
        let network = server.server(endpoints: endpoints("a.example", "b.example")).hedged(eager)
        let call = start(
            network,
            request.with {
                $0.method = .put
                $0.isHedged = true
            }
        )
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await eventually("the hedge is refused") { events.names.contains("hedgeRefused") }
        clock.advance(by: .milliseconds(900))
        _ = try await call.value
        #expect(server.count == 1)
    }

    // MARK: Limits and breakers

    /// Sends a slow request, and expects that its extra attempt is refused at once.
    private func expectRefusedHedge(
        _ network: some NetworkingComponent,
        over server: PacedServer,
        after earlier: Int = 0,
        _ prepare: () -> Void = {}
    ) async throws {
        let call = start(network.hedged(eager), .lawful)
        try await sent(earlier + 1, by: server)
        prepare()
        clock.advance(by: .milliseconds(100))
        try await eventually("the hedge is refused") { events.names.contains("hedgeRefused") }
        #expect(events.events.map { "\($0)" }.contains("hedgeRefused(rejected)"))
        clock.advance(by: .milliseconds(900))
        #expect(try await call.value.status == .ok)
        #expect(server.count == earlier + 1)
    }

    @Test func extraAttemptDoesNotWaitForAnAdaptiveLimit() async throws {
        let server = PacedServer([.init(head: .seconds(1))])
        try await expectRefusedHedge(server.adaptiveLimit(in: 1...1, start: 1), over: server)
    }

    @Test func extraAttemptDoesNotWaitForALimitOfTheServer() async throws {
        let server = PacedServer {
            $0 == 1 ? .init(head: .zero, headerFields: [.rateLimit: "\"d\";r=1;t=30"]) : .init(head: .seconds(1))
        }
        let limiter = ServerRateLimiter()
        let network = server.rateLimited(by: limiter)
        _ = try await start(network, .lawful).value
        try await expectRefusedHedge(network, over: server, after: 1)
        #expect(limiter.waiting == 0)
    }

    @Test func extraAttemptDoesNotWaitForAnAdaptiveRate() async throws {
        let server = PacedServer { $0 == 1 ? .init(head: .zero, status: .tooManyRequests) : .init(head: .seconds(1)) }
        let limiter = AdaptiveRateLimiter()
        let network = server.rateLimited(by: limiter)
        _ = try await start(network, .lawful).value
        clock.advance(by: .seconds(2))
        try await expectRefusedHedge(network, over: server, after: 1)
        #expect(limiter.waiting == 0)
    }

    @Test func openCircuitRefusesTheExtraAttempt() async throws {
        let breaker = CircuitBreaker()
        let server = PacedServer([.init(head: .seconds(1))])
        try await expectRefusedHedge(server.circuitBreaker(by: breaker), over: server) { breaker.isolate() }
    }

    // MARK: Caches and shared exchanges

    @Test func responseOfTheWinnerIsStoredAndNotHedged() async throws {
        let server = PacedServer {
            .init(head: $0 == 1 ? .seconds(10) : .milliseconds(10), headerFields: [.cacheControl: "max-age=60"])
        }
        let network = server.hedged(eager).cached()
        let call = start(network, .lawful)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await sent(2, by: server)
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        #expect(try await call.value.bodyText == "2")
        #expect(try await start(network, .lawful).value.bodyText == "2")
        #expect(server.count == 2)
    }

    @Test func callersThatShareAnExchangeShareItsExtraAttempt() async throws {
        let server = PacedServer([.init(head: .seconds(10)), .init(head: .milliseconds(10))])
        let inFlightRequests = InFlightRequests()
        let network = server.hedged(eager).deduplicated(sharing: inFlightRequests)
        let calls = (0..<3).map { _ in start(network, .lawful) }
        try await eventually("all callers wait") { inFlightRequests.waiting == 3 }
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(100))
        try await eventually("a hedge is sent") { server.count >= 2 }
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        for call in calls { #expect(try await call.value.bodyText == "2") }
        #expect(server.count == 2)
    }

    // MARK: Redirects

    @Test func headOfARedirectDoesNotWin() async throws {
        let server = PacedServer {
            switch $0 {
            case 1: .init(head: .milliseconds(10), status: .found, headerFields: [.location: "/slow"])
            case 2: .init(head: .seconds(10))
            default: .init(head: .milliseconds(10))
            }
        }
        let call = start(server.hedged(eager), .lawful)
        try await sent(1, by: server)
        clock.advance(by: .milliseconds(10))
        try await sent(2, by: server)
        clock.advance(by: .milliseconds(90))
        try await sent(3, by: server)
        try await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(10))
        #expect(try await call.value.bodyText == "3")
        try await eventually("the redirect is cancelled") { server.cancelled == [2] }
    }

    // MARK: Absurd settings

    @Test(arguments: [
        HedgingPolicy.after(.seconds(Int64.max), extraLoad: 1),
        .after(extraLoad: 1) { _, _ in Duration(secondsComponent: .max, attosecondsComponent: 0) },
        .after(extraLoad: 1) { _, _ in Duration(secondsComponent: .min, attosecondsComponent: 0) },
        .after(.zero, extraLoad: 1).losersMayFinish(within: .seconds(Int64.max)),
    ]) func delaysOfAnyLengthAreHarmless(policy: HedgingPolicy) async throws {
        let server = PacedServer([.init(head: .milliseconds(10))])
        let call = start(server.hedged(policy), .lawful)
        try await eventually("a request is sent") { server.count >= 1 }
        while server.ended == 0 {
            clock.advance(by: .milliseconds(10))
            await Task.yield()
        }
        #expect(try await call.value.status == .ok)
    }
}
