import NetworkingCore
import NetworkingResilience

/// The state of rate limits that several processes or machines share, for ``RateLimiter/Sharing``.
///
/// The library has two implementations: `ValkeyRateLimit` for the machines of a service, and `SQLiteRateLimit` for the
/// processes of one machine. A store of your own makes each decision in one step, so that no two processes receive the
/// same permit; ``RateLimitState`` contains the arithmetic.
public protocol RateLimitStore: Sendable {
    /// Takes permits of a limit, after it has given back permits that were not used.
    ///
    /// The moment of a decision is that of the store's own clock, so that the clocks of the machines do not matter. The
    /// limiter cancels a call that takes longer than its time limit, and ignores a grant that contradicts the demand.
    ///
    /// - Parameter demand: The limit, and the numbers of permits.
    /// - Returns: The permits. If there are none, the time after which the process should ask again.
    /// - Throws: Any error, if the store cannot decide.
    func take(_ demand: RateLimitDemand) async throws -> RateLimitGrant
}

/// A question to a ``RateLimitStore``: the permits that a process asks for, and the limit to which they belong.
public struct RateLimitDemand: Sendable, Hashable {
    /// The name of the limit, and the key of the group of requests.
    ///
    /// It may contain the host of a request or the name of a user, so a store digests it.
    public let key: String

    /// The time that one permit takes up, in whole nanoseconds.
    public let interval: Duration

    /// The number of permits that may be used at once after a quiet time.
    public let burst: Int

    /// The maximum time from the decision to the moment at which a permit may be used.
    public let lead: Duration

    /// The number of permits for requests that wait; 0 if the process only gives permits back.
    public let permits: Int

    /// The number of further permits for requests that the process expects.
    ///
    /// They are granted only if all others are, and only if they may be used at once. A process gets at most half of
    /// those, so that it does not delay the requests of the others.
    public let spare: Int

    /// The number of permits that the process gives back.
    public let returned: Int

    /// Creates a question.
    ///
    /// - Parameters:
    ///   - key: The name of the limit, and the key of the group of requests.
    ///   - permits: The number of permits for requests that wait.
    ///   - spare: The number of further permits for requests that the process expects.
    ///   - returned: The number of permits that the process gives back.
    ///   - interval: The time that one permit takes up; it is rounded to nanoseconds.
    ///   - burst: The number of permits that may be used at once after a quiet time.
    ///   - lead: The maximum time from the decision to the moment at which a permit may be used.
    /// - Precondition: `permits`, `spare` and `returned` are not negative, `interval` is at least a microsecond,
    ///   `burst` is at least 1, `interval` times `burst` is at most 45 days, and `lead` is zero to 10 seconds.
    public init(
        key: String,
        permits: Int,
        spare: Int = 0,
        returned: Int = 0,
        interval: Duration,
        burst: Int,
        lead: Duration
    ) {
        precondition(permits >= 0, "permits must not be negative (is \(permits))")
        precondition(spare >= 0, "spare must not be negative (is \(spare))")
        precondition(returned >= 0, "returned must not be negative (is \(returned))")
        precondition(interval >= .microseconds(1), "interval must be at least a microsecond (is \(interval))")
        precondition(burst >= 1, "burst must be at least 1 (is \(burst))")
        precondition(
            interval.multiplied(by: burst) <= Self.maximumReserve,
            "interval times burst must be at most \(Self.maximumReserve) (is \(interval.multiplied(by: burst)))"
        )
        precondition(lead >= .zero && lead <= .seconds(10), "lead must be zero to 10 seconds (is \(lead))")
        self.key = key
        self.permits = permits
        self.spare = spare
        self.returned = returned
        self.interval = .nanoseconds(interval.nanoseconds)
        self.burst = burst
        self.lead = .nanoseconds(lead.nanoseconds)
    }

    /// The maximum time in which a whole burst becomes available again.
    ///
    /// Twice this time, in nanoseconds, is a number that Lua and JavaScript represent exactly.
    static let maximumReserve = Duration.seconds(45 * 86_400)

    /// The maximum time for which a process is told to wait behind others.
    ///
    /// With it, the processes ask so often that permits of a process that has ended are noticed.
    public static let longestTurn = Duration.seconds(1)

    /// The time by which a burst may be ahead of the rate.
    public var tolerance: Duration {
        interval.multiplied(by: burst - 1)
    }
}

/// The decision of a ``RateLimitStore``.
public struct RateLimitGrant: Sendable, Hashable {
    /// The number of permits, at most that of the demand with its spare ones.
    public let permits: Int

    /// The time until the last of the permits may be used; each of the others may be used one interval earlier than the
    /// next.
    ///
    /// Without permits, it is the time after which the process should ask again.
    public let wait: Duration

    /// Creates a decision.
    ///
    /// - Parameters:
    ///   - permits: The number of permits.
    ///   - wait: The time until the last of them may be used; without permits, until the process should ask again.
    public init(permits: Int, wait: Duration) {
        (self.permits, self.wait) = (permits, wait)
    }

    /// Whether it is a possible decision about a demand.
    func answers(_ demand: RateLimitDemand) -> Bool {
        guard permits >= 0, permits - demand.spare <= demand.permits, wait >= .zero else { return false }
        return permits == 0 || wait <= demand.lead
    }
}
