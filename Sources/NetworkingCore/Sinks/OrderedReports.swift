import Synchronization

/// Reports of progress from several threads, delivered to one handler one at a time, in order, and never under a lock.
///
/// If a report arrives while the handler runs, the thread that runs the handler delivers the report afterwards. If
/// there are several by then, the handler receives the newest. A report older than a delivered one is dropped.
package final class OrderedReports: Sendable {
    private struct State {
        var last = 0
        var next: TransferProgress?
        var isReporting = false
        var waiter: Suspension<Void>?

        mutating func takeNext() -> (report: TransferProgress?, waiter: Suspension<Void>?) {
            defer { next = nil }
            isReporting = next != nil
            guard !isReporting else { return (next, nil) }
            defer { waiter = nil }
            return (nil, waiter)
        }
    }

    private let handler: @Sendable (TransferProgress) -> Void
    private let state = Mutex(State())

    package init(to handler: @escaping @Sendable (TransferProgress) -> Void) {
        self.handler = handler
    }

    /// Delivers a report.
    ///
    /// - Parameters:
    ///   - progress: The progress of the transfer.
    ///   - number: The number of the report. A report is dropped if its number is not greater than all before.
    ///   - thread: The thread that runs the handler; `nil` for the calling thread, which then waits for the handler.
    package func report(_ progress: TransferProgress, _ number: Int, on thread: ActionThread? = nil) {
        let isFree = state.withLock { state in
            guard number > state.last else { return false }
            state.last = number
            state.next = progress
            guard !state.isReporting else { return false }
            state.isReporting = true
            return true
        }
        guard isFree else { return }
        if let thread {
            let action: @Sendable () -> Void = { [self] in deliver() }
            thread.run(CollectionOfOne(action))
        } else {
            deliver()
        }
    }

    private func deliver() {
        while true {
            let (report, waiter) = state.withLock { $0.takeNext() }
            waiter?.resume()
            guard let report else { return }
            handler(report)
        }
    }

    /// Waits until the handler has received all reports.
    ///
    /// Only one caller may wait.
    ///
    /// - Parameter limit: The time limit of the wait.
    package func settle(until limit: ExchangeLimit?) async {
        let wait = Suspension<Void>()
        let isReporting = state.withLock { state in
            if state.isReporting { state.waiter = wait }
            return state.isReporting
        }
        guard isReporting else { return }
        // The response is there, so neither a cancellation nor the limit is a failure.
        try? await wait.value(until: limit)
    }

    /// Drops all later reports.
    ///
    /// A report that waits for the handler to return is still delivered, because it may be the last of its transfer.
    package func stop() {
        state.withLock { $0.last = .max }
    }
}
