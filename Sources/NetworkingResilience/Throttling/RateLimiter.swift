public import NetworkingCore
import Synchronization

/// A limit on requests per interval, for ``NetworkingComponent/rateLimited(by:maximumWait:)-(RateLimiter,_)``.
///
/// Share one instance between stacks to share the limit, also between stacks with different clocks. It implements the
/// generic cell rate algorithm: a single moment records when the bucket will be empty, so no timer has to refill it.
///
/// The limit belongs to this process, unless there is a ``RateLimitStore``: ``Sharing``.
public final class RateLimiter: Sendable {
    /// The rule that groups requests: requests with the same key share one limit.
    public struct Key: Sendable {
        private let make: @Sendable (HTTPRequestData, Principal?) -> String
        /// Whether the hops of a redirect may belong to different groups.
        let mayDifferByHop: Bool

        /// One group for all requests.
        public static let everything = Key(mayDifferByHop: false) { _, _ in "" }

        /// One group for each authority.
        ///
        /// Upper and lower case are the same authority, and so is the default port of the scheme.
        public static let host = Key { request, _ in request.authorityKey?.text ?? "" }

        /// One group for each principal that requests are sent for, as the stack upstream reports it.
        ///
        /// The cookies of `cookies(in:)` do not count, because a server may change them with each response.
        public static let principal = Key { _, principal in principal?.withoutCookies.map { "\($0.id)" } ?? "" }

        /// Groups requests by the name that a closure returns.
        ///
        /// - Parameter name: Returns the name of the group that a request counts towards.
        /// - Returns: The key.
        public static func custom(_ name: @escaping @Sendable (HTTPRequestData) -> String) -> Key {
            Key { request, _ in name(request) }
        }

        private init(
            mayDifferByHop: Bool = true,
            make: @escaping @Sendable (HTTPRequestData, Principal?) -> String
        ) {
            self.mayDifferByHop = mayDifferByHop
            self.make = make
        }

        package func value(for request: HTTPRequestData, _ principal: @autoclosure () -> Principal?) -> String {
            make(request, principal())
        }
    }

    let key: Key
    package let held = HeldLimits()
    private let count: Int
    private let period: Duration
    private let burst: Int
    /// The time that one request takes up.
    private let interval: Duration
    private let state = Mutex(State())
    /// The part that takes the permits from a store; `nil` if the limit belongs to this process.
    let shared: (any SharedLimit)?

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - count: The number of requests that are allowed in each period.
    ///   - period: The length of the period.
    ///   - burst: The number of requests that may be sent at once after a quiet time; the same as `count` by default.
    ///   - key: The rule that groups requests.
    /// - Precondition: `count` and `burst` are 1 to 1,000,000,000, and `period` is greater than zero and at most 1,000
    ///   years.
    public convenience init(_ count: Int, per period: Duration, burst: Int? = nil, key: Key = .everything) {
        self.init(count, period, burst, key) { _, _ in nil }
    }

    /// Creates a limiter whose permits may come from a store.
    ///
    /// - Parameters:
    ///   - count: The number of requests that are allowed in each period.
    ///   - period: The length of the period.
    ///   - burst: The number of requests that may be sent at once after a quiet time; `nil` for `count`.
    ///   - key: The rule that groups requests.
    ///   - shared: Returns the part that takes the permits from a store, by the time that one request takes up and the
    ///     burst; `nil` if there is no store.
    package init(
        _ count: Int,
        _ period: Duration,
        _ burst: Int?,
        _ key: Key,
        shared: (_ interval: Duration, _ burst: Int) -> (any SharedLimit)?
    ) {
        precondition((1...1_000_000_000).contains(count), "count must be 1 to 1,000,000,000 (is \(count))")
        precondition(
            (1...1_000_000_000).contains(burst ?? count),
            "burst must be 1 to 1,000,000,000 (is \(burst ?? count))"
        )
        precondition(
            period > .zero && period <= .seconds(31_556_952_000 as Int64),
            "period must be greater than zero and at most 1,000 years (is \(period))"
        )
        self.count = count
        self.period = period
        self.burst = burst ?? count
        self.key = key
        interval = period / count
        self.shared = shared(interval, self.burst)
    }

