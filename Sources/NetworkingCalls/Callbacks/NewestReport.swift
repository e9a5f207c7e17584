import NetworkingCore
import Synchronization

/// Passes reports to a closure on a queue; a busy queue gets only the newest one.
final class NewestReport<Report: Sendable>: Sendable {
    private struct State {
        /// `nil` after ``stop()``.
        var handler: (@Sendable (Report) -> Void)?
        /// The report that waits for the queue.
        var next: Report?
    }

    private let queue: CallbackQueue
    private let state: Mutex<State>

    init(on queue: CallbackQueue, _ handler: @escaping @Sendable (Report) -> Void) {
        self.queue = queue
        state = Mutex(State(handler: handler))
    }

    func report(_ report: Report) {
        let isScheduled = state.withLock { state in
            guard state.handler != nil else { return true }
            defer { state.next = report }
            return state.next != nil
        }
        guard !isScheduled else { return }
        queue.run { [self] in
            let (handler, next) = state.withLock { state in
                defer { state.next = nil }
                return (state.handler, state.next)
            }
            if let handler, let next {
                handler(next)
            }
        }
    }

    /// Drops the reports that have not been passed on, and releases the closure.
    func stop() {
        let handler = state.withLock { state in
            defer { (state.handler, state.next) = (nil, nil) }
            return state.handler
        }
        // Outside of the lock, because releasing the closure may release objects of the app.
        withExtendedLifetime(handler) {}
    }
}

/// A closure that receives the progress of a transfer.
typealias ProgressHandler = @Sendable (TransferProgress) -> Void
