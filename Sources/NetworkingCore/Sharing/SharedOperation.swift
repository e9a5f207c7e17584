import Logging
import Synchronization

// @unchecked, because the class is not final; its properties are constants that are Sendable.

/// An operation shared by several callers.
///
/// It is cancelled when the last caller has left, unless it outlives its waiters. Each caller can be cancelled
/// separately, and gets `CancellationError` at once. Every waiting caller receives the result.
///
/// The work runs in an unstructured task (``OwnedTask``), because a child task would end with the caller that started
/// it.
package class SharedOperation<Success: Sendable>: @unchecked Sendable {
    private let state = Mutex(State())
    /// The highest priority of the callers that waited before there was a task.
    // Not in the state, because each access to a larger one costs every operation hundreds of instructions.
    private let raised = Atomic<TaskPriority.RawValue>(0)
    private let outlivesWaiters: Bool
    private let hasCommonDeadline: Bool

    /// Creates a shared operation.
    ///
    /// The creator counts as its first waiter and must call ``start(_:)``.
    ///
    /// - Parameters:
    ///   - outlivesWaiters: Whether the work continues when no caller waits for it.
    ///   - hasCommonDeadline: Whether the work has the latest deadline of its waiters; otherwise it has none.
    package init(outlivesWaiters: Bool = false, hasCommonDeadline: Bool = false) {
        self.outlivesWaiters = outlivesWaiters
        self.hasCommonDeadline = hasCommonDeadline
    }

    /// The number of waiters.
    final var waiters: Int {
        state.withLock { $0.waiters.count + ($0.hasCreator && $0.result == nil ? 1 : 0) }
    }

    /// Whether the last waiter has left, or the operation has been ended.
    package final var isAbandoned: Bool {
        state.withLock { $0.isAbandoned }
    }

    /// Joins the operation.
    ///
    /// The creator has already joined.
    ///
    /// - Returns: A waiter, with which the caller must wait; `nil` if the operation has ended or was abandoned.
    package final func join() -> Waiter? {
        let deadline = hasCommonDeadline ? deadlineOfJoiner : nil
        return state.withLock { state in
            guard state.result == nil, !state.isAbandoned else { return nil }
            return state.addWaiter(until: deadline)
        }
    }

    /// The deadline of the current task, on the clock of the work.
    private final var deadlineOfJoiner: CallDeadline? {
        let environment = NetworkEnvironment.current
        guard let deadline = environment.callDeadline else { return nil }
        guard let clock = state.withLock({ $0.clock }) else { return deadline }
        return deadline.shifted(by: clock.now - environment.clock.now)
    }

    /// Starts the work in the creator's environment, without the values that belong to the creator alone.
    ///
    /// - Parameter work: The work. It completes before any waiter receives its result.
    package final func start(_ work: @escaping @Sendable () async throws -> Success) {
        // The operation has ended before it was started, so there is nothing to do.
        guard state.withLock({ $0.result == nil }) else { return }
        let environment = NetworkEnvironment.current
        var common: CallDeadline?
        if hasCommonDeadline, let deadline = environment.callDeadline {
            state.withLock { ($0.creatorsDeadline, $0.clock) = (deadline, environment.clock) }
            common = CallDeadline(of: self)
        }
        let task = Logger.withoutCallersMetadata {
            if let common = environment.withoutCallersOwn(deadline: common) {
                NetworkEnvironment.$current.withValue(common) { begin(work, leaving: environment.spanExit) }
            } else {
                begin(work)
            }
        }
        let isAbandoned = state.withLock { state in
            state.task = state.result == nil ? task : nil
            return state.isAbandoned
        }
        let raised = raised.load(ordering: .relaxed)
        if raised > 0 {
            task.escalatePriority(to: TaskPriority(rawValue: raised))
        }
        if isAbandoned {
            task.cancel()
        }
    }

    /// Starts the work outside of the creator's span.
    private final func begin(
        _ work: @escaping @Sendable () async throws -> Success,
        leaving exit: NetworkEnvironment.SpanExit?
    ) -> OwnedTask<Void> {
        guard let exit else { return begin(work) }
        var task: OwnedTask<Void>?
        exit { task = begin(work) }
        // If the span's exit does not run its closure, the work is started inside the span.
        return task ?? begin(work)
    }

    private final func begin(_ work: @escaping @Sendable () async throws -> Success) -> OwnedTask<Void> {
        OwnedTask.immediate { [self] in
            do {
                complete(with: .success(try await work()))
            } catch {
                complete(with: .failure(error))
            }
        }
    }

    /// Waits for the result, as the creator.
    ///
    /// - Parameters:
    ///   - limit: The time limit of the request that waits; `nil` if there is none.
    ///   - deadline: The moment at which the wait ends by itself.
    /// - Returns: The result.
    /// - Throws: `CancellationError` if the caller is cancelled or the limit is reached, or the error of the work.
    // Inlined, so that a call has one frame less.
    @inline(__always)
    package final func valueForCreator(
        until limit: ExchangeLimit?,
        or deadline: WaitDeadline<Success>? = nil
    ) async throws -> Success {
        let wait = state.withLock { state -> Wait in
            if let result = state.result { return .over(result) }
            state.hasCreator = false
            return .pending(state.addWaiter(until: state.creatorsDeadline))
        }
        switch wait {
        case .over(let result):
            // Work that never suspended has already ended.
            try Task.checkCancellation()
            return try result.get()
        case .pending(let waiter):
            return try await value(for: waiter, until: limit, or: deadline)
        }
    }

    private enum Wait {
        case over(Result<Success, any Error>)
        case pending(Waiter)
    }

    /// Waits for the result.
    ///
    /// - Parameters:
    ///   - waiter: The waiter that ``join()`` returned.
    ///   - limit: The time limit of the request that waits; `nil` if there is none.
    ///   - deadline: The moment at which the wait ends by itself.
    /// - Returns: The result.
    /// - Throws: `CancellationError` if the caller is cancelled or the limit is reached, or the error of the work.
    package final func value(
        for waiter: Waiter,
        until limit: ExchangeLimit?,
        or deadline: WaitDeadline<Success>? = nil
    ) async throws -> Success {
        raisePriority(to: Task.currentPriority)
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
            return try await waiter.value(until: limit, or: deadline) { [self] in leave(waiter) }
        }
        return try await withTaskPriorityEscalationHandler {
            try await waiter.value(until: limit, or: deadline) { [self] in leave(waiter) }
        } onPriorityEscalated: { [self] _, priority in
            raisePriority(to: priority)
        }
    }

    /// The wait of one caller, which ends once: with the result or with the caller's cancellation.
    package typealias Waiter = Suspension<Success>

    private final func leave(_ waiter: Waiter) {
        let task = state.withLock { state -> OwnedTask<Void>? in
            state.waiters.remove(waiter)
            guard !outlivesWaiters, state.waiters.isEmpty, !state.hasCreator, state.result == nil else {
                return nil
            }
            state.isAbandoned = true
            return state.task
        }
        task?.cancel()
    }

    /// Ends the operation with a result and cancels the work.
    package final func end(with result: Result<Success, any Error>) {
        let task = state.withLock { state in
            state.isAbandoned = true
            return state.task
        }
        complete(with: result)
        task?.cancel()
    }

    private final func complete(with result: Result<Success, any Error>) {
        let waiters = state.withLock { state in
            guard state.result == nil else { return Waiters() }
            state.result = result
            state.task = nil
            defer { state.waiters = Waiters() }
            return state.waiters
        }
        waiters.resume(with: result)
    }

    private final func raisePriority(to priority: TaskPriority) {
        if let task = state.withLock({ $0.task }) { return task.escalatePriority(to: priority) }
        raised.max(priority.rawValue, ordering: .relaxed)
        // Read again: the task may have been stored since, and its creator may not see the priority.
        state.withLock { $0.task }?.escalatePriority(to: priority)
    }

    private struct State {
        var task: OwnedTask<Void>?
        var waiters = Waiters()
        /// The creator has not started to wait.
        var hasCreator = true
        var result: Result<Success, any Error>?
        /// The last waiter has left, so that no caller may join.
        var isAbandoned = false
        var creatorsDeadline: CallDeadline?
        /// The clock of the deadlines, once the work with a common deadline has begun.
        var clock: NetworkClock?

        mutating func addWaiter(until deadline: CallDeadline?) -> Waiter {
            let waiter = Waiter()
            waiters.add(waiter, until: deadline)
            return waiter
        }

        /// The deadlines of all waiters; `nil` if one of them has none.
        var allDeadlines: [CallDeadline]? {
            guard let deadlines = waiters.deadlines else { return nil }
            guard hasCreator else { return deadlines }
            return creatorsDeadline.map { deadlines + [$0] }
        }

        /// The deadlines of the waiters that have one.
        var presentDeadlines: [CallDeadline] {
            waiters.presentDeadlines + (hasCreator ? [creatorsDeadline].compactMap { $0 } : [])
        }
    }

    /// The waiters, each with its deadline.
    private struct Waiters: Sendable {
        private typealias Entry = (waiter: Waiter, deadline: CallDeadline?)

        // Most operations have a single waiter, which needs no dictionary.
        private var first: Entry?
        private var others: [ObjectIdentifier: (number: Int, entry: Entry)] = [:]
        private var lastNumber = 0

        /// All entries in the order of arrival, because the order of a dictionary changes from run to run.
        private var entries: [Entry] {
            [first].compactMap { $0 } + others.values.sorted { $0.number < $1.number }.map(\.entry)
        }

        var count: Int {
            others.count + (first == nil ? 0 : 1)
        }

        var isEmpty: Bool {
            first == nil && others.isEmpty
        }

        /// The deadlines of the waiters; `nil` if one of them has none.
        var deadlines: [CallDeadline]? {
            var deadlines: [CallDeadline] = []
            for (_, deadline) in entries {
                guard let deadline else { return nil }
                deadlines.append(deadline)
            }
            return deadlines
        }

        /// The deadlines of the waiters that have one.
        var presentDeadlines: [CallDeadline] {
            entries.compactMap(\.deadline)
        }

        mutating func add(_ waiter: Waiter, until deadline: CallDeadline?) {
            if first == nil {
                first = (waiter, deadline)
            } else {
                lastNumber += 1
                others[ObjectIdentifier(waiter)] = (lastNumber, (waiter, deadline))
            }
        }

        mutating func remove(_ waiter: Waiter) {
            if first?.waiter === waiter {
                first = nil
            } else {
                others[ObjectIdentifier(waiter)] = nil
            }
        }

        func resume(with result: Result<Success, any Error>) {
            // Without an array for the operations that have a single waiter.
            guard !others.isEmpty else {
                first?.waiter.resume(with: result)
                return
            }
            for (waiter, _) in entries {
                waiter.resume(with: result)
            }
        }
    }
}

