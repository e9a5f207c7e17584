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

    /// How many jobs of this actor a call through a stack costs, besides the one that makes it.
    package func jobs(during network: some NetworkingComponent) async throws -> Int {
        let before = executor.count
        try await network.data(.lawful)
        return executor.count - before
    }
}

private final class CountingExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "counting executor")
    private let jobs = Atomic(0)

    var count: Int {
        jobs.load(ordering: .relaxed)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.add(1, ordering: .relaxed)
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