    /// The number of waiting requests.
    public var waiting: Int {
        shared?.waiting ?? state.withLock { $0.cells.waiting }
    }

    /// The number of keys in memory.
    package var keys: Int {
        shared?.keys ?? state.withLock { $0.cells.count }
    }

    package enum Decision {
        /// The request may be sent.
        case taken
        /// The request has a place in the queue and will be sent after about this time.
        case wait(WaitPlace, Duration)
        /// The request is refused because it would have to wait this long.
        case refused(Duration)
        /// The request weighs more than the burst and can never be sent.
        case impossible
    }

    /// Takes permits, or enters the queue of a key.
    ///
    /// - Parameters:
    ///   - weight: The number of permits.
    ///   - priority: The priority in the queue.
    ///   - key: The key.
    ///   - maximumWait: The maximum time that the request may wait; `nil` for no limit.
    ///   - clock: The clock.
    /// - Returns: Whether the request may be sent, has to wait, or is refused.
    func take(
        _ weight: Int,
        _ priority: RequestPriority,
        _ key: String,
        waitingUpTo maximumWait: Duration?,
        on clock: NetworkClock
    ) -> Decision {
        if let shared { return shared.take(weight, priority, key, waitingUpTo: maximumWait, on: clock) }
        guard weight <= burst else { return .impossible }
        let (decision, alarm) = withCell(of: key, on: clock) { cell, numbers, now -> (Decision, AlarmPlan?) in
            if cell.queue.count == 0, cell.take(weight, at: now) { return (.taken, nil) }
            // The time until all requests that wait already are served, whatever their priority, and then this one.
            let wait = cell.wait(for: weight + cell.queue.weight, at: now)
            if let maximumWait, wait > maximumWait { return (.refused(wait), cell.planAlarm(at: now)) }
            // In the order of arrival, every maximum wait is respected; this is the weight that may be served out of
            // order.
            let slack = maximumWait.map { Int(min(($0 - wait) / interval, 1e15)) }
            let place = cell.queue.enter(priority, weight: weight, slack: slack, numbered: &numbers)
            return (.wait(place, wait), cell.planAlarm(at: now))
        }
        set(alarm, key, on: clock)
        return decision
    }

    /// Returns permits that were not used.
    ///
    /// - Parameters:
    ///   - place: The place that received the permits.
    ///   - key: Its key.
    ///   - clock: The clock.
    func giveBack(_ place: WaitPlace, _ key: String, on clock: NetworkClock) {
        if let shared { return shared.giveBack(place, key, on: clock) }
        release(place, key, isPermit: true, on: clock)
    }

    /// Removes a place after its caller has stopped waiting.
    ///
    /// Later places move up.
    func left(_ place: WaitPlace, _ key: String, on clock: NetworkClock) {
        if let shared { return shared.left(place, key, on: clock) }
        release(place, key, isPermit: false, on: clock)
    }

    private func release(_ place: WaitPlace, _ key: String, isPermit: Bool, on clock: NetworkClock) {
        let alarm = withCell(of: key, on: clock, ifMissing: .some(nil)) { cell, _, now -> AlarmPlan? in
            // The cell in which the request waited may have been removed since, and its key may have a new cell.
            guard place.number > cell.lastNumberBefore else { return nil }
            if isPermit {
                cell.giveBack(place.weight)
            } else {
                cell.queue.leave(place)
            }
            return cell.planAlarm(at: now)
        }
        set(alarm, key, on: clock)
    }

