import NetworkingCore
import NetworkingResilience
import Synchronization

/// The gates of a limiter by key, with the requests that wait in front of them.
final class GatedLines<Gate: RequestGate>: Sendable {
    enum Decision {
        /// The request may be sent.
        case passed(Gate.Ticket)
        /// The request has a place in the queue and will be sent after about this time; `nil` if another request has to
        /// end first.
        case waits(WaitPlace, Duration?)
        /// The request is refused because it would have to wait this long.
        case refused(Duration?)
    }

    /// The maximum number of limits; the least recently used keys are forgotten first.
    static var maximumCount: Int { 1_024 }

    private let state = Mutex(State())

    init() {}

    /// The number of waiting requests.
    var waiting: Int {
        state.withLock { $0.lines.values.reduce(0) { $0 + $1.queue.count } }
    }

    /// The number of limits in memory.
    var count: Int {
        state.withLock { $0.lines.values.reduce(0) { $0 + $1.gate.count } }
    }

    /// The number of keys in memory.
    var keys: Int {
        state.withLock { $0.lines.count }
    }

    /// Lets a request pass, adds it to the queue, or refuses it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - key: The key.
    ///   - limit: The maximum time that the request may wait.
    ///   - clock: The clock of the caller.
    /// - Returns: Whether the request may be sent, has to wait, or is refused.
    func enter(
        _ request: HTTPRequestData,
        _ key: LineKey,
        waitingUpTo limit: Duration,
        on clock: NetworkClock
    ) -> Decision {
        let (id, priority) = (request.id, request.priority)
        let ((decision, alarm), now) = withLine(of: key, on: clock) { line, numbers, now -> (Decision, LineAlarm?) in
            if line.queue.count == 0 || line.gate.overtakes(id), let ticket = line.gate.pass(id, at: now) {
                return (.passed(ticket), nil)
            }
            // Places of a lower priority are served later.
            let wait = line.gate.wait(behind: line.queue.count(from: priority), at: now)
            guard limit > .zero, wait ?? .zero <= limit else { return (.refused(wait), line.planAlarm(at: now)) }
            let place = line.queue.enter(priority, numbered: &numbers)
            line.requests[place.number] = id
            return (.waits(place, wait), line.planAlarm(at: now))
        }
        set(alarm, key, at: now, on: clock)
        return decision
    }

    /// Returns the ticket of a place whose wait has ended.
    func ticket(of place: WaitPlace, _ key: LineKey) -> Gate.Ticket? {
        state.withLock { $0.lines[key]?.tickets.removeValue(forKey: place.number) }
    }

    /// Removes a place after its caller has stopped waiting; later places move up.
    func leave(_ place: WaitPlace, _ key: LineKey, on clock: NetworkClock) {
        serve(key, on: clock) { line, _ in
            line.queue.leave(place)
            line.requests[place.number] = nil
            if let ticket = line.tickets.removeValue(forKey: place.number) { line.gate.refund(ticket) }
        }
    }

    /// Ends a request that was not sent.
    func refund(_ ticket: Gate.Ticket, _ key: LineKey, on clock: NetworkClock) {
        serve(key, on: clock) { line, _ in line.gate.refund(ticket) }
    }

    /// Ends a request that was sent.
    func end(_ ticket: Gate.Ticket, _ key: LineKey, with report: Gate.Report?, on clock: NetworkClock) {
        serve(key, on: clock) { line, now in line.gate.end(ticket, with: report, at: now) }
    }

    /// Returns the time until the next request of a key may pass; `nil` if another request has to end first.
    func wait(_ key: LineKey, on clock: NetworkClock) -> Duration? {
        withLine(of: key, on: clock) { line, _, now in line.gate.wait(behind: line.queue.count, at: now) }.result
    }

    // MARK: The queue

    /// Sets an alarm that was planned at a moment of a clock.
    ///
    /// The clock is not read again: other code sees the waiting request before its alarm is set, and may move a clock.
    private func set(_ alarm: LineAlarm?, _ key: LineKey, at now: Duration, on clock: NetworkClock) {
        guard let alarm else { return }
        // The alarm keeps the lines alive until it rings, because requests wait for it.
        _ = clock.alarm(at: now + alarm.wait) { [self] in
            serve(key, on: clock) { line, _ in
                // Another alarm may have replaced this one.
                if line.alarm == alarm.moment { line.alarm = nil }
            }
        }
    }

    /// Changes a line, and resumes the requests that may be sent then.
    private func serve(
        _ key: LineKey,
        on clock: NetworkClock,
        _ change: @Sendable (inout Line, _ now: Duration) -> Void
    ) {
        let ((due, alarm), now) = withLine(of: key, on: clock) { line, _, now -> ([WaitPlace], LineAlarm?) in
            change(&line, now)
            var due: [WaitPlace] = []
            while line.queue.count > 0, let first = line.queue.first(), let id = line.requests[first.number],
                let ticket = line.gate.pass(id, at: now)
            {
                _ = line.queue.serve()
                line.requests[first.number] = nil
                line.tickets[first.number] = ticket
                due.append(first)
            }
            return (due, line.planAlarm(at: now))
        }
        for place in due where !place.wait.resume(with: .success(())) {
            // The caller was cancelled just before.
            leave(place, key, on: clock)
        }
        set(alarm, key, at: now, on: clock)
    }

