import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience

/// All adaptive parts in one stack, each of which acts: two users share a cache and the exchanges, a hedge is sent, the
/// circuit opens, the fallback substitutes, and a shutdown starts.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct AdaptiveStackTests {
    private let clock = ManualClock()
    private let breaker = CircuitBreaker()
    private let cache = ResponseCache()
    private let inFlight = InFlightRequests()
    private let shutdown = StackShutdown()
    private let users = ["a", "b"]

    private func stack(of user: String, over transport: MockTransport) -> any NetworkingComponent {
        transport.circuitBreaker(by: breaker)
            .hedged(.after(.milliseconds(100), extraLoad: 1), budget: .unlimited)
            .retry(.immediate(maximumRetries: 1), budget: .unlimited)
            .authenticated(with: BearerCredentials(token: user))
            .deduplicated(sharing: inFlight)
            .cached(in: cache)
            .fallback { request, _ in HTTPResponseData(request: request, data: Data("fallback of \(user)".utf8)) }
            .drained(by: shutdown)
            .server(authority: "laws.example")
            .environment(\.clock, .manual(clock))
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func eachUserGetsTheirOwnResponses(seed: UInt64) async throws {
        var random = RandomSource.seeded(seed)
        let (slow, last) = (HeldResponse(), HeldResponse())
        let (seen, isDown) = (Locked<Set<String>>([]), Locked(false))
        let transport = MockTransport { request in
            let name = "\(request.path ?? "") of \(request.headerFields[.authorization] ?? "nobody")"
            if isDown.value { return .failure(.connection) }
            if request.path == "/last" { return .held(by: last) }
            // The first exchange of each user is slow.
            if seen.withLock({ $0.insert(name).inserted }) { return .held(by: slow) }
            return .ok(Data(name.utf8), headerFields: [.cacheControl: "private, max-age=600"])
        }
        let stacks = users.map { stack(of: $0, over: transport) }
        #expect(stacks[0].diagnostics == [])

        // Callers share the exchanges of their user, and an extra attempt of each exchange wins.
        var calls: [(user: Int, call: Task<HTTPResponseData, any Error>)] = []
        for user in (0..<Int.random(in: 4...8, using: &random)).map({ $0 % 2 }).shuffled(using: &random) {
            let network = stacks[user]
            calls.append((user, Task { try await network.data(.lawful("/slow")) }))
        }
        try await transport.waitForRequests(2)
        try await eventually("the callers share") { inFlight.waiting == calls.count }
        clock.advance(by: .milliseconds(100))
        for (user, call) in calls {
            let response = try await call.value
            #expect(response.bodyText == "/slow of Bearer \(users[user])")
            #expect(response.hedges == 1)
        }
        #expect(transport.requests.count == 4)

        // The circuit opens, and each user has a substitute of their own, and what was stored for them.
        isDown.withLock { $0 = true }
        var number = 0
        while breaker.state(of: "laws.example") == .closed, number < 20 {
            number += 1
            let user = Int.random(in: 0...1, using: &random)
            let response = try await stacks[user].data(.lawful("/\(number)"))
            #expect(response.bodyText == "fallback of \(users[user])")
        }
        #expect(breaker.state(of: "laws.example") == .open)
        let sent = transport.requests.count
        for (user, network) in zip(users, stacks).shuffled(using: &random) {
            #expect(try await network.data(.lawful("/refused")).bodyText == "fallback of \(user)")
            #expect(try await network.data(.lawful("/slow")).bodyText == "/slow of Bearer \(user)")
        }
        #expect(transport.requests.count == sent)

        // The calls in flight end, and no substitute is made for a call after the start.
        isDown.withLock { $0 = false }
        breaker.close()
        let ends = stacks.map { network in Task { try await network.data(.lawful("/last")) } }
        try await last.waitForRequests(2)
        let drain = Task { [shutdown] in try await shutdown.drain() }
        try await eventually("the shutdown starts") { shutdown.isStarted }
        let refused = await #expect(throws: NetworkingError.self) { try await stacks[0].data(.lawful("/late")) }
        #expect(refused?.kind == .rejected)
        last.respond(with: .ok(Data("the last".utf8)))
        for end in ends { #expect(try await end.value.bodyText == "the last") }
        #expect(try await drain.value.description == "2 completed, 0 cancelled")
        slow.respond()
        try await eventually("no exchange is left") { transport.active == 0 }
        #expect((inFlight.count, inFlight.waiting, shutdown.inFlight, clock.sleepers) == (0, 0, 0, 0))
    }
}
