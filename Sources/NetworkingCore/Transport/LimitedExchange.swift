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
            return try await sendInTask(request, until: deadline, on: clock, timeIsUp: timeIsUp)
        }
        try Task.checkCancellation()
        if let outer = request.exchangeLimit {
            // The outer limit ends the exchange before this one would.
            if outer.deadline <= deadline { return try await send(request) }
            if outer.mayEndEarly {
                return try await sendInPhases(request, until: deadline, on: clock, timeIsUp: timeIsUp)
            }
        }
        let limit = ExchangeLimit(until: deadline, on: clock)
        do {
            return try await send(request.limited(by: limit))
        } catch {
            guard limit.isReached, !Task.isCancelled else { throw error }
            throw timeIsUp(error is CancellationError ? nil : error)
        }
    }

    // Neither of the two is inlined, because its values would take memory in every call that waits.

    /// Sends a request that does not end at the limit itself.
    @inline(never)
    private func sendInTask(
        _ request: HTTPRequestData,
        until deadline: Duration,
        on clock: NetworkClock,
        timeIsUp: (_ error: (any Error)?) -> any Error
    ) async throws -> HTTPResponseData {
        try await withTimeLimit(until: deadline, on: clock, timeIsUp: timeIsUp) {
            try await send(request)
        }
    }

    /// Sends a request whose outer limit may end before its deadline.
    @inline(never)
    private func sendInPhases(
        _ request: HTTPRequestData,
        until deadline: Duration,
        on clock: NetworkClock,
        timeIsUp: (_ error: (any Error)?) -> any Error
    ) async throws -> HTTPResponseData {
        let watch = PhaseWatch(limits: TimeLimits(whole: deadline - clock.now), clock: clock)
        do {
            return try await watch.limiting(request) { try await send($0) }
        } catch let expiry as PhaseWatch.Expiry {
            throw timeIsUp(expiry.underlying)
        }
    }
}

extension HTTPRequestData {
    /// A copy with a limit.
    @inline(never)
    fileprivate func limited(by limit: ExchangeLimit) -> HTTPRequestData {
        var limited = self
        limited.exchangeLimit = limit
        return limited
    }
}