    /// Runs a closure with the line of a key and the current moment of the line.
    ///
    /// A clock may be code of the app, so it is read outside of the lock.
    ///
    /// - Returns: The result, and the moment of the clock, which differs from that of the line.
    private func withLine<Result: Sendable>(
        of key: LineKey,
        on clock: NetworkClock,
        _ body: @Sendable (inout Line, inout WaitNumbers, _ now: Duration) -> Result
    ) -> (result: Result, now: Duration) {
        var former: (clock: NetworkClock, now: Duration)?
        while true {
            let now = clock.now
            let (result, other) = state.withLock { [former] state -> (Result?, NetworkClock?) in
                state.withLine(of: key) { line, numbers -> (Result?, NetworkClock?) in
                    let last = line.time.clock
                    guard let moment = line.time.moment(at: now, on: clock, former: former) else { return (nil, last) }
                    // The alarm of another clock may ring too late.
                    if let last, last !== clock { line.alarm = nil }
                    return (body(&line, &numbers, moment), nil)
                }
            }
            if let result { return (result, now) }
            if let other { former = (other, other.now) }
        }
    }

    /// A moment of a line at which requests may be sent, and the time until then.
    private struct LineAlarm: Sendable {
        let moment: Duration
        let wait: Duration
    }

    private struct Line {
        var gate = Gate()
        var queue = WaitQueue()
        /// The waiting requests by the numbers of their places.
        var requests: [UInt64: HTTPRequestData.ID] = [:]
        /// The tickets of the places whose wait has just ended.
        var tickets: [UInt64: Gate.Ticket] = [:]
        /// The moment of the next alarm.
        var alarm: Duration?
        var time = SharedTime()
        var lastUse: UInt64 = 0

        mutating func use<Result>(_ number: UInt64, _ body: (inout Line) -> Result) -> Result {
            lastUse = number
            return body(&self)
        }

        var isUnused: Bool {
            gate.isUnused && queue.count == 0 && tickets.isEmpty
        }

        /// The number of limits, at least one.
        var count: Int {
            max(1, gate.count)
        }

        /// The order in which lines are forgotten.
        var rank: (Int, UInt64) {
            (gate.isEmpty ? 0 : 1, lastUse)
        }

        /// Returns the alarm for the next place in the queue, or `nil` if none is needed.
        mutating func planAlarm(at now: Duration) -> LineAlarm? {
            guard queue.count > 0, queue.first() != nil, let wait = gate.wait(behind: 0, at: now) else { return nil }
            let moment = now + wait
            if let alarm, alarm <= moment { return nil }
            alarm = moment
            return LineAlarm(moment: moment, wait: wait)
        }
    }

    private struct State {
        var lines: [LineKey: Line] = [:]
        /// The place of the last key, because most clients talk to a single server.
        private var last: (key: LineKey, index: Dictionary<LineKey, Line>.Index)?
        private var numbers = WaitNumbers()
        private var uses: UInt64 = 0
        /// The number of limits, with one for each key that has none, which decides whether keys are forgotten.
        private var count = 0
        /// The number of the use before which no search for keys to forget is worthwhile, because all are in use.
        private var nextSearch: UInt64 = 0

        mutating func withLine<Result>(
            of key: LineKey,
            _ body: (inout Line, inout WaitNumbers) -> Result
        ) -> Result {
            uses += 1
            let index = index(of: key)
            let former = lines.values[index].count
            let result = lines.values[index].use(uses) { body(&$0, &numbers) }
            count += lines.values[index].count - former
            if count > GatedLines.maximumCount, uses >= nextSearch { forget() }
            return result
        }

        private mutating func index(of key: LineKey) -> Dictionary<LineKey, Line>.Index {
            if let last, last.key == key { return last.index }
            if lines[key] == nil {
                lines[key] = Line()
                count += 1
            }
            // The key was just added.
            let index = lines.index(forKey: key)!
            last = (key, index)
            return index
        }

        /// Forgets the keys without a limit, and those that were not used for the longest time.
        ///
        /// It forgets several at once, because each search is long.
        private mutating func forget() {
            last = nil
            let unused = lines.filter { $0.value.isUnused }
                .sorted { $0.value.rank < $1.value.rank }
            for (key, line) in unused where count > GatedLines.maximumCount * 7 / 8 {
                count -= line.count
                lines[key] = nil
            }
            nextSearch = count > GatedLines.maximumCount ? uses + UInt64(GatedLines.maximumCount / 8) : 0
        }
    }
}

/// The requests that count towards the same limits.
struct LineKey: Hashable, Sendable {
    let scheme: String?
    let authority: String
    /// The user; `nil` if the limits are those of all users, or if the user is not known.
    var user: String?
    /// The group of an app's own rule.
    var group = ""

    init(of request: HTTPRequestData) {
        scheme = request.scheme
        authority = request.authorityKey?.text ?? ""
    }
}
