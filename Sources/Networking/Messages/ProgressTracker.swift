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

    /// How far all tracked requests have come together, both ways.
    public var progress: TransferProgress {
        TransferProgress(sent: overallSent, received: overall)
    }

    /// Counts a request for as long as a call takes, and after it when that succeeds.
    func track<Value>(
        _ request: HTTPRequestData,
        _ call: (HTTPRequestData) async throws -> Value
    ) async throws -> Value {
        // A label of the call's own: one request may be sent more than once.
        let id = HTTPRequestData.ID()
        let handler = request.progressHandler
        update(TransferProgress(sent: request.bytesToSend), for: id)
        var tracked = request
        tracked.progressHandler = { [self] progress in
            // A report that comes after the call has failed does not bring it back.
            transfers.withLock { $0[id] = $0[id] == nil ? nil : progress }
            handler?(progress)
        }
        do {
            return try await call(tracked)
        } catch {
            remove(id)
            throw error
        }
    }

    private func sum(of part: KeyPath<TransferProgress, BytesTransferred>) -> BytesTransferred {
        transfers.withLock { transfers in
            guard !transfers.isEmpty else { return BytesTransferred() }
            return transfers.values.reduce(BytesTransferred(expected: 0)) { $0 + $1[keyPath: part] }
        }
    }
}
