import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Callers that concurrently use the endpoints of one server.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct EndpointHammerTests {
    @Test func attemptsEndAndOneEndpointIsNeverEjected() async {
        let hammer = Hammer()
        let endpoints = ServerEndpoints("api.example", groups: [["a", "b"], ["c"]])
        let manual = ManualClock()
        let clock = NetworkClock.manual(manual)
        await hammer.run(tasks: 16, rounds: 1_000) { random, _, _ in
            manual.advance(by: .milliseconds(20))
            let visits = random.once(in: 2) ? EndpointVisits() : nil
            let request = HTTPRequestData(authority: "api.example", path: "a")
            for _ in 0..<3 {
                let pick = endpoints.pick(after: visits, for: request, random: random.next(), on: clock).pick
                guard let pick else { continue }
                await random.yield(upTo: 2)
                let outcomes: [EndpointTable.Outcome] = [.success, .failure, .failure, .nothing]
                let outcome = outcomes.randomElement(using: &random) ?? .success
                _ = endpoints.end(pick, as: outcome, jitter: random.next(), on: clock)
                visits?.end(endpoints.server.members[pick.index], mayHaveSent: outcome != .nothing)
            }
            #expect(endpoints.statuses.contains { !$0.isEjected }, "\(hammer)")
        }
        #expect(endpoints.statuses.allSatisfy { $0.inFlight == 0 }, "\(hammer)")
    }

    @Test func attemptsOfOneCallNeverShareAnEndpoint() async throws {
        let hammer = Hammer()
        let endpoints = ServerEndpoints("api.example", endpoints: ["a", "b", "c"])
        let clock = NetworkClock.manual(ManualClock())
        await hammer.run(tasks: 2, rounds: 500) { random, _, _ in
            let visits = EndpointVisits()
            let request = HTTPRequestData(authority: "api.example", path: "a")
            let bits = (0..<4).map { _ in random.next() }
            let picks = await withTaskGroup(of: Int?.self) { group in
                for bits in bits {
                    group.addTask {
                        endpoints.pick(after: visits, for: request, random: bits, on: clock).pick?.index
                    }
                }
                return await group.reduce(into: [Int?]()) { $0.append($1) }
            }
            #expect(Set(picks.compactMap(\.self)) == [0, 1, 2], "\(picks) \(hammer)")
            #expect(picks.count(where: { $0 == nil }) == 1, "\(picks) \(hammer)")
        }
    }
}
