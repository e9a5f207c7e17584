import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct SimulationGuide {
    @Test func limitsKeepTheGoodputInAnOverload() async throws {
        // 8 workers with 100 ms each: at most 80 requests per second.
        let server = SimulatedServer(workers: 8, serviceTime: .exponential(mean: .milliseconds(100)))
        let simulation = Simulation(of: server, for: .seconds(120), seed: 1) { time in
            (.seconds(20)..<(.seconds(60))).contains(time) ? 320 : 40
        }

        let plain = try await simulation.run { $0.timeout(.seconds(2)).retry(budget: .unlimited) }
        let limited = try await simulation.run { $0.timeout(.seconds(2)).throttled(max: 8, queue: 16).retry() }

        let overload = Duration.seconds(20)..<(.seconds(60))
        #expect(plain.during(overload).goodput < 20)
        #expect(limited.during(overload).goodput > 72)
        #expect(limited.during(overload).percentile(99) < .seconds(1))
        #expect(limited.during(.seconds(61)..<(.seconds(120))).failures.isEmpty)
        let svg = SimulationReport.svg(comparing: ["timeout, retry": plain, "timeout, throttled, retry": limited])
        try draw(svg, as: "overload.svg")
    }

    /// Draws a picture of the guide if the environment has `DRAW_IMAGES`, and compares it otherwise.
    private func draw(_ svg: String, as name: String) throws {
        // The functions of another C library may round differently.
        #if os(Linux)
        let path = "Documentation/Images/\(name)"
        if ProcessInfo.processInfo.environment["DRAW_IMAGES"] != nil {
            try Data(svg.utf8).write(to: Repository.root.appending(path: path))
        }
        #expect(try Repository.text(at: path) == svg)
        #endif
    }
}
