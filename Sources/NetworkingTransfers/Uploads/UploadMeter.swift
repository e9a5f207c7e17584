import NetworkingCore
import Synchronization

/// The progress of a resumable upload, which never decreases.
final class UploadMeter: Sendable {
    private let last: Mutex<TransferProgress>
    private let report: (@Sendable (TransferProgress) -> Void)?

    init(length: Int64?, _ report: (@Sendable (TransferProgress) -> Void)?) {
        last = Mutex(TransferProgress(sent: BytesSent(expected: length)))
        self.report = report
    }

    /// Reports that the body was sent up to a position, unless more of it was sent before.
    func update(sent count: Int64, of length: Int64, received: BytesReceived = BytesReceived()) {
        guard let report else { return }
        let progress = last.withLock { last -> TransferProgress? in
            let count = min(max(count, last.sent.count), length)
            let next = TransferProgress(sent: BytesSent(count: count, expected: length), received: received)
            guard next != last else { return nil }
            last = next
            return next
        }
        if let progress {
            report(progress)
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
