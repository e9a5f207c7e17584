import NetworkingTesting
import Testing

@testable import Scenarios

/// The scenarios of `Documentation/Simulation.md`, with fewer calls.
@Suite(.timeLimit(.minutes(20)))
struct ScenarioTests {
    @Test(arguments: Scenario.all, [1, 2] as [UInt64])
    func figuresConfirmTheConclusion(of scenario: Scenario, seed: UInt64) async throws {
        for figure in try await scenario.run(.brief, seed).figures {
            #expect(figure.isMet, "\(figure), seed \(seed)")
        }
    }

    @Test func aSeedDrawsTheSamePicture() async throws {
        let scenario = Scenario.hangingMember
        let (first, second) = (try await scenario.run(.brief, 7), try await scenario.run(.brief, 7))
        #expect(first.picture == second.picture)
        #expect(try await scenario.run(.brief, 8).picture != first.picture)
    }

    @Test func figures() {
        let missed = Scenario.Figure(name: "share", value: 0.5, limits: 0.9...1)
        #expect(!missed.isMet && missed.description == "share: 0.5 (0.9...1.0) MISSED")
        #expect(Scenario.Figure(name: "share", value: 0.12345).description == "share: 0.123")
        #expect(Scenario.Figure(name: "share", value: 1, limits: 0.9 ... .infinity).isMet)
    }
}
