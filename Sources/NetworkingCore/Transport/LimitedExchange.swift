extension NetworkingComponent {
    /// Sends a request with a time limit that this component enforces.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - deadline: The moment, on `clock`.
    ///   - clock: The clock that measures the deadline.
    ///   - timeIsUp: Creates the timeout error from the component's error, which is `nil` if that was only a
    ///     cancellation.
    /// - Returns: The response; `nil` if the component does not enforce limits, so nothing was sent.
    /// - Throws: The error of `timeIsUp` at the deadline, and the component's error before it.
    package func sendIfLimiting(
        _ request: HTTPRequestData,
        until deadline: Duration,
        on clock: NetworkClock,
        timeIsUp: (_ error: (any Error)?) -> any Error
    ) async throws -> HTTPResponseData? {
        guard enforcesLimit(of: request, on: clock) else { return nil }
        try Task.checkCancellation()
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
}
