public import HTTPTypes
public import NetworkingCore

/// Whether, when and how often a request that failed is tried again.
///
/// ```swift
/// let network = URLSession.shared
///     .retry(.exponential(base: .milliseconds(200), maximumRetries: 5))
///
/// request.retryPolicy = .never
/// ```
///
/// Tried again are, up to ``maximumRetries`` times:
/// - responses with a status among ``statuses``, and once each with 421 and 425,
/// - failures of the network: no such host, no connection, offline, a connection that was lost, a body that was cut
///   off, an attempt that timed out,
///
/// provided that the request may be sent twice. GET, HEAD, OPTIONS, TRACE, PUT, DELETE and QUERY may (RFC 9110 section
/// 9.2.2); any other method when it has an `Idempotency-Key`, when ``HTTPRequestData/isIdempotent`` says so, or when
/// the failure shows that it was not sent. Its body has to be one that can be sent again, and its sink one that has
/// received nothing or can start over. A cancelled caller, a deadline, a certificate, and what is wrong with the
/// request itself are never tried again.
public struct RetryPolicy: Sendable {
    /// The statuses of a failure that may pass: 408, 429, 500, 502, 503, 504.
    public static let transientStatuses: StatusSet = [408, 429, 500, 502, 503, 504]

    /// How many times a request is tried again.
    public var maximumRetries: Int {
        didSet {
            precondition(maximumRetries >= 0, "maximumRetries must not be negative (is \(maximumRetries))")
        }
    }

    /// How long to wait before each.
    public var backoff: Backoff

    /// The statuses that are tried again.
    public var statuses = RetryPolicy.transientStatuses

    /// The longest `Retry-After` that is waited for.
    ///
    /// 60 s by default. A server that wants more gets no retry, and its response is given out at once.
    public var maximumRetryAfter = Duration.seconds(60)

    /// The longest addition to a wait for `Retry-After`, as a part of it, drawn anew for each from
    /// ``NetworkEnvironment/random``.
    ///
    /// It is 0.1 by default: 10 s become 10 to 11 s, so that clients that were told the same moment do not return
    /// together. A wait is never shorter than the server asks for, and is not made longer beyond the deadline. 0 adds
    /// nothing.
    public var retryAfterJitter = 0.1 {
        didSet {
            precondition(
                retryAfterJitter >= 0 && retryAfterJitter.isFinite,
                "retryAfterJitter must not be negative (is \(retryAfterJitter))"
            )
        }
    }

    /// Whether POST, PATCH and other requests that may not be sent twice get an `Idempotency-Key`, the same for all
    /// attempts, so that a server that knows it can tell a retry from a second order.
    ///
    /// It is no by default: a server that does not know it would act twice.
    public var addsIdempotencyKeys = false

    /// Whether a response that failed to the end is thrown, as ``NetworkingError/Kind/status``, and not returned.
    public var throwsOnExhaustion = false

    /// The header field in which an attempt that is not the first says which it is: `attempt=2; max=4`; nil for none.
    public var attemptHeaderField: HTTPField.Name?

    var strategy: (any RetryStrategy)?

    private init(maximumRetries: Int, backoff: Backoff) {
        precondition(maximumRetries >= 0, "maximumRetries must not be negative (is \(maximumRetries))")
        self.maximumRetries = maximumRetries
        self.backoff = backoff
    }

    /// Never tries again.
    public static let never = RetryPolicy(maximumRetries: 0, backoff: .immediate)

    /// Tries again at once.
    ///
    /// - Parameter maximumRetries: How many times.
    /// - Returns: The policy.
    /// - Precondition: `maximumRetries` is not negative.
    public static func immediate(maximumRetries: Int = 3) -> RetryPolicy {
        RetryPolicy(maximumRetries: maximumRetries, backoff: .immediate)
    }

    /// Tries again after the same while each time.
    ///
    /// - Parameters:
    ///   - delay: The while.
    ///   - jitter: How it is spread.
    ///   - maximumRetries: How many times.
    /// - Returns: The policy.
    /// - Precondition: Neither `delay` nor `maximumRetries` is negative.
    public static func constant(
        _ delay: Duration,
        jitter: Backoff.Jitter = .none,
        maximumRetries: Int = 3
    ) -> RetryPolicy {
        RetryPolicy(maximumRetries: maximumRetries, backoff: .constant(delay, jitter: jitter))
    }

