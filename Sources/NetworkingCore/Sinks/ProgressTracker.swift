import Synchronization

/// The combined progress of several requests.
///
/// ```swift
/// let tracker = ProgressTracker()
/// async let first = network.data(.get("one"), trackedBy: tracker)
/// async let second = network.data(.get("two"), trackedBy: tracker)
/// // … meanwhile: tracker.progress.fraction
/// ```
///
/// A tracked call counts while it is in progress. If it succeeds, it continues to count for as long as the tracker
/// exists. Only its number of bytes is kept then, so a tracker may live as long as the app. Requests that
/// ``update(_:for:)`` adds stay until ``remove(_:)`` or ``finish(_:)``.
public final class ProgressTracker: Sendable {
    private let state = Mutex(State())

    /// Creates a tracker without requests.
    public init() {}

    /// Sets the progress of a request.
    ///
    /// - Parameters:
    ///   - progress: The progress.
    ///   - id: The identifier of the request.
    public func update(_ progress: TransferProgress, for id: HTTPRequestData.ID) {
        state.withLock { $0.update(progress, for: id) }
    }

    /// Removes a request, for example one that failed.
    ///
    /// Its bytes no longer count.
    ///
    /// - Parameter id: The identifier of the request.
    public func remove(_ id: HTTPRequestData.ID) {
        state.withLock { $0.remove(id) }
    }

    /// Removes a request that is complete, and keeps counting its bytes.
    ///
    /// The number of transferred bytes becomes its total, so that it counts as complete even if its total was unknown
    /// or its body was not transferred to the end.
    ///
    /// - Parameter id: The identifier of the request.
    public func finish(_ id: HTTPRequestData.ID) {
        state.withLock { $0.finish(id) }
    }

    /// The bytes that all tracked requests have received together, which is the `received` part of ``progress``.
    public var overall: BytesReceived {
        progress.received
    }

    /// The combined progress of all tracked requests, in both directions.
    public var progress: TransferProgress {
        state.withLock {
            $0.isEmpty ? TransferProgress() : TransferProgress(sent: $0.sent.sum, received: $0.received.sum)
        }
    }

    /// The number of requests that are stored, which are those in progress.
    var count: Int {
        state.withLock { $0.count }
    }

    /// Tracks a request during a call, and continues to count its bytes if the call succeeds.
    package func track<Value>(
        _ request: HTTPRequestData,
        _ call: (HTTPRequestData) async throws -> Value
    ) async throws -> Value {
        // A new identifier for the call, because one request may be sent more than once.
        let id = HTTPRequestData.ID()
        update(TransferProgress(sent: request.bytesToSend), for: id)
        var tracked = request
        tracked.addProgressHandler { [self] progress in
            // A report that arrives after the call does not add the request again.
            state.withLock { $0.updateExisting(progress, for: id) }
        }
        do {
            let value = try await call(tracked)
            finish(id)
            return value
        } catch {
            remove(id)
            throw error
        }
    }

    private struct State {
        private var transfers: [HTTPRequestData.ID: TransferProgress] = [:]
        private(set) var sent = Total()
        private(set) var received = Total()
        /// Whether the bytes of a request that is complete are counted.
        private var hasFinished = false

        var count: Int {
            transfers.count
        }

        var isEmpty: Bool {
            transfers.isEmpty && !hasFinished
        }

        mutating func update(_ progress: TransferProgress, for id: HTTPRequestData.ID) {
            remove(id)
            add(progress)
            transfers[id] = progress
        }

        mutating func updateExisting(_ progress: TransferProgress, for id: HTTPRequestData.ID) {
            if transfers[id] != nil {
                update(progress, for: id)
            }
        }

        mutating func remove(_ id: HTTPRequestData.ID) {
            guard let progress = transfers.removeValue(forKey: id) else { return }
            sent.remove(progress.sent)
            received.remove(progress.received)
        }

        mutating func finish(_ id: HTTPRequestData.ID) {
            guard var progress = transfers[id] else { return }
            remove(id)
            progress.sent.expected = progress.sent.count
            progress.received.expected = progress.received.count
            add(progress)
            hasFinished = true
        }

        private mutating func add(_ progress: TransferProgress) {
            sent.add(progress.sent)
            received.add(progress.received)
        }
    }

    /// A sum of counts from which counts can be subtracted.
    ///
    /// It is wider than a single count, because a server may announce any length.
    private struct Total {
        private var count: Int128 = 0
        private var expected: Int128 = 0
        /// The number of counts without a total.
        private var unknown = 0

        var sum: BytesTransferred {
            BytesTransferred(
                count: Int64(clamping: count),
                expected: unknown == 0 ? Int64(clamping: expected) : nil
            )
        }

        mutating func add(_ bytes: BytesTransferred) {
            count += Int128(bytes.count)
            expected += Int128(bytes.expected ?? 0)
            unknown += bytes.expected == nil ? 1 : 0
        }

        mutating func remove(_ bytes: BytesTransferred) {
            count -= Int128(bytes.count)
            expected -= Int128(bytes.expected ?? 0)
            unknown -= bytes.expected == nil ? 1 : 0
        }
    }
}
