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

        mutating func takeNext() -> TransferProgress? {
            defer { next = nil }
            isReporting = next != nil
            return next
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
    package func report(_ progress: TransferProgress, _ number: Int) {
        let isFree = state.withLock { state in
            guard number > state.last else { return false }
            state.last = number
            state.next = progress
            guard !state.isReporting else { return false }
            state.isReporting = true
            return true
        }
        guard isFree else { return }
        while let next = state.withLock({ $0.takeNext() }) {
            handler(next)
        }
    }

    /// Drops all later reports.
    ///
    /// A report that waits for the handler to return is still delivered, because it may be the last of its transfer.
    package func stop() {
        state.withLock { $0.last = .max }
    }
}
