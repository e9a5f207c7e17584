public import NetworkingCore

/// Why a request that failed was not tried again, or not any more.
@nonexhaustive
public enum RetryRefusal: String, Sendable, Hashable {
    /// It was tried as often as the policy allows.
    case exhausted
    /// It must not be sent twice, as far as anybody knows.
    case notIdempotent
    /// Its body can be sent only once.
    case bodyNotReplayable
    /// Its sink has received bytes and cannot start over.
    case sinkNotRestartable
    /// The budget for retries is spent.
    case budget
    /// The server wants to be left alone for longer than the policy waits.
    case retryAfter
    /// The deadline would have come first.
    case deadline
    /// The policy's strategy, or an interceptor, gave up.
    case decision
    /// The environment has retries switched off.
    case switchedOff
    /// Somebody else has signed in since.
    case anotherUser
}

extension HTTPResponseData {
    /// Why a response that would have been tried again was given out; nil for any other.
    public internal(set) var retryRefusal: RetryRefusal? {
        get { self[metadata: RetryRefusalKey.self] }
        set { self[metadata: RetryRefusalKey.self] = newValue }
    }
}

extension NetworkingError {
    /// Why a failure that may pass was not tried again; nil for any other, and without `retry` in the stack.
    public internal(set) var retryRefusal: RetryRefusal? {
        get { self[metadata: RetryRefusalKey.self] }
        set { self[metadata: RetryRefusalKey.self] = newValue }
    }
}

private enum RetryRefusalKey: ResponseMetadata {
    static let defaultValue: RetryRefusal? = nil
}
