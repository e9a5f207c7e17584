public import NetworkingCore
public import NetworkingResilience

extension NetworkingComponent {
    /// Sends a slow request a second time, and returns the response that starts first.
    ///
    /// It is for services with several servers or with rare slow answers. It belongs inside `cached`, `deduplicated`,
    /// `retry` and `deadline`, and outside `rateLimited`, `throttled`, `authenticated` and `timeout`, so that each
    /// attempt has its own permits, credentials and time limit.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .timeout(.seconds(10))
    ///     .hedged(extraLoad: 0.05)
    ///     .deadline(.seconds(30))
    /// ```
    ///
    /// With `extraLoad: 0.05`, a request that takes longer than 95 % of the latest requests of its route is sent again.
    /// Otherwise it works like ``hedged(_:budget:)``.
    ///
    /// - Parameters:
    ///   - extraLoad: The part of the calls that may be sent again.
    ///   - budget: The budget in which an extra attempt needs a place; `nil`, the default, for that of the `retry`
    ///     outside, if there is one.
    /// - Returns: A component that hedges slow requests.
    /// - Precondition: `extraLoad` is 0 to 1.
    public func hedged(
        extraLoad: Double = 0.02,
        budget: RetryBudget? = nil
    ) -> some NetworkingComponent {
        hedged(.percentile(extraLoad: extraLoad), budget: budget)
    }

    /// Sends a slow request a second time, by the rules of a policy.
    ///
    /// Requests with a safe method are hedged (GET, HEAD, OPTIONS, TRACE, QUERY), if they have no sink and no body of
    /// more than 64 KiB, and their body is in memory. ``HTTPRequestData/isHedged`` decides for one request.
    ///
    /// The first successful head of a response decides: the other attempts are cancelled, and the call returns as soon
    /// as the body has arrived, without waiting for the end of the others. A failure that the `retry` outside would
    /// repeat (``RetryPolicy/immediate(maximumRetries:statuses:)`` without one) starts the next attempt at once, or
    /// after its `Retry-After`. Any other failure, and any other status, ends the call. If all attempts fail, the
    /// outcome is that of the first one. The other attempts are in its ``HTTPResponseData/attempts``.
    ///
    /// The calls of a route pay for its extra attempts, so that these stay below ``HedgingPolicy/extraLoad``. No call
    /// fails or waits for lack of an extra attempt. An extra attempt waits for no limiter
    /// (``HTTPRequestData/waitsForPermits``). It runs in a task of its own, with the environment and the logger of the
    /// call, and without other task-local values.
    ///
    /// - Parameters:
    ///   - policy: When and how often to send a request again.
    ///   - budget: The budget in which an extra attempt needs a place; `nil`, the default, for that of the `retry`
    ///     outside, if there is one.
    /// - Returns: A component that hedges slow requests.
    public func hedged(_ policy: HedgingPolicy, budget: RetryBudget? = nil) -> some NetworkingComponent {
        modified(Hedged(policy: policy, budget: budget))
    }
}

extension HTTPRequestData {
    /// Whether `hedged` may send this request a second time; `nil`, the default, means that its method decides.
    ///
    /// With `true`, a request with a method that is not safe is hedged too. The server then has to recognise a
    /// repetition that arrives late, even after a later change.
    public var isHedged: Bool? {
        get { self[.isHedged] }
        set { self[.isHedged] = newValue }
    }
}

extension RequestOptionKey {
    // A request that must not be sent twice does not join an exchange that may be.
    /// ``HTTPRequestData/isHedged``.
    public static let isHedged = RequestOption<Bool?>("isHedged", default: nil, affects: .sending)
}

struct Hedged: UpstreamLimited, CustomStringConvertible {
    /// The maximum length of a body that may be sent again.
    private static let maximumBody = 64 << 10

    let policy: HedgingPolicy
    let budget: RetryBudget?
    let routes: HedgeRoutes
    let losers = HedgeLosers()

    init(policy: HedgingPolicy, budget: RetryBudget?) {
        self.policy = policy
        self.budget = budget
        routes = HedgeRoutes(extraLoad: policy.extraLoad)
    }

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard mayHedge(request) else { return try await upstream.send(request) }
        let environment = NetworkEnvironment.current
        let clock = environment.clock
        let start = clock.nanoseconds
        let route = routes.route(of: request)
        let latencies = route.begin(at: start)
        if policy.neverHedges(latencies) {
            let response = try await upstream.send(request)
            if !RetryPolicy.transientStatuses.contains(response.status) {
                let now = clock.nanoseconds
                route.add(now - start, at: now)
            }
            return response
        }
        return try await sendObserved(request, on: route, latencies, in: environment, over: upstream)
    }

    /// Sends a request whose latency is observed, and which may be sent again.
    @inline(never)
    private func sendObserved(
        _ request: HTTPRequestData,
        on route: HedgeRoute,
        _ latencies: HedgingPolicy.Latencies?,
        in environment: NetworkEnvironment,
        over upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        let clock = environment.clock
        let timeLeft = environment.deadline.map { $0 - clock.now }
        let terms = request.retryTerms
        let maximum = min(policy.maximumHedges, (terms?.attemptsLeft ?? .max) - 1)
        if maximum > 0, environment.retries != .off,
            let delay = policy.delay(for: request, latencies, timeLeft: timeLeft)
        {
            let allowance = HedgeAllowance(
                route: route,
                budget: budget ?? terms?.budget ?? .unlimited,
                losers: losers,
                server: request.authorityKey
            )
            let race = HedgeRace(of: request, policy, maximum, delay, allowance, environment) {
                try await upstream.sendWithinLimit($0)
            }
            return try await race.run()
        }
        let start = clock.nanoseconds
        let watch = HeadWatch(clock)
        var watched = request
        watched.addObserver(watch)
        let response = try await upstream.send(watched)
        if !RetryPolicy.transientStatuses.contains(response.status) {
            let now = watch.moment ?? clock.nanoseconds
            route.add(now - start, at: now)
        }
        return response
    }

    private func mayHedge(_ request: HTTPRequestData) -> Bool {
        guard request.isHedged ?? request.method.isSafe, request.sink == nil, !request.forbidsResending else {
            return false
        }
        guard let body = request.body else { return true }
        return body.isReplayable && body.data.map { $0.count <= Self.maximumBody } ?? false
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.hedging],
            options: [.isHedged, .route],
            rules: [
                .notInside(
                    .hedging,
                    "is inside another hedged, which multiplies the attempts. Keep one of the two."
                ),
                .notOutside(.caching, "is outside cached, so it measures the time of cached responses. Put it inside."),
                .notOutside(
                    .deduplication,
                    "is outside deduplicated, so each caller of a shared exchange may send it again. Put it inside."
                ),
                .notOutside(
                    .retry,
                    "is outside retry, so each of its attempts is retried, and it measures the time of the waits "
                        + "between them. Put it inside."
                ),
                .not("is inside a limiter, so its extra attempts need no permit. Put it outside.") {
                    $0.isInside(.concurrencyLimit) || $0.isInside(.rateLimit)
                },
                .notInside(.timeout, "is inside timeout, so all attempts share a time limit. Put it outside."),
            ]
        )
    }

    var description: String {
        "hedged(\(policy))"
    }
}
