import Dispatch
import NetworkingCore
import Synchronization

/// A call that passes its result to one closure of the app, on a queue.
///
/// The closure is called exactly once. No closure of the app is called under a lock, and all of them are released when
/// the call has ended.
final class Callback<Value: Sendable>: Sendable {
    typealias Completion = @Sendable (Result<Value, any Error>) -> Void

    private struct State {
        /// `nil` as soon as the queue runs it.
        var completion: Completion?
        /// The running call; `nil` while it is being started and after its end.
        var call: OwnedTask<Void>?
        /// Whether the completion is scheduled.
        var isOver = false
        var isCancelled = false
    }

    private let queue: CallbackQueue
    private let progress: NewestReport<TransferProgress>?
    private let state: Mutex<State>

    init(on queue: DispatchQueue, progress: ProgressHandler? = nil, completion: @escaping Completion) {
        let queue = CallbackQueue(queue)
        self.queue = queue
        self.progress = progress.map { NewestReport(on: queue, $0) }
        state = Mutex(State(completion: completion))
    }

    /// The handler for the call's request; `nil` if the app does not observe the progress.
    ///
    /// A response retains its request, so the handler does not retain the closure of the app.
    var progressHandler: ProgressHandler? {
        guard let progress else { return nil }
        return { [weak progress] in progress?.report($0) }
    }

    /// Starts the call, in the caller's environment and priority.
    ///
    /// The running call retains this object.
    func start(_ call: @escaping @Sendable () async throws -> Value) -> CallHandle {
        let task: OwnedTask<Void> = .immediate { [self] in
            do {
                end(with: .success(try await call()))
            } catch {
                end(with: .failure(error))
            }
        }
        state.withLock { state in
            if !state.isOver {
                state.call = task
            }
        }
        return CallHandle { [self] in cancel() }
    }

    /// Passes each element to a closure of the app on the queue, and reads the next one when the closure has returned.
    func pass<Elements: AsyncSequence>(
        _ elements: Elements,
        to body: @escaping @Sendable (Elements.Element) -> Void
    ) async throws where Elements.Element: Sendable {
        for try await element in elements {
            try await perform { body(element) }
        }
    }

    /// Calls a closure of the app on the queue, unless the call has been cancelled, and waits until it has returned.
    ///
    /// - Throws: `CancellationError` at once if the call is cancelled, even if the queue is blocked.
    private func perform(_ body: @escaping @Sendable () -> Void) async throws {
        let wait = Suspension<Void>()
        queue.run { [self] in
            if state.withLock({ !$0.isOver }) {
                body()
            }
            wait.resume()
        }
        try await wait.value(until: nil)
    }

    private func cancel() {
        let (call, isLate) = state.withLock { state -> (OwnedTask<Void>?, Bool) in
            guard state.completion != nil else { return (nil, true) }
            state.isCancelled = true
            return (state.call, false)
        }
        // The completion is already running, so its result cannot change.
        guard !isLate else { return }
        progress?.stop()
        call?.cancel()
        end(with: .failure(CancellationError()))
    }

    /// Schedules the completion, unless it is scheduled already.
    private func end(with result: Result<Value, any Error>) {
        let (isFirst, call) = state.withLock { state -> (Bool, OwnedTask<Void>?) in
            defer { (state.isOver, state.call) = (true, nil) }
            return (!state.isOver, state.call)
        }
        withExtendedLifetime(call) {}
        guard isFirst else { return }
        queue.run { [self] in
            let (completion, isCancelled) = state.withLock { state in
                defer { state.completion = nil }
                return (state.completion, state.isCancelled)
            }
            progress?.stop()
            completion?(isCancelled ? .failure(CancellationError()) : result)
        }
    }
}
