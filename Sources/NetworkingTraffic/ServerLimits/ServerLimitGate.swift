import NetworkingCore

/// The limits that a server has reported to one user, and the requests that count towards them.
struct ServerLimitGate: RequestGate {
    struct Ticket: Sendable {
        fileprivate let number: UInt64
        /// The ten seconds in which the request was sent.
        fileprivate let period: Int64
        fileprivate let request: HTTPRequestData.ID
    }

    struct Report: Sendable {
        var limits: [ServerLimit] = []
        /// The time of `Retry-After`, which takes precedence over that of a limit.
        var retryAfter: Duration?
        /// Whether the server has refused the request because of a limit.
        var isRefusal = false
        /// The policies that the refused request has violated; empty if they are not known.
        var violatedPolicies: [String] = []
        /// Whether the next request of the call follows a redirect.
        var isRedirect = false
        /// A fraction of a tenth by which a wait is extended, so that clients do not return together.
        var jitter = 0.0
    }

    /// The maximum number of limits; those that end first are forgotten first.
    static let maximumCount = 32
    /// The maximum length of a window.
    ///
    /// A server that reports a longer one is asked again once a day, so that a wrong number does no lasting harm.
    private static let longestWindow = Duration.seconds(86_400)
    private static let longestCap = Duration.seconds(3_600)

    private var windows: [Name: Window] = [:]
    private var caps: [Name: Cap] = [:]
    /// The units of the policies that count something else than requests, for responses without `RateLimit-Policy`.
    private var units: [String: ServerLimit.Unit] = [:]
    private var inFlight = 0
    private var lastNumber: UInt64 = 0
    private var unanswered = Unanswered()
    /// The requests whose next exchange follows a redirect and is not delayed.
    private var redirected: [HTTPRequestData.ID] = []

    /// A policy, and the partition of it that requests belonged to.
    private struct Name: Hashable {
        let policy: String
        let partition: String?
    }

    /// The part of a quota that remains until a window ends.
    private struct Window {
        var quota: Int?
        var length: Duration?
        var remaining: Int
        /// The moment at which the window ends.
        var reset: Duration
        /// The moment at which requests continue if none remain.
        var opens: Duration
        /// The moment before which no request is sent while the last ones are spread.
        var next = Duration.zero
        /// The last request that was sent when the number was reported.
        var number: UInt64
        /// Whether the latest response named the partition, so that the next requests belong to it.
        var isCurrent = true

        var end: Duration {
            remaining > 0 ? reset : opens
        }

        /// The order in which windows are forgotten.
        var rank: (Int, Duration) {
            (isCurrent ? 1 : 0, end)
        }

        /// The time between two requests while fewer than a tenth of the quota remain; `nil` otherwise.
        func spacing(at now: Duration) -> Duration? {
            guard remaining > 0, let quota, Double(remaining) * 10 < Double(quota) else { return nil }
            return max(.zero, reset - now) / remaining
        }

        func wait(behind others: Int, at now: Duration) -> Duration {
            if others < remaining {
                guard let spacing = spacing(at: now) else { return .zero }
                return max(.zero, next - now) + spacing * others
            }
            // The requests of the windows between.
            let windows = quota.map { (others - remaining) / max(1, $0) } ?? 0
            return max(.zero, opens - now) + (length ?? .zero) * windows
        }

        mutating func count(at now: Duration) {
            guard isCurrent else { return }
            if let spacing = spacing(at: now) {
                next = max(next, now) + spacing
            }
            remaining = max(0, remaining - 1)
        }

        /// Takes back a request that was not sent, unless a later report has replaced the number.
        mutating func refund(_ request: UInt64) {
            guard isCurrent, request > number else { return }
            remaining = min(remaining, (quota ?? .max) - 1) + 1
        }

        /// Starts the next window if its quota is known; returns whether there is one.
        mutating func roll(at now: Duration) -> Bool {
            guard let quota, quota > 0, let length, length > .zero, now < end + length else { return false }
            // With a full quota, the server is asked again at the latest after that many requests.
            let jitter = opens - reset
            (remaining, reset, next) = (quota, end + length, .zero)
            opens = reset + jitter
            return true
        }
    }

    /// A limit on concurrent requests.
    private struct Cap {
        var limit: Int
        var end: Duration
    }

    // MARK: Requests

    var isEmpty: Bool {
        windows.isEmpty && caps.isEmpty && units.isEmpty && isUnused && redirected.isEmpty
    }

    var isUnused: Bool {
        inFlight == 0
    }

    var count: Int {
        windows.count + caps.count + units.count + (redirected.isEmpty ? 0 : 1)
    }

    func overtakes(_ request: HTTPRequestData.ID) -> Bool {
        redirected.contains(request)
    }

    mutating func pass(_ request: HTTPRequestData.ID, at now: Duration) -> Ticket? {
        expire(at: now)
        if let index = redirected.firstIndex(of: request) {
            redirected.remove(at: index)
        } else if wait(behind: 0, at: now) != .zero {
            return nil
        }
        for name in windows.keys {
            windows[name]?.count(at: now)
        }
        inFlight += 1
        lastNumber += 1
        return Ticket(number: lastNumber, period: unanswered.add(at: now), request: request)
    }

    func wait(behind others: Int, at now: Duration) -> Duration? {
        guard caps.values.allSatisfy({ $0.end <= now || inFlight + others < $0.limit }) else { return nil }
        return windows.values.lazy.filter { $0.isCurrent && $0.end > now }
            .reduce(.zero) { max($0, $1.wait(behind: others, at: now)) }
    }