    /// Tries again after a while that doubles each time, spread by chance: the default of `retry`.
    ///
    /// - Parameters:
    ///   - base: The first while.
    ///   - multiplier: What it grows by.
    ///   - cap: The longest while, with its jitter.
    ///   - jitter: How it is spread.
    ///   - maximumRetries: How many times.
    /// - Returns: The policy.
    /// - Precondition: `base`, `cap` and `maximumRetries` are not negative, and `multiplier` is at least 1.
    public static func exponential(
        base: Duration = .milliseconds(200),
        multiplier: Double = 2,
        cap: Duration = .seconds(20),
        jitter: Backoff.Jitter = .full,
        maximumRetries: Int = 3
    ) -> RetryPolicy {
        RetryPolicy(
            maximumRetries: maximumRetries,
            backoff: .exponential(base: base, multiplier: multiplier, cap: cap, jitter: jitter)
        )
    }

    /// Asks a strategy about each attempt that did not go well, before the rules of this policy.
    ///
    /// - Parameter strategy: What decides.
    /// - Returns: The policy that asks it.
    public func deciding(by strategy: some RetryStrategy) -> RetryPolicy {
        var policy = self
        policy.strategy = strategy
        return policy
    }

    /// Asks a closure about each attempt, before the rules of this policy.
    ///
    /// ```swift
    /// .retry(.exponential().deciding { attempts in
    ///     attempts.last?.error is PartnerIsDown ? .retry(after: .seconds(5)) : .standard
    /// })
    /// ```
    ///
    /// - Parameter decide: Decides by the attempts so far, of which the last is the one to decide about.
    /// - Returns: The policy that asks it.
    public func deciding(_ decide: @escaping @Sendable (_ attempts: [Attempt]) async -> RetryDecision) -> RetryPolicy {
        deciding(by: ClosureStrategy(decide: decide))
    }
}

extension RetryPolicy: CustomStringConvertible {
    /// How often and after what while, as an outline shows it.
    public var description: String {
        maximumRetries == 0 ? "never" : "up to \(maximumRetries) times"
    }
}

/// Decides what becomes of an attempt, for policies of one's own.
public protocol RetryStrategy: Sendable {
    /// Decides about the last of the attempts.
    ///
    /// It is asked after each attempt that brought an error or a status that the policy would try again or that is not
    /// a success (200 to 399).
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - attempts: The attempts so far, oldest first; the last is the one to decide about. Of more than 100 they are
    ///     the first 10 and the last ones.
    /// - Returns: The decision.
    func decide(about request: HTTPRequestData, after attempts: [Attempt]) async -> RetryDecision
}

/// What a strategy or an interceptor decides about an attempt.
public enum RetryDecision: Sendable, Hashable {
    /// What the policy's own rules say, or the next interceptor.
    case standard
    /// Try again after a while, whatever the rules say of the status, the error and the method.
    ///
    /// The limit of retries, the budget, the deadline and what cannot be sent twice still hold.
    case retry(after: Duration)
    /// Try again after the policy's own while; likewise.
    case retryWithBackoff
    /// Do not try again.
    case giveUp

    /// Try again at once.
    public static let retry = RetryDecision.retry(after: .zero)
}

private struct ClosureStrategy: RetryStrategy {
    let decide: @Sendable ([Attempt]) async -> RetryDecision

    func decide(about request: HTTPRequestData, after attempts: [Attempt]) async -> RetryDecision {
        await decide(attempts)
    }
}

extension HTTPRequestData {
    /// How `retry` treats this request; nil leaves it to the stack.
    public var retryPolicy: RetryPolicy? {
        get { self[option: RetryPolicyOption.self] }
        set {
            self[option: RetryPolicyOption.self] = newValue
            settings.isResentByTransport = newValue?.maximumRetries != 0
        }
    }

    fileprivate enum RetryPolicyOption: ResendingOption {
        static let name = "retryPolicy"
        static let defaultValue: RetryPolicy? = nil
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/retryPolicy``.
    public static let retryPolicy = RequestOptionKey(HTTPRequestData.RetryPolicyOption.self)
}
