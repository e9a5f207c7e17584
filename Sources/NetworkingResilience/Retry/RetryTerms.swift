import NetworkingCore

/// The terms of `retry` for `hedged` further in, because each extra attempt counts as a retry.
package struct RetryTerms: Sendable {
    /// The number of attempts that are still allowed, including this one.
    package var attemptsLeft: Int
    /// The budget, in which an extra attempt needs a place.
    package let budget: RetryBudget
    /// The rules, which decide whether a failure starts an extra attempt.
    package let rules: Rules

    /// A policy behind a reference, because each waiting call would otherwise have a copy of its fields.
    package final class Rules: Sendable {
        package let policy: RetryPolicy

        init(_ policy: RetryPolicy) {
            self.policy = policy
        }
    }
}

extension HTTPRequestData {
    /// The terms of the innermost `retry` further out; `nil` if there is none, or no `hedged` between.
    package var retryTerms: RetryTerms? {
        get { self[.retryTerms] }
        set { self[.retryTerms] = newValue }
    }
}

extension RequestOptionKey {
    fileprivate static let retryTerms = RequestOption<RetryTerms?>(
        "retryTerms",
        default: nil,
        affects: .nothing,
        isSetByStack: true
    )
}

extension HTTPResponseData {
    /// The number of extra attempts that `hedged` has made for this response.
    package var hedges: Int {
        get { self[metadata: HedgesKey.self] }
        set { self[metadata: HedgesKey.self] = newValue }
    }
}

extension NetworkingError {
    /// The number of extra attempts that `hedged` has made before this failure.
    package var hedges: Int {
        get { self[metadata: HedgesKey.self] }
        set { self[metadata: HedgesKey.self] = newValue }
    }
}

private enum HedgesKey: ResponseMetadata {
    static let defaultValue = 0
}

extension Result<HTTPResponseData, any Error> {
    /// The number of extra attempts that `hedged` has made for this result.
    var hedges: Int {
        switch self {
        case .success(let response): response.hedges
        case .failure(let error): (error as? NetworkingError)?.hedges ?? 0
        }
    }
}

extension RetryPolicy {
    /// The maximum number of attempts of a call.
    var maximumAttempts: Int {
        min(maximumRetries, .max - 1) + 1
    }
}
