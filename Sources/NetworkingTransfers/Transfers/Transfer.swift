public import NetworkingCore
import Synchronization

/// A handle to a running transfer, with its progress and result, and a way to cancel it.
///
/// Awaiting a call such as `upload` needs no handle. Use a handle in code that starts a transfer in one place, and
/// watches or cancels it in another.
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
/// The transfer is cancelled when the last reference to the handle is released. A ``TransferGroup`` retains its
/// transfers until they end.
public final class Transfer<Value: Sendable>: Sendable {
    private let work: OwnedTask<Void>
    private let outcome = Outcome<Value>()
    private let reports: Broadcast<TransferProgress>
    /// Pauses and resumes the transfer; `nil` if it cannot pause.
    let pauses: TransferPauses?

    /// Starts a call, in the caller's environment and priority.
    init(
        of request: HTTPRequestData,
        in group: TransferGroup?,
        pauses: TransferPauses? = nil,
        _ call: @escaping @Sendable (HTTPRequestData) async throws -> Value
    ) {
        self.pauses = pauses
        // The task retains neither the handle nor the group, so that their owners decide how long it runs.
        let outcome = outcome
        let reports = Broadcast(
            latest: TransferProgress(sent: request.bytesToSend),
            repeatsLatest: true,
            buffering: .bufferingNewest(1)
        )
        self.reports = reports
        var watched = request
        watched.addProgressHandler { reports.publish($0) }
        let request = watched
        let membership = group?.join()
        work = .immediate { [weak group, tracker = group?.tracker] in
            let result: Result<Value, any Error>
            do {
                if let tracker {
                    result = .success(try await tracker.track(request, call))
                } else {
                    result = .success(try await call(request))
                }
            } catch {
                result = .failure(error)
            }
            outcome.end(with: result)
            reports.finish()
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

    /// The progress of the transfer: the current state, then each change until the transfer ends.
    ///
    /// A slow reader misses outdated states. Several readers may iterate at the same time. An iteration retains the
    /// handle. Ending it does not end the transfer while another reference to the handle exists.
    public var progress: AsyncStream<TransferProgress> {
        reports.elements(retaining: self)
    }

    /// The result of the transfer, when it has ended.
    ///
    /// Several tasks may wait for it. A task that is cancelled while it waits receives `CancellationError`, and the
    /// transfer continues.
    public var value: Value {
        get async throws { try await outcome.value() }
    }

    /// Cancels the transfer: its exchange ends at once, and then ``value`` throws `CancellationError`.
    ///
    /// Does nothing if the transfer has ended.
    public func cancel() {
        work.cancel()
    }
}

/// A group of running transfers that are counted and cancelled together.
///
/// ```swift
/// let uploads = TransferGroup()
/// for file in files {
///     _ = network.transfer(uploading: .file(file), to: album, in: uploads)
/// }
/// // … meanwhile: uploads.progress.sent.fractionCompleted
/// uploads.cancelAll()
/// ```
///
/// The group retains each transfer until it ends, so no other reference is needed. Releasing the group cancels its
/// transfers.
public final class TransferGroup: Sendable {
    typealias Membership = UInt64

    let tracker = ProgressTracker()
    private let state = Mutex(State())

    /// Creates an empty group.
    public init() {}

    deinit {
        cancelAll()
    }

    /// The number of running transfers.
    public var count: Int {
        state.withLock { $0.members.count }
    }

    /// The combined progress of the running and the successful transfers.
    public var progress: TransferProgress {
        tracker.progress
    }

    /// Cancels all running transfers.
    ///
    /// Transfers that are started later are not affected.
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

    /// Retains a transfer until it leaves; a transfer that has already left is not retained.
    func hold<Value>(_ membership: Membership, cancelling transfer: Transfer<Value>) {
        state.withLock { state in
            guard state.members.keys.contains(membership) else { return }
            state.members[membership] = { transfer.cancel() }
        }
    }

    func leave(_ membership: Membership) {
        // The member must not be released under the lock.
        let member = state.withLock { $0.members.removeValue(forKey: membership) }
        withExtendedLifetime(member) {}
    }

    private struct State {
        /// The closure that cancels each transfer; `nil` for a transfer that is being created.
        var members: [Membership: (@Sendable () -> Void)?] = [:]
        var last: Membership = 0
    }
}
