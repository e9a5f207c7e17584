extension NetworkingError {
    /// The stage at which an exchange failed, by which the parts of a stack decide.
    ///
    /// Each ``Kind`` has one meaning. The parts of a stack decide by the meaning whether a request may be sent again,
    /// whether a stored response may be used instead, and whether something may have changed on the server. A modifier
    /// of your own that decides by the meaning also knows what to do with a kind that is added later.
    ///
    /// ```swift
    /// func mayTryAnotherServer(after error: NetworkingError) -> Bool {
    ///     error.kind.meaning == .unreachable
    /// }
    /// ```
    @nonexhaustive
    public enum Meaning: Sendable, Hashable, CaseIterable {
        /// The request or the stack is wrong, and the request was not sent. No other attempt can succeed.
        ///
        /// The kinds `invalidRequest`, `unencodableBody`, `bodyNotReplayable` and `unimplemented`.
        case invalid
        /// A limit of the stack refused the request, which was not sent. A later attempt may succeed.
        case rejected
        /// The server could not be reached, so nothing was sent.
        ///
        /// The kinds `offline`, `nameResolution` and `connection`.
        case unreachable
        /// The identity of the server could not be verified, so nothing was sent.
        ///
        /// The kind `tls`.
        case untrusted
        /// The exchange ended before the response was complete. The server may have carried out the request.
        ///
        /// The kinds `connectionLost`, `timeout` and `truncated`.
        case interrupted
        /// The whole call took too long. The server may have carried out the request.
        ///
        /// The kind `deadline`.
        case expired
        /// The server sent a complete response with a status that the request does not accept, or credentials are
        /// missing.
        ///
        /// The kinds `status` and `unauthorized`.
        case answered
        /// A response arrived and cannot be used.
        ///
        /// The kinds `invalidResponse`, `tooLarge`, `representationChanged`, `checksumMismatch`, `tooManyRedirects` and
        /// `decoding`.
        case unusable
        /// A file of this device could not be read or written.
        case storage
    }
}

extension NetworkingError.Kind {
    /// The stage at which an exchange with a failure of this kind failed.
    public var meaning: NetworkingError.Meaning {
        switch self {
        case .invalidRequest, .unencodableBody, .bodyNotReplayable, .unimplemented: .invalid
        case .rejected: .rejected
        case .offline, .nameResolution, .connection: .unreachable
        case .tls: .untrusted
        case .connectionLost, .timeout, .truncated: .interrupted
        case .deadline: .expired
        case .status, .unauthorized: .answered
        case .invalidResponse, .tooLarge, .representationChanged, .checksumMismatch, .tooManyRedirects, .decoding:
            .unusable
        case .storage: .storage
        }
    }
}

extension Error {
    /// The `error.type`: a word from a bounded set, without secrets.
    package var telemetryType: String {
        switch self {
        case is CancellationError: "cancelled"
        case let error as NetworkingError:
            error.kind.meaning == .answered
                ? error.response.map { "\($0.status.code)" } ?? error.kind.rawValue
                : error.kind.rawValue
        // The description of any other error may contain anything.
        default: "\(type(of: self))"
        }
    }
}
