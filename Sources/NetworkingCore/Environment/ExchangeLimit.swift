import Synchronization

/// The time limit of an exchange that the components upstream enforce themselves.
///
/// A part that does not know the limit runs in a separate task, which is cancelled at the limit. Switching back from
/// that task takes longer than the rest of a stack. ``NetworkingTransport/enforcesLimit(of:)`` shows a transport that
/// enforces it.
public final class ExchangeLimit: Sendable {
    /// The moment at which the exchange ends at the latest, on ``clock``.
    public let deadline: Duration
    /// The clock of the limit.
    public let clock: NetworkClock
    private let reached = Atomic(false)

    /// The alarms of a limit that may end before its deadline; `nil` if they are alarms of the clock.
    private let alarms: EndingAlarms?
    private let phaseDeadline: (@Sendable () -> Duration?)?
    private let onAlarm: (@Sendable () -> Void)?
    /// Whether the caller continues when the limit ends, and leaves behind work that does not know the limit.
    private let leavesWork: Bool
    /// The limit further out that ends this one.
    private let outer: ExchangeLimit?
    /// Whether each moment at which the exchange may end is one of the system's clock.
    package let isOnSystemClock: Bool

    package init(until deadline: Duration, on clock: NetworkClock) {
        self.deadline = deadline
        self.clock = clock
        (alarms, phaseDeadline, onAlarm, isOnSystemClock) = (nil, nil, nil, clock.isSystem)
        (leavesWork, outer) = (false, nil)
    }

    /// Creates a limit that ends when ``end()`` is called.
    ///
    /// - Parameters:
    ///   - deadline: The moment at which it is called at the latest.
    ///   - clock: The clock of the limit.
    ///   - isOnSystemClock: Whether each moment at which it may be called is one of the system's clock.
    ///   - leavesWork: Whether the caller continues at the end without the work, which is cancelled and not awaited.
    ///   - outer: The limit further out, at whose end it is called.
    ///   - phaseDeadline: Returns the moment at which it is called if the exchange stays in its phase.
    ///   - onAlarm: Called when an alarm of the limit is set, which has to ring when the limit ends.
    package init(
        endingUntil deadline: Duration,
        on clock: NetworkClock,
        isOnSystemClock: Bool,
        leavingWork leavesWork: Bool = false,
        inside outer: ExchangeLimit? = nil,
        phaseDeadline: @escaping @Sendable () -> Duration?,
        onAlarm: @escaping @Sendable () -> Void = {}
    ) {
        self.deadline = deadline
        self.clock = clock
        self.isOnSystemClock = isOnSystemClock
        self.phaseDeadline = phaseDeadline
        self.onAlarm = onAlarm
        self.leavesWork = leavesWork
        self.outer = outer
        alarms = EndingAlarms()
    }

    /// The time until the exchange ends if it stays in its phase.
    package var timeLeft: Duration {
        (phaseDeadline?().map { min($0, deadline) } ?? deadline) - clock.now
    }

    /// Whether the limit may end before its deadline.
    var mayEndEarly: Bool {
        alarms != nil
    }

    /// Whether the caller may continue without work that has not ended.
    private var mayLeaveWork: Bool {
        leavesWork || outer?.mayLeaveWork == true
    }

    /// Whether the caller has continued, so that no work is awaited.
    private var hasLeftWork: Bool {
        leavesWork && isReached || outer?.hasLeftWork == true
    }

    /// Ends the exchange.
    package func end() {
        reach()
        alarms?.ring()
    }

    /// Whether the exchange was ended because of this limit.
    public var isReached: Bool {
        reached.load(ordering: .acquiring)
    }

    /// Records that the exchange is ended because of this limit.
    ///
    /// If the client of a transport has its own time limits, the transport calls this when such a limit ends the
    /// exchange.
    public func reach() {
        reached.store(true, ordering: .releasing)
    }

    /// Cancels an exchange at the limit, and records that the limit was reached.
    ///
    /// - Parameter cancel: Ends the exchange. It runs on a thread of the clock and should not block.
    /// - Returns: The alarm, which must be cancelled when the exchange has ended.
    public func alarm(_ cancel: @escaping @Sendable () -> Void) -> Alarm {
        if let alarms {
            defer { onAlarm?() }
            return alarms.add(cancel)
        }
        return clock.alarm(at: deadline) { [self] in
            reach()
            cancel()
        }
    }

