import Synchronization

/// A heap of alarms that share one sleeping task.
///
/// A task per timeout would cost three times as much as the rest of a stack, and nearly every timeout is cancelled.
/// Setting an alarm is a heap insertion and cancelling it is a dictionary removal. One task sleeps until the earliest
/// alarm. Cancelling that alarm does not wake the task, which finds nothing to do when it wakes.
///
/// The task only finds the alarms that are due. Their actions run on another thread, because an action may run code of
/// an app, such as a cancellation handler that blocks.
final class AlarmHeap: AlarmOwner {
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let thread = ActionThread(label: "Networking.Alarms")
    private let state = Mutex(State())

    init(now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        self.sleep = sleep
    }

    deinit {
        state.withLock { $0.sleeper }?.cancel()
    }

    func set(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> Alarm {
        let (id, obsolete) = state.withLock { state -> (UInt64, OwnedTask<Void>?) in
            let id = state.add(at: deadline, action)
            guard let wake = state.wakeNeeded else { return (id, nil) }
            let obsolete = state.sleeper
            state.sleeper = sleeper(generation: state.beginSleep(until: wake), until: wake)
            return (id, obsolete)
        }
        obsolete?.cancel()
        return Alarm(id: id, owner: self)
    }

    func cancelAlarm(_ id: UInt64) {
        // The action is released outside the lock, because its objects may cancel other alarms when they are released.
        _ = state.withLock { $0.remove(id) }
    }

    private func sleeper(generation: UInt64, until deadline: Duration) -> OwnedTask<Void> {
        // The task must not keep the heap alive, or a clock that has been released would wait for its last alarm.
        .detached { [weak self, now, sleep] in
            var next: Duration? = deadline
            while let deadline = next {
                try await Self.sleep(until: deadline, now, sleep)
                next = self?.ring(generation: generation)
            }
        }
    }

    /// Sleeps until a deadline, also on a clock of an app whose own sleep fails or returns at once.
    ///
    /// The system's clock replaces such a sleep, for the time that is left on the other clock.
    private static func sleep(
        until deadline: Duration,
        _ now: @Sendable () -> Duration,
        _ sleep: @Sendable (Duration) async throws -> Void
    ) async throws {
        var time = now()
        while time < deadline {
            let start = time
            var hasFailed = false
            do {
                try await sleep(deadline)
            } catch {
                // The sleeper itself is cancelled when another one replaces it.
                try Task.checkCancellation()
                hasFailed = true
            }
            time = now()
            guard time < deadline, hasFailed || time - start < shortestSleep else { continue }
            try await ContinuousClock().sleep(for: min(max(deadline - time, shortestSleep), longestSleep))
            time = now()
        }
    }

    private static let (shortestSleep, longestSleep) = (Duration.milliseconds(1), Duration.seconds(60))

    /// Hands over the alarms that are due, and returns the next deadline, or `nil` if a newer sleeper has replaced this
    /// one.
    private func ring(generation: UInt64) -> Duration? {
        let now = now()
        let (actions, next) = state.withLock { $0.ring(at: now, generation: generation) }
        thread.run(actions)
        return next
    }

    struct State {
        var sleeper: OwnedTask<Void>?
        private var heap = Heap<Entry>()
        private var actions: [UInt64: @Sendable () -> Void] = [:]
        private var lastID: UInt64 = 0
        private var generation: UInt64 = 0
        private var sleepingUntil: Duration?

        private struct Entry: Comparable {
            let deadline: Duration
            let id: UInt64

            static func < (lhs: Entry, rhs: Entry) -> Bool {
                (lhs.deadline, lhs.id) < (rhs.deadline, rhs.id)
            }
        }

        mutating func add(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> UInt64 {
            lastID += 1
            actions[lastID] = action
            heap.insert(Entry(deadline: deadline, id: lastID))
            return lastID
        }

        mutating func remove(_ id: UInt64) -> (@Sendable () -> Void)? {
            guard let action = actions.removeValue(forKey: id) else { return nil }
            // A cancelled alarm leaves the heap when it is due, or here once most alarms in the heap are cancelled.
            if heap.count > 2 * actions.count + 1_024 {
                heap = Heap(heap.unordered.filter { actions[$0.id] != nil })
            }
            return action
        }

        /// The next deadline, if it is earlier than the deadline of the sleeper.
        var wakeNeeded: Duration? {
            guard let first = heap.min else { return nil }
            guard let sleepingUntil else { return first.deadline }
            return first.deadline < sleepingUntil ? first.deadline : nil
        }

        mutating func beginSleep(until deadline: Duration) -> UInt64 {
            generation += 1
            sleepingUntil = deadline
            return generation
        }

        mutating func ring(at now: Duration, generation: UInt64) -> ([@Sendable () -> Void], Duration?) {
            guard generation == self.generation else { return ([], nil) }
            var due: [@Sendable () -> Void] = []
            while let first = heap.min, first.deadline <= now || actions[first.id] == nil {
                heap.popMin()
                if let action = actions.removeValue(forKey: first.id) {
                    due.append(action)
                }
            }
            sleepingUntil = heap.min?.deadline
            if sleepingUntil == nil {
                sleeper = nil
            }
            return (due, sleepingUntil)
        }
    }
}
