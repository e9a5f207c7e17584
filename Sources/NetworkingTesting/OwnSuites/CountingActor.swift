import Dispatch
package import NetworkingCore
import Synchronization

/// An actor that counts its jobs: each return from another executor is one more job.
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
    /// - Returns: The result of the work, and the number of jobs that ran on this actor after the first one.
    /// - Throws: The work's error.
    package func run<Value: Sendable>(
        _ work: @Sendable (isolated CountingActor) async throws -> Value
    ) async throws -> (value: Value, jobs: Int) {
        let before = executor.count
        let value = try await work(self)
        return (value, executor.count - before)
    }

    /// Returns the number of jobs on this actor for a call through a stack, without the job that makes the call.
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
