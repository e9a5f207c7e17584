import FoundationForNetworking
import NetworkingCore
import Synchronization

/// The clock of a simulation: its time advances to the next alarm when no task can run.
final class SimulationClock: NetworkClockEngine, AlarmOwner {
    private let state = Mutex(State())

    var now: Duration {
        state.withLock { $0.now }
    }

    var date: Date {
        let (seconds, attoseconds) = now.components
        return Date(timeIntervalSince1970: 1_700_000_000 + Double(seconds) + Double(attoseconds) / 1e18)
    }

    /// The number of alarms that have neither rung nor been cancelled.
    var pendingAlarms: Int {
        state.withLock { $0.actions.count }
    }

    func sleep(until deadline: Duration, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        let wait = Suspension<Void>()
        let alarm = alarm(at: deadline) { wait.resume() }
        try await wait.value(until: nil) { alarm.cancel() }
    }

    func alarm(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> Alarm {
        Alarm(id: state.withLock { $0.add(at: deadline, action) }, owner: self)
    }

    func cancelAlarm(_ id: UInt64) {
        // Released outside of the lock, because its objects may cancel other alarms.
        _ = state.withLock { $0.actions.removeValue(forKey: id) }
    }

    /// Advances to the next alarm and runs its action.
    ///
    /// - Returns: `false` if there is no alarm.
    func ringNext() -> Bool {
        guard let action = state.withLock({ $0.takeNext() }) else { return false }
        action()
        return true
    }

    private struct State {
        var now = Duration.zero
        var actions: [UInt64: @Sendable () -> Void] = [:]
        private var heap = Heap<Entry>()
        private var lastID: UInt64 = 0

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
            // Most alarms are time limits, which are cancelled long before they are due.
            if heap.count > 2 * actions.count + 1_024 {
                heap = Heap(heap.unordered.filter { actions[$0.id] != nil })
            }
            return lastID
        }

        mutating func takeNext() -> (@Sendable () -> Void)? {
            while let entry = heap.popMin() {
                guard let action = actions.removeValue(forKey: entry.id) else { continue }
                now = max(now, entry.deadline)
                return action
            }
            return nil
        }
    }
}
