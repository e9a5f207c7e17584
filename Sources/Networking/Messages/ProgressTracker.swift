import Synchronization

/// The progress of several requests as one.
///
/// ```swift
/// let tracker = ProgressTracker()
/// async let first = network.data(one, trackedBy: tracker)
/// async let second = network.data(two, trackedBy: tracker)
/// // … meanwhile: tracker.overall.fractionCompleted
/// ```
public final class ProgressTracker: Sendable {
    private let transfers = Mutex<[HTTPRequestData.ID: TransferProgress]>([:])

    /// Creates a tracker of no requests.
    public init() {}

    /// Says how far a request has come.
    ///
    /// - Parameters:
    ///   - progress: Its progress.
    ///   - id: The label of the request.
    public func update(_ progress: TransferProgress, for id: HTTPRequestData.ID) {
        transfers.withLock { $0[id] = progress }
    }

    /// Forgets a request, for example one that failed.
    ///
    /// Its bytes no longer count.
    ///
    /// - Parameter id: The label of the request.
    public func remove(_ id: HTTPRequestData.ID) {
        transfers.withLock { $0[id] = nil }
    }

    /// What all tracked requests have received together.
    public var overall: BytesReceived {
        sum(of: \.received)
    }

    /// What all tracked requests have sent together.
    public var overallSent: BytesSent {
        sum(of: \.sent)
    }

    private func sum(of part: KeyPath<TransferProgress, BytesTransferred>) -> BytesTransferred {
        transfers.withLock { transfers in
            guard !transfers.isEmpty else { return BytesTransferred() }
            return transfers.values.reduce(BytesTransferred(expected: 0)) { $0 + $1[keyPath: part] }
        }
    }
}
