import NetworkingCore

/// The circuits of a breaker by key: a bounded number, of which the least recently used make room for new ones.
struct CircuitTable {
    /// The maximum number of circuits.
    static let limit = 256

    private(set) var isIsolated = false
    private var circuits: [Circuit] = []
    private var slots: [String: Int] = [:]
    /// The slot of the last request, because most clients talk to a single server.
    private var lastSlot = 0
    private var numbers = CircuitNumbers()
    /// The circuits that may make room for others, the first to do so at the end.
    private var candidates: [Candidate] = []
    private let policy: CircuitBreaker.Policy

    init(_ policy: CircuitBreaker.Policy) {
        self.policy = policy
    }

    var keys: [String] {
        circuits.map(\.key)
    }

    /// A pass of a circuit, and the place of that circuit.
    struct Pass: Sendable {
        fileprivate let slot: Int
        fileprivate var pass: Circuit.Pass
        /// The mark of requests that the circuit admits.
        let mark: HeldLimits

        var isProbe: Bool {
            pass.isProbe
        }

        /// Whether the time of the request counts now.
        var isInFlight: Bool {
            pass.call != nil
        }
    }

    enum Admission: Sendable {
        /// `nil` if the request is not counted, because each circuit that could make room for its own is open.
        case admitted(Pass?)
        case rejected(CircuitBreaker.Rejection)
    }

    // MARK: Requests

    mutating func admit(
        _ key: String,
        at now: Duration,
        probeLimit: Duration,
        marking mark: (String) -> HeldLimits
    ) -> (admission: Admission, transition: Circuit.Transition?) {
        guard !isIsolated else { return (.rejected(isolation(of: key)), nil) }
        guard let slot = slot(of: key) ?? addSlot(of: key, at: now, mark) else { return (.admitted(nil), nil) }
        lastSlot = slot
        let (admission, transition) = circuits[slot].admit(at: now, probeLimit: probeLimit, numbers: &numbers)
        return switch admission {
        case .admitted(let pass): (.admitted(Pass(slot: slot, pass: pass, mark: circuits[slot].mark)), transition)
        case .rejected(let rejection): (.rejected(rejection), transition)
        }
    }

    /// Admits a request of a known key if its circuit is closed; see ``Circuit/admitWhileClosed(at:numbers:)``.
    mutating func admitWhileClosed(_ key: String, at now: Duration) -> Pass? {
        guard !isIsolated, let slot = slot(of: key),
            let pass = circuits[slot].admitWhileClosed(at: now, numbers: &numbers)
        else { return nil }
        lastSlot = slot
        return Pass(slot: slot, pass: pass, mark: circuits[slot].mark)
    }

    /// Returns the rejection of a request that has waited since it was admitted; `nil` if it may still be sent.
    func rejectionAfterWait(_ key: String, at now: Duration) -> CircuitBreaker.Rejection? {
        isIsolated ? isolation(of: key) : slot(of: key).flatMap { circuits[$0].rejectionAfterWait(at: now) }
    }

    /// Returns the pass of a request that starts to wait for a permit, or that is sent after a wait.
    mutating func pass(_ pass: Pass, waits: Bool, at now: Duration) -> Pass {
        guard !isIsolated, circuits[pass.slot].number == pass.pass.circuit else { return pass }
        var new = pass
        if waits {
            circuits[pass.slot].pause(&new.pass)
        } else {
            circuits[pass.slot].resume(&new.pass, at: now)
        }
        return new
    }

    /// Records a success if it cannot have another effect than to count; see ``Circuit/recordSuccess(of:hasHead:at:)``.
    mutating func recordSuccess(of pass: Pass, hasHead: Bool, at latest: Duration) -> Bool {
        guard !isIsolated, circuits[pass.slot].number == pass.pass.circuit else { return true }
        return circuits[pass.slot].recordSuccess(of: pass.pass, hasHead: hasHead, at: latest)
    }

    mutating func receiveHead(_ pass: Pass, at now: Duration) -> Circuit.Transition? {
        guard !isIsolated, circuits[pass.slot].number == pass.pass.circuit else { return nil }
        return circuits[pass.slot].receiveHead(pass.pass, at: now, numbers: &numbers)
    }

