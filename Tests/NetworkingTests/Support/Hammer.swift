import Foundation
import Networking
import Synchronization

/// The random choices of a test that runs many tasks at once.
///
/// Each run prints its seed. Set the environment variable `TEST_SEED` to repeat the choices of a run. The scheduler
/// still decides how the tasks interleave.
struct Hammer: CustomStringConvertible {
    let seed: UInt64

    init(_ test: String = #function) {
        let given = ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
        seed = given ?? .random(in: 0...999_999)
        print("\(test): TEST_SEED=\(seed)")
    }

    /// Returns the random choices of one task.
    func random(_ task: Int) -> RandomSource {
        .seeded(seed &* 1_000_003 &+ UInt64(bitPattern: Int64(task)))
    }

    /// Runs rounds in several tasks at the same time, with the random choices of each task.
    func run(
        tasks: Int,
        rounds: Int,
        _ body: @escaping @Sendable (_ random: inout RandomSource, _ task: Int, _ round: Int) async -> Void
    ) async {
        await withTaskGroup { group in
            for task in 0..<tasks {
                group.addTask {
                    var random = random(task)
                    for round in 0..<rounds {
                        await body(&random, task, round)
                    }
                }
            }
        }
    }

    var description: String {
        "TEST_SEED=\(seed)"
    }
}

extension RandomSource {
    /// Lets other tasks run, up to a number of times.
    mutating func yield(upTo count: Int) async {
        for _ in 0..<Int.random(in: 0...count, using: &self) {
            await Task.yield()
        }
    }

    /// Returns `true` with a probability of one in `count`.
    mutating func once(in count: Int) -> Bool {
        Int.random(in: 0..<count, using: &self) == 0
    }
}

/// Objects that a test expects to be released.
final class WatchedObjects: Sendable {
    private let checks = Mutex<[@Sendable () -> Bool]>([])

    func watch(_ object: some AnyObject & Sendable) {
        let isAlive = { @Sendable [weak object] in object != nil }
        checks.withLock { $0.append(isAlive) }
    }

    /// Returns how many of the objects are left once other threads have had time to release theirs.
    func countAtEnd() async -> Int {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            let count = checks.withLock { $0 }.count { $0() }
            if count == 0 || ContinuousClock.now > deadline { return count }
            await Task.yield()
        }
    }
}

/// A value behind a lock that the tasks of a group share.
final class Locked<Value: Sendable>: Sendable {
    private let content: Mutex<Value>

    init(_ value: Value) {
        content = Mutex(value)
    }

    var value: Value {
        withLock { $0 }
    }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        content.withLock { body(&$0) }
    }

    func append<Element: Sendable>(_ element: Element) where Value == [Element] {
        withLock { $0.append(element) }
    }
}
