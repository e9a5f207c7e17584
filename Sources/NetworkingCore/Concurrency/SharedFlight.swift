import Logging
import Synchronization

/// An operation shared by several callers.
///
/// It keeps running until the last caller is gone, and is cancelled then. Each caller can be cancelled alone, and gets `CancellationError` at once. Every waiting caller receives the result.
///
/// Together with ``OwnedTask`` this is the only place where the library starts an unstructured task: a child task would end
/// with the caller that started it.
package final class SharedFlight<Success: Sendable>: Sendable {
    private let state = Mutex(State())
    private let outlivesPassengers: Bool
    private let hasCommonDeadline: Bool

    /// Creates a shared operation.
    ///
    /// The creator counts as its first waiter and must call ``start(_:)``.
    ///
    /// - Parameters:
    ///   - outlivesPassengers: Whether the work continues when no caller waits for it.
    ///   - hasCommonDeadline: Whether the latest deadline of its waiters is that of the work; otherwise it has none.
    package init(outlivesPassengers: Bool = false, hasCommonDeadline: Bool = false) {
        self.outlivesPassengers = outlivesPassengers
        self.hasCommonDeadline = hasCommonDeadline
    }

    /// How many wait for it.
    package var passengers: Int {
        state.withLock { $0.passengers.count + ($0.hasCreator && $0.result == nil ? 1 : 0) }
    }

    /// Whether its result has no takers any more.
    package var isGivenUp: Bool {
        state.withLock { $0.isGivenUp }
    }

    /// Joins the flight; nil when it is over, and nobody can any more.
    ///
    /// Whoever joins has to wait for it or to leave. Who made the flight has joined it.
    package func join() -> Passenger? {
        let deadline = hasCommonDeadline ? deadlineOfJoiner : nil
        return state.withLock { state in
            guard state.result == nil, !state.isGivenUp else { return nil }
            return state.board(until: deadline)
        }
    }

    /// The deadline of the current task, on the clock of the work.
    private var deadlineOfJoiner: CallDeadline? {
        let environment = NetworkEnvironment.current
        guard let deadline = environment.callDeadline else { return nil }
        guard let clock = state.withLock({ $0.clock }) else { return deadline }
        return deadline.shifted(by: clock.now - environment.clock.now)
    }

    /// Starts the work, in the creator's environment without what is the creator's alone.
    ///
    /// - Parameter work: The work. What it does last is done before anybody hears of its result.
    package func start(_ work: @escaping @Sendable () async throws -> Success) {
        // Ended before it began: then nothing is to be done.
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
        let isGivenUp = state.withLock { state in
            state.task = state.result == nil ? task : nil
            return state.isGivenUp
        }
        if isGivenUp {
            task.cancel()
        }
    }

    /// Begins the work outside of the creator's span.
    private func begin(
        _ work: @escaping @Sendable () async throws -> Success,
        leaving exit: NetworkEnvironment.SpanExit?
    ) -> OwnedTask<Void> {
        guard let exit else { return begin(work) }
        var task: OwnedTask<Void>?
        exit { task = begin(work) }
        // One that does not run what it is given loses nothing but the way out.
        return task ?? begin(work)
    }

    private func begin(_ work: @escaping @Sendable () async throws -> Success) -> OwnedTask<Void> {
        OwnedTask.immediate { [self] in
            do {
                land(with: .success(try await work()))
            } catch {
                land(with: .failure(error))
            }
        }
    }

    /// Waits for the result, as who made the flight.
    ///
    /// - Returns: The result.
    /// - Throws: `CancellationError` at the caller's cancellation, and what the work throws.
    package func valueForCreator() async throws -> Success {
        let wait = state.withLock { state -> Wait in
            if let result = state.result { return .over(result) }
            state.hasCreator = false
            return .pending(state.board(until: state.creatorsDeadline))
        }
        switch wait {
        case .over(let result):
            // Work that never had to wait took no place to wait at.
            try Task.checkCancellation()
            return try result.get()
        case .pending(let passenger):
            return try await value(for: passenger)
        }
    }

    private enum Wait {
        case over(Result<Success, any Error>)
        case pending(Passenger)
    }

    /// Waits for the result.
    ///
    /// - Parameter passenger: The place that joining gave.
    /// - Returns: The result.
    /// - Throws: `CancellationError` at the caller's cancellation, and what the work throws.
    package func value(for passenger: Passenger) async throws -> Success {
        raisePriority(to: Task.currentPriority)
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
            return try await passenger.value { [self] in leave(passenger) }
        }
        return try await withTaskPriorityEscalationHandler {
            try await passenger.value { [self] in leave(passenger) }
        } onPriorityEscalated: { [self] _, priority in
            raisePriority(to: priority)
        }
    }

    /// What somebody who waits has: it ends once, by the result or by leaving.
    package typealias Passenger = Suspension<Success>

    private func leave(_ passenger: Passenger) {
        let task = state.withLock { state -> OwnedTask<Void>? in
            state.passengers[ObjectIdentifier(passenger)] = nil
            state.deadlines[ObjectIdentifier(passenger)] = nil
            guard !outlivesPassengers, state.passengers.isEmpty, !state.hasCreator, state.result == nil else {
                return nil
            }
            state.isGivenUp = true
            return state.task
        }
        task?.cancel()
    }

    /// Ends it with a result that its work need not bring any more; the work is cancelled.
    package func end(with result: Result<Success, any Error>) {
        let task = state.withLock { state in
            state.isGivenUp = true
            return state.task
        }
        land(with: result)
        task?.cancel()
    }

    private func land(with result: Result<Success, any Error>) {
        let passengers = state.withLock { state -> [Passenger] in
            guard state.result == nil else { return [] }
            state.result = result
            state.task = nil
            defer { (state.passengers, state.deadlines) = ([:], [:]) }
            return Array(state.passengers.values)
        }
        for passenger in passengers {
            passenger.resume(with: result)
        }
    }

    private func raisePriority(to priority: TaskPriority) {
        state.withLock { $0.task }?.escalatePriority(to: priority)
    }

    private struct State {
        var task: OwnedTask<Void>?
        var passengers: [ObjectIdentifier: Passenger] = [:]
        /// Who made it has not begun to wait.
        var hasCreator = true
        var result: Result<Success, any Error>?
        /// Nobody waits any more, so nobody may join either.
        var isGivenUp = false
        /// The deadlines of the passengers that have one.
        var deadlines: [ObjectIdentifier: CallDeadline] = [:]
        var creatorsDeadline: CallDeadline?
        /// The clock of the deadlines, once the work with a common deadline has begun.
        var clock: NetworkClock?

        mutating func board(until deadline: CallDeadline?) -> Passenger {
            let passenger = Passenger()
            passengers[ObjectIdentifier(passenger)] = passenger
            if let deadline {
                deadlines[ObjectIdentifier(passenger)] = deadline
            }
            return passenger
        }

        /// The deadlines of all that wait; `nil` if one of them has none.
        var allDeadlines: [CallDeadline]? {
            guard deadlines.count == passengers.count else { return nil }
            guard hasCreator else { return Array(deadlines.values) }
            return creatorsDeadline.map { deadlines.values + [$0] }
        }
    }
}

extension SharedFlight: DeadlineSource {
    /// The latest deadline of those who wait; `nil` if one of them has none, or no one waits.
    var latestDeadline: Duration? {
        // Outside of the lock, since a deadline may depend on another operation that is shared.
        let deadlines = state.withLock { $0.allDeadlines } ?? []
        var latest: Duration?
        for deadline in deadlines {
            guard let moment = deadline.current else { return nil }
            latest = max(moment, latest ?? moment)
        }
        return latest
    }
}

extension NetworkEnvironment {
    /// The environment for work that outlives its caller: with another deadline, and without the values of one call, the span and the
    /// metadata of a logger that was set.
    ///
    /// - Parameter common: The deadline; `nil` for none.
    /// - Returns: The environment, or `nil` if this one can stay as it is.
    fileprivate func withoutCallersOwn(deadline common: CallDeadline?) -> NetworkEnvironment? {
        let hasMetadata = hasLogger && !logger.handler.metadata.isEmpty
        guard callDeadline != nil || hasValuesOfOneCall || spanExit != nil || hasMetadata else { return nil }
        var environment = self
        environment.callDeadline = common
        environment.removeValuesOfOneCall()
        environment.spanExit = nil
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
