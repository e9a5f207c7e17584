import Synchronization

/// The time limit of an exchange that a transport or `deduplicated` enforces itself.
///
/// Otherwise `timeout` and `deadline` run their upstream in a separate task that they can cancel. Switching back from
/// that task takes longer than the rest of a stack.
package final class ExchangeLimit: Sendable {
    /// The moment at which the exchange ends, on ``clock``.
    package let deadline: Duration
    package let clock: NetworkClock
    private let reached = Atomic(false)

    init(until deadline: Duration, on clock: NetworkClock) {
        self.deadline = deadline
        self.clock = clock
    }

    /// Whether the exchange was ended because of this limit.
    var isReached: Bool {
        reached.load(ordering: .acquiring)
    }

    /// Records that the exchange is ended because of this limit.
    package func reach() {
        reached.store(true, ordering: .releasing)
    }

    /// Cancels an exchange at the limit.
    ///
    /// - Returns: The alarm, which must be cancelled when the exchange has ended.
    package func alarm(_ cancel: @escaping @Sendable () -> Void) -> Alarm {
        clock.alarm(at: deadline) { [self] in
            reach()
            cancel()
        }
    }
}
