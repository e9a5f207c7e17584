public import NetworkingCore

extension NetworkingComponent {
    /// Gives each attempt so much time: until its whole body has arrived, and for each of its phases.
    ///
    /// It belongs next to the transport, under `retry` and `throttled`: then it counts one attempt and no waiting.
    /// When the time is up, what lies upstream is cancelled and awaited. A cancelled caller gets `CancellationError`.
    ///
    /// ```swift
    /// let network = URLSession.shared.timeout(.seconds(10))
    /// let patient = URLSession.shared.timeout(head: .seconds(5), idle: .milliseconds(800))
    /// ```
    ///
    /// The phases are those that the transport tells of:
    /// - `connect`: until there is a connection. URLSession and AsyncHTTPClient cannot tell, unless the request has a
    ///   body; there, `connect` and `head` are one time, their sum, and `connect` alone is the time until the head.
    /// - `head`: from the connection, or the last byte of the request's body, until the head of the response.
    /// - `idle`: between any two pieces of a body, sent or received. It is not counted while a sink is busy with what
    ///   it got.
    ///
    /// For a sink that somebody reads from at their own speed (``ResponseSink/isReaderPaced``), `limit` is the time
    /// until the head, and then, unless `idle` says otherwise, the time between pieces while none waits for the reader.
    ///
    /// All are counted on the environment's clock, to the precision of the clock.
    ///
    /// - Parameters:
    ///   - limit: How long an attempt may take in all; nil sets no limit. ``HTTPRequestData/timeout`` replaces it for
    ///     one request.
    ///   - connect: How long it may take to connect; ``HTTPRequestData/connectTimeout`` replaces it.
    ///   - head: How long the head may take; ``HTTPRequestData/headTimeout`` replaces it.
    ///   - idle: How long nothing may move; ``HTTPRequestData/idleTimeout`` replaces it.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/timeout`` when time is
    ///   up.
    /// - Precondition: One of the limits is given, and each that is given is greater than zero.
    public func timeout(
        _ limit: Duration? = nil,
        connect: Duration? = nil,
        head: Duration? = nil,
        idle: Duration? = nil
    ) -> some NetworkingComponent {
        let given: [(String, Duration)] = [("limit", limit), ("connect", connect), ("head", head), ("idle", idle)]
            .compactMap { name, value in value.map { (name, $0) } }
        precondition(!given.isEmpty, "timeout needs a limit: timeout(.seconds(10))")
        for (name, value) in given {
            precondition(value > .zero, "\(name) must be greater than zero (is \(value))")
        }
        return modified(Timeout(limits: TimeLimits(whole: limit, connect: connect, head: head, idle: idle)))
    }
}

struct Timeout: NetworkingModifier, CustomStringConvertible {
    let limits: TimeLimits

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let limits = limits.replaced(by: request)
        let clock = NetworkEnvironment.current.clock
        // What is left of some other time may be nothing.
        if let limit = limits.expiredFromTheStart { throw timeIsUp(limit, limits, for: request, over: upstream) }
        var request = request
        if let longest = limits.longest, longest > request.allowedSilence {
            request.allowedSilence = longest
        }
        if limits.whole != nil || limits.idle != nil && limits.head != nil {
            request.state.insert(.hasSilenceLimited)
        }
        guard limits.hasPhases || request.sink?.isReaderPaced == true else {
            guard let limit = limits.whole else { return try await upstream.send(request) }
            return try await withTimeLimit(until: clock.now + limit, on: clock) { error in
                timeIsUp(.whole, limits, for: request, over: upstream, underlying: error)
            } _: { [request] in
                try await upstream.send(request)
            }
        }

        try Task.checkCancellation()
        let watch = PhaseWatch(limits: limits, clock: clock)
        let watched = watch.watching(request)
        let work = OwnedTask.immediate { try await upstream.send(watched) }
        watch.start { work.cancel() }
        defer { watch.stop() }
        do {
            return try await work.value
        } catch {
            guard let limit = watch.expired, !Task.isCancelled else { throw error }
            let underlying = error is CancellationError ? nil : error
            throw timeIsUp(limit, limits, for: request, over: upstream, underlying: underlying)
        }
    }

    private func timeIsUp(
        _ limit: TimeLimits.Name,
        _ limits: TimeLimits,
        for request: HTTPRequestData,
        over upstream: some NetworkingComponent,
        underlying: (any Error)? = nil
    ) -> NetworkingError {
        request.emit(TimeoutEvent.expired(after: limits[limit]))
        var reason = limits.reason(for: limit)
        if limit != .idle, let shortage = (upstream as? any ConnectionCounting)?.connectionShortage(for: request) {
            reason += " \(shortage)"
        }
        return NetworkingError(.timeout, request: request, underlying: underlying, reason: reason)
    }

    var roles: Set<StackRole> { [.timeout] }
    var requestOptions: Set<RequestOptionKey> { [.timeout, .connectTimeout, .headTimeout, .idleTimeout] }

    /// The roles of modifiers whose own time is not part of an attempt.
    private static let outerRoles: Set<StackRole> = [.concurrencyLimit, .rateLimit, .authentication, .caching]

    func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        var diagnostics: [StackDiagnostic] = []
        let inner = stack.inner.filter { !$0.roles.isDisjoint(with: Self.outerRoles) }.map(\.outlineName)
        if stack.isOutside(.retry) {
            diagnostics.append(
                StackDiagnostic(
                    "\(self) is outside retry, so it covers all attempts. Use deadline for that.",
                    about: self
                )
            )
        } else if !inner.isEmpty {
            diagnostics.append(
                StackDiagnostic(
                    "\(self) is outside \(inner.joined(separator: " and ")), so the time spent there counts as part of the "
                        + "attempt. Put it next to the transport.",
                    about: self
                )
            )
        }
        let deadlines = (stack.outer + stack.inner).compactMap { ($0 as? any DeadlineProviding)?.limit }
        if let limit = limits.whole, let deadline = deadlines.min(), limit > deadline {
            diagnostics.append(
                StackDiagnostic(
                    "\(self) is longer than the deadline of \(deadline), so an attempt never reaches it.",
                    about: self
                )
            )
        }
        return diagnostics
    }

    var description: String {
        "timeout(\(limits))"
    }
}
