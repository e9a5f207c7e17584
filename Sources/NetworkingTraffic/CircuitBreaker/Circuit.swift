import NetworkingCore

/// The circuit of one key: a state machine without a lock, a clock or randomness.
///
/// A generation is a stay in one state. Each call belongs to the generation in which it was admitted, and only a result
/// of the current generation has an effect.
struct Circuit {
    let key: String
    /// The mark of the requests that it admits.
    let mark: HeldLimits
    /// The number of the circuit, which no other circuit has had before.
    let number: UInt64
    private(set) var state = CircuitBreaker.State.closed
    private var lastFailure: CircuitBreaker.Failure?
    /// The number of the last request with this key, which grows with each request of the breaker.
    private(set) var lastUse: UInt64

    private let policy: CircuitBreaker.Policy
    private var generation: UInt64
    private var window: CallWindow
    private var inFlight: CallsInFlight
    /// The number of results that belong to an earlier generation.
    private var lateResults = 0

    /// The number of connection failures since the last response.
    private var connectionFailures = 0
    /// The number of trips without a whole window between them.
    private var trips = 0
    private var closedSince: Duration
    private var openUntil = Duration.zero
    private var probes: [Probe] = []
    private var successfulProbes = 0

    private struct Probe {
        let number: UInt64
        let end: Duration
    }

    init(
        key: String,
        _ mark: HeldLimits,
        _ policy: CircuitBreaker.Policy,
        numbers: inout CircuitNumbers,
        at now: Duration
    ) {
        self.key = key
        self.mark = mark
        self.policy = policy
        number = numbers.next()
        generation = numbers.next()
        window = CallWindow(policy.window, at: now)
        inFlight = CallsInFlight(at: now)
        closedSince = now
        lastUse = number
    }

    /// The permission to send a request.
    struct Pass: Sendable {
        let circuit: UInt64
        fileprivate let generation: UInt64
        /// The number of the probe; 0 for a call through a closed circuit.
        fileprivate let probe: UInt64
        /// The number of the call in flight; `nil` if its time does not matter, also while it waits for a permit.
        fileprivate(set) var call: UInt64?
        fileprivate var start: Duration
        /// Whether the call was counted, because it was overdue before a wait.
        fileprivate var isCounted = false

        var isProbe: Bool {
            probe != 0
        }
    }

    /// The decision about a request.
    enum Admission: Sendable {
        case admitted(Pass)
        case rejected(CircuitBreaker.Rejection)
    }

    /// A change of the state.
    struct Transition: Sendable {
        let state: CircuitBreaker.State
        let circuit: UInt64
        fileprivate let generation: UInt64
        /// The time for which the circuit is open, without its jitter; `nil` if the circuit has not opened.
        let fullBreak: Duration?
        /// The time for which the circuit is open at least, because the server asks for it.
        let minimumBreak: Duration
        fileprivate let moment: Duration
    }

    // MARK: Requests

    /// Decides about a request.
    ///
    /// - Parameters:
    ///   - now: The current moment.
    ///   - probeLimit: The time after which the request counts as failed if it is a probe.
    ///   - numbers: The source of identities.
    /// - Returns: The decision, and the change of the state that the time or the request has caused.
    mutating func admit(
        at now: Duration,
        probeLimit: Duration,
        numbers: inout CircuitNumbers
    ) -> (admission: Admission, transition: Transition?) {
        lastUse = numbers.next()
        let transition = update(at: now, numbers: &numbers)
        guard state == .closed || state == .halfOpen && probes.count < policy.probes else {
            return (.rejected(rejection(at: now)), transition)
        }
        var probe: UInt64 = 0
        if state == .halfOpen {
            probe = numbers.next()
            probes.append(Probe(number: probe, end: now + probeLimit))
        }
        let call = policy.slowCalls != nil && probe == 0 ? inFlight.begin(at: now) : nil
        let pass = Pass(circuit: number, generation: generation, probe: probe, call: call, start: now)
        return (.admitted(pass), transition)
    }

    /// Admits a request if the circuit is closed and the time of a call does not matter, as for most requests.
    ///
    /// - Returns: The pass; `nil` if ``admit(at:probeLimit:numbers:)`` has to decide.
    mutating func admitWhileClosed(at now: Duration, numbers: inout CircuitNumbers) -> Pass? {
        guard state == .closed, policy.slowCalls == nil else { return nil }
        lastUse = numbers.next()
        window.advance(to: now)
        return Pass(circuit: number, generation: generation, probe: 0, call: nil, start: now)
    }

    /// Returns the rejection of a request that was admitted while the circuit was closed and has waited since; `nil` if
    /// the circuit is closed.
    func rejectionAfterWait(at now: Duration) -> CircuitBreaker.Rejection? {
        state == .closed ? nil : rejection(at: now)
    }