    private func set(_ plan: AlarmPlan?, _ key: String, on clock: NetworkClock) {
        plan?.replaced?.cancel()
        guard let moment = plan?.moment else { return }
        // The alarm keeps the limiter alive until it rings, because requests wait for it.
        let alarm = clock.alarm(at: moment) { [self] in serve(key, plannedFor: moment, on: clock) }
        let isNeeded = state.withLock { state in
            state.withExistingCell(of: key) { $0.keep(alarm, for: moment, on: clock) } ?? false
        }
        if !isNeeded {
            alarm.cancel()
        }
    }

    /// The alarm that a cell needs from now on.
    private struct AlarmPlan: Sendable {
        /// Its moment; `nil` if no request waits.
        let moment: Duration?
        let replaced: Alarm?
    }

    /// Resumes the requests that are next in line.
    private func serve(_ key: String, plannedFor moment: Duration, on clock: NetworkClock) {
        let nothing: ([WaitPlace], AlarmPlan?) = ([], nil)
        let (due, alarm) = withCell(of: key, on: clock, ifMissing: nothing) {
            cell,
            _,
            now -> ([WaitPlace], AlarmPlan?) in
            // Another alarm has replaced this one. A cell that was on another clock until now has no alarm.
            guard cell.alarm == nil || cell.alarm == moment else { return nothing }
            cell.alarm = nil
            cell.handle = nil
            var due: [WaitPlace] = []
            while let first = cell.queue.first(), cell.take(first.weight, at: now) {
                _ = cell.queue.serve()
                due.append(first)
            }
            return (due, cell.planAlarm(at: now))
        }
        for place in due where !place.wait.resume(with: .success(())) {
            // The caller was cancelled just before.
            giveBack(place, key, on: clock)
        }
        set(alarm, key, on: clock)
    }

    /// Runs a closure with the cell of a key, which is moved to the caller's clock first.
    ///
    /// A clock may be code of the app, so it is read outside of the lock.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - clock: The clock of the caller.
    ///   - missing: The result if the key has no cell; `nil` adds a cell.
    ///   - body: Receives the cell, the counter of places and the time on the clock.
    /// - Returns: The result of the closure.
    private func withCell<Result: Sendable>(
        of key: String,
        on clock: NetworkClock,
        ifMissing missing: Result? = nil,
        _ body: @Sendable (inout Cell, inout WaitNumbers, _ now: Duration) -> Result
    ) -> Result {
        var former: (clock: NetworkClock, now: Duration)?
        while true {
            let now = clock.now
            let access = state.withLock { [former] state -> Access<Result> in
                state.withCell(of: key, at: now, isAdded: missing == nil, on: clock, interval, burst) { cell, numbers in
                    if cell.clock !== clock {
                        guard let former, former.clock === cell.clock else { return .other(cell.clock) }
                        cell.move(from: former.now, to: clock, at: now)
                    }
                    return .completed(body(&cell, &numbers, now))
                } ?? .missing
            }
            switch access {
            case .completed(let result): return result
            case .other(let clock): former = (clock, clock.now)
            case .missing: if let missing { return missing }
            }
        }
    }

    /// The result of an access to a cell.
    private enum Access<Result: Sendable>: Sendable {
        case completed(Result)
        /// The cell is on another clock, which must be read first.
        case other(NetworkClock)
        case missing
    }

    private struct State {
        var cells = RateCells<Cell>()
        private var numbers = WaitNumbers()

        mutating func withExistingCell<Result>(of key: String, _ body: (inout Cell) -> Result) -> Result? {
            cells.withExistingValue(for: key, body)
        }

        /// Runs a closure with the cell of a key; returns `nil` if there is none and none is added.
        mutating func withCell<Result>(
            of key: String,
            at now: Duration,
            isAdded: Bool,
            on clock: NetworkClock,
            _ interval: Duration,
            _ burst: Int,
            _ body: (inout Cell, inout WaitNumbers) -> Result
        ) -> Result? {
            guard isAdded else { return cells.withExistingValue(for: key) { body(&$0, &numbers) } }
            return cells.withValue(
                for: key,
                at: now,
                default: Cell(lastNumberBefore: numbers.last, on: clock, interval, burst)
            ) { body(&$0, &numbers) }
        }
    }

