public import HTTPTypes
public import NetworkingCore

/// A policy that decides whether, when and how often a failed request is retried.
///
/// ```swift
/// let network = URLSession.shared
///     .retry(.exponential(base: .milliseconds(200), maximumRetries: 5))
///
/// request.retryPolicy = .never
/// ```
///
/// These failures are retried, up to ``maximumRetries`` times:
/// - responses with a status among ``statuses``, and once each for 421 and 425,
/// - network failures: no such host, no connection, offline, a lost connection, a truncated body, an attempt that timed
///   out,
/// - 409 for a request with an `Idempotency-Key`: the server is still processing an earlier attempt
///   (``HTTPResponseData/idempotencyKeyOutcome``). The request is repeated with the same key. 422 for such a request is
///   never retried, even if ``statuses`` contain it.
///
/// ``statuses`` can be replaced, also by an argument: `.exponential(statuses: [429, 503])`. With
/// ``retriesNetworkFailures`` set to `false`, only statuses are retried.
///
/// The request must be safe to send twice. GET, HEAD, OPTIONS, TRACE, PUT, DELETE and QUERY are safe (RFC 9110 section
/// 9.2.2). Any other method is safe if the request has an `Idempotency-Key`, if ``HTTPRequestData/isIdempotent`` says
/// so, or if the failure shows that nothing was sent. In addition, the body must be replayable, and the sink must have
/// received nothing or be able to start over. A cancelled caller, an exceeded deadline, a certificate failure and an
/// invalid request are never retried.
public struct RetryPolicy: Sendable {
    /// The statuses of transient failures: 408, 429, 500, 502, 503, 504.
    public static let transientStatuses: StatusSet = [408, 429, 500, 502, 503, 504]

    /// The maximum number of retries for a request.
    public var maximumRetries: Int {
        didSet {
            precondition(maximumRetries >= 0, "maximumRetries must not be negative (is \(maximumRetries))")
        }
    }

    /// The delay before each retry.
    public var backoff: Backoff

    /// The statuses that are retried.
    public var statuses: StatusSet

    /// Whether network failures are retried; `true` by default.
    ///
    /// They are: no such host, no connection, offline, a lost connection, a truncated body, an attempt that timed out.
    public var retriesNetworkFailures = true

    /// The maximum `Retry-After` that a retry waits for.
    ///
    /// The default is 60 s. If the server asks for more, the request is not retried, and its response is returned at
    /// once.
    public var maximumRetryAfter = Duration.seconds(60)

    /// The maximum extension of a wait for `Retry-After`, as a fraction of that wait.
    ///
    /// The extension is drawn for each wait from ``NetworkEnvironment/random``. The default is 0.1: 10 s become 10 to
    /// 11 s, so that clients that received the same time do not return together. A wait is never shorter than the
    /// server asks for, and it is extended only if it still ends before the deadline. 0 adds nothing.
    public var retryAfterJitter = 0.1 {
        didSet {
            precondition(
                retryAfterJitter >= 0 && retryAfterJitter.isFinite,
                "retryAfterJitter must not be negative (is \(retryAfterJitter))"
            )
        }
    }

    /// The maximum time that a retry waits for a network, in place of its backoff; `nil` for no such wait.
    ///
    /// If an attempt failed without a response and ``NetworkEnvironment/connectivity`` reports no network that the
    /// request may use, the next attempt starts as soon as there is one, or when this time is over. `whenOffline` sets
    /// the connectivity for the `retry` inside it. Without connectivity, the backoff applies, and the diagnostics of
    /// the stack report it. The default is `nil`.
    public var connectivityWait: Duration? {
        didSet {
            precondition(
                connectivityWait ?? .zero >= .zero,
                "connectivityWait must not be negative (is \(connectivityWait ?? .zero))"
            )
        }
    }

    /// Whether POST, PATCH and other requests that are not safe to send twice get an `Idempotency-Key`.
    ///
    /// All attempts have the same key, so that a server that supports it can distinguish a retry from a second order.
    /// The key is new, so a 409 for the first attempt is another conflict and is not retried.
    /// The default is `false`, because a server that does not support it would act twice.
    public var addsIdempotencyKeys = false

    /// Whether a final failed response is thrown as ``NetworkingError/Kind/status`` instead of returned; `false` by
    /// default.
    public var throwsOnExhaustion = false

    /// The header field that numbers each attempt after the first, such as `attempt=2; max=4`; `nil`, the default, for
    /// none.
    public var attemptHeaderField: HTTPField.Name?

    var strategy: (any RetryStrategy)?

    private init(maximumRetries: Int, backoff: Backoff, statuses: StatusSet = RetryPolicy.transientStatuses) {
        precondition(maximumRetries >= 0, "maximumRetries must not be negative (is \(maximumRetries))")
        self.maximumRetries = maximumRetries
        self.backoff = backoff
        self.statuses = statuses
    }

    /// A policy that never retries.
    public static let never = RetryPolicy(maximumRetries: 0, backoff: .immediate)

    /// Retries at once.
    ///
    /// - Parameters:
    ///   - maximumRetries: The maximum number of retries.
    ///   - statuses: The statuses that are retried.
    /// - Returns: The policy.
    /// - Precondition: `maximumRetries` is not negative.
    public static func immediate(
        maximumRetries: Int = 3,
        statuses: StatusSet = RetryPolicy.transientStatuses
    ) -> RetryPolicy {
        RetryPolicy(maximumRetries: maximumRetries, backoff: .immediate, statuses: statuses)
    }

