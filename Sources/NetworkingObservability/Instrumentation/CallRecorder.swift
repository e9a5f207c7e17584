import NetworkingCore
import Synchronization

/// Records the events of one call: the active component of the stack, its waits, and the progress of its exchanges.
///
/// The recorder only writes entries, and the metrics interpret them when they are read. A component of a stack
/// therefore costs only two readings of the clock.
final class CallRecorder: CallRecording {
    let clock: NetworkClock
    private let log: Mutex<CallLog>

    init(on clock: NetworkClock) {
        self.clock = clock
        log = Mutex(CallLog(start: clock.nanoseconds))
    }

    private var now: Int64 {
        clock.nanoseconds
    }

    /// Records that a component of the stack receives the request.
    ///
    /// - Returns: The number for the matching `leave(_:)`.
    func enter(_ part: any Any.Type) -> Int32 {
        log.withLock { $0.add(.enter(part), at: now) }
    }

    /// Records that the component has returned or thrown.
    func leave(_ number: Int32) {
        guard number >= 0 else { return }
        log.withLock { _ = $0.add(.leave(number), at: now) }
    }

    func record(_ event: any NetworkEvent) {
        guard let change = CallLog.Change(event) else { return }
        _ = log.withLock { log in
            log.tally.add(change)
            return log.add(change, at: now)
        }
    }

    /// Returns a recorder for concurrent work, which may outlive this call.
    func branch() -> any CallRecording {
        CallRecorder(on: clock)
    }

    /// Adds the entries that a branch has recorded so far; its later entries do not belong to this call.
    func join(_ branch: any CallRecording) {
        guard let branch = branch as? CallRecorder else { return }
        let part = branch.log.withLock { $0 }
        _ = log.withLock { log in
            log.tally += part.tally
            return log.add(.branch(CallLog.Branch(part)), at: now)
        }
    }

    /// The current position in the log, from which a part of it can be read later.
    var position: CallLog.Position {
        log.withLock { CallLog.Position(index: $0.count, tally: $0.tally, moment: now) }
    }

    /// Returns the log up to now.
    func finish() -> CallLog {
        log.withLock { log in
            log.end = now
            // The recorder is discarded afterwards, so the entries are moved and not copied.
            return log
        }
    }

    /// Returns the log from a position up to now.
    func finish(from position: CallLog.Position) -> CallLog {
        finish().part(from: position)
    }
}
