package import FoundationForNetworking
import HTTPTypes
package import NetworkingCore

extension RetryPolicy {
    /// Whether the policy changes nothing about a call: it neither retries it nor asks, marks or throws anything.
    var isInert: Bool {
        maximumRetries == 0 && !throwsOnExhaustion && !addsIdempotencyKeys && strategy == nil
    }

    /// Whether a response needs a decision.
    func concerns(_ response: HTTPResponseData) -> Bool {
        let status = response.status
        return statuses.contains(status) || Self.onceStatuses.contains(status)
            || strategy != nil && !(200..<400).contains(status.code)
            || response.idempotencyKeyOutcome == .inProgress
    }

    // 421: another connection may lead to the right server. 425: the server refuses a request that could be a replay.
    static let onceStatuses: StatusSet = [421, 425]

    package func isTransient(_ attempt: Attempt, after earlier: ArraySlice<Attempt>) -> Bool {
        if let status = attempt.response?.status, attempt.error == nil || attempt.isStatusError {
            switch attempt.response?.idempotencyKeyOutcome {
            case .reused: return false
            case .inProgress where !attempt.isFirstWithKey: return true
            default: break
            }
            let isOnce =
                Self.onceStatuses.contains(status) && !earlier.contains { $0.response?.status == status }
            return statuses.contains(status) || isOnce
        }
        guard let error = attempt.error as? NetworkingError else { return false }
        return isTransient(error)
    }

    func isTransient(_ error: NetworkingError) -> Bool {
        switch error.kind.meaning {
        case .unreachable, .interrupted: retriesNetworkFailures
        case .untrusted: retriesNetworkFailures && error.isHandshakeFailure
        case .answered: error.response.map { statuses.contains($0.status) } ?? false
        // The response of another server, such as a token server, was damaged on the way or came from an intermediary,
        // or the storage of the session could not be used for the moment.
        case .unusable, .storage: error.wasNotProcessed
        default: false
        }
    }
}

extension Attempt {
    /// Whether the response has a status that is retried only once.
    var isRetriedOnce: Bool {
        response.map { RetryPolicy.onceStatuses.contains($0.status) } ?? false
    }

    /// Whether the error reports the status of its response.
    package var isStatusError: Bool {
        guard let error = error as? NetworkingError else { return refusedResponse != nil }
        return error.kind.meaning == .answered
    }

    /// The time to wait that the server asks for, or that the error names because it is known, such as the time until a
    /// token may be refreshed again.
    package func retryAfter(now: Date) -> Duration? {
        let times = [response?.http.retryAfter(now: now), (error as? NetworkingError)?.retryAfter]
        return times.compactMap(\.self).max()
    }

    /// Whether the server cannot have processed the request: the request never reached it, or lacked credentials that
    /// could not be renewed.
    package var showsThatNothingWasSent: Bool {
        guard let error = error as? NetworkingError, !error.followsRedirect else { return false }
        guard !error.wasNotProcessed, !error.isHandshakeFailure else { return true }
        return error.response == nil && error.kind.meaning == .unreachable
    }

    /// Whether no request with the key of this one was sent before, so that the server cannot be processing another
    /// one.
    var isFirstWithKey: Bool {
        hasNewKey && number == 1 && result.hedges == 0 && response?.attempts.isEmpty ?? true
    }

    package var refusalFurtherIn: RetryRefusal? {
        switch result {
        case .success(let response): response.retryRefusal
        case .failure(let error): (error as? NetworkingError)?.retryRefusal
        }
    }
}

extension Result<HTTPResponseData, any Error> {
    /// The principal that the attempt was made for, if the result names it.
    var principal: Principal? {
        switch self {
        case .success(let response): response.principal
        case .failure(let error): (error as? NetworkingError)?.principal
        }
    }

    /// Whether a limit of the stack refused the request, so that nothing was sent.
    var wasRejected: Bool {
        guard case .failure(let error as NetworkingError) = self else { return false }
        return error.kind.meaning == .rejected
    }

    /// Whether the request was not sent, because another user has signed in since its work began.
    package var isOfAnotherUser: Bool {
        guard case .failure(let error as NetworkingError) = self else { return false }
        return error.isOfAnotherUser
    }
}

extension HTTPResponseData {
    package func after(_ attempts: [Attempt], refusal: RetryRefusal?) -> HTTPResponseData {
        guard !attempts.isEmpty || refusal != nil else { return self }
        var response = self
        if !attempts.isEmpty {
            response.attempts = attempts.followed(by: response.attempts)
        }
        response.retryRefusal = refusal
        return response
    }
}

extension NetworkingError {
    package func after(_ attempts: [Attempt], refusal: RetryRefusal?) -> NetworkingError {
        var error = self
        if !attempts.isEmpty {
            error.attempts = attempts.followed(by: error.attempts)
        }
        error.retryRefusal = refusal
        return error
    }
}

extension NetworkingError {
    /// Whether the failed request was the result of a redirect, so that the request before it was successful.
    package var followsRedirect: Bool {
        redirect != nil
    }
}
