#if URLSession
import Foundation
import NetworkingCore
import NetworkingTrust
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLSessionExchange {
    /// A milestone that the sending task can wait for.
    enum Milestone {
        case head
        case bytes
        case end
    }

    enum Outcome {
        /// The caller was cancelled.
        case cancelled
        /// The body exceeds its limit.
        case tooLong
        /// The body exceeds the decompression limit.
        case decompressionLimitExceeded
        /// The sink is too far behind: more bytes are waiting for it than the limit allows.
        case tooFarAhead
        /// Bytes that are waiting for the sink could not be stored.
        case unbuffered(FileFault)
        /// The head is refused, so the body is not awaited.
        case refusedHead
        /// A challenge was refused, so the data that has arrived is the response.
        case refusedChallenge
        /// URLSession has completed the task.
        case completed((any Error)?)

        /// Whether URLSession is still working on the task.
        var leavesTaskRunning: Bool {
            switch self {
            case .cancelled, .tooLong, .decompressionLimitExceeded, .tooFarAhead, .unbuffered, .refusedHead: true
            case .refusedChallenge, .completed: false
            }
        }
    }

    struct State {
        var task: URLSessionTask?
        var waiter: (milestone: Milestone, continuation: CheckedContinuation<Void, Never>)?
        private(set) var response: URLResponse?
        private let body: SpillBuffer
        /// The number of bytes that have arrived, including bytes that were taken since.
        private(set) var received: Int64 = 0
        /// The number of those bytes on the wire, for a decoded body that ended with an error.
        var encodedReceived: Int64?
        private(set) var limit: Int64
        /// The length above which a decoded body is checked against the decompression limit.
        private let suspiciousLength: Int64
        var progress: TransferProgress
        private var reported: TransferProgress?
        /// The number of bytes of the body that have been sent, including those of earlier attempts to send it.
        private var sentTotal: Int64 = 0
        private(set) var sentBefore: Int64 = 0
        private(set) var outcome: Outcome?
        /// Whether the task was resumed.
        private var isStarted = false
        /// Whether any part of the request is known to have been sent.
        var wasSent = false
        /// Why the exchange refused the server's certificate.
        var trustFailure: TrustFailure?
        /// The mismatch of pins that are only reported.
        var reportedMismatch: PinMismatch?

        init(limit: Int64, decompressionLimit: DecompressionLimit, bytesToSend: Int64, body: SpillBuffer) {
            self.limit = limit
            self.body = body
            progress = TransferProgress(sent: BytesSent(expected: bytesToSend))
            let free = decompressionLimit.ratio == nil ? .max : DecompressionLimit.freeBytes
            suspiciousLength = min(free, decompressionLimit.size ?? .max)
        }

        /// Whether the body has a coding, which URLSession may decode.
        var isDecoded: Bool {
            guard let response = response as? HTTPURLResponse else { return false }
            let coding = response.value(forHTTPHeaderField: "Content-Encoding")
            return !BodyCodings(contentEncoding: coding, transferEncoding: nil).isEmpty
        }

        /// The task, the number of bytes it has decoded and the number of bytes earlier connections have taken; `nil`
        /// until the body is long enough to check.
        var suspectedOfDecompressing: (task: URLSessionTask, received: Int64, sentBefore: Int64)? {
            guard received > suspiciousLength, outcome == nil, let task, isDecoded else { return nil }
            return (task, received, sentBefore)
        }

        var isTooLong: Bool {
            received > limit
        }

        func brokenLimit(maximumBufferedBytes: Int64) -> Outcome? {
            if isTooLong { return .tooLong }
            if let fault = body.fault { return .unbuffered(fault) }
            // Without a sink, the whole body stays in memory until the end.
            return body.spills && body.count > maximumBufferedBytes ? .tooFarAhead : nil
        }

        /// Sets the limit of the body, and returns whether the body already exceeds it.
        mutating func setLimit(_ limit: Int64) -> Bool {
            self.limit = limit
            return isTooLong
        }

        func hasReached(_ milestone: Milestone) -> Bool {
            switch milestone {
            case .head: return outcome != nil || response != nil
            case .bytes:
                if case .cancelled = outcome { return true }
                // The last bytes may be read from a file after the end.
                return body.isReady || body.isEmpty && outcome != nil
            case .end: return outcome != nil
            }
        }

        /// Returns the waiter if its milestone is reached.
        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            guard let waiter, hasReached(waiter.milestone) else { return nil }
            self.waiter = nil
            return waiter.continuation
        }

        /// Records that the task was resumed, and returns whether it has to be cancelled now.
        ///
        /// The task is not cancelled earlier, because a task that is resumed after its cancellation would run.
        mutating func start() -> Bool {
            isStarted = true
            return outcome?.leavesTaskRunning ?? false
        }

        /// Ends the exchange, and returns the waiter, and the task if it has to be cancelled now.
        ///
        /// - Returns: `nil` if the exchange had already ended.
        mutating func end(with outcome: Outcome) -> (CheckedContinuation<Void, Never>?, URLSessionTask?)? {
            guard self.outcome == nil else { return nil }
            self.outcome = outcome
            defer { task = nil }
            return (takeWaiter(), isStarted && outcome.leavesTaskRunning ? task : nil)
        }

        /// Counts the bytes of the body that have been sent; URLSession continues its count when a body is sent again.
        mutating func send(_ count: Int64) {
            guard outcome == nil else { return }
            wasSent = true
            sentTotal = count
            progress.sent.count = max(progress.sent.count, count - sentBefore)
        }

        /// Restarts the count; the progress does not change until the count reaches its previous value.
        mutating func restartCount() {
            wasSent = true
            sentBefore = sentTotal
        }

        /// Returns the progress; `nil` if it has already been reported.
        mutating func takeProgress() -> TransferProgress? {
            guard progress != reported else { return nil }
            reported = progress
            return progress
        }

        mutating func receive(_ response: URLResponse) {
            self.response = response
            // A server can announce any length, so memory is reserved only up to a limit.
            let expected = min(response.expectedContentLength, limit, Int64(min(body.maximumInMemory, 64 << 20)))
            if expected > 16_384 {
                body.reserveCapacity(Int(expected))
            }
        }

        mutating func receive(_ data: Data) {
            guard outcome == nil else { return }
            body.append(data)
            received += Int64(data.count)
            progress.received.count = received
        }
    }
}
#endif
