import NetworkingCore
import Synchronization

extension Outbox {
    /// Makes ``run()`` check the entries again.
    func wake() {
        let waiters = state.withLock { state in
            state.wakes += 1
            return Array(state.waiters.values)
        }
        for waiter in waiters {
            waiter.resume()
        }
    }

    /// Waits until `wake()` has been called more often than a number of times, at the latest until a moment.
    func waitForWork(after wakes: UInt64, until moment: Duration?, on clock: NetworkClock) async throws {
        let wait = Suspension<Void>()
        let isWoken = state.withLock { state in
            state.waiters[ObjectIdentifier(wait)] = wait
            return state.wakes != wakes
        }
        defer { state.withLock { $0.waiters[ObjectIdentifier(wait)] = nil } }
        guard !isWoken else { return }
        try await wait.value(until: nil, or: moment.map { WaitDeadline($0, on: clock, with: .success(())) })
    }

    /// Waits until the current delivery has ended; returns at once if there is none.
    func waitForDelivery() async throws {
        let wait = Suspension<Void>()
        let isOver = state.withLock { state in
            guard state.isDelivering else { return true }
            state.flushes[ObjectIdentifier(wait)] = wait
            return false
        }
        guard !isOver else { return }
        defer { state.withLock { $0.flushes[ObjectIdentifier(wait)] = nil } }
        try await wait.value(until: nil)
    }
}