    /// Records that a request waits for a permit, so that it is not in flight.
    mutating func pause(_ pass: inout Pass) {
        guard pass.generation == generation, let call = pass.call else { return }
        pass.isCounted = inFlight.end(call) || pass.isCounted
        pass.call = nil
    }

    /// Records that a request is sent after a wait.
    mutating func resume(_ pass: inout Pass, at now: Duration) {
        guard pass.generation == generation, policy.slowCalls != nil, !pass.isProbe else { return }
        pause(&pass)
        guard !pass.isCounted else { return }
        pass.call = inFlight.begin(at: now)
        pass.start = now
    }

    /// Records that the head of a response has arrived, of which only the body is missing.
    ///
    /// The call is counted now, and once more as a failure if its body does not arrive.
    mutating func receiveHead(_ pass: Pass, at now: Duration, numbers: inout CircuitNumbers) -> Transition? {
        guard pass.generation == generation else { return nil }
        if pass.isProbe { return endProbe(pass, .success, at: now, numbers: &numbers) }
        window.advance(to: now)
        connectionFailures = 0
        let isCounted = noteTime(of: pass, .success, at: now)
        window.add(calls: isCounted ? 0 : 1)
        return isTripping ? trip(at: now, numbers: &numbers) : nil
    }

    /// Records a success if it cannot have another effect than to count, so that the moment does not matter.
    ///
    /// - Parameters:
    ///   - pass: The permission with which the request was sent.
    ///   - hasHead: Whether ``receiveHead(_:at:numbers:)`` has been called.
    ///   - latest: The latest moment so far.
    /// - Returns: Whether the success was recorded.
    mutating func recordSuccess(of pass: Pass, hasHead: Bool, at latest: Duration) -> Bool {
        guard pass.generation == generation, !pass.isProbe, policy.slowCalls == nil else { return false }
        window.advance(to: latest)
        guard window.total.failures == 0 else { return false }
        window.add(calls: hasHead ? 0 : 1)
        connectionFailures = 0
        return true
    }

    /// Records the result of a request.
    ///
    /// - Parameters:
    ///   - result: The result.
    ///   - pass: The permission with which the request was sent.
    ///   - hasHead: Whether ``receiveHead(_:at:numbers:)`` has been called.
    ///   - now: The current moment.
    ///   - numbers: The source of identities.
    /// - Returns: The change of the state that the result has caused.
    mutating func record(
        _ result: CircuitResult,
        of pass: Pass,
        hasHead: Bool,
        at now: Duration,
        numbers: inout CircuitNumbers
    ) -> Transition? {
        guard pass.generation == generation else {
            lateResults += result.isCounted ? 1 : 0
            return nil
        }
        if pass.isProbe { return endProbe(pass, result, at: now, numbers: &numbers) }
        window.advance(to: now)
        let isCounted = hasHead || noteTime(of: pass, result, at: now)
        switch result {
        case .success:
            window.add(calls: isCounted ? 0 : 1)
        case .failure(let failure, _):
            window.add(calls: isCounted ? 0 : 1, failures: 1)
            lastFailure = failure
        case .response, .limited, .nothing:
            break
        }
        if result.isResponse {
            connectionFailures = 0
        } else if result.isConnectionFailure {
            connectionFailures += 1
        }
        guard result.isCounted, isTripping else { return nil }
        return trip(at: now, retryAfter: result.retryAfter, numbers: &numbers)
    }

    /// Counts a call that has ended, or whose head has arrived, if it took too long.
    ///
    /// - Returns: Whether the call was counted before, because it was overdue.
    private mutating func noteTime(of pass: Pass, _ result: CircuitResult, at now: Duration) -> Bool {
        guard let slow = policy.slowCalls else { return false }
        if result.isResponse {
            inFlight.lastResponse = now
        }
        var pass = pass
        let wasInFlight = pass.call != nil
        pause(&pass)
        if wasInFlight, !pass.isCounted, result.isCounted, now - pass.start >= slow.threshold {
            window.add(slow: 1)
        }
        return pass.isCounted
    }

    private var isTripping: Bool {
        policy.connectionFailures.map { connectionFailures >= $0 } ?? false || policy.trips(window.total)
    }

    private mutating func endProbe(
        _ pass: Pass,
        _ result: CircuitResult,
        at now: Duration,
        numbers: inout CircuitNumbers
    ) -> Transition? {
        guard let index = probes.firstIndex(where: { $0.number == pass.probe }) else { return nil }
        probes.remove(at: index)
        switch result {
        case .success, .response:
            successfulProbes += 1
            return successfulProbes >= policy.closesAfter ? close(at: now, numbers: &numbers) : nil
        case .failure(let failure, let retryAfter):
            lastFailure = failure
            return trip(at: now, retryAfter: retryAfter, numbers: &numbers)
        case .limited, .nothing:
            // The slot is free for the next request.
            return nil
        }
    }

