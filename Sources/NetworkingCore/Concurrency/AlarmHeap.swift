import HeapModule
import Synchronization

/// Many alarms over one sleeping task.
///
/// A task per timeout would cost three times what the rest of a stack does, and nearly every timeout is called off.
/// So setting and calling off are a push and a dictionary removal, and one task sleeps until the earliest alarm. It
/// is not woken when that alarm is called off: it finds nothing to do when it wakes.
final class AlarmHeap: AlarmOwner {
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void
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
        state.withLock { $0.remove(id) }
    }

    private func sleeper(generation: UInt64, until deadline: Duration) -> OwnedTask<Void> {
        // It must not keep the heap alive, or a clock that nobody holds any more would wait for its last alarm.
        .detached { [weak self, sleep] in
            var next: Duration? = deadline
            while let deadline = next {
                try await sleep(deadline)
                next = self?.ring(generation: generation)
            }
        }
    }

    /// Does what is due, and answers when to wake next, if this sleeper is still the one.
    private func ring(generation: UInt64) -> Duration? {
        let now = now()
        let (actions, next) = state.withLock { $0.ring(at: now, generation: generation) }
        for action in actions {
            action()
        }
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

        mutating func remove(_ id: UInt64) {
            guard actions.removeValue(forKey: id) != nil else { return }
            // What was called off leaves the heap when it is due, or here once it outnumbers what was not.
            if heap.count > 2 * actions.count + 1_024 {
                heap = Heap(heap.unordered.filter { actions[$0.id] != nil })
            }
        }

        /// When to wake, if that is earlier than the sleeper will.
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
                heap.removeMin()
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
