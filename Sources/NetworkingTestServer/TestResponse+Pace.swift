#if TestServer
extension TestResponse {
    /// Says how slowly bytes go through: so many, then a pause, then so many again.
    public struct Throttle: Sendable, Hashable {
        /// How many bytes go through at once.
        public let byteCount: Int

        /// The pause behind them.
        public let period: Duration

        init(byteCount: Int, period: Duration) {
            precondition(byteCount > 0, "byteCount must be greater than zero (is \(byteCount))")
            precondition(period >= .zero, "period must not be negative (is \(period))")
            self.byteCount = byteCount
            self.period = period
        }
    }

    /// Sends the body slowly, with a pause behind each so many bytes.
    ///
    /// The bytes are those on the wire: the lines of the chunked coding count too. The pauses pass on the server's
    /// clock and come on top of the delays of single chunks.
    ///
    /// ```swift
    /// .text(report).throttled(to: 1_000, every: .milliseconds(100))
    /// ```
    ///
    /// - Parameters:
    ///   - byteCount: How many bytes are sent at once.
    ///   - period: The pause before the next ones.
    /// - Returns: The response with a slow body.
    /// - Precondition: `byteCount` is greater than zero, `period` is not negative, and the body is not raw.
    public func throttled(to byteCount: Int, every period: Duration) -> TestResponse {
        with("throttled") { $0.throttle = Throttle(byteCount: byteCount, period: period) }
    }

    /// Reads the body of the request slowly, with a pause behind each so many bytes, so that a client that sends much
    /// is held back.
    ///
    /// The bytes are those of the body, without its coding; an echo comes back as slowly. How much the client can send
    /// ahead is up to the buffers of the system. As with ``disconnecting(_:at:gate:)``, the answer has to be known when
    /// the head arrives.
    ///
    /// - Parameters:
    ///   - byteCount: How many bytes are read at once.
    ///   - period: The pause before the next ones.
    /// - Returns: The response with a slow reader.
    /// - Precondition: `byteCount` is greater than zero, and `period` is not negative.
    public func readingThrottled(to byteCount: Int, every period: Duration) -> TestResponse {
        var response = self
        response.readingThrottle = Throttle(byteCount: byteCount, period: period)
        return response
    }

    /// Sends the parts of the answer late.
    ///
    /// The time passes on the clock that the server was started with, so a test with a clock of its own does not sleep.
    ///
    /// - Parameters:
    ///   - head: The time to wait before the head, behind the informational responses.
    ///   - body: The time to wait between the head and the first bytes of the body.
    ///   - trailers: The time to wait between the last bytes of the body and the trailers; an answer without trailers
    ///     has none.
    /// - Returns: The response with these delays in place of those it had.
    /// - Precondition: No delay is negative, and the body is not raw.
    public func delayed(
        head: Duration = .zero,
        body: Duration = .zero,
        trailers: Duration = .zero
    ) -> TestResponse {
        precondition(head >= .zero, "the delay of the head must not be negative (is \(head))")
        precondition(body >= .zero, "the delay of the body must not be negative (is \(body))")
        precondition(trailers >= .zero, "the delay of the trailers must not be negative (is \(trailers))")
        return with("delayed") {
            $0.delay = head
            $0.bodyDelay = body
            $0.trailersDelay = trailers
        }
    }
}
#endif