    // MARK: States

    /// Changes the state if the time requires it.
    private mutating func update(at now: Duration, numbers: inout CircuitNumbers) -> Transition? {
        window.advance(to: now)
        switch state {
        case .closed:
            guard let slow = policy.slowCalls else { return nil }
            let overdue = inFlight.becomeOverdue(startedBy: now - slow.threshold)
            window.add(calls: overdue, slow: overdue)
            let hangs = inFlight.overdue >= policy.minimumCalls && now - inFlight.lastResponse >= slow.threshold
            return hangs || overdue > 0 && isTripping ? trip(at: now, numbers: &numbers) : nil
        case .open:
            guard now >= openUntil else { return nil }
            return enter(.halfOpen, at: now, numbers: &numbers)
        case .halfOpen:
            guard probes.contains(where: { now >= $0.end }) else { return nil }
            lastFailure = .error(.timeout)
            return trip(at: now, numbers: &numbers)
        case .isolated:
            return nil
        }
    }

    private mutating func trip(
        at now: Duration,
        retryAfter: Duration? = nil,
        numbers: inout CircuitNumbers
    ) -> Transition {
        if state == .closed, now - closedSince >= policy.window {
            trips = 0
        }
        trips = min(trips + 1, 1_000)
        let length = policy.fullBreak(afterTrips: trips)
        let minimum = min(retryAfter ?? .zero, policy.maximumBreak)
        openUntil = now + max(length, minimum)
        return enter(.open, at: now, fullBreak: length, minimumBreak: minimum, numbers: &numbers)
    }

    /// Closes the circuit with an empty window.
    private mutating func close(at now: Duration, numbers: inout CircuitNumbers) -> Transition {
        closedSince = now
        connectionFailures = 0
        window.removeAll(at: now)
        return enter(.closed, at: now, numbers: &numbers)
    }

    /// Closes the circuit as if it had never opened.
    mutating func reset(at now: Duration, numbers: inout CircuitNumbers) {
        trips = 0
        _ = close(at: now, numbers: &numbers)
    }

    private mutating func enter(
        _ state: CircuitBreaker.State,
        at now: Duration,
        fullBreak: Duration? = nil,
        minimumBreak: Duration = .zero,
        numbers: inout CircuitNumbers
    ) -> Transition {
        self.state = state
        generation = numbers.next()
        probes.removeAll()
        successfulProbes = 0
        inFlight.removeAll(at: now)
        return Transition(
            state: state,
            circuit: number,
            generation: generation,
            fullBreak: fullBreak,
            minimumBreak: minimumBreak,
            moment: now
        )
    }

    /// Shortens the time for which the circuit is open, to a random part of it.
    mutating func shorten(_ opening: Transition, to length: Duration) {
        guard generation == opening.generation, state == .open else { return }
        openUntil = opening.moment + max(length, opening.minimumBreak)
    }

    // MARK: Questions

    /// Returns whether the circuit may be removed, because it would not refuse a request now.
    func mayBeRemoved(at now: Duration) -> Bool {
        switch state {
        case .closed: true
        case .open: now >= openUntil
        case .halfOpen: probes.allSatisfy { now >= $0.end }
        case .isolated: false
        }
    }

    /// The number of probes that have not ended.
    var probesInFlight: Int {
        probes.count
    }

    /// The number of calls in flight whose time matters.
    var timedCalls: Int {
        inFlight.count + inFlight.overdue
    }

    /// Returns the state, which an open circuit leaves only when the next request arrives.
    func state(at now: Duration) -> CircuitBreaker.State {
        state == .open && now >= openUntil ? .halfOpen : state
    }

    /// Returns the results in the window.
    mutating func statistics(at now: Duration) -> CircuitBreaker.Statistics {
        window.advance(to: now)
        let counts = window.total
        return CircuitBreaker.Statistics(
            state: state(at: now),
            calls: max(counts.calls, counts.failures),
            failures: counts.failures,
            slow: counts.slow,
            lateResults: lateResults
        )
    }

    private func rejection(at now: Duration) -> CircuitBreaker.Rejection {
        // At the end of the oldest probe, a slot is free or the circuit is open again.
        let end = state == .open ? openUntil : probes.first?.end ?? now
        return CircuitBreaker.Rejection(
            state: state,
            key: key,
            retryAfter: max(.zero, end - now),
            lastFailure: lastFailure
        )
    }
}

/// A source of identities that are never used again.
struct CircuitNumbers {
    private var last: UInt64 = 0

    mutating func next() -> UInt64 {
        last += 1
        return last
    }
}
