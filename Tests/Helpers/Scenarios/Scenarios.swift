import Foundation

/// Runs the scenarios of `Documentation/Simulation.md`, prints their figures, and draws their pictures:
/// `swift run -c release Scenarios [FOLDER] [SEED]`.
///
/// The exit code is 1 if a figure misses its limit. A folder such as `Documentation/Images` receives the pictures.
@main
enum Scenarios {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let folder = arguments.count > 1 ? URL(filePath: arguments[1]) : nil
        let seed = arguments.count > 2 ? UInt64(arguments[2]) ?? 1 : 1
        var isMet = true
        for (scenario, outcome) in try await outcomes(of: Scenario.all, seed: seed) {
            print(scenario.name)
            for figure in outcome.figures {
                print("  \(figure)")
                isMet = isMet && figure.isMet
            }
            if let folder {
                try Data(outcome.picture.utf8).write(to: folder.appending(path: "\(scenario.name).svg"))
            }
        }
        exit(isMet ? 0 : 1)
    }

    /// Runs the scenarios, as many at a time as there are cores.
    private static func outcomes(
        of scenarios: [Scenario],
        seed: UInt64
    ) async throws -> [(Scenario, Scenario.Outcome)] {
        try await withThrowingTaskGroup(of: (Int, Scenario.Outcome).self) { group in
            var outcomes: [Int: Scenario.Outcome] = [:]
            for (index, scenario) in scenarios.enumerated() {
                if index >= ProcessInfo.processInfo.activeProcessorCount, let (index, outcome) = try await group.next()
                {
                    outcomes[index] = outcome
                }
                group.addTask { (index, try await scenario.run(.full, seed)) }
            }
            for try await (index, outcome) in group {
                outcomes[index] = outcome
            }
            return scenarios.enumerated().compactMap { index, scenario in outcomes[index].map { (scenario, $0) } }
        }
    }
}

extension Scenario {
    static let all = [
        overload(capacity: 50), overload(capacity: 8), coldStart(capacity: 50), coldStart(capacity: 8),
        halvedCapacity, slowTail, deadMember, hangingMember, outage, hang, manyMachines,
    ]
}
