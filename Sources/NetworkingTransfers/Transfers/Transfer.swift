public import NetworkingCore
import Synchronization

/// A handle on a transfer that runs by itself: its progress, its outcome, and a way to end it.
///
/// A call such as `upload` that is awaited needs no handle. This is for code
/// that starts a transfer in one place, and watches or ends it in another.
///
/// ```swift
/// let transfer = network.transfer(uploading: .file(film), to: films)
/// Task {
///     for await progress in transfer.progress {
///         bar.fraction = progress.sent.fractionCompleted ?? 0
///     }
/// }
/// stopButton.action = { transfer.cancel() }
/// let response = try await transfer.value
/// ```
///
/// The transfer is cancelled when the last reference to the handle goes; a ``TransferGroup`` holds on to those in it
/// until they are over.
public final class Transfer<Value: Sendable>: Sendable {
    private let work: OwnedTask<Void>
    private let outcome = TransferOutcome<Value>()
    /// What makes it pause; nil where it cannot.
    let pauses: TransferPauses?

    /// Starts a call, in the caller's environment and priority.
    init(
        of request: HTTPRequestData,
        in group: TransferGroup?,
        pauses: TransferPauses? = nil,
        _ call: @escaping @Sendable (HTTPRequestData) async throws -> Value
    ) {
        self.pauses = pauses
        // The work holds neither the handle nor the group: who has them decides how long it may go on.
        let outcome = outcome
        outcome.report(TransferProgress(sent: request.bytesToSend))
        let handler = request.progressHandler
        var request = request
        request.progressHandler = { progress in
            outcome.report(progress)
            handler?(progress)
        }
        let watched = request
        let membership = group?.join()
        work = .immediate { [weak group, tracker = group?.tracker] in
            let result: Result<Value, any Error>
            do {
                if let tracker {
                    result = .success(try await tracker.track(watched, call))
                } else {
                    result = .success(try await call(watched))
                }
            } catch {
                result = .failure(error)
            }
            outcome.end(with: result)
            if let membership {
                group?.leave(membership)
            }
        }
        if let group, let membership {
            group.hold(membership, cancelling: self)
        }
    }

    deinit {
        work.cancel()
    }

    /// How far it has come: where it stands, then each change, until it is over.
    ///
    /// A slow reader misses what is outdated by the time it reads. Any number may read. Giving up the iteration does
    /// not end the transfer, as long as somebody has the handle; an iteration has it, too.
    public var progress: AsyncStream<TransferProgress> {
        outcome.progress(of: self)
    }

    /// Its outcome, when it has one.
    ///
    /// Any number may wait for it. A task that is cancelled while it waits gets `CancellationError`, and the transfer
    /// goes on.
    public var value: Value {
        get async throws { try await outcome.value() }
    }

    /// Ends it: its exchange at once, and then ``value`` throws `CancellationError`.
    ///
    /// Does nothing when it is over.
    public func cancel() {
        work.cancel()
    }
}

/// Transfers that run by themselves, to be counted and ended together.
///
/// ```swift
/// let uploads = TransferGroup()
/// for photo in photos {
///     network.transfer(uploading: .file(photo), to: album, in: uploads)
/// }
/// // … meanwhile: uploads.progress.sent.fractionCompleted
/// uploads.cancelAll()
/// ```
///
/// It holds on to each until it is over, so nobody else has to. When the group itself goes, its transfers are
/// cancelled.
public final class TransferGroup: Sendable {
    typealias Membership = UInt64

    let tracker = ProgressTracker()
    private let state = Mutex(State())

    /// Creates a group of none.
    public init() {}

    deinit {
        cancelAll()
    }

    /// How many are under way.
    public var count: Int {
        state.withLock { $0.members.count }
    }

    /// How far all have come together: those that are under way, and those that succeeded.
    public var progress: TransferProgress {
        tracker.progress
    }

    /// Ends all that are under way.
    ///
    /// Those that are started later are not concerned.
    public func cancelAll() {
        let members = state.withLock { Array($0.members.values) }
        for cancel in members {
            cancel?()
        }
    }

    func join() -> Membership {
        state.withLock { state in
            state.last += 1
            state.members[state.last] = .some(nil)
            return state.last
        }
    }

    /// Keeps a transfer until it leaves; one that has left is not kept.
    func hold<Value>(_ membership: Membership, cancelling transfer: Transfer<Value>) {
        state.withLock { state in
            guard state.members.keys.contains(membership) else { return }
            state.members[membership] = { transfer.cancel() }
        }
    }

    func leave(_ membership: Membership) {
        // What is let go of here must not be released under the lock.
        let member = state.withLock { $0.members.removeValue(forKey: membership) }
        withExtendedLifetime(member) {}
    }

    private struct State {
        /// What ends each; nil for one that is just being made.
        var members: [Membership: (@Sendable () -> Void)?] = [:]
        var last: Membership = 0
    }
}

/// What a transfer comes to, for those who wait for it and those who watch.
private final class TransferOutcome<Value: Sendable>: Sendable {
    private let state = Mutex(State())

    func value() async throws -> Value {
        let wait = Suspension<Value>()
        let result = state.withLock { state -> Result<Value, any Error>? in
            if state.result == nil {
                state.waiters[ObjectIdentifier(wait)] = wait
            }
            return state.result
        }
        if let result { return try result.get() }
        return try await wait.value { [self] in
            state.withLock { $0.waiters[ObjectIdentifier(wait)] = nil }
        }
    }

    /// Tells how far it has come, and holds on to its owner as long as somebody listens.
    func progress(of owner: Transfer<Value>) -> AsyncStream<TransferProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TransferProgress.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let isOver = state.withLock { state in
            // Under the lock, so that what is older cannot come after what is newer.
            if let last = state.last {
                continuation.yield(last)
            }
            guard state.result == nil else { return true }
            state.lastReader += 1
            state.readers[state.lastReader] = continuation
            let reader = state.lastReader
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { $0.readers[reader] = nil }
                withExtendedLifetime(owner) {}
            }
            return false
        }
        if isOver {
            continuation.finish()
        }
        return stream
    }

    func report(_ progress: TransferProgress) {
        state.withLock { state in
            state.last = progress
            for reader in state.readers.values {
                reader.yield(progress)
            }
        }
    }

    func end(with result: Result<Value, any Error>) {
        let (waiters, readers) = state.withLock { state in
            state.result = result
            defer { (state.waiters, state.readers) = ([:], [:]) }
            return (Array(state.waiters.values), Array(state.readers.values))
        }
        for waiter in waiters {
            waiter.resume(with: result)
        }
        for reader in readers {
            reader.finish()
        }
    }

    private struct State {
        var result: Result<Value, any Error>?
        var last: TransferProgress?
        var waiters: [ObjectIdentifier: Suspension<Value>] = [:]
        var readers: [Int: AsyncStream<TransferProgress>.Continuation] = [:]
        var lastReader = 0
    }
}
