#if TestServer
extension TestResponse {
    /// The effect of the server on the socket of a connection.
    public enum SocketEffect: Sendable, Hashable {
        /// Closes both sides.
        ///
        /// If the server has not read all bytes of the client, the system sends a reset.
        case close

        /// Resets the connection.
        ///
        /// The reset can arrive before bytes that the client has not read yet.
        case reset

        /// Closes only the server's side, and waits until the client disconnects or the server stops.
        case halfClose

        /// Sends nothing more and keeps the connection open until the client disconnects or the server stops.
        ///
        /// Within a request's body nothing is read either, so the server does not notice a client that disconnects.
        case stall
    }

    /// A point of an exchange.
    public enum Stage: Sendable, Hashable {
        /// The head of the request has arrived, and nothing of its body was read.
        case requestHead

        /// The given number of bytes of the request's body have arrived, or the whole body if it is shorter.
        case requestBody(after: Int)

        /// The request has arrived, and only informational responses were sent.
        case responseStart

        /// The head of the response was sent.
        case responseHead

        /// The given number of bytes of the response's body were sent, without their coding, or the whole body if it is
        /// shorter.
        case responseBody(after: Int)

        /// The whole response was sent.
        ///
        /// It did not announce that the connection closes.
        case responseEnd
    }

    /// The point and the manner of a disconnect.
    struct Disconnect: Sendable {
        /// The effect on the connection.
        let effect: SocketEffect

        /// The point of the exchange.
        let stage: Stage

        /// The gate that has to be open before the disconnect.
        let gate: Gate?
    }

    /// Disconnects at one point of the exchange.
    ///
    /// ```swift
    /// TestResponse.text("0123456789").disconnecting(.reset, at: .responseBody(after: 4))
    /// TestResponse.ok.disconnecting(.close, at: .requestBody(after: 1_000))
    /// ```
    ///
    /// For a point within the request, the response has to be known when the head arrives. This is so for queued
    /// responses, and for those of ``TestServer/route(_:_:times:responses:)`` and
    /// ``TestServer/routeAtHead(_:_:times:handler:)``. With another handler, the client gets a `500` that explains
    /// this. The received part of the request is recorded, and ``RecordedRequest/isComplete`` is `false`.
    ///
    /// - Parameters:
    ///   - effect: The effect on the connection.
    ///   - stage: The point of the exchange.
    ///   - gate: The gate that has to be open before the disconnect, for example until the client has read the bytes
    ///     sent.
    /// - Returns: The response with that disconnect.
    /// - Precondition: The count of a `requestBody` is greater than zero, that of a `responseBody` is not negative, and
    ///   the body is not raw. The ending of a raw body is a ``RawStep``.
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
