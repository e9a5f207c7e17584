import NetworkingCore
import NetworkingResilience

/// The state of the attempts of one call; each function is one step, under the lock of the race.
struct HedgeRaceState: Sendable {
    struct Entry: Sendable {
        /// The moment at which the attempt started, in nanoseconds.
        let start: Int64
        fileprivate(set) var phase = Phase.running
        /// Ends the attempt; `nil` if it has not started.
        fileprivate var cancel: (@Sendable () -> Void)?
        /// Whether the attempt was ended because another one has won, or because the race is over.
        fileprivate(set) var isCancelled = false
        fileprivate var hasSample = false
        var permit: HedgeAllowance.Permit?
        var branch: (any CallRecording)?

        fileprivate init(start: Int64) {
            self.start = start
        }

        /// Returns the permit of an attempt that was not sent; `nil` for one that was sent and has lost.
        mutating func takeUnusedPermit() -> HedgeAllowance.Permit? {
            guard !isCancelled else { return nil }
            defer { permit = nil }
            return permit
        }

        fileprivate var isRunning: Bool {
            if case .running = phase { true } else { false }
        }

        fileprivate var isMade: Bool {
            if case .notMade = phase { false } else { true }
        }
    }

    enum Phase: Sendable {
        case running
        case ended(Attempt)
        case notMade
    }

    /// The latency of an attempt, in nanoseconds.
    struct Sample: Sendable {
        let latency: Int64
        let isCensored: Bool
        let moment: Int64
    }

    /// The work that a step leaves to be done outside of the lock.
    struct Effects: Sendable {
        var samples: [Sample] = []
        var cancels: [@Sendable () -> Void] = []
        var alarm: Alarm?
    }

    enum Step: Sendable {
        /// Another attempt decides, or has decided.
        case pending
        /// The attempt decides the race.
        case winner
        /// All attempts have failed.
        case failed
        /// The next attempt starts after this time.
        case next(after: Duration)
    }

    private let maximumHedges: Int
    private var entries: [Entry]
    /// The attempt whose head has decided the race.
    private var winner: Int?
    /// Whether the outcome of the call is known.
    private var isDecided = false
    /// Whether the call has returned.
    private var isOver = false
    /// Whether no further attempt is started.
    private var isStopped = false
    /// The alarm of the next attempt.
    private var alarm = HedgeAlarm()
    /// The outcomes by which the call may end.
    private var results: [Int: Result<HTTPResponseData, any Error>] = [:]

    init(startingAt now: Int64, maximumHedges: Int) {
        self.maximumHedges = maximumHedges
        entries = [Entry(start: now)]
    }

    subscript(number: Int) -> Entry {
        get { entries[number - 1] }
        _modify { yield &entries[number - 1] }
    }

    private var isRunning: Bool {
        entries.contains(where: \.isRunning)
    }

    /// Whether attempts that have lost may finish.
    var hasLeftAttempts: Bool {
        entries.contains { $0.isRunning && !$0.isCancelled }
    }

    /// Whether all attempts have failed, and no other one follows.
    var hasFailed: Bool {
        !isDecided && !isOver && winner == nil && !isRunning && !(alarm.isSet && mayStart)
    }

    func reportsProgress(_ number: Int) -> Bool {
        !isOver && (winner ?? 1) == number
    }

    // MARK: Attempts

    /// Stores how an attempt is ended; returns `false` if it is not needed any more.
    mutating func keep(_ cancel: @escaping @Sendable () -> Void, of number: Int) -> Bool {
        // A task may have ended before it is stored.
        guard self[number].isRunning else { return true }
        guard !isOver, !self[number].isCancelled else { return false }
        self[number].cancel = cancel
        return true
    }

    /// Whether another extra attempt may start.
    var mayStart: Bool {
        !isDecided && !isOver && winner == nil && !isStopped && entries.count(where: \.isMade) <= maximumHedges
    }

    /// Adds an extra attempt; `nil` if none may start.
    mutating func reserve(at now: Int64) -> Int? {
        guard mayStart else { return nil }
        entries.append(Entry(start: now))
        return entries.count
    }

    /// Withdraws an extra attempt that is not made, after which no other is made either.
    mutating func withdraw(_ number: Int) {
        self[number].phase = .notMade
        isStopped = true
    }

    /// Records the head of an acceptable response.
    mutating func headArrived(_ number: Int, at now: Int64, leavingOthers: Bool) -> Effects {
        var effects = Effects()
        guard !self[number].isCancelled else { return effects }
        addSample(of: number, isCensored: false, at: now, to: &effects)
        guard winner == nil, !isDecided, !isOver else { return effects }
        winner = number
        loseOthers(at: now, leavingThem: leavingOthers, to: &effects)
        return effects
    }

