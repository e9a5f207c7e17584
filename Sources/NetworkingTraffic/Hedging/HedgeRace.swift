import HTTPTypes
import NetworkingCore
import NetworkingResilience
import Synchronization

/// The attempts of one call, of which the first with an acceptable head wins.
///
/// The first attempt runs in the caller's task. Its exchange has a limit that ends when another attempt wins, so the
/// caller continues at once, and no task is needed before an extra attempt is due.
final class HedgeRace: Sendable {
    typealias Send = @Sendable (HTTPRequestData) async throws -> HTTPResponseData

    private let request: HTTPRequestData
    private let policy: HedgingPolicy
    private let delay: Duration
    private let allowance: HedgeAllowance
    private let environment: NetworkEnvironment
    /// Returns the environment of the tasks that an alarm starts, which are not in the task of the caller.
    private let environmentOfTasks: @Sendable () -> NetworkEnvironment
    private let send: Send

    private let decision = Suspension<HTTPResponseData>()
    private let state: Mutex<HedgeRaceState>

    init(
        of request: HTTPRequestData,
        _ policy: HedgingPolicy,
        _ maximumHedges: Int,
        _ delay: Duration,
        _ allowance: HedgeAllowance,
        _ environment: NetworkEnvironment,
        _ send: @escaping Send
    ) {
        var request = request
        // An extra attempt uses another endpoint than the attempts before it.
        request.endpointVisits = request.endpointVisits ?? EndpointVisits()
        self.request = request
        self.policy = policy
        self.delay = delay
        self.allowance = allowance
        self.environment = environment
        environmentOfTasks = { [logger = environment.logger] in
            var environment = environment
            environment.logger = logger
            return environment
        }
        self.send = send
        state = Mutex(HedgeRaceState(startingAt: environment.clock.nanoseconds, maximumHedges: maximumHedges))
    }

    private var clock: NetworkClock {
        environment.clock
    }

    /// Makes the attempts, and returns the response of the winner.
    func run() async throws -> HTTPResponseData {
        // A task of the first attempt would not be aware of a cancellation that came before it.
        try Task.checkCancellation()
        let outer = request.exchangeLimit?.alarm { [self] in end() }
        defer {
            outer?.cancel()
            end()
        }
        schedule(at: clock.now + delay)
        if policy.timeForLosers == nil {
            var next: Int? = 1
            while let number = next {
                next = try await attempt(number)
            }
        } else {
            start(1)
        }
        return try await winner()
    }

    /// Waits for the decision.
    private func winner() async throws -> HTTPResponseData {
        try await decision.value(until: request.exchangeLimit)
    }

    // MARK: Attempts

    /// Makes an attempt in the caller's task.
    ///
    /// - Returns: The number of the attempt to make next; `nil` if the decision is made or pending.
    private func attempt(_ number: Int) async throws -> Int? {
        let outer = request.exchangeLimit
        let limit = limit(inside: outer)
        guard let attempt = prepare(number, within: limit, cancel: { limit.end() }) else { return nil }
        let result = await outcome(of: attempt)
        guard case .failure(let error) = result else { return ended(number, with: result) }
        try Task.checkCancellation()
        if outer?.isReached == true { throw error }
        if limit.isReached, !state.withLock({ $0[number].isCancelled }) {
            // The client of a transport has ended the exchange at the outer limit.
            outer?.reach()
            throw error
        }
        return ended(number, with: result)
    }

    private func limit(inside outer: ExchangeLimit?) -> ExchangeLimit {
        let clock = clock
        return ExchangeLimit(
            endingUntil: outer.map { clock.now + ($0.deadline - $0.clock.now) } ?? .unlimited,
            on: clock,
            // It ends with the head of another attempt, which is no moment of a clock.
            isOnSystemClock: false,
            leavingWork: true,
            inside: outer
        ) { [self] in
            // The limit retains the race, which counts the attempts that have lost and not ended.
            withExtendedLifetime(self) { outer.map { clock.now + $0.timeLeft } }
        }
    }

    /// Makes an attempt in a task of its own.
    private func start(_ number: Int) {
        let work: @Sendable () async throws -> Void = { [self] in
            guard let attempt = prepare(number, within: nil, cancel: nil) else { return }
            if let next = ended(number, with: await outcome(of: attempt)) {
                start(next)
            }
        }
        // The first attempt starts in the caller's task, and the task inherits its task-local values.
        let task =
            number == 1
            ? OwnedTask.immediate { try await work() }
            : OwnedTask.detached { [environmentOfTasks] in
                try await withEnvironment(environmentOfTasks()) { try await work() }
            }
        if !state.withLock({ $0.keep({ task.cancel() }, of: number) }) {
            task.cancel()
        }
    }

