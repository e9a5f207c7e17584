import Dispatch
import NetworkingCore
import Synchronization

/// The executor of a simulation: it runs one task at a time, in the order of arrival, and then advances the clock.
///
/// The order of everything that happens is therefore the same in each run, however many tasks there are. With an order
/// by chance, a seed determines which of the tasks that can continue is next.
final class SimulationLoop: TaskExecutor {
    let clock = SimulationClock()
    /// The simulated time in which work in the background may end after the simulation.
    private static let remainder = Duration.seconds(3_600)

    /// The real time in which a task that waits for something other than the clock, such as a file, must continue.
    private let patience: Duration
    private let order: RandomOrder?
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    private struct State {
        var jobs: [UnownedJob] = []
        var isWaiting = false
        var isOver = false
    }

    /// An order of the tasks by chance.
    struct RandomOrder {
        let random: RandomSource
        /// The share of steps at which the clock advances although a task can continue, as if the task took that long.
        var lateness = 0.0
    }

    /// Creates a loop.
    ///
    /// - Parameters:
    ///   - patience: The real time in which a task that waits for something other than the clock must continue.
    ///   - order: The order of the tasks; `nil` for the order of arrival.
    init(patience: Duration = .seconds(5), order: RandomOrder? = nil) {
        self.patience = patience
        self.order = order
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isWaiting = state.withLock { state in
            state.jobs.append(job)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if isWaiting {
            wake.signal()
        }
    }

    /// Ends the simulation: the loop stops when all tasks have ended or wait for longer than an hour.
    func end() {
        state.withLock { $0.isOver = true }
    }

    /// Starts the loop on a thread of its own, because it occupies the thread until the end.
    ///
    /// - Parameter onStall: Called if the tasks wait for something that does not happen.
    func start(onStall: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "Simulation")
            .async { [self] in
                // Also for the tasks that the action of an alarm starts, which is in no task itself.
                OwnedTaskExecutor.$current.withValue(self) { run(onStall: onStall) }
            }
    }

    private func run(onStall: @Sendable () -> Void) {
        var end: Duration?
        while true {
            if runJobs() { continue }
            if end == nil, state.withLock({ $0.isOver }) { end = clock.now + Self.remainder }
            if let end, clock.now > end { return }
            if clock.ringNext() { continue }
            if end != nil { return }
            if !waitForJobs() { onStall() }
        }
    }

    /// Runs the tasks that can continue, or one of them if their order is by chance; returns `false` if there are none.
    private func runJobs() -> Bool {
        if let order { return runJob(in: order) }
        let jobs = state.withLock { state in
            let jobs = state.jobs
            state.jobs.removeAll(keepingCapacity: true)
            return jobs
        }
        for job in jobs {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        return !jobs.isEmpty
    }

    private func runJob(in order: RandomOrder) -> Bool {
        let job = state.withLock { state -> UnownedJob? in
            guard !state.jobs.isEmpty else { return nil }
            let last = state.jobs.endIndex - 1
            state.jobs.swapAt(Int(order.random.next() % UInt64(state.jobs.count)), last)
            return state.jobs.removeLast()
        }
        guard let job else { return false }
        job.runSynchronously(on: asUnownedTaskExecutor())
        if order.lateness > 0, order.random.fraction() < order.lateness { _ = clock.ringNext() }
        return true
    }

    /// Waits for a task that another thread resumes; returns `false` if there is none in time.
    private func waitForJobs() -> Bool {
        let hasJobs = state.withLock { state in
            state.isWaiting = state.jobs.isEmpty
            return !state.isWaiting
        }
        return hasJobs || wake.wait(timeout: .now() + patience / .seconds(1)) == .success
    }
}
