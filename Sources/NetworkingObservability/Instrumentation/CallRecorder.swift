import NetworkingCore
import Synchronization

/// Writes down what happens in one call, as it happens: which part of the stack has the request, what it waits for, and
/// how far its exchanges are.
///
/// It only writes; whoever reads the log makes sense of it. So a part of a stack pays for two looks at the clock.
final class CallRecorder: CallRecording {
    let clock: NetworkClock
    /// The system's time is told without a clock: the way through one takes as long as the rest.
    private let isSystem: Bool
    private let log: Mutex<CallLog>

    init(on clock: NetworkClock) {
        self.clock = clock
        isSystem = clock.isSystem
        log = Mutex(CallLog(start: isSystem ? SystemTime.nanoseconds : clock.nanoseconds))
    }

    private var now: Int64 {
        isSystem ? SystemTime.nanoseconds : clock.nanoseconds
    }

    /// A part of the stack gets the request.
    ///
    /// - Returns: The number to leave with.
    package func enter(_ part: any Any.Type) -> Int32 {
        log.withLock { $0.add(.enter(part), at: now) }
    }

    /// It has returned or thrown.
    package func leave(_ number: Int32) {
        guard number >= 0 else { return }
        log.withLock { _ = $0.add(.leave(number), at: now) }
    }

    package func record(_ event: any NetworkEvent) {
        guard let change = CallLog.Change(event) else { return }
        _ = log.withLock { log in
            log.tally.add(change)
            return log.add(change, at: now)
        }
    }

    /// One for work that is done beside this call, and may outlive it.
    package func branch() -> any CallRecording {
        CallRecorder(on: clock)
    }

    /// Adds what a branch has recorded so far; what it records later is not this call's.
    package func join(_ branch: any CallRecording) {
        guard let branch = branch as? CallRecorder else { return }
        let part = branch.log.withLock { $0 }
        _ = log.withLock { log in
            log.tally += part.tally
            return log.add(.branch(CallLog.Branch(part)), at: now)
        }
    }

    /// Where the log is now, for who reads it from here on.
    var position: CallLog.Position {
        log.withLock { CallLog.Position(index: $0.count, tally: $0.tally, moment: now) }
    }

    /// What was recorded up to now.
    func finish() -> CallLog {
        log.withLock { log in
            log.end = now
            // Who recorded goes with this, so the entries change hands without a copy.
            return log
        }
    }

    /// What was recorded from a position up to now.
    func finish(from position: CallLog.Position) -> CallLog {
        finish().part(from: position)
    }
}
