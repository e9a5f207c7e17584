#if TestServer
extension TestResponse {
    /// Says what the server does to the socket of a connection.
    public enum SocketEffect: Sendable, Hashable {
        /// Closes both sides. Bytes of the client that the server has not read turn it into a reset, as on every
        /// system.
        case close

        /// Resets the connection. The reset may overtake bytes that the client has not read yet.
        case reset

        /// Closes the server's side alone, and waits until the client hangs up or the server stops.
        case halfClose

        /// Sends nothing more and keeps the connection open, until the client hangs up or the server stops.
        ///
        /// Within a request's body nothing is read either, so there a client that hangs up is not noticed.
        case stall
    }

    /// Names a point of an exchange.
    public enum Stage: Sendable, Hashable {
        /// The head of the request has arrived, and nothing of its body was read.
        case requestHead

        /// So many bytes of the request's body have arrived, or all of a body that is shorter.
        case requestBody(after: Int)

        /// The request has arrived, and nothing of the answer was sent but its informational responses.
        case responseStart

        /// The head of the answer was sent.
        case responseHead

        /// So many bytes of the answer's body were sent, without their coding, or all of a body that is shorter.
        case responseBody(after: Int)

        /// The answer was sent to its last byte; it did not announce that the connection ends.
        case responseEnd
    }

    /// Says where an exchange breaks off, and how.
    public struct Disconnect: Sendable {
        /// What becomes of the connection.
        public let effect: SocketEffect

        /// Where.
        public let stage: Stage

        /// The gate that has to be open before.
        public let gate: Gate?
    }

    /// Breaks the exchange off at one point.
    ///
    /// ```swift
    /// .text("0123456789").disconnecting(.reset, at: .responseBody(after: 4))
    /// .ok.disconnecting(.close, at: .requestBody(after: 1_000))
    /// ```
    ///
    /// A point within the request can only be met by an answer that is known when the head arrives: one that was
    /// queued, one of ``TestServer/route(_:_:times:responses:)``, or the one of a
    /// ``TestServer/routeAtHead(_:_:times:handler:)``. From another handler the client gets a `500` that says so. What
    /// arrived of the request until then is recorded, and not ``RecordedRequest/isComplete``.
    ///
    /// - Parameters:
    ///   - effect: What becomes of the connection.
    ///   - stage: Where.
    ///   - gate: The gate that has to be open before: a reset that waits until the client has read overtakes nothing.
    /// - Returns: The response with that end.
    /// - Precondition: The count of a `requestBody` is greater than zero, that of a `responseBody` is not negative, and
    ///   the body is not raw: there, ``RawStep`` says how it ends.
    public func disconnecting(_ effect: SocketEffect, at stage: Stage, gate: Gate? = nil) -> TestResponse {
        switch stage {
        case .requestBody(after: let count):
            precondition(count > 0, "count must be greater than zero (is \(count)); before the body it is .requestHead")
        case .responseBody(after: let count):
            precondition(count >= 0, "count must not be negative (is \(count))")
        case .requestHead, .responseStart, .responseHead, .responseEnd:
            break
        }
        return with("disconnecting") { $0.disconnect = Disconnect(effect: effect, stage: stage, gate: gate) }
    }
}

extension TestResponse.Stage {
    var isWithinRequest: Bool {
        switch self {
        case .requestHead, .requestBody: true
        case .responseStart, .responseHead, .responseBody, .responseEnd: false
        }
    }
}
#endif