    private func outcome(of attempt: HTTPRequestData) async -> Result<HTTPResponseData, any Error> {
        do {
            return .success(try await send(attempt))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the request of an attempt; `nil` if the attempt is no longer needed.
    private func prepare(
        _ number: Int,
        within limit: ExchangeLimit?,
        cancel: (@Sendable () -> Void)?
    ) -> HTTPRequestData? {
        var attempt = request
        if number > 1 || limit == nil {
            let branch = request.recorder?.branch()
            attempt = request.shared(recordingInto: branch)
            state.withLock { $0[number].branch = branch }
        }
        if number > 1 {
            attempt.waitsForPermits = false
            attempt.attempt = request.attempt + number - 1
        }
        attempt.exchangeLimit = limit
        attempt.addObserver(HeadObserver(race: self, number: number))
        if let report = request.progressHandler {
            attempt.progressHandler = { [weak self] progress in
                if self?.state.withLock({ $0.reportsProgress(number) }) == true {
                    report(progress)
                }
            }
        }
        guard let cancel else { return attempt }
        return state.withLock { $0.keep(cancel, of: number) } ? attempt : nil
    }

    private struct HeadObserver: NetworkEventObserver {
        // A request may be kept after its exchange, and must not keep the race, whose life counts the losers.
        weak var race: HedgeRace?
        let number: Int

        func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
            // Any other head may be that of a redirect, or be followed by another one with new credentials.
            guard case ExchangeEvent.headReceived(let head) = event, head.status.kind == .successful else { return }
            race?.headArrived(number)
        }
    }

    private func headArrived(_ number: Int) {
        let now = clock.nanoseconds
        let drains = policy.timeForLosers != nil
        lose(state.withLock { $0.headArrived(number, at: now, leavingOthers: drains) })
    }

    /// Records the latencies of attempts, and cancels those that have lost.
    private func lose(_ effects: HedgeRaceState.Effects) {
        for sample in effects.samples {
            allowance.route.add(sample.latency, isCensored: sample.isCensored, at: sample.moment)
        }
        effects.alarm?.cancel()
        for cancel in effects.cancels {
            cancel()
        }
    }

    // MARK: Decisions

    /// Records the end of an attempt.
    ///
    /// - Returns: The number of the attempt to make next; `nil` if none starts now.
    private func ended(_ number: Int, with result: Result<HTTPResponseData, any Error>) -> Int? {
        let now = clock.now
        let start = Duration.nanoseconds(state.withLock { $0[number].start })
        var attempt = Attempt(number: number, result: result, elapsed: now - start)
        if case .failure(let error) = result {
            attempt.refusedResponse = request.response(of: error)
        }
        let verdict = HedgeVerdict(about: attempt, by: request.retryTerms?.rules.policy, in: environment)
        if case .notMade(let refusal) = verdict, let permit = state.withLock({ $0[number].takeUnusedPermit() }) {
            allowance.giveBack(permit, at: clock.now)
            if let refusal { request.emit(HedgingEvent.refused(refusal)) }
        }
        let (step, effects) = state.withLock { $0.end(attempt, verdict, at: now.nanoseconds) }
        lose(effects)
        switch step {
        case .pending:
            break
        case .winner:
            decide(number)
        case .failed:
            decide(1)
        case .next(after: .zero):
            if let next = reserve() { return next }
            failIfNoneIsLeft()
        case .next(let wait):
            schedule(at: now + wait)
        }
        return nil
    }

    /// Ends the call with the outcome of an attempt.
    private func decide(_ number: Int) {
        let drains = policy.timeForLosers != nil
        let now = clock.nanoseconds
        let (result, others, hedges, effects) = state.withLock {
            $0.decide(number, at: now, leavingOthers: drains)
        }
        lose(effects)
        guard let result else { return }
        if number > 1 { request.emit(HedgingEvent.won(attempt: number)) }
        let visits = request.endpointVisits
        decision.resume(
            with:
                result
                .map { response in
                    guard hedges > 0 else { return response }
                    var response = response.after(others, refusal: response.retryRefusal)
                    response.hedges = hedges
                    response.endpointVisits = visits
                    return response
                }
                .mapError { error in
                    guard hedges > 0, let failure = error as? NetworkingError else { return error }
                    var error = failure.after(others, refusal: failure.retryRefusal)
                    error.hedges = hedges
                    error.endpointVisits = visits
                    return error
                }
        )
    }

    private func failIfNoneIsLeft() {
        if state.withLock({ $0.hasFailed }) {
            decide(1)
        }
    }

    // MARK: Extra attempts

    /// Sets the alarm of the next attempt.
    ///
    /// - Parameter moment: The moment. It is computed from a time that was read before the last step, because other
    ///   code may move a clock as soon as it sees that step.
    private func schedule(at moment: Duration) {
        guard let (alarmNumber, replaced) = state.withLock({ $0.planAlarm() }) else { return }
        replaced?.cancel()
        let alarm = clock.alarm(at: moment) { [self] in due(alarmNumber) }
        if !state.withLock({ $0.keep(alarm, alarmNumber) }) {
            alarm.cancel()
        }
    }

    /// Makes an extra attempt that is due, and schedules the next one.
    private func due(_ alarmNumber: Int) {
        let now = clock.now
        guard state.withLock({ $0.takeAlarm(alarmNumber) }) else { return }
        guard let number = reserve() else { return failIfNoneIsLeft() }
        start(number)
        if state.withLock({ $0.mayStart }) {
            schedule(at: now + delay)
        }
    }

    /// Takes an extra attempt from the budgets.
    ///
    /// - Returns: The number of the attempt; `nil` if it is not made.
    private func reserve() -> Int? {
        let now = clock.now
        guard let number = state.withLock({ $0.reserve(at: now.nanoseconds) }) else { return nil }
        switch allowance.take(at: now) {
        case .taken(let permit):
            state.withLock { $0[number].permit = permit }
            request.emit(HedgingEvent.hedging(attempt: number))
            return number
        case .refused(let refusal):
            state.withLock { $0.withdraw(number) }
            request.emit(HedgingEvent.refused(refusal))
            return nil
        }
    }

    // MARK: The end

    /// Ends the race: the attempts that are still running are cancelled, or may finish if one has won.
    private func end() {
        let now = clock.now
        let limit = policy.timeForLosers
        let (effects, branches, isFirst) = state.withLock {
            $0.finish(at: now.nanoseconds, leavingOthers: limit != nil)
        }
        lose(effects)
        guard isFirst else { return }
        for branch in branches {
            request.recorder?.join(branch)
        }
        if let limit, state.withLock({ $0.hasLeftAttempts }) {
            _ = clock.alarm(at: now + limit) { [self] in
                let now = clock.nanoseconds
                lose(state.withLock { $0.cancelAll(at: now) })
            }
        }
    }
}
