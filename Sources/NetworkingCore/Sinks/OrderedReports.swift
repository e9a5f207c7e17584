import Synchronization

/// Reports of progress from several threads, as one handler gets them: one at a time, in order, and never under a lock.
///
/// A report that comes while the handler runs is made by the thread that runs it, once the handler has returned. If
/// there are several by then, the handler gets the newest. A report older than one that was made is dropped.
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

    /// Makes a report.
    ///
    /// - Parameters:
    ///   - progress: How far the transfer has come.
    ///   - number: The number of the report. Only reports with a greater number than all before are made.
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

    /// Drops all reports from here on.
    ///
    /// One that waits for the handler to return is still made, since it may be the last of its transfer.
    package func stop() {
        state.withLock { $0.last = .max }
    }
}
