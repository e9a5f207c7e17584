import NetworkingCore
import Synchronization

/// A value behind a lock, with a time that never decreases, for an object that stacks with different clocks may share.
///
/// A clock may be code of the app, so it is read outside of the lock.
final class ClockedMutex<Value: Sendable>: Sendable {
    private let state: Mutex<State>

    private struct State: Sendable {
        var value: Value
        var time = SharedTime()
    }

    init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    /// Runs a closure with the value and the current moment, on the clock of the last use.
    func withValue<Result: Sendable>(_ body: @Sendable (inout Value, Duration) -> Result) -> Result {
        withValue(on: state.withLock { $0.time.clock } ?? NetworkEnvironment.current.clock, body)
    }

    /// Runs a closure with the value and the current moment on a clock.
    func withValue<Result: Sendable>(
        on clock: NetworkClock,
        _ body: @Sendable (inout Value, Duration) -> Result
    ) -> Result {
        var former: (clock: NetworkClock, now: Duration)?
        while true {
            let now = clock.now
            let result = state.withLock { [former] state -> Result? in
                state.time.moment(at: now, on: clock, former: former).map { body(&state.value, $0) }
            }
            if let result { return result }
            // The value is on another clock, which must be read first.
            former = state.withLock { $0.time.clock }.map { ($0, $0.now) }
        }
    }

    /// Runs a closure with the value and the latest moment so far, without reading a clock.
    func withLatest<Result: Sendable>(_ body: @Sendable (inout Value, Duration) -> Result) -> Result {
        state.withLock { body(&$0.value, $0.time.latest) }
    }
}
