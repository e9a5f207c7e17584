import NetworkingCore
import Synchronization

/// The moment at which the head of a response arrived.
final class HeadWatch: NetworkEventObserver {
    private let clock: NetworkClock
    private let time = Atomic(Int64.min)

    init(_ clock: NetworkClock) {
        self.clock = clock
    }

    /// The moment, in nanoseconds; `nil` if the transport has reported none.
    var moment: Int64? {
        let time = time.load(ordering: .acquiring)
        return time == .min ? nil : time
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        guard case ExchangeEvent.headReceived(let head) = event, head.status.kind != .informational else { return }
        time.store(clock.nanoseconds, ordering: .releasing)
    }
}
