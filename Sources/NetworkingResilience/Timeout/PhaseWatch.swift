import NetworkingCore
import Synchronization

/// Tracks the phases of an attempt from the transport's events, and cancels the attempt when a phase takes too long.
///
/// There is one alarm at a time. It is replaced only if it would ring too late. If it rings too early, because bytes
/// have moved since, it checks the clock and is set again for the remaining time.
final class PhaseWatch: Sendable {
    private let clock: NetworkClock
    private let state: Mutex<State>

    init(limits: TimeLimits, clock: NetworkClock) {
        self.clock = clock
        state = Mutex(State(limits: limits, start: clock.now))
    }

    /// Returns the request with observers, progress handler and sink that report to this watch.
    func watching(_ request: HTTPRequestData) -> HTTPRequestData {
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
        if state.withLock({ $0.limits.hasPhases }) {
            watched.addObserver(self)
            watched.addProgressHandler { [self] in received($0) }
        }
        return watched
    }

    /// Returns the time limit that this watch ends.
    func limit(for request: HTTPRequestData) -> ExchangeLimit {
        // The reader of a body may take any time.
        let whole = request.sink?.isReaderPaced == true ? nil : state.withLock { $0.wholeDeadline }
        let outer = request.exchangeLimit
        let deadlines = [whole, outer.map { [clock] in clock.now + ($0.deadline - $0.clock.now) }]
        let isOnSystemClock = clock.isSystem && outer?.isOnSystemClock != false
        return ExchangeLimit(
            endingUntil: deadlines.compactMap { $0 }.min() ?? .unlimited,
            on: clock,
            isOnSystemClock: isOnSystemClock,
            inside: outer
        ) { [self] in
            let ends = [state.withLock { $0.next?.deadline }, outer.map { [clock] in clock.now + $0.timeLeft }]
            return ends.compactMap { $0 }.min()
        }
    }

    /// Starts the watch.
    ///
    /// - Parameter onExpiry: Cancels the attempt; called once, when a limit is exceeded.
    func start(onExpiry: @escaping @Sendable () -> Void) {
        let isExpired = state.withLock { state in
            state.onExpiry = onExpiry
            return state.expired != nil
        }
        if isExpired {
            onExpiry()
        } else {
            update { _, _ in }
        }
    }

    /// Ends the watch.
    func stop() {
        state.withLock { $0.stop() }?.cancel()
    }

    /// The limit that was exceeded.
    var expired: TimeLimits.Name? {
        state.withLock { $0.expired }
    }

    /// The limit that would be exceeded first, or would have been when the exchange failed, and the time until then.
    var next: (name: TimeLimits.Name, timeLeft: Duration)? {
        let now = clock.now
        return state.withLock { $0.nextOrFailed }.map { ($0.name, $0.deadline - now) }
    }

    private func received(_ progress: TransferProgress) {
        update { $0.received(progress, at: $1) }
    }

    private func offered(_ decision: SinkDecision, isReaderPaced: Bool) {
        guard case .take = decision, isReaderPaced else { return }
        update { state, now in state.paceByReader(at: now) }
    }

    private func sinkIs(busy isBusy: Bool) {
        update { state, now in
            state.isSinkBusy = isBusy
            state.enterBody(at: now)
        }
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
        let (onExpiry, plan) = state.withLock { $0.ring(number, at: now) }
        onExpiry?()
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

        var onExpiry: (@Sendable () -> Void)?
        private(set) var expired: TimeLimits.Name?
        private var isOver = false

        private var alarm: Alarm?
        private var alarmMoment: Duration?
        private var alarmNumber = 0

        init(limits: TimeLimits, start: Duration) {
            self.limits = limits
            wholeDeadline = limits.whole.map { start + $0 }
        }

        // MARK: Phases

        mutating func observe(_ event: ExchangeEvent, at now: Duration) {
            switch event {
            case .started:
                (reportsConnection, sent, isSinkBusy, failedPhase) = (false, 0, false, nil)
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
            guard let wholeDeadline else { return phase }
            guard let phase, phase.deadline < wholeDeadline else { return (.whole, wholeDeadline) }
            return phase
        }

        /// Returns the alarm to set if the current one would ring too late.
        mutating func planAlarm() -> AlarmPlan? {
            guard !isOver, let next else { return nil }
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

        mutating func ring(_ number: Int, at now: Duration) -> ((@Sendable () -> Void)?, AlarmPlan?) {
            guard !isOver, number == alarmNumber else { return (nil, nil) }
            (alarm, alarmMoment) = (nil, nil)
            guard let next, next.deadline <= now else { return (nil, planAlarm()) }
            expired = next.name
            let onExpiry = onExpiry
            _ = stop()
            return (onExpiry, nil)
        }

        mutating func stop() -> Alarm? {
            isOver = true
            onExpiry = nil
            defer { (alarm, alarmMoment) = (nil, nil) }
            return alarm
        }
    }
}

extension PhaseWatch: NetworkEventObserver {
    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        guard let event = event as? ExchangeEvent else { return }
        update { $0.observe(event, at: $1) }
    }
}
