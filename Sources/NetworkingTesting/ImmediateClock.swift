import FoundationForNetworking
public import NetworkingCore
import Synchronization

extension NetworkClock {
    /// A clock on which every wait ends immediately: sleeping advances its time to the end of the sleep.
    ///
    /// Use it in tests that check what happens after waits but not when. An alarm, such as a timeout, never fires on
    /// it.
    ///
    /// - Returns: A new clock that starts at zero.
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
