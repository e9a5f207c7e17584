import Synchronization

/// Tracks the phases of an exchange, and ends it when one of them takes too long.
///
/// `timeout` learns of the phases from the events and the progress that a transport reports. A transport with its own
/// limit for silence calls ``moved()`` and ``sinkIs(busy:)``.
///
/// There is one alarm at a time, from the moment at which a part of the exchange waits for the limit. It is replaced
/// only if it would ring too late. If it rings too early, because bytes have moved since, it checks the clock and is
/// set again for the remaining time.
package final class PhaseWatch: Sendable {
    private let clock: NetworkClock
    private let state: Mutex<State>

    /// Creates a watch, whose limits start now.
    ///
    /// - Parameters:
    ///   - limits: The limits.
    ///   - clock: The clock that measures them.
    ///   - sparesBody: Whether the limit of the whole attempt applies only while an exchange waits for its head.
    package init(limits: TimeLimits, clock: NetworkClock, sparingBody sparesBody: Bool = false) {
        self.clock = clock
        state = Mutex(State(limits: limits, start: clock.now, sparesBody: sparesBody))
    }

    /// A limit was exceeded.
    package struct Expiry: Error {
        package let limit: TimeLimits.Name
        /// The error of the exchange; `nil` if that was only a cancellation.
        package let underlying: (any Error)?
    }

    /// Returns the request with observers, progress handler and sink that report to this watch.
    private func watching(_ request: HTTPRequestData) -> HTTPRequestData {
        var watched = request
        if let sink = request.sink {
            let isReaderPaced = sink.isReaderPaced
            watched.sink = ObservedSink(sink: sink) { [self] decision in
                offered(decision, isReaderPaced: isReaderPaced)
            } isBusy: { [self] isBusy in
                sinkIs(busy: isBusy)
            }
        }
        // Transports do extra work for observers, so they are added only when they are needed.
        let (hasPhases, sparesBody) = state.withLock { ($0.limits.hasPhases, $0.sparesBody) }
        if hasPhases || sparesBody {
            watched.addObserver(self)
        }
        if hasPhases {
            watched.addProgressHandler { [self] in received($0) }
        }
        return watched
    }

    /// Sends a request with the time limit that this watch ends.
    ///
    /// - Parameters:
    ///   - request: The request. If it has a limit too, the earlier one ends it.
    ///   - observesPhases: Whether the transport's events and progress report to this watch. If the sink is read at
    ///     the reader's own speed, the limit of the whole attempt then ends with the head.
    ///   - send: Sends the request with the limit.
    /// - Returns: The response.
    /// - Throws: ``Expiry`` if a limit of this watch was exceeded, or the error of the request.
    package func limiting(
        _ request: HTTPRequestData,
        observingPhases observesPhases: Bool = false,
        _ send: nonisolated(nonsending) (HTTPRequestData) async throws -> HTTPResponseData
    ) async throws -> HTTPResponseData {
        try Task.checkCancellation()
        let outer = request.exchangeLimit
        let isReaderPaced = observesPhases && request.sink?.isReaderPaced == true
        let limit = limit(isReaderPaced: isReaderPaced, inside: outer)
        var limited = observesPhases ? watching(request) : request
        limited.exchangeLimit = limit
        state.withLock { $0.limit = limit }
        defer { stop() }
        do {
            return try await send(limited)
        } catch {
            guard let name = expired ?? reached(limit, inside: outer), !Task.isCancelled else { throw error }
            throw Expiry(limit: name, underlying: error is CancellationError ? nil : error)
        }
    }

    /// Returns the time limit that this watch ends.
    private func limit(isReaderPaced: Bool, inside outer: ExchangeLimit?) -> ExchangeLimit {
        let whole = state.withLock { isReaderPaced || $0.sparesBody ? nil : $0.wholeDeadline }
        let deadlines = [whole, outer.map { [clock] in clock.now + ($0.deadline - $0.clock.now) }]
        return ExchangeLimit(
            endingUntil: deadlines.compactMap { $0 }.min() ?? .unlimited,
            on: clock,
            isOnSystemClock: clock.isSystem && outer?.isOnSystemClock != false,
            inside: outer
        ) { [self] in
            let ends = [state.withLock { $0.next?.deadline }, outer.map { [clock] in clock.now + $0.timeLeft }]
            return ends.compactMap { $0 }.min()
        } onAlarm: { [self] in
            arm(inside: outer)
        }
    }

    /// Sets the alarms, because a part of the exchange waits for the limit.
    private func arm(inside outer: ExchangeLimit?) {
        guard let limit = state.withLock({ $0.arm() }) else { return }
        if let alarm = outer?.alarm({ limit.end() }), !state.withLock({ $0.keepOuter(alarm) }) {
            alarm.cancel()
        }
        update { _, _ in }
    }

    /// Returns the limit that the client of a transport has reached before the watch noticed it.
    private func reached(_ limit: ExchangeLimit, inside outer: ExchangeLimit?) -> TimeLimits.Name? {
        guard limit.isReached, outer?.isReached != true else { return nil }
        let now = clock.now
        let next = state.withLock { $0.nextOrFailed }
        if let next, outer.map({ next.deadline - now <= $0.timeLeft }) ?? true { return next.name }
        outer?.reach()
        return nil
    }

    private func stop() {
        for alarm in state.withLock({ $0.stop() }) {
            alarm.cancel()
        }
    }

    /// The limit that was exceeded.
    private var expired: TimeLimits.Name? {
        state.withLock { $0.expired }
    }

    /// Records that bytes have moved.
    package func moved() {
        update { $0.enterBody(at: $1) }
    }

    /// Records whether the sink is busy, so that time without new bytes does not count.
    package func sinkIs(busy isBusy: Bool) {
        update { state, now in
            state.isSinkBusy = isBusy
            state.enterBody(at: now)
        }
    }

    private func received(_ progress: TransferProgress) {
        update { $0.received(progress, at: $1) }
    }

    private func offered(_ decision: SinkDecision, isReaderPaced: Bool) {
        guard case .take = decision, isReaderPaced else { return }
        update { state, now in state.paceByReader(at: now) }
    }

    /// Changes the state and sets the alarm for the next deadline.
    private func update(_ change: (inout State, Duration) -> Void) {
        let now = clock.now
        let plan = state.withLock { state in
            change(&state, now)
            return state.planAlarm()
        }
        set(plan)
    }

    private func set(_ plan: AlarmPlan?) {
        guard let plan else { return }
        plan.replaced?.cancel()
        let alarm = clock.alarm(at: plan.moment) { [self] in ring(plan.number) }
        let isInVain = state.withLock { $0.keep(alarm, plan.number) }
        if isInVain {
            alarm.cancel()
        }
    }

    private func ring(_ number: Int) {
        let now = clock.now
        let (limit, outer, plan) = state.withLock { $0.ring(number, at: now) }
        outer?.cancel()
        limit?.end()
        set(plan)
    }

    private struct AlarmPlan {
        let moment: Duration
        let number: Int
        let replaced: Alarm?
    }

    private struct State {
        var limits: TimeLimits
        var phase: (name: TimeLimits.Name, deadline: Duration)?
        /// The phase in which the last exchange failed.
        private var failedPhase: (name: TimeLimits.Name, deadline: Duration)?
        private(set) var wholeDeadline: Duration?
        private var reportsConnection = false
        private var sent: Int64 = 0
        /// Whether the sink is busy with a chunk, so that time without new bytes does not count.
        var isSinkBusy = false
        /// Whether the limit of the whole attempt applies only while an exchange waits for its head.
        let sparesBody: Bool
        /// Whether the head of the latest exchange has arrived.
        private var hasHead = false

        /// The limit that the watch ends; `nil` when the exchange is over.
        var limit: ExchangeLimit?
        private(set) var expired: TimeLimits.Name?
        private var isOver = false

        private var isArmed = false
        private var outerAlarm: Alarm?
        private var alarm: Alarm?
        private var alarmMoment: Duration?
        private var alarmNumber = 0

        init(limits: TimeLimits, start: Duration, sparesBody: Bool) {
            self.limits = limits
            self.sparesBody = sparesBody
            wholeDeadline = limits.whole.map { start + $0 }
        }

        // MARK: Phases

        mutating func observe(_ event: ExchangeEvent, at now: Duration) {
            switch event {
            case .started:
                (reportsConnection, sent, isSinkBusy, failedPhase, hasHead) = (false, 0, false, nil, false)
                enterConnecting(at: now)
            case .readingBody:
                // The source of the body is the app, not the network, so its time does not count.
                phase = nil
            case .bodyRead:
                enterConnecting(at: now)
            case .connecting:
                reportsConnection = true
                enterConnecting(at: now)
            case .connected:
                enterHead(at: now)
            case .headReceived(let head) where head.status.kind != .informational:
                hasHead = true
                enterBody(at: now)
            case .ended, .failed:
                // Until the next exchange, only the limit for the whole attempt applies.
                (failedPhase, phase) = (phase, nil)
            case .headReceived, .connectionMeasured, .responseReceived:
                break
            }
        }

        mutating func received(_ progress: TransferProgress, at now: Duration) {
            if progress.received.count > 0 {
                enterBody(at: now)
            } else if progress.sent.count > sent {
                sent = progress.sent.count
                let isMore = progress.sent.expected.map { sent < $0 } ?? true
                if isMore, let idle = limits.idle {
                    phase = (.idle, now + idle)
                } else {
                    enterHead(at: now)
                }
            }
        }

        private mutating func enterConnecting(at now: Duration) {
            switch (limits.connect, limits.head) {
            case (let connect?, _) where reportsConnection: phase = (.connect, now + connect)
            case (let connect?, let head?): phase = (.connectAndHead, now + connect + head)
            case (let connect?, nil): phase = (.connect, now + connect)
            case (nil, let head?) where !reportsConnection: phase = (.head, now + head)
            case (nil, _): phase = nil
            }
        }

        private mutating func enterHead(at now: Duration) {
            phase = limits.head.map { (.head, now + $0) }
        }

        mutating func enterBody(at now: Duration) {
            phase = isSinkBusy ? nil : limits.idle.map { (.idle, now + $0) }
        }

        /// From here on, only the time in which the reader waits for the network counts.
        mutating func paceByReader(at now: Duration) {
            limits.idle = limits.idle ?? limits.whole
            wholeDeadline = nil
            enterBody(at: now)
        }

        // MARK: Alarm

        var next: (name: TimeLimits.Name, deadline: Duration)? {
            earlier(phase)
        }

        /// The limit that was next when the exchange failed.
        var nextOrFailed: (name: TimeLimits.Name, deadline: Duration)? {
            earlier(phase ?? failedPhase)
        }

        private func earlier(
            _ phase: (name: TimeLimits.Name, deadline: Duration)?
        ) -> (name: TimeLimits.Name, deadline: Duration)? {
            guard let wholeDeadline, !(sparesBody && hasHead) else { return phase }
            guard let phase, phase.deadline < wholeDeadline else { return (.whole, wholeDeadline) }
            return phase
        }

        /// Returns the limit if its alarms have to be set now.
        mutating func arm() -> ExchangeLimit? {
            guard !isOver, !isArmed else { return nil }
            isArmed = true
            return limit
        }

        /// Stores the alarm of the outer limit; returns `false` if it is no longer needed.
        mutating func keepOuter(_ alarm: Alarm) -> Bool {
            guard !isOver else { return false }
            outerAlarm = alarm
            return true
        }

        /// Returns the alarm to set if the current one would ring too late.
        mutating func planAlarm() -> AlarmPlan? {
            guard isArmed, !isOver, let next else { return nil }
            if let alarmMoment, alarmMoment <= next.deadline { return nil }
            alarmNumber += 1
            alarmMoment = next.deadline
            defer { alarm = nil }
            return AlarmPlan(moment: next.deadline, number: alarmNumber, replaced: alarm)
        }

        /// Stores an alarm so that it can be cancelled later; returns `true` if the alarm is no longer needed.
        mutating func keep(_ alarm: Alarm, _ number: Int) -> Bool {
            guard !isOver, number == alarmNumber, alarmMoment != nil else { return true }
            self.alarm = alarm
            return false
        }

        /// Returns the limit to end and the outer alarm to cancel if time is up, and otherwise the next alarm.
        mutating func ring(_ number: Int, at now: Duration) -> (ExchangeLimit?, outer: Alarm?, AlarmPlan?) {
            guard !isOver, number == alarmNumber else { return (nil, nil, nil) }
            (alarm, alarmMoment) = (nil, nil)
            guard let next, next.deadline <= now else { return (nil, nil, planAlarm()) }
            expired = next.name
            let limit = limit
            return (limit, stop().first, nil)
        }

        /// Ends the watch, and returns the alarms to cancel.
        mutating func stop() -> [Alarm] {
            isOver = true
            defer { (limit, alarm, alarmMoment, outerAlarm) = (nil, nil, nil, nil) }
            return [alarm, outerAlarm].compactMap { $0 }
        }
    }
}

extension PhaseWatch: NetworkEventObserver {
    package func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        guard let event = event as? ExchangeEvent else { return }
        update { $0.observe(event, at: $1) }
    }
}
