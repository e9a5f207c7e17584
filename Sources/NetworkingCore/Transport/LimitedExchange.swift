extension NetworkingComponent {
    /// Returns a request with a time limit for this component, if it enforces limits.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - deadline: The moment of the limit, on `clock`.
    ///   - clock: The clock of the limit.
    /// - Returns: The request; `nil` if this component does not enforce the limit.
    /// - Throws: `CancellationError` if the caller is cancelled.
    package func limiting(
        _ request: HTTPRequestData,
        until deadline: Duration,
        on clock: NetworkClock
    ) throws -> HTTPRequestData? {
        guard enforcesLimit(of: request, on: clock) else { return nil }
        try Task.checkCancellation()
        var limited = request
        limited.exchangeLimit = ExchangeLimit(until: deadline, on: clock)
        return limited
    }
}

extension HTTPRequestData {
    /// Returns the error to throw for an exchange of this request that failed.
    ///
    /// - Parameters:
    ///   - error: The error of the exchange.
    ///   - timeIsUp: Creates the timeout error from the error, which is `nil` if that was only a cancellation.
    /// - Returns: The error of `timeIsUp` if the exchange failed at its time limit, and `error` otherwise.
    package func error(of error: any Error, timeIsUp: ((any Error)?) -> any Error) -> any Error {
        guard exchangeLimit?.isReached == true, !Task.isCancelled else { return error }
        return timeIsUp(error is CancellationError ? nil : error)
    }
}
