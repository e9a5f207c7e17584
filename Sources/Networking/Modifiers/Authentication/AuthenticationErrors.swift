package import HTTPTypes

/// Why a refresh failed, for each request that waited to make an error of its own.
struct RefreshFailure: Error {
    let underlying: any Error
}

extension HTTPRequestData {
    /// Waits for a refresh, and says of this request why it failed.
    func waitForCredentials(
        explaining response: HTTPResponseData?,
        _ wait: nonisolated(nonsending) () async throws -> Void
    ) async throws {
        do {
            try await waiting(.credentials, on: NetworkEnvironment.current.clock, wait)
        } catch let failure as RefreshFailure {
            throw refreshFailed(failure.underlying, after: response)
        }
    }

    var hasNoCredentials: NetworkingError {
        NetworkingError(
            .unauthorized,
            request: self,
            reason: "Nobody is signed in, so the request was not sent. Sign in by setting the store's credentials, "
                + "or set the request's authenticationMethod to .anonymous."
        )
    }

    var isOfAnotherUser: NetworkingError {
        NetworkingError(
            .unauthorized,
            request: self,
            reason: "Somebody else has signed in while the request waited for credentials, so it was not sent. "
                + "Send it again if it is theirs too."
        )
    }

    func refreshTimedOut(after limit: Duration) -> NetworkingError {
        NetworkingError(
            .timeout,
            request: self,
            reason: "The credentials could not be renewed within \(limit). Try again, or allow the store more time."
        )
    }

    func refreshesTooOften(
        _ limit: RefreshLimit,
        after response: HTTPResponseData?,
        retryAfter: Duration
    ) -> NetworkingError {
        NetworkingError(
            .unauthorized,
            request: self,
            response: response,
            reason:
                "The credentials were renewed \(limit.count) times within \(limit.interval), the most that is allowed, "
                + "and are not accepted. Check what the delegate returns, and the clocks.",
            retryAfter: retryAfter
        )
    }

    /// What all hear who wait for a refresh that failed.
    ///
    /// One that failed because of the network is of that kind, since it may work later, and so is one that was a mistake of the
    /// app's, which signing in anew would not mend. A server of tokens that is down has ended nobody's session.
    private func refreshFailed(_ error: any Error, after response: HTTPResponseData?) -> NetworkingError {
        if error is SignedOut { return hasNoCredentials }
        let failure = error as? NetworkingError
        let kind: NetworkingError.Kind =
            switch failure?.kind {
            case .offline, .nameResolution, .connection, .connectionLost, .tls, .timeout, .deadline, .invalidRequest,
                .unencodableBody:
                failure?.kind ?? .unauthorized
            case .status where failure?.response?.status.isOutage == true: .status
            default: .unauthorized
            }
        return NetworkingError(
            kind,
            request: self,
            // With it, the error would read as one of somebody who is not let in.
            response: kind == .unauthorized ? response : nil,
            underlying: error,
            reason: (error as? any ReasonedError).map { "It got no credentials. \($0.reason)" }
                ?? "Its credentials could not be renewed. The error beneath says why; sign in anew if it stays so.",
            retryAfter: failure?.retryAfter
        )
    }
}

extension HTTPResponse.Status {
    /// Whether it tells of trouble that may pass: too many requests, or a server that is down.
    package var isOutage: Bool {
        code == 429 || code >= 500
    }
}
