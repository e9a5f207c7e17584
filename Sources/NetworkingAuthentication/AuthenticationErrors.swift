package import HTTPTypes
import NetworkingCore

/// The failure of a refresh, from which each waiting request creates its own error.
enum RefreshFailure: Error {
    /// The delegate threw an error.
    case delegate(any Error)
    /// The delegate did not return in time.
    case timeout(Duration)
    /// Another process held the lock of the stored session for as long as a refresh may take.
    case lockTimeout(Duration)
    /// The storage that other processes also use could not be locked or read.
    case storage(any Error)

    /// Whether the failure counts towards the refresh limit.
    ///
    /// It counts if a server refused the refresh or sent an unusable response, because the limit protects that server.
    /// A refresh without a response, because the server could not be reached or a time limit passed, shows nothing
    /// about the credentials, so the next request tries again.
    var counts: Bool {
        guard case .delegate(let error) = self else { return false }
        return (error as? any ReasonedError)?.countsAsRefusal ?? !(error is SignedOut || error.isCancelled)
    }

    var isOfStorage: Bool {
        if case .storage = self { true } else { false }
    }

    var underlying: (any Error)? {
        switch self {
        case .delegate(let error), .storage(let error): error
        case .timeout, .lockTimeout: nil
        }
    }

    /// The kind of the errors of requests that needed the refresh.
    ///
    /// ``NetworkingError/Kind/unauthorized`` means that the user has to sign in again. Only a refusal shows that. If
    /// the token server cannot be reached, is down or sends an invalid response, the session may still be valid.
    fileprivate var kind: NetworkingError.Kind {
        switch self {
        case .timeout, .lockTimeout: .timeout
        case .storage: .storage
        case .delegate(is DecodingError): .decoding
        case .delegate(let error): (error as? any ReasonedError)?.kindOfRefusedRequests ?? .unauthorized
        }
    }

    /// The failure and its cause, in sentences without secrets.
    fileprivate var explanation: String {
        switch self {
        case .timeout(let limit):
            return "The refresh took longer than \(limit.roundedText). Try again, or allow the store more time."
        case .lockTimeout(let limit):
            return
                "Another process, or another store, has held the lock of the stored session for "
                + "\(limit.roundedText). Try again, or end that process if it hangs."
        case .storage(let error):
            // The description of an unknown error may contain a secret.
            let reason = (error as? SessionStorageError)?.description ?? "The storage threw \(type(of: error))."
            return
                "The stored session could not be locked or read, and another process may be refreshing it, so no token "
                + "was sent. \(reason) Try again when the storage can be used; until then, only tokens that have not "
                + "expired are used."
        case .delegate(let error as any ReasonedError):
            return error.failedRequest.map { "\($0) failed. \(error.reason)" } ?? error.reason
        case .delegate(let error):
            return
                "The delegate threw \(type(of: error)), which is the underlying error. Sign in again if the error "
                + "persists."
        }
    }
}

extension HTTPRequestData {
    /// Waits for a refresh, and throws this request's own error if it fails.
    func waitForCredentials(
        explaining response: HTTPResponseData?,
        _ wait: nonisolated(nonsending) () async throws -> Void
    ) async throws {
        do {
            try await waiting(.credentials, on: NetworkEnvironment.current.clock, wait)
        } catch let failure as RefreshFailure {
            throw refreshFailed(failure, after: response)
        }
    }

    var hasNoCredentials: NetworkingError {
        hasNoCredentials(because: SignedOut())
    }

    private func hasNoCredentials(because signedOut: SignedOut) -> NetworkingError {
        let delegate =
            signedOut.delegate.map { " The delegate \($0) does not implement authorize(over:), which could sign in." }
        return NetworkingError(
            .unauthorized,
            request: self,
            reason: "No user is signed in, so the request was not sent. Sign in by setting the store's credentials, or "
                + "set the request's authenticationMethod to .anonymous.\(delegate ?? "")"
        )
    }

    /// Returns the error for a request if the limit does not allow its refresh yet.
    func refreshRefused(
        _ refusal: RefreshTally.Refusal,
        _ limit: RefreshLimit,
        after response: HTTPResponseData?
    ) -> NetworkingError {
        if let failure = refusal.failure {
            return refreshFailed(failure, after: response, retryAfter: refusal.delay)
        }
        return NetworkingError(
            .unauthorized,
            request: self,
            response: response,
            reason:
                "The credentials were refreshed \(limit.count) times within \(limit.interval.roundedText), and the "
                + "server accepted no request with them. Check the session that the delegate returns, and the clocks.",
            retryAfter: refusal.delay
        )
    }

    /// Returns the error for a request after its refresh has failed.
    private func refreshFailed(
        _ failure: RefreshFailure,
        after response: HTTPResponseData?,
        retryAfter: Duration? = nil
    ) -> NetworkingError {
        if let signedOut = failure.underlying as? SignedOut { return hasNoCredentials(because: signedOut) }
        let (kind, cause) = (failure.kind, failure.underlying as? NetworkingError)
        let consequence =
            response == nil
            ? "The refresh of the credentials failed, so the request was not sent"
            : "The server refused the credentials, and their refresh failed"
        let further = retryAfter.map { " The next refresh may start in \($0.roundedText)." } ?? ""
        var error = NetworkingError(
            kind,
            request: self,
            // With a 401 response, a network failure would look like a refusal. The response of a token server that is
            // down says when to try again.
            response: kind == .unauthorized ? response : kind == .status ? cause?.response : nil,
            underlying: failure.underlying,
            reason: "\(consequence): \(failure.explanation)\(further)",
            retryAfter: retryAfter ?? cause?.retryAfter
        )
        error.wasNotProcessed = kind != .unauthorized
        return error
    }
}

extension HTTPResponse.Status {
    /// Whether the status reports a transient problem: too many requests, or a server that is down.
    package var isOutage: Bool {
        code == 429 || code >= 500
    }

    /// Whether this status shows that the server has accepted the credentials of the request.
    package var showsAcceptance: Bool {
        self != .unauthorized && !isOutage
    }
}
