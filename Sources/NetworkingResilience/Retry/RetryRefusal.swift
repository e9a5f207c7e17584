public import NetworkingCore

/// The reason why a failed request was not retried, or not retried again.
@nonexhaustive
public enum RetryRefusal: String, Sendable, Hashable {
    /// The request was retried as often as the policy allows.
    case exhausted
    /// The request is not known to be safe to send twice.
    case notIdempotent
    /// The body can be sent only once.
    case bodyNotReplayable
    /// The sink has received bytes and cannot start over.
    case sinkNotRestartable
    /// The retry budget is spent.
    case budget
    /// The server asked for a longer wait than the policy allows.
    case retryAfter
    /// The wait would have ended after the deadline.
    case deadline
    /// The policy's strategy or an interceptor gave up.
    case decision
    /// Retries are switched off in the environment.
    case switchedOff
    /// Another user has signed in since the failed attempt.
    case anotherUser
}

extension HTTPResponseData {
    /// The reason why a response with a transient failure was not retried; `nil` for any other response.
    public internal(set) var retryRefusal: RetryRefusal? {
        get { self[metadata: RetryRefusalKey.self] }
        set { self[metadata: RetryRefusalKey.self] = newValue }
    }
}

extension NetworkingError {
    /// The reason why a transient failure was not retried; `nil` for other failures and without `retry` in the stack.
    public internal(set) var retryRefusal: RetryRefusal? {
        get { self[metadata: RetryRefusalKey.self] }
        set { self[metadata: RetryRefusalKey.self] = newValue }
    }
}

private enum RetryRefusalKey: ResponseMetadata {
    static let defaultValue: RetryRefusal? = nil
}
