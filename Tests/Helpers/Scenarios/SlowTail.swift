import Foundation
import Networking
import NetworkingTesting

extension Scenario {
    /// A service whose responses are sometimes slow by chance: 3 % take 1 s to 3 s, the others about 100 ms.
    static let slowTail = Scenario(name: "hedging") { length, seed in
        // So many that few times are equal.
        let usual = (0..<97_000).map { 80 - 30 * log(1 - (Double($0) + 0.5) / 97_000) }
        let slow = (0..<3_000).map { 1_000 + (Double($0) + 0.5) / 3_000 * 2_000 }
        let times = (usual + slow).map { Duration.microseconds(($0 * 1_000).rounded()) }
        let server = SimulatedServer(workers: .max, serviceTime: .samples(times))
        let simulation = Simulation(of: server, for: .seconds(length == .full ? 600 : 150), seed: seed) { _ in
            length == .full ? 50 : 20
        }
        let plain = try await simulation.run { $0.timeout(.seconds(10)).retry() }
        let hedged = try await simulation.run { $0.timeout(.seconds(10)).hedged(extraLoad: 0.05).retry() }
        return Outcome(
            figures: [
                Figure(name: "hedged, requests per call", value: hedged.amplification, limits: 1.04...1.06),
                Figure(
                    name: "hedged, p99 to that without",
                    value: hedged.percentile(99) / plain.percentile(99),
                    limits: 0...0.5
                ),
                Figure(name: "hedged, p99 in ms", value: hedged.percentile(99) / .milliseconds(1)),
                Figure(name: "plain, p99 in ms", value: plain.percentile(99) / .milliseconds(1)),
            ],
            picture: SimulationReport.svg(
                comparing: ["timeout, retry": plain, "with hedged(extraLoad: 0.05)": hedged],
                title: "3 % slow responses: 5 % more requests cut p99 by more than half"
            )
        )
    }
}
