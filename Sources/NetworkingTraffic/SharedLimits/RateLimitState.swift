import NetworkingResilience

/// The state of a shared rate limit: the generic cell rate algorithm as a value, for a ``RateLimitStore``.
///
/// ```swift
/// var state = stored ?? RateLimitState()
/// let grant = state.take(demand, at: now)   // in a transaction, with the clock of the store
/// ```
///
/// Up to ``RateLimitDemand/lead``, it grants permits that may be used only later. So a process has the next permit
/// before its moment, and the rate does not suffer from the time of a round trip. A process that gets none has a turn
/// behind the others that wait. So each process asks when there is a permit for it, and not all of them for each
/// permit.
public struct RateLimitState: Sendable, Hashable {
    /// The moment of the last decision.
    public var moment: Duration

    /// The time, from ``moment`` on, after which all permits are available again.
    public var reserved: Duration

    /// The time, from ``moment`` on, after which the last process that got no permit asks again.
    public var turns: Duration

    /// Creates a state; by default, that of a limit of which no permit is taken.
    ///
    /// - Parameters:
    ///   - moment: The moment of the last decision.
    ///   - reserved: The time after which all permits are available again.
    ///   - turns: The time after which the last process that got no permit asks again.
    public init(moment: Duration = .zero, reserved: Duration = .zero, turns: Duration = .zero) {
        (self.moment, self.reserved, self.turns) = (moment, reserved, turns)
    }

    /// Whether the state is the same as that of a limit of which no permit is taken.
    ///
    /// - Parameter now: The moment, on the clock of the store.
    /// - Returns: `true` if the state need not be stored any longer.
    public func isIdle(at now: Duration) -> Bool {
        max(reserved, turns) <= max(.zero, now - moment)
    }

    /// Decides about a demand.
    ///
    /// If the clock of the store goes back, the remaining times stay the same, so requests neither stop nor flood. The
    /// values of a damaged state are limited to possible ones.
    ///
    /// - Parameters:
    ///   - demand: The demand.
    ///   - now: The moment, on the clock of the store.
    /// - Returns: The decision.
    public mutating func take(_ demand: RateLimitDemand, at now: Duration) -> RateLimitGrant {
        let (interval, tolerance, lead) = (demand.interval, demand.tolerance, demand.lead)
        let elapsed = max(.zero, now - moment)
        reserved = min(max(.zero, reserved - elapsed), tolerance + lead + interval)
        turns = min(max(.zero, turns - elapsed), interval + RateLimitDemand.longestTurn)
        moment = now
        reserved = max(.zero, reserved - interval.multiplied(by: demand.returned))
        guard demand.permits > 0 else { return RateLimitGrant(permits: 0, wait: .zero) }
        let room = tolerance + lead - reserved
        guard room >= .zero else { return RateLimitGrant(permits: 0, wait: turn(for: demand, after: .zero - room)) }
        var count = min(demand.permits, Self.permits(in: room, interval))
        reserved += interval.multiplied(by: count)
        if count == demand.permits, reserved <= tolerance {
            let spare = min(demand.spare, Self.permits(in: tolerance - reserved, interval) / 2)
            reserved += interval.multiplied(by: spare)
            count += spare
        }
        return RateLimitGrant(permits: count, wait: max(.zero, reserved - interval - tolerance))
    }

    /// Returns the time after which a process asks again, behind the others that wait.
    ///
    /// A process with several waiting requests asks when several permits have become available. The permits that are
    /// granted ahead bridge the time until then.
    private mutating func turn(for demand: RateLimitDemand, after wait: Duration) -> Duration {
        let (interval, start) = (demand.interval, max(wait, turns))
        let extra = min(interval.multiplied(by: demand.permits - 1), demand.lead / 4)
        let limit = wait + RateLimitDemand.longestTurn
        turns = min(start + interval.multiplied(by: Self.permits(in: extra, interval)), limit)
        return min(start + extra, limit)
    }

    /// Returns the number of permits that become available within a time, with the one at its start.
    private static func permits(in time: Duration, _ interval: Duration) -> Int {
        Int(clamping: time.attoseconds / interval.attoseconds + 1)
    }
}
