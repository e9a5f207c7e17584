import Synchronization

/// Runs jobs one at a time and in order, on the thread that adds the first of them.
///
/// No lock is held while a job runs, so it may run code of the app. A job that it adds runs after it.
final class JobQueue: Sendable {
    typealias Job = @Sendable () -> Void

    private let state = Mutex(State())

    /// Adds the job of a change, and runs all jobs unless another thread does so already.
    ///
    /// - Parameter change: Makes the change and returns its job, or returns `nil` if it makes none. It runs under a
    ///   lock, so that the jobs have the order of the changes.
    func add(_ change: () -> Job?) {
        let isFirst = state.withLock { state in
            guard let job = change() else { return false }
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { return }
        while let job = state.withLock({ $0.next() }) {
            job()
        }
    }

    private struct State {
        var jobs: [Job] = []
        var isRunning = false

        mutating func next() -> Job? {
            isRunning = !jobs.isEmpty
            return isRunning ? jobs.removeFirst() : nil
        }
    }
}
