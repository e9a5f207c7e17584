import NetworkingCore
import NetworkingResilience
import Synchronization

/// A request on its way through a circuit breaker, of which more counts than its result.
///
/// The arrival of the head counts, or the time without the waits for permits further in.
final class CircuitCall: Sendable {
    private let circuits: Circuits
    /// The call of a breaker further out.
    private let outer: CircuitCall?
    private let state: Mutex<State>

    private struct State: Sendable {
        var end: End
        var isOver = false
    }

    /// The facts at the end of a call.
    struct End: Sendable {
        /// The permission with which the request was sent.
        var pass: CircuitTable.Pass
        /// Whether the head of a response has arrived.
        var hasHead = false
    }

    init(_ pass: CircuitTable.Pass, through circuits: Circuits, inside outer: CircuitCall?) {
        self.circuits = circuits
        self.outer = outer
        state = Mutex(State(end: End(pass: pass)))
    }

    /// Records that the request is sent after a wait, for the breaker of some circuits.
    func resume(at circuits: Circuits) {
        guard circuits === self.circuits else {
            outer?.resume(at: circuits)
            return
        }
        change(waits: false)
    }

    private func change(waits: Bool) {
        state.withLock { state in
            // Work in the background may go on with the request of a call that has ended.
            guard !state.isOver else { return }
            state.end.pass = circuits.pass(state.end.pass, waits: waits)
        }
    }

    /// Records the arrival of the head.
    ///
    /// - Returns: The permission of the request; `nil` if the arrival was recorded before.
    func receiveHead() -> CircuitTable.Pass? {
        state.withLock { state in
            guard !state.end.hasHead else { return nil }
            state.end.hasHead = true
            return state.end.pass
        }
    }

    /// Ends the call.
    func end() -> End {
        state.withLock { state in
            state.isOver = true
            return state.end
        }
    }
}

extension CircuitCall: WaitObserver {
    func requestWaits() {
        change(waits: true)
        outer?.requestWaits()
    }
}

extension HTTPRequestData {
    /// The call of the innermost breaker that has to know when the request waits for a permit.
    var circuitCall: CircuitCall? {
        get { waitObserver as? CircuitCall }
        set { waitObserver = newValue }
    }
}
