public import NetworkingCore

extension NetworkingComponent {
    /// Limits how many requests are sent per interval: evenly, with short bursts.
    ///
    /// It belongs inside `retry` and `cached`, so that only requests that are really sent are counted, and outside
    /// `throttled`, so that a request that waits here holds no permit there.
    ///
    /// ```swift
    /// let network = URLSession.shared.rateLimited(to: 10, per: .seconds(1), burst: 20)
    /// ```
    ///
    /// Waiting requests are served in the order of ``HTTPRequestData/priority``, and in the order of arrival within one
    /// priority. Whatever its priority, a request waits no longer than `maximumWait` and the time until its deadline.
    /// If more urgent requests would delay a waiting request beyond that, the queue is served in the order of arrival
    /// until that request is sent. If a new request would exceed its maximum wait even in the order of arrival, it is
    /// refused at once. It takes no permit, and the error's ``NetworkingError/retryAfter`` says when to try again.
    ///
    /// A cancelled caller gets `CancellationError` at once, and the requests behind it move up.
    /// If ``HTTPRequestData/isThrottled`` is `false`, a request passes uncounted. ``HTTPRequestData/rateLimitWeight``
    /// makes a request count as several.
    ///
    /// - Parameters:
    ///   - count: The number of requests that are allowed in each period.
    ///   - period: The length of the period.
    ///   - burst: The number of requests that may be sent at once after a quiet time; the same as `count` by default.
    ///   - maximumWait: The maximum time that a request of any priority waits. Zero refuses instead of waiting; `nil`,
    ///     the default, sets no limit.
    ///   - key: The rule that groups requests; by default all requests are counted together. With any other rule, each
    ///     hop of a redirect counts, in its own group.
    /// - Returns: A component that throws a ``NetworkingError`` of kind ``NetworkingError/Kind/rejected`` for requests
    ///   that it refuses.
    /// - Precondition: `count` and `burst` are 1 to 1,000,000,000, `period` is greater than zero and at most 1,000
    ///   years, and `maximumWait` is not negative.
    public func rateLimited(
        to count: Int,
        per period: Duration,
        burst: Int? = nil,
        maximumWait: Duration? = nil,
        by key: RateLimiter.Key = .everything
    ) -> some NetworkingComponent {
        rateLimited(by: RateLimiter(count, per: period, burst: burst, key: key), maximumWait: maximumWait)
    }

    /// Limits how many requests are sent per interval with a limiter that several stacks may share.
    ///
    /// Otherwise it works like ``rateLimited(to:per:burst:maximumWait:by:)``. If a stack contains the same limiter
    /// twice, a request counts once, at the outer position, and ``NetworkingComponent/diagnostics`` reports the
    /// duplicate.
    ///
    /// - Parameters:
    ///   - limiter: The limiter.
    ///   - maximumWait: The maximum time that a request of any priority waits. Zero refuses instead of waiting; `nil`,
    ///     the default, sets no limit.
    /// - Returns: A component that refuses requests in the same cases.
    /// - Precondition: `maximumWait` is not negative.
    public func rateLimited(by limiter: RateLimiter, maximumWait: Duration? = nil) -> some NetworkingComponent {
        modified(RateLimited(limiter: limiter, maximumWait: checked(maximumWait: maximumWait)))
    }
}

extension HTTPRequestData {
    /// The number of permits that this request takes from a rate limit; 1 by default, and the minimum.
    public var rateLimitWeight: Int {
        get { self[.rateLimitWeight] }
        set { self[.rateLimitWeight] = newValue }
    }
}

extension RequestOptionKey {
    /// ``HTTPRequestData/rateLimitWeight``.
    public static let rateLimitWeight = RequestOption(
        "rateLimitWeight",
        default: 1,
        affects: .nothing,
        normalized: { max(1, $0) }
    )
}

extension Wait {
    /// `rateLimited` waits for a permit.
    public static let rateLimit = Wait("rate-limit")
}

struct RateLimited: LimitingModifier {
    let limiter: RateLimiter
    let maximumWait: Duration?

    var limitsEachHop: Bool {
        limiter.key.mayDifferByHop
    }

    func exchange(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        let environment = NetworkEnvironment.current
        let clock = environment.clock
        let start = clock.now
        let key = limiter.key.value(for: request, upstream.principal(for: request))
        var waitLimit = maximumWait(of: request)
        if let deadline = environment.deadline {
            waitLimit = min(waitLimit ?? .seconds(Int64.max), max(.zero, deadline - start))
        }
        switch limiter.take(request.rateLimitWeight, request.priority, key, waitingUpTo: waitLimit, on: clock) {
        case .taken:
            break
        case .wait(let place, let duration):
            request.emit(WaitEvent.waiting(.rateLimit, duration))
            defer { request.emit(WaitEvent.waited(.rateLimit, clock.now - start)) }
            do {
                // No request takes the place of another one.
                try await place.permit(
                    for: request,
                    until: waitLimit.flatMap { limiter.shared?.end(ofWaitFrom: start, upTo: $0) },
                    on: clock,
                    late: tooLong(limiter.shared?.wait(key, on: clock) ?? .zero, request),
                    displaced: CancellationError()
                ) { [limiter] in
                    limiter.left(place, key, on: clock)
                } giveBack: {
                    limiter.giveBack(place, key, on: clock)
                }
            } catch let reached as RateLimitReached {
                throw tooLong(reached.wait, request)
            }
        case .refused(let wait):
            throw tooLong(wait, request)
        case .impossible:
            throw request.rejected(
                by: .rateLimit,
                reason:
                    "The request counts as \(request.rateLimitWeight), which is more than the limit of \(limiter) ever "
                    + "allows at once. Lower its rateLimitWeight, or raise the burst of the limit."
            )
        }
        limiter.shared?.report(request, key)
        return try await upstream.send(request)
    }

    private func tooLong(_ wait: Duration, _ request: HTTPRequestData) -> NetworkingError {
        request.rejected(
            by: .rateLimit,
            reason:
                "The rate limit of \(limiter) is reached; the next request may be sent in \(wait.roundedText). "
                + "Send fewer requests, or raise maximumWait.",
            retryAfter: wait
        )
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.rateLimit],
            options: [.priority, .isThrottled, .rateLimitWeight],
            rules: rules(outsideRetry: "so it counts only the first attempt.")
        )
    }

    var description: String {
        "rateLimited(\(limiter)\(maximumWait.map { ", maximumWait: \($0)" } ?? ""))"
    }
}
