import NetworkingCore
import Synchronization

/// What lets a transfer pause: its call is ended, and made again when it goes on.
final class TransferPauses: Sendable {
    private struct State {
        var isPaused = false
        var isOver = false
        var isRunning = false
        /// Whether what is under way was ended by a pause, which may be over again by the time it has ended.
        var isInterrupted = false
        /// Ends what is under way; nil while it is being started.
        var cancel: (@Sendable () -> Void)?
        /// Who waits for it to go on: the transfer itself.
        var sleeper: Suspension<Void>?
        /// Who wait for what is under way to end.
        var waiters: [Suspension<Void>] = []
    }

    private let state = Mutex(State())
    /// What there is to go on with.
    let keptState: @Sendable () -> DownloadState?

    init(keptState: @escaping @Sendable () -> DownloadState?) {
        self.keptState = keptState
    }

    var isPaused: Bool {
        state.withLock { $0.isPaused && !$0.isOver }
    }

    /// Makes a call, and makes it again after each pause that ended it.
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
                // Whatever it came to, it was not asked to come to more.
                guard end(), !Task.isCancelled else { throw error }
            }
        }
    }

    /// Ends what is under way, and returns when it has ended.
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
        // Whoever is cancelled while it waits has paused it all the same.
        try? await wait?.value()
    }

    func resume() {
        let sleeper = state.withLock { state in
            state.isPaused = false
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }

    /// Waits until it may run, and notes that it does.
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
            try await wait.value()
        }
    }

    /// Notes that what was under way has ended, and answers whether a pause has ended it.
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
