extension NetworkingComponent {
    /// Sends a request with a time limit, for modifiers with limits of their own.
    ///
    /// A transport that enforces limits, such as one over a network, ends its exchange itself. A part of the stack that
    /// does not know the limit runs in a separate task, which is cancelled and awaited when the time is up. A response
    /// that is still returned is used. If a modifier further out has set a limit on the same clock, the earlier of the
    /// two is enforced.
    ///
    /// ```swift
    /// let clock = NetworkEnvironment.current.clock
    /// let response = try await upstream.send(request, until: clock.now + .seconds(5), on: clock) { error in
    ///     NetworkingError(.timeout, request: request, underlying: error)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - deadline: The moment of the limit, on `clock`.
    ///   - clock: The clock of the limit.
    ///   - timeIsUp: Creates the error for a request that failed because its time was up. It receives the error of the
    ///     request, which is `nil` if that was only a cancellation.
    /// - Returns: The response.
    /// - Throws: The error of `timeIsUp` when the time is up, the request's error before, and `CancellationError` if
    ///   the caller is cancelled.
    public func send(
        _ request: HTTPRequestData,
        until deadline: Duration,
        on clock: NetworkClock,
        timeIsUp: (_ error: (any Error)?) -> any Error
    ) async throws -> HTTPResponseData {
        // A request beside a stack begins a new call, which has no limit of this one.
        guard _endsAtLimit, request.place != .beside, request.exchangeLimit.map({ $0.clock === clock }) ?? true else {
            return try await withTimeLimit(until: deadline, on: clock, timeIsUp: timeIsUp) {
                try await send(request)
            }
        }
        try Task.checkCancellation()
        // The outer limit ends the exchange before this one would.
        if let outer = request.exchangeLimit, outer.deadline <= deadline { return try await send(request) }
        if let outer = request.exchangeLimit, outer.mayEndEarly {
            return try await send(request, until: deadline, inside: outer, timeIsUp: timeIsUp)
        }
        let limit = ExchangeLimit(until: deadline, on: clock)
        var limited = request
        limited.exchangeLimit = limit
        do {
            return try await send(limited)
        } catch {
            guard limit.isReached, !Task.isCancelled else { throw error }
            throw timeIsUp(error is CancellationError ? nil : error)
        }
    }

    /// Sends a request with a time limit inside one that may end early, which then ends this one.
    private func send(
        _ request: HTTPRequestData,
        until deadline: Duration,
        inside outer: ExchangeLimit,
        timeIsUp: (_ error: (any Error)?) -> any Error
    ) async throws -> HTTPResponseData {
        let limit = ExchangeLimit(
            endingUntil: deadline,
            on: outer.clock,
            isOnSystemClock: outer.isOnSystemClock,
            inside: outer
        ) { outer.deadlineOfPhase }
        var limited = request
        limited.exchangeLimit = limit
        let alarms = [outer.alarm { limit.end() }, outer.clock.alarm(at: deadline) { limit.end() }]
        defer {
            for alarm in alarms {
                alarm.cancel()
            }
        }
        do {
            return try await send(limited)
        } catch {
            guard limit.isReached, !outer.isReached, !Task.isCancelled else { throw error }
            // The client of a transport may have ended the exchange by itself, at the earlier of the two limits.
            guard outer.clock.now >= deadline || outer.deadlineOfPhase >= deadline else {
                outer.reach()
                throw error
            }
            throw timeIsUp(error is CancellationError ? nil : error)
        }
    }
}
