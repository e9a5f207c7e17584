import Dispatch
import Synchronization

/// A thread that runs actions in their order, and that another thread replaces while an action blocks.
///
/// It runs code of the app that may block although it must not, such as a cancellation handler or a progress handler.
/// An action that blocks delays the actions behind it by a few milliseconds, and nothing else. Neither the threads on
/// which tasks run nor the thread of the next action wait for it.
package final class ActionThread: Sendable {
    /// The time after which an action counts as blocked.
    private static let patience = DispatchTimeInterval.milliseconds(5)
    private static let watch = DispatchQueue(label: "Networking.ActionThread", qos: .userInitiated)

    private let label: String
    private let state = Mutex(State())

    /// Creates a thread, which exists only while it has actions to run.
    ///
    /// - Parameter label: The name of the thread in a debugger.
    package init(label: String) {
        self.label = label
    }

    /// Runs actions after those that were added before, and does not wait for them.
    func run(_ actions: some Collection<@Sendable () -> Void>) {
        guard !actions.isEmpty else { return }
        let worker = state.withLock { state in
            state.actions.append(contentsOf: actions)
            return state.startWorker()
        }
        start(worker)
    }

    private func start(_ worker: Int?) {
        guard let worker else { return }
        // Each worker has its own queue, because the former worker may still occupy the thread of its queue.
        let queue = DispatchQueue(label: label, qos: .userInitiated)
        queue.async { [self] in work(as: worker) }
        watch(worker, at: 0)
    }

    private func work(as worker: Int) {
        while let action = state.withLock({ $0.nextAction(for: worker) }) {
            action()
        }
    }

    /// Replaces a worker if it still runs the same action after a while.
    private func watch(_ worker: Int, at step: Int) {
        Self.watch.asyncAfter(deadline: .now() + Self.patience) { [self] in
            switch state.withLock({ $0.check(worker, at: step) }) {
            case .over: break
            case .working(let step): watch(worker, at: step)
            case .blocked(let successor): start(successor)
            }
        }
    }

    private enum Progress {
        case over
        case working(step: Int)
        case blocked(successor: Int?)
    }

    private struct State {
        var actions: [@Sendable () -> Void] = []
        /// The worker that takes the next action; `nil` if there is none.
        private var worker: Int?
        private var lastWorker = 0
        /// The number of actions that the worker has started.
        private var step = 0

        /// Returns the number of a new worker; `nil` if none is needed.
        mutating func startWorker() -> Int? {
            guard worker == nil, !actions.isEmpty else { return nil }
            lastWorker += 1
            (worker, step) = (lastWorker, 0)
            return lastWorker
        }

        mutating func nextAction(for worker: Int) -> (@Sendable () -> Void)? {
            guard self.worker == worker else { return nil }
            guard !actions.isEmpty else {
                self.worker = nil
                return nil
            }
            step += 1
            return actions.removeFirst()
        }

        mutating func check(_ worker: Int, at step: Int) -> Progress {
            guard self.worker == worker else { return .over }
            // A worker that has started no action yet is not blocked: its thread is still being created.
            guard self.step == step, step > 0 else { return .working(step: self.step) }
            self.worker = nil
            return .blocked(successor: startWorker())
        }
    }
}
