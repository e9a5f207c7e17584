#if TestServer
extension TestResponse {
    /// A pace for bytes: a number of bytes, then a pause.
    struct Throttle: Sendable, Hashable {
        /// The number of bytes between two pauses.
        let byteCount: Int

        /// The duration of a pause.
        let period: Duration

        init(byteCount: Int, period: Duration) {
            precondition(byteCount > 0, "byteCount must be greater than zero (is \(byteCount))")
            precondition(period >= .zero, "period must not be negative (is \(period))")
            self.byteCount = byteCount
            self.period = period
        }
    }

    /// Sends the body slowly, with a pause after each number of bytes.
    ///
    /// The count includes all bytes on the wire, such as the lines of the chunked coding. The pauses run on the
    /// server's clock and add to the delays of single chunks.
    ///
    /// ```swift
    /// TestResponse.text(text).throttled(to: 1_000, every: .milliseconds(100))
    /// ```
    ///
    /// - Parameters:
    ///   - byteCount: The number of bytes between two pauses.
    ///   - period: The duration of a pause.
    /// - Returns: The response with a slow body.
    /// - Precondition: `byteCount` is greater than zero, `period` is not negative, and the body is not raw.
    public func throttled(to byteCount: Int, every period: Duration) -> TestResponse {
        with("throttled") { $0.throttle = Throttle(byteCount: byteCount, period: period) }
    }

    /// Reads the body of the request slowly, with a pause after each number of bytes.
    ///
    /// A client with a large body blocks.
    ///
    /// The count includes the bytes of the body without its coding. An echo is sent back at the same pace. The buffers
    /// of the system determine how much the client can send ahead. As with ``disconnecting(_:at:gate:)``, the response
    /// has to be known when the head arrives.
    ///
    /// - Parameters:
    ///   - byteCount: The number of bytes between two pauses.
    ///   - period: The duration of a pause.
    /// - Returns: The response with slow reading.
    /// - Precondition: `byteCount` is greater than zero, and `period` is not negative.
    public func readingThrottled(to byteCount: Int, every period: Duration) -> TestResponse {
        var response = self
        response.readingThrottle = Throttle(byteCount: byteCount, period: period)
        return response
    }

    /// Delays the parts of the response.
    ///
    /// The time passes on the server's clock, so a test with its own clock does not sleep.
    ///
    /// - Parameters:
    ///   - head: The time to wait before the head, after the informational responses.
    ///   - body: The time to wait between the head and the first bytes of the body.
    ///   - trailers: The time to wait between the last bytes of the body and the trailers. Not used without trailers.
    /// - Returns: The response with these delays, which replace earlier ones.
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