    /// Throws an error if the limit has passed.
    ///
    /// A component checks this after it has waited and before each further request of a call, so that nothing starts
    /// after the limit.
    ///
    /// - Throws: `CancellationError` at the limit and after it. The limit then counts as reached.
    public func check() throws {
        guard !isReached, clock.now < deadline else {
            reach()
            throw CancellationError()
        }
    }

    /// Runs an operation in a separate task, which is cancelled and awaited at the limit.
    ///
    /// A modifier that passes the limit of a request to its upstream also waits within that limit:
    ///
    /// ```swift
    /// let clock = NetworkEnvironment.current.clock
    /// try await request.exchangeLimit?.run { try await clock.sleep(for: .seconds(1)) }
    /// ```
    ///
    /// If the caller is cancelled, the operation is cancelled too.
    ///
    /// - Parameter operation: The operation. It should end promptly when it is cancelled.
    /// - Returns: The result of the operation, also one that it returns after the limit.
    /// - Throws: The error of the operation, or `CancellationError` if the limit has passed before the start.
    public func run<Success: Sendable>(
        _ operation: sending @escaping @isolated(any) () async throws -> Success
    ) async throws -> Success {
        try await run(unless: false, operation)
    }

    /// Runs an operation that may have ended before it waits, so that it needs no alarm.
    ///
    /// - Parameters:
    ///   - isOver: Whether the operation has ended; evaluated after its start.
    ///   - operation: The operation.
    /// - Returns: The result of the operation.
    /// - Throws: The errors of ``run(_:)``.
    package func run<Success: Sendable>(
        unless isOver: @autoclosure () -> Bool,
        _ operation: sending @escaping @isolated(any) () async throws -> Success
    ) async throws -> Success {
        // The work is a separate task, so it is not aware of a cancellation that came before it.
        try Task.checkCancellation()
        try check()
        guard !mayLeaveWork else { return try await runUntilLeft(operation) }
        let work = OwnedTask.immediate(operation)
        guard !isOver() else { return try await work.value }
        let alarm = alarm { work.cancel() }
        defer { alarm.cancel() }
        return try await work.value
    }

    /// Runs an operation that is left behind if the caller continues without it.
    private func runUntilLeft<Success: Sendable>(
        _ operation: sending @escaping @isolated(any) () async throws -> Success
    ) async throws -> Success {
        let end = Suspension<Success>()
        let work = OwnedTask<Void>
            .immediate { [self] in
                do {
                    end.resume(with: .success(try await operation()))
                } catch {
                    end.resume(with: .failure(error))
                }
                // Whoever counts the work that was left behind does it by the life of the limit.
                withExtendedLifetime(self) {}
            }
        let alarm = alarm { [self] in
            work.cancel()
            if hasLeftWork {
                end.resume(with: .failure(CancellationError()))
            }
        }
        defer { alarm.cancel() }
        return try await withTaskCancellationHandler {
            try await end.uncancellableValue()
        } onCancel: {
            work.cancel()
        }
    }
}

/// The alarms of a limit that ends when it is told to.
private final class EndingAlarms: AlarmOwner {
    private struct State {
        var actions: [UInt64: @Sendable () -> Void] = [:]
        var lastID: UInt64 = 0
        var isOver = false
    }

    private let state = Mutex(State())

    func add(_ action: @escaping @Sendable () -> Void) -> Alarm {
        let (id, isOver) = state.withLock { state in
            state.lastID += 1
            if !state.isOver { state.actions[state.lastID] = action }
            return (state.lastID, state.isOver)
        }
        if isOver { action() }
        return Alarm(id: id, owner: self)
    }

    func cancelAlarm(_ id: UInt64) {
        // Released outside of the lock, because its objects may cancel other alarms.
        _ = state.withLock { $0.actions.removeValue(forKey: id) }
    }

    func ring() {
        let actions = state.withLock { state in
            state.isOver = true
            defer { state.actions = [:] }
            return state.actions
        }
        for (_, action) in actions.sorted(by: { $0.key < $1.key }) {
            action()
        }
    }
}
