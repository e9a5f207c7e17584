import Synchronization

/// The time limit of an exchange that the components upstream enforce themselves.
///
/// Otherwise `timeout` and `deadline` run their upstream in a separate task that they can cancel. Switching back from
/// that task takes longer than the rest of a stack. ``NetworkingComponent/enforcesLimit(of:on:)`` shows a
/// transport that enforces it.
public final class ExchangeLimit: Sendable {
    /// The moment at which the exchange ends, on ``clock``.
    public let deadline: Duration
    /// The clock of the limit.
    public let clock: NetworkClock
    private let reached = Atomic(false)

    package init(until deadline: Duration, on clock: NetworkClock) {
        self.deadline = deadline
        self.clock = clock
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
        clock.alarm(at: deadline) { [self] in
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
        // The work is a separate task, so it is not aware of a cancellation that came before it.
        try Task.checkCancellation()
        try check()
        let work = OwnedTask.immediate(operation)
        let alarm = alarm { work.cancel() }
        defer { alarm.cancel() }
        return try await work.value
    }
}

extension HTTPRequestData {
    /// Does work whose waits do not know the time limit of the request, and ends it at the limit.
    ///
    /// - Parameter work: The work. It receives the request without the limit.
    package func enforcingLimit<Success: Sendable>(
        _ work: sending @escaping @isolated(any) (HTTPRequestData) async throws -> Success
    ) async throws -> Success {
        guard let limit = exchangeLimit else { return try await work(self) }
        var request = self
        request.exchangeLimit = nil
        return try await limit.run { [request] in try await work(request) }
    }
}
