public import NetworkingCore

extension NetworkingComponent {
    /// Limits the time of each attempt until its whole body has arrived, and the time of each of its phases.
    ///
    /// It belongs next to the transport, inside `retry` and `throttled`, so that it measures a single attempt without
    /// any time in a queue. When the time is up, the work upstream is cancelled and awaited. A cancelled caller gets
    /// `CancellationError`.
    ///
    /// ```swift
    /// let network = URLSession.shared.timeout(.seconds(10))
    /// let patient = URLSession.shared.timeout(head: .seconds(5), idle: .milliseconds(800))
    /// ```
    ///
    /// The phases depend on the events that the transport reports:
    /// - `connect`: until there is a connection. URLSession and AsyncHTTPClient report the connection only for requests
    ///   with a body. For other requests, the sum of `connect` and `head` limits the time until the head arrives. If
    ///   only `connect` is given, it limits that time.
    /// - `head`: from the connection, or from the last byte of the request's body, until the head of the response.
    /// - `idle`: between two chunks of a body, sent or received. The time in which a sink processes a chunk is not
    ///   counted.
    ///
    /// For a sink that is read at the reader's own speed (``ResponseSink/isReaderPaced``), `limit` applies until the
    /// head arrives. After that it is the maximum time between chunks, unless `idle` is given. Time in which a chunk
    /// waits for the reader is not counted.
    ///
    /// All limits are measured on the environment's clock, with its precision.
    ///
    /// - Parameters:
    ///   - limit: The time limit for the whole attempt; `nil` for no limit. ``HTTPRequestData/timeout`` replaces it for
    ///     one request.
    ///   - connect: The time limit for connecting; ``HTTPRequestData/connectTimeout`` replaces it.
    ///   - head: The time limit for the head; ``HTTPRequestData/headTimeout`` replaces it.
    ///   - idle: The maximum time without any progress; ``HTTPRequestData/idleTimeout`` replaces it.
    ///   - exemptsStreams: Whether `idle` leaves out sinks that are read at the reader's own speed, such as streams of
    ///     events; `false` by default. A stream may then be silent for as long as the transport allows.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/timeout`` when the time
    ///   is up.
    /// - Precondition: At least one limit is given, and each given limit is greater than zero.
    public func timeout(
        _ limit: Duration? = nil,
        connect: Duration? = nil,
        head: Duration? = nil,
        idle: Duration? = nil,
        exemptsStreams: Bool = false
    ) -> some NetworkingComponent {
        let given: [(String, Duration)] = [("limit", limit), ("connect", connect), ("head", head), ("idle", idle)]
            .compactMap { name, value in value.map { (name, $0) } }
        precondition(!given.isEmpty, "timeout needs a limit: timeout(.seconds(10))")
        for (name, value) in given {
            precondition(value > .zero, "\(name) must be greater than zero (is \(value))")
        }
        let limits = TimeLimits(whole: limit, connect: connect, head: head, idle: idle)
        return modified(Timeout(limits: limits, exemptsStreams: exemptsStreams))
    }
}

package struct Timeout: UpstreamLimited, CustomStringConvertible {
    package let limits: TimeLimits
    let exemptsStreams: Bool

    package func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let clock = NetworkEnvironment.current.clock
        let (request, limit) = try prepared(request, over: upstream)
        guard let limit else { return try await sendInPhases(request, on: clock, over: upstream) }
        return try await upstream.send(request, until: clock.now + limit, on: clock) {
            timeIsUp(.whole, for: request, over: upstream, underlying: $0)
        }
    }

    /// Returns a request with what a transport must know of its limits, and its limit if it has no limits for phases.
    ///
    /// It is not inlined, because its values would take memory in every call that waits for its response.
    @inline(never)
    private func prepared(
        _ request: HTTPRequestData,
        over upstream: some NetworkingComponent
    ) throws -> (request: HTTPRequestData, limit: Duration?) {
        let limits = timeLimits(for: request)
        // A limit that was computed from another time may be zero or negative.
        if let limit = limits.expiredFromTheStart { throw timeIsUp(limit, for: request, over: upstream) }
        var request = request
        if let maximum = limits.maximum, maximum > request.allowedSilence {
            request.allowedSilence = maximum
        }
        if limits.whole != nil || limits.idle != nil && limits.head != nil {
            request.handle(.silence)
        }
        let hasPhases = limits.hasPhases || request.sink?.isReaderPaced == true
        return (request, hasPhases ? nil : limits.whole)
    }

    private func timeLimits(for request: HTTPRequestData) -> TimeLimits {
        var limits = limits.replaced(by: request)
        if exemptsStreams, request.sink?.isReaderPaced == true {
            limits.idle = request.idleTimeout
        }
        return limits
    }

    /// Sends a request with time limits for its phases.
    private func sendInPhases(
        _ request: HTTPRequestData,
        on clock: NetworkClock,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let limits = timeLimits(for: request)
        guard limits.hasPhases || limits.whole != nil else { return try await upstream.send(request) }
        let watch = PhaseWatch(limits: limits, clock: clock)
        do {
            return try await watch.limiting(request, observingPhases: true) { try await upstream.sendWithinLimit($0) }
        } catch let expiry as PhaseWatch.Expiry {
            throw timeIsUp(expiry.limit, for: request, over: upstream, underlying: expiry.underlying)
        }
    }

    private func timeIsUp(
        _ limit: TimeLimits.Name,
        for request: HTTPRequestData,
        over upstream: some NetworkingComponent,
        underlying: (any Error)? = nil
    ) -> NetworkingError {
        let limits = timeLimits(for: request)
        request.emit(TimeoutEvent.expired(after: limits[limit]))
        var reason = limits.reason(for: limit)
        if limit != .idle, let shortage = upstream.connectionShortage(for: request) {
            reason += " \(shortage)"
        }
        return NetworkingError(.timeout, request: request, underlying: underlying, reason: reason)
    }

    package var stackPart: StackPart {
        StackPart(
            roles: [.timeout],
            options: [.timeout, .connectTimeout, .headTimeout, .idleTimeout],
            rules: [
                .notOutside(.retry, "is outside retry, so it covers all attempts. Use deadline for that."),
                .outsideWaits,
                StackRule { place in
                    let deadlines = (place.outer + place.inner).compactMap(\.stackPart.deadline)
                    guard let limit = limits.whole, let deadline = deadlines.min(), limit > deadline else { return nil }
                    return "\(place.name) is longer than the deadline of \(deadline), so an attempt never reaches it."
                },
            ]
        )
    }

    package var description: String {
        "timeout(\(limits)\(exemptsStreams ? ", exemptsStreams: true" : ""))"
    }
}

extension StackRule {
    /// The rule that an attempt does not include the waits of other modifiers.
    fileprivate static let outsideWaits = StackRule { place in
        let waits: Set<StackRole> = [.concurrencyLimit, .rateLimit, .authentication, .caching]
        let inner = place.inner.filter { !$0.stackPart.roles.isDisjoint(with: waits) }.map(\.outlineName)
        // Outside of retry it is in the wrong place for another reason.
        guard !inner.isEmpty, !place.isOutside(.retry) else { return nil }
        return
            "\(place.name) is outside \(inner.joined(separator: " and ")), so the time spent there counts as part of "
            + "the attempt. Put it next to the transport."
    }
}