    mutating func record(
        _ result: CircuitResult,
        of pass: Pass,
        hasHead: Bool,
        at now: Duration
    ) -> Circuit.Transition? {
        // The end of the isolation closes the circuits, whatever happens until then.
        guard !isIsolated, circuits[pass.slot].number == pass.pass.circuit else { return nil }
        return circuits[pass.slot]
            .record(result, of: pass.pass, hasHead: hasHead, at: now, numbers: &numbers)
    }

    mutating func shorten(_ opening: Circuit.Transition, of key: String, to length: Duration) {
        guard let slot = slot(of: key), circuits[slot].number == opening.circuit else { return }
        circuits[slot].shorten(opening, to: length)
    }

    private func isolation(of key: String) -> CircuitBreaker.Rejection {
        CircuitBreaker.Rejection(state: .isolated, key: key, retryAfter: nil, lastFailure: nil)
    }

    // MARK: All circuits

    /// Isolates all keys; returns `false` if they are isolated already.
    mutating func isolate() -> Bool {
        defer { isIsolated = true }
        return !isIsolated
    }

    /// Closes all circuits with empty windows.
    mutating func close(at now: Duration) {
        isIsolated = false
        for index in circuits.indices {
            circuits[index].reset(at: now, numbers: &numbers)
        }
    }

    func state(of key: String, at now: Duration) -> CircuitBreaker.State {
        isIsolated ? .isolated : slot(of: key).map { circuits[$0].state(at: now) } ?? .closed
    }

    mutating func statistics(of key: String, at now: Duration) -> CircuitBreaker.Statistics? {
        guard let slot = slot(of: key) else { return nil }
        var statistics = circuits[slot].statistics(at: now)
        statistics.state = state(of: key, at: now)
        return statistics
    }

    /// The number of probes and of calls in flight whose time matters, in all circuits.
    var callsInFlight: Int {
        circuits.reduce(0) { $0 + $1.probesInFlight + $1.timedCalls }
    }

    // MARK: Slots

    private func slot(of key: String) -> Int? {
        if lastSlot < circuits.count, circuits[lastSlot].key == key { return lastSlot }
        return slots[key]
    }

    /// Adds a circuit, in place of the least recently used one if there are too many, a closed one if possible.
    ///
    /// - Returns: Its slot; `nil` if no circuit may be removed.
    private mutating func addSlot(of key: String, at now: Duration, _ mark: (String) -> HeldLimits) -> Int? {
        guard circuits.count >= Self.limit else {
            slots[key] = circuits.count
            circuits.append(Circuit(key: key, mark(key), policy, numbers: &numbers, at: now))
            return circuits.count - 1
        }
        guard let slot = removableSlot(at: now) else { return nil }
        slots[circuits[slot].key] = nil
        slots[key] = slot
        circuits[slot] = Circuit(key: key, mark(key), policy, numbers: &numbers, at: now)
        return slot
    }

    private struct Candidate: Sendable {
        let slot: Int
        let number: UInt64
        let lastUse: UInt64
    }

    /// Returns the slot of the circuit that makes room for another; `nil` if none may be removed.
    ///
    /// The candidates are sorted once for many removals, because a key may be new for each request.
    private mutating func removableSlot(at now: Duration) -> Int? {
        if let slot = nextCandidate(at: now) { return slot }
        let removable = circuits.indices.filter { circuits[$0].mayBeRemoved(at: now) }
        let closed = removable.filter { circuits[$0].state == .closed }
        candidates = (closed.isEmpty ? removable : closed)
            .map { Candidate(slot: $0, number: circuits[$0].number, lastUse: circuits[$0].lastUse) }
            .sorted { $0.lastUse > $1.lastUse }
        return nextCandidate(at: now)
    }

    /// Removes and returns the first candidate that has not been used since.
    private mutating func nextCandidate(at now: Duration) -> Int? {
        while let candidate = candidates.popLast() {
            let circuit = circuits[candidate.slot]
            if circuit.number == candidate.number, circuit.lastUse == candidate.lastUse, circuit.mayBeRemoved(at: now) {
                return candidate.slot
            }
        }
        return nil
    }
}
