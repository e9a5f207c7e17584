public import NetworkingCore

extension NetworkingComponent {
    /// Refuses a share of the requests to a server that fails, which grows with the share of failures.
    ///
    /// It needs less tuning than `circuitBreaker`: the share follows the failures of the last minute in both
    /// directions, and some requests always reach the server, so nothing has to probe it. It belongs inside `retry`, so
    /// that it counts each attempt, and outside `rateLimited`, `throttled` and `timeout`.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .timeout(.seconds(10))
    ///     .adaptiveThrottle()
    ///     .retry()
    /// ```
    ///
    /// Each authority has its own counts. A request is refused with the probability
    /// (calls − successes / `successRatio`) / (calls + 1), and at most `maximumRejection`. A refused request counts as
    /// a call without success, and ``RetryPolicy`` does not retry it. The failures are those of
    /// ``NetworkingComponent/circuitBreaker(_:)``, and requests that say nothing about the server do not count.
    ///
    /// - Parameters:
    ///   - successRatio: The share of successful calls below which requests are refused.
    ///   - maximumRejection: The maximum share of requests that is refused.
    ///   - window: The length of the sliding window in which calls are counted.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/rejected`` for requests
    ///   that it refuses.
    /// - Precondition: `successRatio` is greater than 0 and at most 1, `maximumRejection` is from 0 to less than 1, and
    ///   `window` is 1 ms to 1 day.
    public func adaptiveThrottle(
        successRatio: Double = 0.9,
        maximumRejection: Double = 0.9,
        window: Duration = .seconds(60)
    ) -> some NetworkingComponent {
        adaptiveThrottle(
            by: AdaptiveThrottle(successRatio: successRatio, maximumRejection: maximumRejection, window: window)
        )
    }

    /// Refuses a share of the requests to a server that fails, with counts that several stacks may share.
    ///
    /// Otherwise it works like ``adaptiveThrottle(successRatio:maximumRejection:window:)``. If a stack contains the
    /// same throttle twice, a request counts once, at the outer position, and ``NetworkingComponent/diagnostics``
    /// reports the duplicate.
    ///
    /// - Parameter throttle: The counts.
    /// - Returns: A component that refuses requests in the same cases.
    public func adaptiveThrottle(by throttle: AdaptiveThrottle) -> some NetworkingComponent {
        modified(AdaptiveThrottling(throttle: throttle, over: modifiers))
    }
}

struct AdaptiveThrottling: UpstreamLimited, CustomStringConvertible {
    let throttle: AdaptiveThrottle
    /// Whether requests carry a mark, because the same throttle is further in.
    private let marksRequests: Bool

    init(throttle: AdaptiveThrottle, over inner: [any NetworkingModifier]) {
        self.throttle = throttle
        marksRequests = inner.contains { ($0 as? AdaptiveThrottling)?.throttle === throttle }
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard !request.holdsPermit(of: throttle.held) else { return try await upstream.send(request) }
        let clock = NetworkEnvironment.current.clock
        let key = request.authorityKey?.text ?? ""
        let probability = throttle.rejectionProbability(of: key, on: clock)
        if probability > 0, NetworkEnvironment.current.random.fraction() < probability {
            throttle.count(.failure(.error(.rejected)), key)
            throw rejection(of: request, probability)
        }
        do {
            let sent = marksRequests ? request.holdingPermit(of: throttle.held) : request
            let response = try await upstream.send(sent)
            throttle.count(CircuitResult(response), key)
            return response
        } catch {
            throttle.count(CircuitResult(error, of: request), key)
            throw error
        }
    }

    private func rejection(of request: HTTPRequestData, _ probability: Double) -> NetworkingError {
        request.emit(AdaptiveThrottleEvent.rejected(probability: probability))
        let percent = Int((probability * 100).rounded())
        var error = NetworkingError(
            .rejected,
            request: request,
            reason:
                "The server fails, so \(percent)% of the requests to it are not sent, and this is one of them. "
                + "Send it again later."
        )
        error.isOfFailingServer = true
        return error
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.circuitBreaker],
            rules: StackRule.ofFailureCounter { place in
                place.outer.contains { ($0 as? AdaptiveThrottling)?.throttle === throttle }
            }
        )
    }

    var description: String {
        "adaptiveThrottle(\(throttle))"
    }
}
