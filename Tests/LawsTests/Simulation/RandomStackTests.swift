import Foundation
import Synchronization
import Testing

/// Random stacks with random settings keep the invariants of all stacks, whatever their callers, users and servers do.
///
/// One seed determines the stack, the callers, the server, the faults, the clock and the order of the tasks. A failure
/// prints its seed and the smallest stack that still fails. `TEST_SEED=… swift test --filter RandomStackTests` repeats
/// it, `SIMULATED_SEEDS` sets the number of seeds, and `SIMULATED_CALLS` the number of calls of each. With
/// `SIMULATED_TRACE`, a run prints its events. A seed takes about 12 ms of processor time in a debug build.
@Suite(.timeLimit(.minutes(20)))
struct RandomStackTests {
    @Test func invariantsHold() async {
        let variables = ProcessInfo.processInfo.environment
        let calls = variables["SIMULATED_CALLS"].flatMap { Int($0) } ?? 12
        let given = variables["TEST_SEED"].flatMap { UInt64($0) }
        // The same seeds in each ordinary run, so that a failure comes from a change and not from a new seed.
        let first = given ?? 5_000
        let count = variables["SIMULATED_SEEDS"].flatMap { Int($0) } ?? (given == nil ? 2_000 : 1)
        print("invariantsHold: seeds \(first) to \(first + UInt64(count) - 1), \(calls) calls each")
        let seeds = Seeds(first..<first + UInt64(count))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<max(1, ProcessInfo.processInfo.activeProcessorCount) {
                group.addTask {
                    while let seed = seeds.next() {
                        let plan = StackPlan(seed: seed, calls: calls)
                        guard let violation = await StackRun.violations(of: plan).first else { continue }
                        seeds.noteFailure()
                        await record(violation, of: plan, calls: calls)
                    }
                }
            }
        }
    }

    @Test func sameSeedGivesTheSameRun() async {
        for seed in UInt64(1)...20 {
            let plan = StackPlan(seed: seed, calls: 12)
            let (first, second) = (await StackRun.ends(of: plan), await StackRun.ends(of: plan))
            #expect(first == second, "seed \(seed)")
            #expect(first.count >= 5)
        }
    }

    /// The timeout observes the progress of the shared exchange.
    @Test func progressOfASharedExchangeStaysInSimulatedTime() async {
        for seed in UInt64(1)...10 {
            var plan = StackPlan(seed: seed, calls: 12)
            plan.layers = [.init(kind: .deduplicated, seed: 1), .init(kind: .timeout, seed: 2)]
            let (first, second) = (await StackRun.ends(of: plan), await StackRun.ends(of: plan))
            #expect(first == second, "seed \(seed)")
        }
    }

    /// `ModifierListTests` compares the list of all modifiers with the sources and the documentation.
    @Test func everyModifierIsInAStackOrHasAReason() {
        let functions = Set(LawfulModifier.all.map(\.function))
        #expect(Set(LayerKind.unsuitable.keys).subtracting(functions) == [])
        let missing = LawfulModifier.all.filter { modifier in
            let name = String(modifier.function.prefix { $0 != "(" })
            return LayerKind(rawValue: name) == nil && LayerKind.unsuitable[modifier.function] == nil
                && !LayerKind.listedModifiers.contains { $0.testDescription == modifier.testDescription }
                && !modifier.exceptions.isEmpty
        }
        #expect(missing.map(\.testDescription) == ["observed(by:)"])
    }

    private func record(_ violation: Violation, of plan: StackPlan, calls: Int) async {
        let smallest = await plan.shrunk { candidate in
            await StackRun.violations(of: candidate).contains { $0.invariant == violation.invariant }
        }
        let violations = await StackRun.violations(of: smallest)
        Issue.record(
            """
            \(violation)
            TEST_SEED=\(plan.seed) SIMULATED_CALLS=\(calls) swift test --filter RandomStackTests repeats it.
            The smallest stack that still fails, \(smallest):
            \(violations.map(\.description).joined(separator: "\n"))
            """
        )
    }
}

/// The seeds that several tasks try.
private final class Seeds: Sendable {
    /// Further failures say nothing new.
    private static let maximumFailures = 5

    private let state: Mutex<(rest: Range<UInt64>, failures: Int)>

    init(_ seeds: Range<UInt64>) {
        state = Mutex((seeds, 0))
    }

    func next() -> UInt64? {
        state.withLock { state in
            state.failures < Self.maximumFailures ? state.rest.popFirst() : nil
        }
    }

    func noteFailure() {
        state.withLock { $0.failures += 1 }
    }
}