extension SharedOperation: DeadlineSource {
    /// The latest deadline of the waiters; `nil` if one of them has none, or if there are no waiters.
    var latestDeadline: Duration? {
        // Outside of the lock, because a deadline may depend on another shared operation.
        let deadlines = state.withLock { $0.allDeadlines } ?? []
        var latest: Duration?
        for deadline in deadlines {
            guard let moment = deadline.current else { return nil }
            latest = max(moment, latest ?? moment)
        }
        return latest
    }

    func leave(_ record: (any Sendable)?) {
        // Outside of the lock, like the deadlines above.
        for deadline in state.withLock({ $0.presentDeadlines }) {
            deadline.leave(record)
        }
    }
}

extension NetworkEnvironment {
    /// Returns the environment for work that outlives its caller.
    ///
    /// It has the given deadline, without the values of one call, the span, and the metadata of a logger that was set.
    ///
    /// - Parameter common: The deadline; `nil` for none.
    /// - Returns: The environment, or `nil` if this one can be used unchanged.
    fileprivate func withoutCallersOwn(deadline common: CallDeadline?) -> NetworkEnvironment? {
        let hasMetadata = hasLogger && !logger.handler.metadata.isEmpty
        guard callDeadline != nil || hasValuesOfOneCall || spanExit != nil || hasMetadata else { return nil }
        var environment = self
        environment.callDeadline = common
        // Each change copies the values.
        if hasValuesOfOneCall { environment.removeValuesOfOneCall() }
        if spanExit != nil { environment.spanExit = nil }
        if hasMetadata {
            environment.logger.handler.metadata = [:]
        }
        return environment
    }
}

extension Logger {
    /// Runs an operation with a task-local logger that has no metadata, because its metadata is that of one caller.
    fileprivate static func withoutCallersMetadata<Result>(_ operation: () -> Result) -> Result {
        var logger = Logger.current
        guard !logger.handler.metadata.isEmpty else { return operation() }
        logger.handler.metadata = [:]
        return withLogger(logger) { _ in operation() }
    }
}
