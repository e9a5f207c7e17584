import FoundationForNetworking
import HTTPTypes
import NetworkingCore

/// The number of attempts of an ``Outbox``, and the time between them.
public struct OutboxPolicy: Sendable, Hashable {
    /// The maximum number of attempts for an entry.
    ///
    /// The default is 20. An attempt does not count if it failed because there is no network, or if it failed after its
    /// user had signed out or another user had signed in.
    public var maximumAttempts = 20 {
        didSet {
            precondition(maximumAttempts > 0, "maximumAttempts must be greater than zero (is \(maximumAttempts))")
        }
    }

    /// The delay after the first failed attempt, which doubles with each further one.
    ///
    /// The default is 1 s. The outbox waits a random time between half of the delay and the whole.
    public var baseDelay = Duration.seconds(1) {
        didSet {
            precondition(baseDelay >= .zero, "baseDelay must not be negative (is \(baseDelay))")
        }
    }

    /// The maximum delay between two attempts, even if the server asks for more.
    ///
    /// The default is 10 minutes.
    public var maximumDelay = Duration.seconds(600) {
        didSet {
            precondition(maximumDelay >= .zero, "maximumDelay must not be negative (is \(maximumDelay))")
        }
    }

    /// The time after which an entry that was not sent becomes a dead letter; `nil` for no limit.
    ///
    /// It also applies to entries that wait for a network, for their next attempt or for another principal. The default
    /// is 7 days.
    public var maximumAge: Duration? = .seconds(7 * 86_400)

    /// Creates the default policy.
    public init() {}
}

extension OutboxPolicy {
    /// Returns the delay after a failed attempt.
    ///
    /// - Parameters:
    ///   - attempts: The number of attempts so far.
    ///   - wanted: The delay that the server asks for.
    ///   - random: The source of randomness.
    /// - Returns: The delay, at most the maximum.
    func delay(after attempts: Int, wanted: Duration?, using random: RandomSource) -> Duration {
        var random = random
        let maximum = min(maximumDelay, Self.longestDelay)
        let delay = Backoff.exponential(base: baseDelay, cap: maximum, jitter: .equal)
            .delay(beforeRetry: attempts, using: &random)
        return min(max(delay, wanted ?? .zero), maximum)
    }

    /// The maximum delay, which is 30 years, so that its end is a date.
    private static let longestDelay = Duration.seconds(1_000_000_000)
}

/// The result of an attempt.
enum OutboxOutcome {
    /// The server has accepted the request.
    case delivered(HTTPResponseData)
    /// A later attempt may succeed.
    case transient(String, retryAfter: Duration?)
    /// There was no network, so nothing was sent.
    case offline
    /// The user of the entry has signed out, or another user has signed in, so that the failure says nothing about the
    /// entry.
    case ofAnotherUser
    /// No later attempt can succeed.
    case refused(String)

    var isDelivered: Bool {
        if case .delivered = self { true } else { false }
    }

    init(_ response: HTTPResponseData, now: Date) {
        switch response.status.code {
        case 200..<400:
            self = .delivered(response)
        // 401: the user has to sign in again.
        case 401, 408, 423, 425, 429, 500...599:
            self = .transient("status \(response.status.code)", retryAfter: response.http.retryAfter(now: now))
        default:
            // Each entry has a key, so that 409 means that an earlier attempt is still being processed.
            self =
                response.idempotencyKeyOutcome == .inProgress
                ? .transient("status 409", retryAfter: response.http.retryAfter(now: now))
                : .refused("status \(response.status.code)")
        }
    }

    /// Creates the result of an attempt that failed.
    ///
    /// - Parameters:
    ///   - error: The error that the stack threw.
    ///   - response: The response that the error is about; `nil` if there was none.
    ///   - now: The current date.
    init(_ error: any Error, about response: HTTPResponseData?, now: Date) {
        guard let error = error as? NetworkingError else {
            // An error of the app, which a part of the stack may throw for a response. The status decides, as without
            // that part.
            let outcome = response.map { OutboxOutcome($0, now: now) }
            self = outcome ?? .transient("\(type(of: error))", retryAfter: nil)
            return
        }
        guard !error.isOfAnotherUser else {
            self = .ofAnotherUser
            return
        }
        switch error.kind.meaning {
        case .unreachable where error.isOffline:
            self = .offline
        case .answered:
            let outcome = response.map { OutboxOutcome($0, now: now) }
            self = outcome ?? .transient(error.kind.rawValue, retryAfter: error.retryAfter)
        case .storage where error.wasNotProcessed:
            self = .transient(error.kind.rawValue, retryAfter: error.retryAfter)
        case .invalid, .storage:
            self = .refused(error.kind.rawValue)
        default:
            self = .transient(error.kind.rawValue, retryAfter: error.retryAfter)
        }
    }
}
