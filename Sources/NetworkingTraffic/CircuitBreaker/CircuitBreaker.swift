public import NetworkingCore

/// Circuits that stop requests to servers that fail, for ``NetworkingComponent/circuitBreaker(by:)``.
///
/// Each key, by default each authority, has its own circuit. Share one instance between stacks to share the circuits,
/// also between stacks with different clocks. It stores at most 256 circuits. When there are more keys, the least
/// recently used circuit is removed, a closed one if possible, and none that refuses requests. If no circuit may be
/// removed, requests with further keys pass uncounted.
///
/// ```swift
/// let breaker = CircuitBreaker(.app)
/// let api = URLSession.shared.circuitBreaker(by: breaker)
/// let images = URLSession.shared.circuitBreaker(by: breaker)
///
/// for await change in breaker.states {
///     print(change)  // api.example.com: open
/// }
/// ```
public final class CircuitBreaker: Sendable {
    /// The state of a circuit.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Requests are sent and counted.
        case closed
        /// Requests are refused.
        case open
        /// A few requests are sent as probes, and the others are refused.
        case halfOpen
        /// Requests are refused until ``CircuitBreaker/close()`` is called.
        case isolated
    }

    /// A change of a circuit's state.
    public struct Change: Sendable, Hashable {
        /// The key of the circuit; `nil` for all keys, after ``CircuitBreaker/isolate()`` and
        /// ``CircuitBreaker/close()``.
        public let key: String?
        /// The new state.
        public let state: State
    }

    /// The results of the calls in the window of a circuit.
    public struct Statistics: Sendable, Hashable {
        /// The state of the circuit.
        public internal(set) var state: State
        /// The number of calls that were successful or failed, and of slow calls in flight.
        public let calls: Int
        /// The number of failures.
        public let failures: Int
        /// The number of slow calls; 0 without ``Policy/slowCalls``.
        public let slow: Int
        /// The number of results since the circuit was created that came too late to have an effect, because the
        /// state had changed since the request was sent.
        public let lateResults: Int
    }

    let circuits: Circuits
    /// The mark of probes, which remain admitted while they wait.
    let heldByProbe = HeldLimits()

    /// Creates a breaker with closed circuits.
    ///
    /// - Parameters:
    ///   - policy: The rules by which a circuit opens and closes.
    ///   - key: Returns the key of a request's circuit, without secrets; `nil`, the default, for the authority.
    /// - Precondition: The ratios are greater than 0 and at most 1, the counts are 1 to 1,000,000, and the times are
    ///   1 ms to 1 day.
    public init(_ policy: Policy = .app, key: (@Sendable (HTTPRequestData) -> String)? = nil) {
        policy.check()
        circuits = Circuits(policy, key: key)
    }

    /// Refuses all requests, whatever their key, until ``close()`` is called.
    ///
    /// The requests in flight continue.
    public func isolate() {
        circuits.isolate()
    }

    /// Closes all circuits, with empty windows.
    public func close() {
        circuits.close()
    }

    /// The changes of all circuits from now on.
    ///
    /// Each access starts a new sequence, which ends when the breaker is released. A reader that falls behind by more
    /// than 1,000 changes misses the oldest.
    public var states: AsyncStream<Change> {
        circuits.changes.elements()
    }

    /// Returns the state of a circuit.
    ///
    /// An open circuit is ``State/halfOpen`` as soon as the next request would be a probe.
    ///
    /// - Parameter key: The key, by default the authority, in lower case and without the default port.
    /// - Returns: The state; ``State/closed`` for a key without a circuit.
    public func state(of key: String) -> State {
        circuits.withTable { $0.state(of: key, at: $1) }
    }

    /// Returns the results in the window of a circuit.
    ///
    /// - Parameter key: The key, by default the authority, in lower case and without the default port.
    /// - Returns: The results; `nil` for a key without a circuit.
    public func statistics(of key: String) -> Statistics? {
        circuits.withTable { $0.statistics(of: key, at: $1) }
    }
}

extension CircuitBreaker: CustomStringConvertible {
    /// The policy, for the stack's outline.
    public var description: String {
        "\(circuits.policy)"
    }
}

extension CircuitBreaker.State: CustomStringConvertible {
    /// The state in words, such as `half-open`.
    public var description: String {
        self == .halfOpen ? "half-open" : rawValue
    }
}

extension CircuitBreaker.Change: CustomStringConvertible {
    /// The key and the state: `api.example.com: open`.
    public var description: String {
        "\(key.map { PrintableText.singleLine($0) } ?? "all"): \(state)"
    }
}
