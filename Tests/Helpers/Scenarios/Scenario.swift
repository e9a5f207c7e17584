import Networking
import NetworkingTesting

/// A load or a failure of servers, and the figures that stacks must reach under it.
struct Scenario: Sendable, CustomStringConvertible {
    enum Length: Sendable {
        /// The run of the guide.
        case full
        /// A run for tests, with fewer calls and without the stacks that are only compared.
        case brief
    }

    /// The name of the picture's file.
    let name: String
    let run: @Sendable (_ length: Length, _ seed: UInt64) async throws -> Outcome

    var description: String {
        name
    }

    struct Outcome: Sendable {
        let figures: [Figure]
        /// The picture of all runs, as SVG.
        let picture: String
    }

    /// A number that a scenario measures.
    struct Figure: Sendable, CustomStringConvertible {
        let name: String
        let value: Double
        /// The values that confirm the conclusion; `nil` for a number to compare with.
        var limits: ClosedRange<Double>?

        var isMet: Bool {
            limits?.contains(value) ?? true
        }

        var description: String {
            let gate = limits.map { limits in
                let range = limits.upperBound == .infinity ? "at least \(limits.lowerBound)" : "\(limits)"
                return " (\(range))\(isMet ? "" : " MISSED")"
            }
            return "\(name): \(Double(Int((value * 1_000).rounded())) / 1_000)\(gate ?? "")"
        }
    }
}

extension SimulationReport {
    /// The share of the calls that failed.
    var failureShare: Double {
        calls == 0 ? 0 : 1 - Double(successes) / Double(calls)
    }

    /// Returns the reports of consecutive parts of the run; the last part may be longer.
    func parts(of length: Duration, from start: Duration) -> [SimulationReport] {
        var parts: [SimulationReport] = []
        var start = start
        while start < interval.upperBound {
            let next = start + length
            let end = next + length > interval.upperBound ? interval.upperBound : next
            parts.append(during(start..<end))
            start = end
        }
        return parts
    }
}
