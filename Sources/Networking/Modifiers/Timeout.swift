extension NetworkingComponent {
    /// Gives each attempt so much time, until its whole body has arrived.
    ///
    /// It belongs next to the transport, under `retry` and `throttled`: then it counts one attempt and no waiting.
    /// When the time is up, what lies upstream is cancelled and awaited. A cancelled caller gets `CancellationError`.
    ///
    /// ```swift
    /// let network = URLSession.shared.timeout(.seconds(10))
    /// ```
    ///
    /// - Parameter limit: How long an attempt may take, on the environment's clock. ``HTTPRequestData/timeout``
    ///   replaces it for one request.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/timeout`` when time is up.
    /// - Precondition: `limit` is greater than zero.
    public func timeout(_ limit: Duration) -> some NetworkingComponent {
        precondition(limit > .zero, "limit must be greater than zero (is \(limit))")
        return modified(Timeout(limit: limit))
    }
}

struct Timeout: NetworkingModifier, CustomStringConvertible {
    let limit: Duration

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let limit = request.timeout ?? limit
        let clock = NetworkEnvironment.current.clock
        // What is left of some other time may be nothing.
        guard limit > .zero else { throw timeIsUp(nil) }
        return try await withTimeLimit(until: clock.now + limit, on: clock, timeIsUp: timeIsUp) {
            try await upstream.send(request)
        }

        func timeIsUp(_ error: (any Error)?) -> any Error {
            request.emit(.timedOut(after: limit))
            return NetworkingError(
                .timeout,
                request: request,
                underlying: error,
                reason: "No complete response within \(limit). Try again, or allow more time with request.timeout."
            )
        }
    }

    var description: String {
        "timeout(\(limit))"
    }
}