    private struct Cell: RateCell {
        /// The number of the last place before this cell was created; a place with a higher number waits in this cell.
        let lastNumberBefore: UInt64
        /// The moment at which all permits that were taken are available again, on ``clock``.
        var emptyAt = Duration.zero
        var queue = WaitQueue()
        /// The moment of the next alarm, on ``clock``.
        var alarm: Duration?
        /// The alarm itself, once it is set.
        var handle: Alarm?

        /// The clock of the stack that used the cell last.
        private(set) var clock: NetworkClock
        private let interval: Duration
        private let tolerance: Duration

        init(lastNumberBefore: UInt64, on clock: NetworkClock, _ interval: Duration, _ burst: Int) {
            self.lastNumberBefore = lastNumberBefore
            self.clock = clock
            self.interval = interval
            tolerance = interval.multiplied(by: burst - 1)
        }

        var waiting: Int {
            queue.count
        }

        /// Continues on another clock, on which the permits that were taken become available after the same time.
        ///
        /// A moment has no meaning on another clock, but the remaining time does. The alarm on the former clock still
        /// rings, and moves the cell back.
        mutating func move(from formerNow: Duration, to clock: NetworkClock, at now: Duration) {
            emptyAt = now + (emptyAt - formerNow)
            self.clock = clock
            alarm = nil
            handle = nil
        }

        /// Returns the time until this many permits are available.
        func wait(for weight: Int, at now: Duration) -> Duration {
            let wait = max(emptyAt, now) + interval.multiplied(by: weight - 1) - tolerance - now
            return min(max(.zero, wait), .longestWait)
        }

        mutating func take(_ weight: Int, at now: Duration) -> Bool {
            guard wait(for: weight, at: now) == .zero else { return false }
            emptyAt = max(emptyAt, now) + interval.multiplied(by: weight)
            return true
        }

        mutating func giveBack(_ weight: Int) {
            emptyAt -= interval.multiplied(by: weight)
        }

        /// Returns the alarm for the next place in the queue, or `nil` if an alarm rings by then.
        mutating func planAlarm(at now: Duration) -> AlarmPlan? {
            let moment = queue.first().map { now + wait(for: $0.weight, at: now) }
            if let alarm, let moment, alarm <= moment { return nil }
            defer { (alarm, handle) = (moment, nil) }
            return AlarmPlan(moment: moment, replaced: handle)
        }

        /// Stores an alarm so that it can be cancelled; returns `false` if the alarm is no longer needed.
        mutating func keep(_ alarm: Alarm, for moment: Duration, on clock: NetworkClock) -> Bool {
            // Requests that entered with another clock wait for the alarm on it.
            guard self.clock === clock else { return true }
            guard self.alarm == moment, handle == nil else { return false }
            handle = alarm
            return true
        }
    }
}

extension Duration {
    /// A billion years, which every clock can add to its time, and which can be printed.
    fileprivate static let longestWait = Duration.seconds(31_556_952_000_000_000 as Int64)

    /// Returns the product, limited to a value to which a few others can be added without overflow.
    ///
    /// The burst of the largest limit, a billion requests in 1,000 years each, stays below the limit.
    package func multiplied(by count: Int) -> Duration {
        let limit = Int128.max / 2
        let (product, overflows) = attoseconds.multipliedReportingOverflow(by: Int128(count))
        return Duration(attoseconds: overflows ? limit : min(product, limit))
    }
}

extension RateLimiter: CustomStringConvertible {
    /// The limit for the stack's outline: `10 per 1.0 seconds, burst: 10`, and `shared` if there is a store.
    public var description: String {
        "\(count) per \(period), burst: \(burst)\(shared == nil ? "" : ", shared")"
    }
}

extension RateLimiter: RequestLimiter {}
