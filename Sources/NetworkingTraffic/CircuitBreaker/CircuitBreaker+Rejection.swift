public import HTTPTypes
public import NetworkingCore

extension CircuitBreaker {
    /// The facts about a request that a circuit has refused.
    public struct Rejection: Sendable, Hashable {
        /// The state of the circuit: open, half-open with all probes in flight, or isolated.
        public let state: State

        /// The key of the circuit, by default the authority.
        public let key: String

        /// The time until the circuit may let a request through; `nil` if it is isolated.
        public let retryAfter: Duration?

        /// The last failure of the server; `nil` if there was none, because its calls were slow or the circuit is
        /// isolated.
        public let lastFailure: Failure?
    }

    /// A failure that counts against a server.
    public enum Failure: Sendable, Hashable {
        /// A response with this status.
        case status(HTTPResponse.Status)
        /// An error of this kind.
        case error(NetworkingError.Kind)
    }
}

extension CircuitBreaker.Rejection {
    /// Returns the error of a request.
    func error(for request: HTTPRequestData) -> NetworkingError {
        let advice =
            switch state {
            case .isolated: "Call close() of the circuit breaker to send requests again."
            default: "The next request may be sent in \((retryAfter ?? .zero).roundedText)."
            }
        var error = NetworkingError(
            .rejected,
            request: request,
            reason: "\(sentence), so the request was not sent. \(advice)",
            retryAfter: retryAfter
        )
        error.isOfFailingServer = true
        error.circuitRejection = self
        return error
    }

    private var sentence: String {
        let failure = lastFailure.map { " after \($0)" } ?? ""
        return "The circuit of \(PrintableText.singleLine(key)) is \(state)\(failure)"
    }
}

extension NetworkingError {
    /// The facts about the circuit that refused the request; `nil` for any other error.
    ///
    /// ```swift
    /// do {
    ///     _ = try await network.data(.get("users"))
    /// } catch let error as NetworkingError where error.circuitRejection != nil {
    ///     print("The server fails, until \(error.retryAfter?.description ?? "a probe succeeds")")
    /// }
    /// ```
    public internal(set) var circuitRejection: CircuitBreaker.Rejection? {
        get { self[metadata: CircuitRejectionKey.self] }
        set { self[metadata: CircuitRejectionKey.self] = newValue }
    }
}

private enum CircuitRejectionKey: ResponseMetadata {
    static let defaultValue: CircuitBreaker.Rejection? = nil
}

extension CircuitBreaker.Rejection: CustomStringConvertible {
    /// The state and the key: `open: api.example.com after 503`.
    public var description: String {
        "\(state): \(PrintableText.singleLine(key))\(lastFailure.map { " after \($0)" } ?? "")"
    }
}

extension CircuitBreaker.Failure: CustomStringConvertible {
    /// The status code or the kind.
    public var description: String {
        switch self {
        case .status(let status): "\(status.code)"
        case .error(let kind): kind.rawValue
        }
    }
}
