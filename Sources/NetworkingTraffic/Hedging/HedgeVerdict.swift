import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import NetworkingResilience

/// The consequence that the end of an attempt has for the race.
enum HedgeVerdict: Sendable {
    /// The call ends with this outcome: an acceptable response, or a failure that another attempt would not change.
    case final
    /// Another attempt may succeed, after this time; `nil` if no further one may be started.
    case transient(retryAfter: Duration?)
    /// The extra attempt was not sent.
    case notMade(HedgingRefusal?)

    private static let standardRules = RetryPolicy.immediate()

    /// Creates the verdict about an attempt.
    ///
    /// - Parameters:
    ///   - attempt: The attempt.
    ///   - rules: The policy of the `retry` further out; `nil` if there is none.
    ///   - environment: The environment of the call.
    init(about attempt: Attempt, by rules: RetryPolicy?, in environment: NetworkEnvironment) {
        let rules = rules ?? Self.standardRules
        if attempt.number > 1, let error = attempt.error {
            if error is CancellationError {
                self = .notMade(nil)
                return
            }
            if attempt.result.isOfAnotherUser {
                self = .notMade(.anotherUser)
                return
            }
            if (error as? NetworkingError)?.kind.meaning == .rejected {
                self = .notMade(.rejected)
                return
            }
        }
        // The server may be processing another attempt of this call, and would refuse a further one in the same way.
        if attempt.response?.idempotencyKeyOutcome == .inProgress {
            self = .transient(retryAfter: nil)
            return
        }
        guard rules.isTransient(attempt, after: []) else {
            self = .final
            return
        }
        // A failure that an inner `retry` no longer retries does not start another attempt.
        guard attempt.refusalFurtherIn == nil else {
            self = .transient(retryAfter: nil)
            return
        }
        self = .transient(retryAfter: Self.wait(after: attempt, by: rules, in: environment))
    }

    /// Returns the wait that the server asks for; `nil` if it is too long, or not a time, which refuses another
    /// attempt.
    private static func wait(
        after attempt: Attempt,
        by rules: RetryPolicy,
        in environment: NetworkEnvironment
    ) -> Duration? {
        let field = attempt.response?.headerFields[.retryAfter]
        guard let wait = attempt.retryAfter(now: environment.clock.date) else { return field == nil ? .zero : nil }
        if field?.hasPrefix("-") == true { return nil }
        guard wait <= rules.maximumRetryAfter else { return nil }
        if let deadline = environment.deadline, environment.clock.now + wait >= deadline { return nil }
        return wait
    }
}