    /// Retries after the same delay each time.
    ///
    /// - Parameters:
    ///   - delay: The delay.
    ///   - jitter: The random spread of the delay.
    ///   - maximumRetries: The maximum number of retries.
    ///   - statuses: The statuses that are retried.
    /// - Returns: The policy.
    /// - Precondition: Neither `delay` nor `maximumRetries` is negative.
    public static func constant(
        _ delay: Duration,
        jitter: Backoff.Jitter = .none,
        maximumRetries: Int = 3,
        statuses: StatusSet = RetryPolicy.transientStatuses
    ) -> RetryPolicy {
        RetryPolicy(maximumRetries: maximumRetries, backoff: .constant(delay, jitter: jitter), statuses: statuses)
    }

    /// Retries with exponential backoff and jitter: the default of `retry`.
    ///
    /// - Parameters:
    ///   - base: The first delay.
    ///   - multiplier: The factor by which the delay grows.
    ///   - cap: The maximum delay, including its jitter.
    ///   - jitter: The random spread of the delay.
    ///   - maximumRetries: The maximum number of retries.
    ///   - statuses: The statuses that are retried.
    /// - Returns: The policy.
    /// - Precondition: `base`, `cap` and `maximumRetries` are not negative, and `multiplier` is at least 1.
    public static func exponential(
        base: Duration = .milliseconds(200),
        multiplier: Double = 2,
        cap: Duration = .seconds(20),
        jitter: Backoff.Jitter = .full,
        maximumRetries: Int = 3,
        statuses: StatusSet = RetryPolicy.transientStatuses
    ) -> RetryPolicy {
        RetryPolicy(
            maximumRetries: maximumRetries,
            backoff: .exponential(base: base, multiplier: multiplier, cap: cap, jitter: jitter),
            statuses: statuses
        )
    }

    /// Asks a strategy about each failed attempt before the rules of this policy apply.
    ///
    /// - Parameter strategy: The strategy.
    /// - Returns: A policy that asks the strategy.
    public func deciding(by strategy: some RetryStrategy) -> RetryPolicy {
        var policy = self
        policy.strategy = strategy
        return policy
    }

    /// Asks a closure about each failed attempt before the rules of this policy apply.
    ///
    /// ```swift
    /// let policy = RetryPolicy.exponential().deciding { attempts in
    ///     attempts.last?.error is PartnerIsDown ? .retry(after: .seconds(5)) : .standard
    /// }
    /// ```
    ///
    /// - Parameter decide: Receives the attempts so far, oldest first, and decides about the last one. An error that it
    ///   throws fails the call.
    /// - Returns: A policy that asks the closure.
    public func deciding(
        _ decide: @escaping @Sendable (_ attempts: [Attempt]) async throws -> RetryDecision
    ) -> RetryPolicy {
        deciding(by: ClosureStrategy(decide: decide))
    }
}

extension RetryPolicy: CustomStringConvertible {
    /// The maximum number of retries and their delays, for the stack's outline.
    public var description: String {
        maximumRetries == 0 ? "never" : "up to \(maximumRetries) times, backoff: \(backoff)"
    }
}

/// A custom rule that decides whether a failed attempt is retried.
public protocol RetryStrategy: Sendable {
    /// Decides about the last of the attempts.
    ///
    /// It is called after each attempt that failed with an error, with a status that the policy would retry, or with a
    /// status that is not a success (200 to 399).
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - attempts: The attempts so far, oldest first; the last is the one to decide about. If there are more than
    ///     100, they are the first 10 and the last ones.
    /// - Returns: The decision.
    /// - Throws: An error that the call fails with, instead of the result of the last attempt.
    func decide(about request: HTTPRequestData, after attempts: [Attempt]) async throws -> RetryDecision
}

/// The decision of a strategy or an interceptor about an attempt.
public enum RetryDecision: Sendable, Hashable {
    /// Apply the policy's own rules, or ask the next interceptor.
    case standard
    /// Retry after this delay, whatever the rules say about the status, the error and the method.
    ///
    /// The maximum number of retries, the budget, the deadline and the check that the body and the sink can be reused
    /// still apply.
    case retry(after: Duration)
    /// Retry after the policy's own backoff; the same limits apply as for a given delay.
    case retryWithBackoff
    /// Do not retry.
    case giveUp

    /// Retry at once.
    public static let retry = RetryDecision.retry(after: .zero)
}

private struct ClosureStrategy: RetryStrategy {
    let decide: @Sendable ([Attempt]) async throws -> RetryDecision

    func decide(about request: HTTPRequestData, after attempts: [Attempt]) async throws -> RetryDecision {
        try await decide(attempts)
    }
}

extension HTTPRequestData {
    /// The retry policy for this request; `nil` uses the policy of the stack.
    public var retryPolicy: RetryPolicy? {
        get { self[.retryPolicy] }
        set { self[.retryPolicy] = newValue }
    }
}

extension RequestOptionKey {
    // Policies have closures, which cannot be compared.
    /// ``HTTPRequestData/retryPolicy``.
    public static let retryPolicy = RequestOption<RetryPolicy?>(
        "retryPolicy",
        default: nil,
        affects: .sending { _ in nil },
        forbidsResending: { $0?.maximumRetries == 0 }
    )
}
