public import NetworkingCore
import Synchronization

/// A limit on requests per interval, for ``NetworkingComponent/rateLimited(by:maximumWait:)``.
///
/// Share one instance between stacks to share the limit. It implements the generic cell rate algorithm: a single moment
/// records when the bucket will be empty, so no timer has to refill it.
public final class RateLimiter: Sendable {
    /// The rule that groups requests: requests with the same key share one limit.
    public struct Key: Sendable {
        private let make: @Sendable (HTTPRequestData, Principal?) -> String

        /// One group for all requests.
        public static let everything = Key { _, _ in "" }

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

        private init(make: @escaping @Sendable (HTTPRequestData, Principal?) -> String) {
            self.make = make
        }

        func value(for request: HTTPRequestData, _ principal: @autoclosure () -> Principal?) -> String {
            make(request, principal())
        }
    }

    let key: Key
    let held = HeldLimits()
    private let count: Int
    private let period: Duration
    private let burst: Int
    /// The time that one request takes up.
    private let interval: Duration
    private let state = Mutex(State())

    /// Creates a limiter.
    ///
    /// - Parameters:
    ///   - count: The number of requests that are allowed in each period.
    ///   - period: The length of the period.
    ///   - burst: The number of requests that may be sent at once after a quiet time; the same as `count` by default.
    ///   - key: The rule that groups requests.
    /// - Precondition: `count` and `burst` are 1 to 1,000,000,000, and `period` is greater than zero and at most 1,000
    ///   years.
    public init(_ count: Int, per period: Duration, burst: Int? = nil, key: Key = .everything) {
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
    }

    /// The number of waiting requests.
    public var waiting: Int {
        state.withLock { $0.cells.waiting }
    }

    /// The number of keys in memory.
    var keys: Int {
        state.withLock { $0.cells.count }
    }

    enum Decision {
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
        guard weight <= burst else { return .impossible }
        let now = clock.now
        let (decision, alarm) = state.withLock { state -> (Decision, Duration?) in
            state.withCell(key, at: now, interval, burst) { cell, numbers in
                if cell.queue.count == 0, cell.take(weight, at: now) { return (.taken, nil) }
                // The time until all requests that wait already are served, whatever their priority, and then this one.
                let wait = cell.wait(for: weight + cell.queue.weight, at: now)
                if let maximumWait, wait > maximumWait { return (.refused(wait), nil) }
                // In the order of arrival, every maximum wait is respected; this is the weight that may be served out
                // of order.
                let slack = maximumWait.map { Int(min(($0 - wait) / interval, 1e15)) }
                let place = cell.queue.enter(priority, weight: weight, slack: slack, numbered: &numbers)
                return (.wait(place, wait), cell.planAlarm(at: now))
            }
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
        release(place, key, isPermit: true, on: clock)
    }

    /// Removes a place after its caller has stopped waiting.
    ///
    /// Later places move up.
    func left(_ place: WaitPlace, _ key: String, on clock: NetworkClock) {
        release(place, key, isPermit: false, on: clock)
    }

    private func release(_ place: WaitPlace, _ key: String, isPermit: Bool, on clock: NetworkClock) {
        let now = clock.now
        let alarm = state.withLock { state in
            state.withExistingCell(key, interval, burst) { cell -> Duration? in
                // The cell in which the request waited may have been removed since, and its key may have a new cell.
                guard place.number > cell.lastNumberBefore else { return nil }
                if isPermit {
                    cell.giveBack(place.weight)
                } else {
                    cell.queue.leave(place)
                }
                return cell.planAlarm(at: now)
            }
        }
        set(alarm ?? nil, key, on: clock)
    }

    private func set(_ moment: Duration?, _ key: String, on clock: NetworkClock) {
        guard let moment else { return }
        // The alarm keeps the limiter alive until it rings, because requests wait for it.
        _ = clock.alarm(at: moment) { [self] in serve(key, plannedFor: moment, on: clock) }
    }

    /// Resumes the requests that are next in line.
    private func serve(_ key: String, plannedFor moment: Duration, on clock: NetworkClock) {
        let now = clock.now
        let (due, alarm) = state.withLock { state -> ([WaitPlace], Duration?) in
            state.withExistingCell(key, interval, burst) { cell -> ([WaitPlace], Duration?) in
                // Another alarm has replaced this one.
                guard cell.alarm == moment else { return ([], nil) }
                cell.alarm = nil
                var due: [WaitPlace] = []
                while let first = cell.queue.first(), cell.take(first.weight, at: now) {
                    _ = cell.queue.serve()
                    due.append(first)
                }
                return (due, cell.planAlarm(at: now))
            } ?? ([], nil)
        }
        for place in due where !place.wait.resume(with: .success(())) {
            // The caller was cancelled just before.
            giveBack(place, key, on: clock)
        }
        set(alarm, key, on: clock)
    }

    private struct State {
        var cells = RateCells<Cell>()
        private var numbers = WaitNumbers()

        mutating func withCell<Result>(
            _ key: String,
            at now: Duration,
            _ interval: Duration,
            _ burst: Int,
            _ body: (inout Cell, inout WaitNumbers) -> Result
        ) -> Result {
            cells.withValue(for: key, at: now, default: Cell(lastNumberBefore: numbers.last)) { cell in
                cell.withRules(interval, burst) { body(&$0, &numbers) }
            }
        }

        mutating func withExistingCell<Result>(
            _ key: String,
            _ interval: Duration,
            _ burst: Int,
            _ body: (inout Cell) -> Result
        ) -> Result? {
            cells.withExistingValue(for: key) { $0.withRules(interval, burst, body) }
        }
    }

    private struct Cell: RateCell {
        /// The number of the last place before this cell was created; a place with a higher number waits in this cell.
        let lastNumberBefore: UInt64
        /// The moment at which all permits that were taken are available again.
        var emptyAt = Duration.zero
        var queue = WaitQueue()
        /// The moment of the next alarm.
        var alarm: Duration?

        private var interval = Duration.zero
        private var tolerance = Duration.zero

        init(lastNumberBefore: UInt64) {
            self.lastNumberBefore = lastNumberBefore
        }

        var waiting: Int {
            queue.count
        }

        mutating func withRules<Result>(
            _ interval: Duration,
            _ burst: Int,
            _ body: (inout Cell) -> Result
        ) -> Result {
            self.interval = interval
            tolerance = interval * (burst - 1)
            return body(&self)
        }

        /// Returns the time until this many permits are available.
        func wait(for weight: Int, at now: Duration) -> Duration {
            max(.zero, max(emptyAt, now) + interval * (weight - 1) - tolerance - now)
        }

        mutating func take(_ weight: Int, at now: Duration) -> Bool {
            guard wait(for: weight, at: now) == .zero else { return false }
            emptyAt = max(emptyAt, now) + interval * weight
            return true
        }

        mutating func giveBack(_ weight: Int) {
            emptyAt -= interval * weight
        }

        /// Returns the moment of the alarm for the next place in the queue, or `nil` if an alarm rings by then.
        mutating func planAlarm(at now: Duration) -> Duration? {
            guard let first = queue.first() else { return nil }
            let moment = now + wait(for: first.weight, at: now)
            if let alarm, alarm <= moment { return nil }
            alarm = moment
            return moment
        }
    }
}

extension RateLimiter: CustomStringConvertible {
    /// The limit for the stack's outline: `10 per 1.0 seconds, burst: 10`.
    public var description: String {
        "\(count) per \(period), burst: \(burst)"
    }
}