    mutating func refund(_ ticket: Ticket) {
        leave(ticket)
        for name in windows.keys {
            windows[name]?.refund(ticket.number)
        }
    }

    mutating func end(_ ticket: Ticket, with report: Report?, at now: Duration) {
        leave(ticket)
        expire(at: now)
        guard let report else { return }
        if report.isRedirect {
            redirected = redirected.suffix(63) + [ticket.request]
        }
        let others = unanswered.count(at: now)
        for limit in report.limits {
            learn(limit, from: ticket, besides: others, report, at: now)
        }
        let policies = Set(report.limits.map(\.policy))
        let current = Set(report.limits.map { Name(policy: $0.policy, partition: $0.partition) })
        for name in windows.keys where policies.contains(name.policy) {
            windows[name]?.isCurrent = current.contains(name)
        }
        if report.isRefusal {
            refuse(report, at: now)
        }
        forget()
    }

    // MARK: Responses

    private mutating func learn(
        _ limit: ServerLimit,
        from ticket: Ticket,
        besides others: Int,
        _ report: Report,
        at now: Duration
    ) {
        let name = Name(policy: limit.policy, partition: limit.partition)
        let unit = unit(of: limit)
        if unit == .concurrentRequests, let quota = limit.quota {
            caps[name] = Cap(limit: max(1, quota), end: now + Self.longestCap)
            windows[name] = nil
        }
        let known = windows[name]
        let length = limit.window ?? known?.length
        let quota = limit.quota ?? known?.quota
        guard unit == .requests, caps[name] == nil, let reported = limit.remaining,
            let time = (report.retryAfter ?? limit.reset ?? length).map({ min($0, Self.longestWindow) })
        else { return }
        // The server has not counted the requests that are still on their way to it.
        let remaining = max(0, min(reported, quota ?? .max) - others)
        if let known, known.number >= ticket.number {
            // Responses to requests that were underway together arrive in any order, so they cannot raise the number.
            // The number stays that of the report, or an overlap without a gap would never let it rise again.
            windows[name]?.remaining = min(known.remaining, remaining)
            return
        }
        let reset = now + time
        windows[name] = Window(
            quota: quota,
            length: length.map { min($0, Self.longestWindow) },
            remaining: remaining,
            reset: reset,
            opens: reset + time * (0.1 * report.jitter),
            next: min(known?.next ?? .zero, reset),
            number: lastNumber
        )
    }

    /// Returns what a limit counts, which only the field with the quota says.
    private mutating func unit(of limit: ServerLimit) -> ServerLimit.Unit {
        guard limit.quota != nil || limit.unit != .requests else { return units[limit.policy] ?? limit.unit }
        if limit.unit == .requests {
            units[limit.policy] = nil
        } else if units[limit.policy] != nil || units.count < Self.maximumCount {
            if units.updateValue(limit.unit, forKey: limit.policy) == nil {
                // The numbers so far were taken for those of requests.
                windows = windows.filter { $0.key.policy != limit.policy }
            }
        }
        return limit.unit
    }

    /// Closes the violated policies, or all of them if the server names none.
    private mutating func refuse(_ report: Report, at now: Duration) {
        for policy in report.violatedPolicies.isEmpty ? [""] : report.violatedPolicies {
            let names = windows.filter { $0.key.policy == policy && $0.value.isCurrent }.map(\.key)
            for name in names.isEmpty ? [Name(policy: policy, partition: nil)] : names {
                let time = report.retryAfter.map { min($0, Self.longestWindow) }
                guard let time = time ?? windows[name].map({ max(.zero, $0.reset - now) }) else { continue }
                // Without `Retry-After`, only a policy that the server names is known to be used up.
                guard report.retryAfter != nil || !policy.isEmpty else { continue }
                windows[name] = Window(
                    quota: windows[name]?.quota,
                    length: windows[name]?.length,
                    remaining: 0,
                    reset: now + time,
                    opens: now + time + time * (0.1 * report.jitter),
                    number: lastNumber
                )
            }
        }
    }

    private mutating func leave(_ ticket: Ticket) {
        inFlight -= 1
        unanswered.remove(ticket.period)
    }

    private mutating func expire(at now: Duration) {
        for (name, var window) in windows where window.end <= now {
            windows[name] = window.roll(at: now) ? window : nil
        }
        for (name, cap) in caps where cap.end <= now {
            caps[name] = nil
        }
    }

    private mutating func forget() {
        while windows.count > Self.maximumCount, let first = windows.min(by: { $0.value.rank < $1.value.rank }) {
            windows[first.key] = nil
        }
        while caps.count > Self.maximumCount, let first = caps.min(by: { $0.value.end < $1.value.end }) {
            caps[first.key] = nil
        }
    }
}

/// The number of requests that were sent in the last ten to twenty seconds and have no response.
///
/// The server has counted those that take longer, such as a stream.
private struct Unanswered {
    private var period: Int64 = 0
    private var current = 0
    private var previous = 0

    /// Counts a request; returns the period in which it was sent.
    mutating func add(at now: Duration) -> Int64 {
        advance(to: now)
        current += 1
        return period
    }

    mutating func remove(_ period: Int64) {
        if period == self.period {
            current = max(0, current - 1)
        } else if period == self.period - 1 {
            previous = max(0, previous - 1)
        }
    }

    mutating func count(at now: Duration) -> Int {
        advance(to: now)
        return current + previous
    }

    private mutating func advance(to now: Duration) {
        let new = now.components.seconds / 10
        guard new != period else { return }
        (previous, current) = (new == period + 1 ? current : 0, 0)
        period = new
    }
}
