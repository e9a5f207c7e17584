public import Networking
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension NetworkClock {
    /// A clock on which every wait is over at once: sleeping moves its time on to the end of the sleep.
    ///
    /// For tests that want to see what happens after waits and do not care when. An alarm, such as a timeout, never
    /// rings on it.
    ///
    /// - Returns: A clock of its own, at zero.
    public static func immediate() -> NetworkClock {
        NetworkClock(engine: ImmediateClock())
    }
}

private final class ImmediateClock: NetworkClockEngine, AlarmOwner {
    private let time = Mutex(Duration.zero)

    var now: Duration {
        time.withLock { $0 }
    }

    var date: Date {
        let (seconds, attoseconds) = now.components
        return Date(timeIntervalSince1970: 1_700_000_000 + Double(seconds) + Double(attoseconds) / 1e18)
    }

    func sleep(until deadline: Duration, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        time.withLock { $0 = max($0, deadline) }
    }

    func alarm(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> Alarm {
        Alarm(id: 0, owner: self)
    }

    func cancelAlarm(_ id: UInt64) {}
}
