import NetworkingCore
import NetworkingResilience
import Synchronization

/// The circuits of a breaker behind a lock.
///
/// Clocks, randomness, keys and listeners may be code of the app, so they are used outside of the lock.
final class Circuits: Sendable {
    let policy: CircuitBreaker.Policy
    /// The instance of the breaker, of which each circuit has a mark for the requests that it admits.
    let held = HeldLimits()
    let changes = Broadcast<CircuitBreaker.Change>(buffering: .bufferingNewest(1_000))
    private let customKey: (@Sendable (HTTPRequestData) -> String)?
    private let state: ClockedMutex<CircuitTable>

    init(_ policy: CircuitBreaker.Policy, key: (@Sendable (HTTPRequestData) -> String)?) {
        self.policy = policy
        customKey = key
        state = ClockedMutex(CircuitTable(policy))
    }

    deinit {
        changes.finish()
    }

    /// Returns the key of a request's circuit.
    func key(of request: HTTPRequestData) -> String {
        customKey?(request) ?? request.authorityKey?.text ?? ""
    }

    // MARK: Requests

    /// Decides about a request.
    ///
    /// - Returns: The pass; `nil` if the request is not counted.
    /// - Throws: The error of a request that is refused.
    func admit(
        _ request: HTTPRequestData,
        _ key: String,
        _ attemptLimits: TimeLimits,
        on clock: NetworkClock
    ) throws -> CircuitTable.Pass? {
        if let pass = state.withValue(on: clock, { $0.admitWhileClosed(key, at: $1) }) { return pass }
        let probeLimit = policy.probeLimit(forAttemptsOf: attemptLimits.replaced(by: request).untilResponse)
        switch admit(key, request, probeLimit: probeLimit, on: clock) {
        case .admitted(let pass): return pass
        case .rejected(let rejection): throw reported(rejection, of: request)
        }
    }

    /// Decides about a request, or about an operation that is no request, such as a call to a store.
    func admit(
        _ key: String,
        _ request: HTTPRequestData? = nil,
        probeLimit: Duration,
        on clock: NetworkClock
    ) -> CircuitTable.Admission {
        let (admission, transition) = state.withValue(on: clock) { [changes] table, now in
            let result = table.admit(key, at: now, probeLimit: probeLimit, marking: mark)
            Self.publish(result.transition, key, in: changes)
            return result
        }
        if let transition {
            report(transition, key, request, on: clock)
        }
        return admission
    }

    /// Creates the mark of the requests that the circuit of a key admits.
    ///
    /// It asks again for that key, because a part further in may have given the request another authority.
    private func mark(of key: String) -> HeldLimits {
        // A circuit keeps its mark, so the mark must not keep the circuits.
        HeldLimits(of: held) { [weak self] in try self?.confirm($0, key) }
    }

    /// Throws if a circuit has opened since it admitted a request.
    func confirm(_ request: HTTPRequestData, _ key: String) throws {
        let rejection = state.withValue(on: NetworkEnvironment.current.clock) { table, now in
            table.rejectionAfterWait(key, at: now)
        }
        if let rejection { throw reported(rejection, of: request) }
        request.circuitCall?.resume(at: self)
    }

    /// Returns the pass of a request that starts to wait for a permit, or that is sent after a wait.
    func pass(_ pass: CircuitTable.Pass, waits: Bool) -> CircuitTable.Pass {
        state.withLatest { table, latest in table.pass(pass, waits: waits, at: latest) }
    }

    /// Records that the head of a response has arrived, of which only the body is missing.
    func receiveHead(of request: HTTPRequestData, _ key: String, _ pass: CircuitTable.Pass, on clock: NetworkClock) {
        let transition = state.withValue(on: clock) { [changes] table, now in
            let transition = table.receiveHead(pass, at: now)
            Self.publish(transition, key, in: changes)
            return transition
        }
        if let transition {
            report(transition, key, request, on: clock)
        }
    }

    /// Records the result of a request.
    func record(
        _ result: CircuitResult,
        of request: HTTPRequestData,
        _ key: String,
        _ pass: CircuitTable.Pass,
        _ call: CircuitCall.End?,
        on clock: NetworkClock
    ) {
        let (pass, hasHead) = (call?.pass ?? pass, call?.hasHead ?? false)
        // Most calls succeed, and reading a clock takes longer than the rest.
        if case .success = result,
            state.withLatest({ table, latest in table.recordSuccess(of: pass, hasHead: hasHead, at: latest) })
        {
            return
        }
        record(result, of: key, pass, hasHead: hasHead, request, on: clock)
    }

    /// Records the result of an operation that is no request.
    func record(_ result: CircuitResult, of key: String, _ pass: CircuitTable.Pass?, on clock: NetworkClock) {
        if let pass { record(result, of: key, pass, hasHead: false, nil, on: clock) }
    }

    private func record(
        _ result: CircuitResult,
        of key: String,
        _ pass: CircuitTable.Pass,
        hasHead: Bool,
        _ request: HTTPRequestData?,
        on clock: NetworkClock
    ) {
        let transition = state.withValue(on: clock) { [changes] table, now in
            let transition = table.record(result, of: pass, hasHead: hasHead, at: now)
            Self.publish(transition, key, in: changes)
            return transition
        }
        if let transition {
            report(transition, key, request, on: clock)
        }
    }

    private func reported(_ rejection: CircuitBreaker.Rejection, of request: HTTPRequestData) -> NetworkingError {
        request.emit(CircuitBreakerEvent.rejected(rejection))
        return rejection.error(for: request)
    }

    /// Reports a change to the listeners of the request that caused it, and adds the jitter of an open circuit.
    ///
    /// Until then the circuit is open for its full time, so no request gets through too early.
    private func report(
        _ transition: Circuit.Transition,
        _ key: String,
        _ request: HTTPRequestData?,
        on clock: NetworkClock
    ) {
        if let length = transition.fullBreak {
            let jittered = length / 2 + length / 2 * NetworkEnvironment.current.random.fraction()
            state.withValue(on: clock) { table, _ in table.shorten(transition, of: key, to: jittered) }
        }
        request?.emit(CircuitBreakerEvent.changed(CircuitBreaker.Change(key: key, state: transition.state)))
    }

    // Under the lock, which keeps the changes in order. Publishing only adds them to the buffers of the readers.
    private static func publish(
        _ transition: Circuit.Transition?,
        _ key: String,
        in changes: Broadcast<CircuitBreaker.Change>
    ) {
        guard let transition else { return }
        changes.publish(CircuitBreaker.Change(key: key, state: transition.state))
    }

    // MARK: All circuits

    func isolate() {
        state.withLatest { [changes] table, _ in
            guard table.isolate() else { return }
            changes.publish(CircuitBreaker.Change(key: nil, state: .isolated))
        }
    }

    func close() {
        withTable { [changes] table, now in
            table.close(at: now)
            changes.publish(CircuitBreaker.Change(key: nil, state: .closed))
        }
    }

    /// Runs a closure with the circuits and the moment, on the clock of the last request.
    func withTable<Result: Sendable>(_ body: @Sendable (inout CircuitTable, Duration) -> Result) -> Result {
        state.withValue(body)
    }
}
