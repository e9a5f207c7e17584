import NetworkingCore
import Synchronization

extension Transfer {
    /// Whether the transfer is paused until ``resume()`` is called.
    ///
    /// Always `false` for a transfer that cannot pause: a call, or an upload that is not resumable.
    public var isPaused: Bool {
        pauses?.isPaused ?? false
    }

    /// Ends the exchange and keeps what is necessary to resume; ``value`` continues to wait until ``resume()`` is
    /// called.
    ///
    /// Does nothing for a transfer that cannot pause: a call, or an upload that is not resumable. The state of a paused
    /// upload of a file survives the process: after a restart, upload the same file to the same request.
    ///
    /// If the calling task is cancelled, this method may return before the exchange has ended. The transfer is paused
    /// nevertheless.
    public func pause() async {
        await pauses?.pause()
    }

    /// Resumes the transfer after a pause; otherwise does nothing.
    public func resume() {
        pauses?.resume()
    }
}

/// Lets a transfer pause: the call is cancelled, and made again when the transfer resumes.
final class TransferPauses: Sendable {
    private struct State {
        var isPaused = false
        var isOver = false
        var isRunning = false
        /// Whether a pause has cancelled the running call, even if `resume()` was called before the call has ended.
        var isInterrupted = false
        /// Cancels the running call; `nil` while the call is being started.
        var cancel: (@Sendable () -> Void)?
        /// The transfer itself, if it is waiting to resume.
        var sleeper: Suspension<Void>?
        /// The callers that wait for the running call to end.
        var waiters: [Suspension<Void>] = []
    }

    private let state = Mutex(State())
    /// Returns the state from which a download can resume.
    let keptState: @Sendable () -> DownloadState?

    init(keptState: @escaping @Sendable () -> DownloadState? = { nil }) {
        self.keptState = keptState
    }

    var isPaused: Bool {
        state.withLock { $0.isPaused && !$0.isOver }
    }

    /// Makes a call, and makes it again after each pause that cancelled it.
    func run<Value: Sendable>(_ call: @escaping @Sendable () async throws -> Value) async throws -> Value {
        defer { state.withLock { $0.isOver = true } }
        while true {
            try await start()
            let run = OwnedTask.immediate { try await call() }
            let isInterrupted = state.withLock { state in
                state.cancel = { run.cancel() }
                return state.isInterrupted
            }
            if isInterrupted {
                run.cancel()
            }
            do {
                let value = try await run.value
                _ = end()
                return value
            } catch {
                // If a pause cancelled the call, its error does not matter.
                guard end(), !Task.isCancelled else { throw error }
            }
        }
    }

    /// Cancels the running call, and returns when it has ended.
    func pause() async {
        let (cancel, wait) = state.withLock { state -> ((@Sendable () -> Void)?, Suspension<Void>?) in
            guard !state.isOver else { return (nil, nil) }
            state.isPaused = true
            guard state.isRunning else { return (nil, nil) }
            state.isInterrupted = true
            let wait = Suspension<Void>()
            state.waiters.append(wait)
            return (state.cancel, wait)
        }
        cancel?()
        // If the caller is cancelled while it waits, the transfer is still paused.
        try? await wait?.value(until: nil)
    }

    func resume() {
        let sleeper = state.withLock { state in
            state.isPaused = false
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }

    /// Waits until the call may run, and records that it runs.
    private func start() async throws {
        while true {
            try Task.checkCancellation()
            let wait = Suspension<Void>()
            let mayRun = state.withLock { state in
                state.isRunning = !state.isPaused
                state.sleeper = state.isPaused ? wait : nil
                return state.isRunning
            }
            if mayRun { return }
            try await wait.value(until: nil)
        }
    }

    /// Records that the running call has ended, and returns whether a pause cancelled it.
    private func end() -> Bool {
        let (waiters, isInterrupted) = state.withLock { state in
            defer {
                (state.isRunning, state.isInterrupted, state.cancel, state.waiters) = (false, false, nil, [])
            }
            return (state.waiters, state.isInterrupted)
        }
        for waiter in waiters {
            waiter.resume()
        }
        return isInterrupted
    }
}