    /// Records the end of an attempt.
    mutating func end(_ attempt: Attempt, _ verdict: HedgeVerdict, at now: Int64) -> (Step, Effects) {
        let number = attempt.number
        var effects = Effects()
        defer { self[number].cancel = nil }
        if case .notMade = verdict, !self[number].isCancelled {
            self[number].phase = .notMade
            isStopped = true
        } else {
            self[number].phase = .ended(attempt.trimmed(backoff: .zero))
            if case .final = verdict, attempt.error == nil {
                addSample(of: number, isCensored: false, at: now, to: &effects)
            } else if (attempt.error as? NetworkingError)?.kind == .timeout {
                addSample(of: number, isCensored: true, at: now, to: &effects)
            }
        }
        // A response that is complete at the time limit is returned.
        guard !isDecided, winner == nil || winner == number else { return (.pending, effects) }
        if winner == number {
            results[number] = attempt.result
            return (.winner, effects)
        }
        if number == 1 { results[1] = attempt.result }
        switch verdict {
        case .final:
            results[number] = attempt.result
            winner = number
            return (.winner, effects)
        case .transient(let wait?) where mayStart:
            return (.next(after: wait), effects)
        case .transient(nil):
            isStopped = true
        case .transient, .notMade:
            break
        }
        return (hasFailed ? .failed : .pending, effects)
    }

    /// Records the decision for an attempt, and returns its outcome and the other attempts.
    ///
    /// The outcome is `nil` if another decision was made before.
    mutating func decide(
        _ number: Int,
        at now: Int64,
        leavingOthers: Bool
    ) -> (result: Result<HTTPResponseData, any Error>?, others: [Attempt], hedges: Int, effects: Effects) {
        var effects = Effects()
        guard !isDecided, let result = results[number] else { return (nil, [], 0, effects) }
        isDecided = true
        let others = zip(1..., entries)
            .compactMap { other, entry -> Attempt? in
                switch entry.phase {
                case _ where other == number: nil
                case .ended(let attempt): attempt
                case .running:
                    Attempt(
                        number: other,
                        result: .failure(CancellationError()),
                        elapsed: .nanoseconds(now - entry.start)
                    )
                case .notMade: nil
                }
            }
        loseOthers(at: now, leavingThem: leavingOthers, to: &effects)
        return (result, others, entries.count(where: \.isMade) - 1, effects)
    }

    // MARK: The end

    private mutating func loseOthers(at now: Int64, leavingThem isLeaving: Bool, to effects: inout Effects) {
        effects.alarm = alarm.remove()
        guard !isLeaving else { return }
        for number in 1...entries.count where number != winner {
            cancel(number, at: now, to: &effects)
        }
    }

    private mutating func cancel(_ number: Int, at now: Int64, to effects: inout Effects) {
        guard self[number].isRunning, !self[number].isCancelled else { return }
        self[number].isCancelled = true
        addSample(of: number, isCensored: true, at: now, to: &effects)
        if let cancel = self[number].cancel {
            effects.cancels.append(cancel)
        }
        self[number].cancel = nil
    }

    private mutating func addSample(of number: Int, isCensored: Bool, at now: Int64, to effects: inout Effects) {
        guard !self[number].hasSample else { return }
        self[number].hasSample = true
        effects.samples.append(Sample(latency: now - self[number].start, isCensored: isCensored, moment: now))
    }

    /// Ends the race when its call returns.
    ///
    /// - Returns: The effects, the recordings of the attempts, and whether this is the first call.
    mutating func finish(
        at now: Int64,
        leavingOthers: Bool
    ) -> (effects: Effects, branches: [any CallRecording], isFirst: Bool) {
        guard !isOver else { return (Effects(), [], false) }
        isOver = true
        var effects = Effects()
        // A caller that was cancelled leaves nothing behind.
        loseOthers(at: now, leavingThem: leavingOthers && isDecided, to: &effects)
        if let winner {
            cancel(winner, at: now, to: &effects)
        }
        return (effects, entries.compactMap(\.branch), true)
    }

    /// Cancels the attempts that could finish.
    mutating func cancelAll(at now: Int64) -> Effects {
        var effects = Effects()
        for number in 1...entries.count {
            cancel(number, at: now, to: &effects)
        }
        return effects
    }

    // MARK: The alarm

    /// Announces the alarm of the next attempt, and returns its number and the alarm that it replaces.
    ///
    /// `nil` if no attempt may follow.
    mutating func planAlarm() -> (number: Int, replaced: Alarm?)? {
        !isDecided && !isOver && winner == nil ? alarm.plan() : nil
    }

    /// Stores an alarm; returns `false` if it is not needed any more.
    mutating func keep(_ alarm: Alarm, _ number: Int) -> Bool {
        self.alarm.keep(alarm, number)
    }

    /// Records that an alarm has rung; returns `false` if it was replaced.
    mutating func takeAlarm(_ number: Int) -> Bool {
        alarm.ring(number)
    }
}
