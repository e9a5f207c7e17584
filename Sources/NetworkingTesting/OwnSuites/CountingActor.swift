import Dispatch
package import Networking
import Synchronization

/// An actor whose executor counts: it sees the way back of any hop as one more job.
package actor CountingActor {
    private let executor = CountingExecutor()

    package init() {}

    nonisolated package var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Whether the calling code runs on an actor of this type.
    package static var isCurrent: Bool {
        CountingExecutor.isCurrent
    }

    /// Runs work on this actor.
    ///
    /// - Parameter work: The work.
    /// - Returns: The work's result, and the number of jobs of this actor that it cost besides the one that starts it.
    /// - Throws: The work's error.
    package func run<Value: Sendable>(
        _ work: @Sendable (isolated CountingActor) async throws -> Value
    ) async throws -> (value: Value, jobs: Int) {
        let before = executor.count
        let value = try await work(self)
        return (value, executor.count - before)
    }

    /// How many jobs of this actor a call through a stack costs, besides the one that makes it.
    package func jobs(during network: some NetworkingComponent) async throws -> Int {
        let before = executor.count
        try await network.data(.lawful)
        return executor.count - before
    }
}

private final class CountingExecutor: SerialExecutor {
    private static let mark = DispatchSpecificKey<Bool>()
    private let queue = DispatchQueue(label: "counting executor")
    private let jobs = Atomic(0)

    init() {
        queue.setSpecific(key: Self.mark, value: true)
    }

    static var isCurrent: Bool {
        DispatchQueue.getSpecific(key: mark) == true
    }

    var count: Int {
        jobs.load(ordering: .relaxed)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.add(1, ordering: .relaxed)
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
