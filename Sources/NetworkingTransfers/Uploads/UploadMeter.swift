import NetworkingCore
import Synchronization

/// The progress of a resumable upload, which never decreases.
final class UploadMeter: Sendable {
    private struct State {
        var last: TransferProgress
        /// Whether a thread is in the closure.
        ///
        /// It also reports the progress that is made meanwhile, because two threads could report in the wrong order.
        var isReporting = false
    }

    private let state: Mutex<State>
    private let report: (@Sendable (TransferProgress) -> Void)?

    init(length: Int64?, _ report: (@Sendable (TransferProgress) -> Void)?) {
        state = Mutex(State(last: TransferProgress(sent: BytesSent(expected: length))))
        self.report = report
    }

    /// Reports that the body was sent up to a position, unless more of it was sent before.
    func update(sent count: Int64, of length: Int64, received: BytesReceived = BytesReceived()) {
        guard let report else { return }
        var due = state.withLock { state -> TransferProgress? in
            let count = min(max(count, state.last.sent.count), length)
            let next = TransferProgress(sent: BytesSent(count: count, expected: length), received: received)
            guard next != state.last else { return nil }
            state.last = next
            guard !state.isReporting else { return nil }
            state.isReporting = true
            return next
        }
        while let progress = due {
            report(progress)
            due = state.withLock { state in
                state.isReporting = state.last != progress
                return state.isReporting ? state.last : nil
            }
        }
    }

    /// Passes on the progress of a request that sends the body from an offset.
    func handler(from offset: Int64, of length: Int64) -> (@Sendable (TransferProgress) -> Void)? {
        guard report != nil else { return nil }
        return { [self] progress in
            update(sent: offset + progress.sent.count, of: length, received: progress.received)
        }
    }
}
