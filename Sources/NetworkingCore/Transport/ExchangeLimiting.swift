/// A component that can end an exchange at a time limit itself, so that `timeout` and `deadline` need no task for it.
///
/// A transport conforms to it if it can end every phase of an exchange from another thread:
///
/// ```swift
/// extension SocketTransport: ExchangeLimiting {
///     func enforcesLimit(of request: HTTPRequestData, on clock: NetworkClock) -> Bool {
///         request.sink == nil   // a sink that waits does not notice that the socket is closed
///     }
/// }
///
/// // In `exchange(_:)`:
/// let alarm = request.exchangeLimit?.alarm { socket.close() }
/// defer { alarm?.cancel() }
/// ```
///
/// At the limit, the transport ends the exchange as if the calling task had been cancelled, and throws any error.
/// ``ExchangeLimit/isReached`` is then `true`, and `timeout` or `deadline` throws its own error in place of that one. A
/// response that is complete just then is returned.
public protocol ExchangeLimiting: NetworkingComponent {
    /// Returns whether the component enforces the limit of a request on a clock.
    ///
    /// If it does, the request is sent with an ``HTTPRequestData/exchangeLimit``. If it does not, nothing changes.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - clock: The clock of the limit.
    /// - Returns: `true` if each part of the exchange ends at the limit.
    func enforcesLimit(of request: HTTPRequestData, on clock: NetworkClock) -> Bool
}

/// A modifier that can enforce ``HTTPRequestData/exchangeLimit`` itself, or leaves it to its upstream.
///
/// Without it, `timeout` and `deadline` outside of the modifier run it in a task. A modifier that waits for nothing but its
/// upstream returns the answer of its upstream:
///
/// ```swift
/// extension Stamped: ExchangeLimitingModifier {
///     func enforcesLimit(
///         of request: HTTPRequestData,
///         on clock: NetworkClock,
///         over upstream: some NetworkingComponent
///     ) -> Bool {
///         (upstream as? any ExchangeLimiting)?.enforcesLimit(of: request, on: clock) ?? false
///     }
/// }
/// ```
public protocol ExchangeLimitingModifier: NetworkingModifier {
    /// Returns whether the modifier, or its upstream, enforces the limit of a request on a clock.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - clock: The clock of the limit.
    ///   - upstream: The component that the modifier sends to.
    /// - Returns: `true` if each part of the exchange ends at the limit.
    func enforcesLimit(
        of request: HTTPRequestData,
        on clock: NetworkClock,
        over upstream: some NetworkingComponent
    ) -> Bool
}

extension Modified: ExchangeLimiting {
    @usableFromInline package func enforcesLimit(of request: HTTPRequestData, on clock: NetworkClock) -> Bool {
        (modifier as? any ExchangeLimitingModifier)?.enforcesLimit(of: request, on: clock, over: upstream) ?? false
    }
}

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
        guard let component = self as? any ExchangeLimiting, component.enforcesLimit(of: request, on: clock) else {
            return nil
        }
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
