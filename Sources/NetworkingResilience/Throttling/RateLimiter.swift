public import NetworkingCore
import Synchronization

/// So many requests in a while, for ``NetworkingComponent/rateLimited(by:maximumWait:)``; one object may serve several
/// stacks.
///
/// It is the generic cell rate algorithm: one moment says when the bucket would be empty, and nothing has to be filled
/// up.
public final class RateLimiter: Sendable {
    /// What is counted together.
    public struct Key: Sendable {
        private let make: @Sendable (HTTPRequestData, Principal?) -> String

        /// Everything.
        public static let everything = Key { _, _ in "" }

        /// What goes to one authority.
        public static let host = Key { request, _ in request.authority?.lowercased() ?? "" }

        /// What is sent on behalf of one principal, as the stack upstream tells.
        public static let principal = Key { _, principal in principal.map { "\($0.id)" } ?? "" }

        /// What a closure gives the same name.
        ///
        /// - Parameter name: Names what a request counts to.
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
    ///   - count: How many.
    ///   - period: In which while.
    ///   - burst: How many may go at once when none has gone for long; as many as `count` by default.
    ///   - key: What is counted together.
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

    /// How many requests wait.
    public var waiting: Int {
        state.withLock { $0.cells.waiting }
    }

    /// How many keys are remembered.
    var keys: Int {
        state.withLock { $0.cells.count }
    }

    enum Answer {
        /// It may go.
        case taken
        /// It has a place, and will go in about so long.
        case wait(WaitPlace, Duration)
        /// It would have to wait so long.
        case refused(Duration)
        /// It never may.
        case impossible
    }

    /// Takes permits, or a place in the queue of a key.
    ///
    /// - Parameters:
    ///   - weight: How many permits.
    ///   - priority: Where in the queue.
    ///   - key: The key.
    ///   - longest: How long it may wait; `nil` for any time.
    ///   - clock: The clock.
    /// - Returns: Whether it may be sent, has to wait, or is refused.
    func take(
        _ weight: Int,
        _ priority: RequestPriority,
        _ key: String,
        waitingUpTo longest: Duration?,
        on clock: NetworkClock
    ) -> Answer {
        guard weight <= burst else { return .impossible }
        let now = clock.now
        let (answer, alarm) = state.withLock { state -> (Answer, Duration?) in
            state.withCell(key, at: now, interval, burst) { cell, numbers in
                if cell.queue.count == 0, cell.take(weight, at: now) { return (.taken, nil) }
                // As long as it takes behind all that wait already, whatever their priority.
                let wait = cell.wait(for: weight + cell.queue.weight, at: now)
                if let longest, wait > longest { return (.refused(wait), nil) }
                // In the order of arrival all waits are kept; this is how much may be served out of order.
                let slack = longest.map { Int(min(($0 - wait) / interval, 1e15)) }
                let place = cell.queue.enter(priority, weight: weight, slack: slack, numbered: &numbers)
                return (.wait(place, wait), cell.planAlarm(at: now))
            }
        }
        set(alarm, key, on: clock)
        return answer
    }

    /// Returns permits that were not used.
    ///
    /// - Parameters:
    ///   - place: The place that they were given to.
    ///   - key: Its key.
    ///   - clock: The clock.
    func giveBack(_ place: WaitPlace, _ key: String, on clock: NetworkClock) {
        release(place, key, isPermit: true, on: clock)
    }

    /// Removes a place whose caller no longer waits; those behind it move up.
    func left(_ place: WaitPlace, _ key: String, on clock: NetworkClock) {
        release(place, key, isPermit: false, on: clock)
    }

    private func release(_ place: WaitPlace, _ key: String, isPermit: Bool, on clock: NetworkClock) {
        let now = clock.now
        let alarm = state.withLock { state in
            state.withExistingCell(key, interval, burst) { cell -> Duration? in
                // The cell in which it waited may have been forgotten since, and another one be there for its key.
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
        // The alarm keeps the limiter alive until it rings, since requests wait for it.
        _ = clock.alarm(at: moment) { [self] in serve(key, plannedFor: moment, on: clock) }
    }

    /// Resumes the requests whose turn has come.
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
            // Its caller was cancelled just before.
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
        /// The number of the last place before this cell was made: a place of a higher number waits in this one.
        let lastNumberBefore: UInt64
        /// When the permits that were taken will have come back.
        var emptyAt = Duration.zero
        var queue = WaitQueue()
        /// When the next alarm rings.
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

        /// How long until so many may go.
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

        /// The alarm to set for the one whose turn it is, unless one rings by then.
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
    /// The limit, as an outline shows it: `10 per 1.0 seconds, burst: 10`.
    public var description: String {
        "\(count) per \(period), burst: \(burst)"
    }
}
