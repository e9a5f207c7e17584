public import NetworkingCore
import NetworkingResilience

extension NetworkingComponent {
    /// Refuses requests to a server that fails, and lets single requests through until it has recovered.
    ///
    /// It belongs inside `retry`, so that it sees each attempt, and outside `rateLimited`, `throttled` and `timeout`.
    /// There a refused request waits for no permit, and an attempt that takes too long counts as a failure.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .timeout(.seconds(10))
    ///     .throttled(max: 6)
    ///     .circuitBreaker()
    ///     .retry()
    /// ```
    ///
    /// Each authority has a circuit. It opens if too many of the last calls failed: because the connection failed or
    /// broke, an attempt exceeded its timeout, or the server responded with 500, 502, 503 or 504. Other statuses, a
    /// cancelled caller, a deadline, a device without a network, requests that the stack itself refuses, and invalid
    /// certificates do not count.
    ///
    /// While the circuit is open, requests fail at once. They take no permit and no retry, and ``RetryPolicy`` does not
    /// retry them. The error's ``NetworkingError/retryAfter`` is the time until the next probe, and its
    /// ``NetworkingError/circuitRejection`` has the details. A `cached` further out may return a stale response if
    /// `stale-if-error` allows it. After that time, one request is sent as a probe. If the server responds, the circuit
    /// closes; if it fails, the circuit opens for a longer time. After a cancelled probe, the next request is one.
    ///
    /// A redirect that the transport follows counts as a response of the first server.
    ///
    /// - Parameter policy: The rules by which a circuit opens and closes.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/rejected`` for requests
    ///   that a circuit refuses.
    /// - Precondition: The ratios are greater than 0 and at most 1, the counts are 1 to 1,000,000, and the times are
    ///   1 ms to 1 day.
    public func circuitBreaker(_ policy: CircuitBreaker.Policy = .app) -> some NetworkingComponent {
        circuitBreaker(by: CircuitBreaker(policy))
    }

    /// Refuses requests to a server that fails, with circuits that several stacks may share.
    ///
    /// Otherwise it works like ``circuitBreaker(_:)``. If a stack contains the same breaker twice, a request counts
    /// once, at the outer position, and ``NetworkingComponent/diagnostics`` reports the duplicate.
    ///
    /// - Parameter breaker: The circuits.
    /// - Returns: A component that refuses requests in the same cases.
    public func circuitBreaker(by breaker: CircuitBreaker) -> some NetworkingComponent {
        modified(CircuitBreaking(breaker: breaker, over: modifiers))
    }
}

struct CircuitBreaking: UpstreamLimited, CustomStringConvertible {
    let breaker: CircuitBreaker
    /// The time limits of an attempt, which a probe has too.
    private let attemptLimits: TimeLimits
    /// Whether requests carry a mark of the breaker, because a part further in looks for it.
    private let marksRequests: Bool
    /// Whether the breaker has to know when requests wait for a permit further in.
    private let noticesWaits: Bool

    /// The roles of modifiers that ask the breaker again after a request has waited for a permit.
    private static let limitingRoles: Set<StackRole> = [.concurrencyLimit, .rateLimit, .circuitBreaker]

    init(breaker: CircuitBreaker, over inner: [any NetworkingModifier]) {
        self.breaker = breaker
        attemptLimits = TimeLimits(ofAttemptsThrough: inner)
        marksRequests = inner.contains { !$0.stackPart.roles.isDisjoint(with: Self.limitingRoles) }
        noticesWaits = marksRequests && breaker.circuits.policy.slowCalls != nil
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard !request.holdsPermit(of: breaker.circuits.held), !request.holdsPermit(of: breaker.heldByProbe) else {
            return try await upstream.send(request)
        }
        let circuits = breaker.circuits
        let clock = NetworkEnvironment.current.clock
        let key = circuits.key(of: request)
        guard let pass = try circuits.admit(request, key, attemptLimits, on: clock) else {
            return try await upstream.send(request)
        }
        let hasMore = noticesWaits || request.hasSink
        let call = hasMore ? CircuitCall(pass, through: circuits, inside: request.circuitCall) : nil
        do {
            let response = try await upstream.send(prepared(request, key, pass, call, on: clock))
            circuits.record(CircuitResult(response), of: request, key, pass, call?.end(), on: clock)
            return response
        } catch {
            circuits.record(CircuitResult(error, of: request), of: request, key, pass, call?.end(), on: clock)
            throw error
        }
    }

    /// Returns the request with the mark of the breaker and an observed sink.
    private func prepared(
        _ request: HTTPRequestData,
        _ key: String,
        _ pass: CircuitTable.Pass,
        _ call: CircuitCall?,
        on clock: NetworkClock
    ) -> HTTPRequestData {
        guard marksRequests || pass.isProbe || call != nil else { return request }
        var sent = request
        if pass.isProbe {
            sent = request.holdingPermit(of: breaker.heldByProbe)
        } else if marksRequests {
            sent = request.holdingPermit(of: pass.mark)
        }
        guard let call else { return sent }
        if noticesWaits {
            sent.circuitCall = call
        }
        // The body may take any time, and its reader too, but the server has responded.
        sent.sink = request.sink.map { sink in
            HeadSink(sink: sink) { [circuits = breaker.circuits] response in
                guard response.status.code < 400, let pass = call.receiveHead() else { return }
                circuits.receiveHead(of: request, key, pass, on: clock)
            }
        }
        return sent
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.circuitBreaker],
            rules: StackRule.ofFailureCounter { place in
                place.outer.contains { ($0 as? CircuitBreaking)?.breaker === breaker }
            } + [
                .not(
                    "has a window shorter than twice the timeout, so failures leave it before there are enough of "
                        + "them. Use a longer window."
                ) { _ in
                    (attemptLimits.whole ?? attemptLimits.head).map { breaker.circuits.policy.window < $0 * 2 } ?? false
                }
            ]
        )
    }

    var description: String {
        "circuitBreaker(\(breaker))"
    }
}
