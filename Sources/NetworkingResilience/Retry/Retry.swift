import HTTPTypes
public import NetworkingCore

extension NetworkingComponent {
    /// Retries requests that failed with a transient error, within a retry budget.
    ///
    /// It belongs outside `throttled`, `authenticated` and `timeout`, so that each attempt waits for its own permit,
    /// gets current credentials and has its own time limit. It belongs inside `deduplicated`, `cached` and `deadline`.
    /// ``RetryPolicy`` decides which failures are retried and which never are.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .timeout(.seconds(10))
    ///     .retry()
    ///     .deadline(.seconds(30))
    /// ```
    ///
    /// Between attempts it waits for the backoff of the policy or for `Retry-After`, whichever is longer. A wait for
    /// `Retry-After` is extended by up to a tenth (``RetryPolicy/retryAfterJitter``). If the wait would end after the
    /// deadline, it does not start: the failure is reported at once, as it is when the attempts or the budget are
    /// spent. The response then has the earlier ``HTTPResponseData/attempts`` and the reason why no further attempt was
    /// made (``HTTPResponseData/retryRefusal``), and so does a `NetworkingError`. Errors of other types are thrown
    /// unchanged. The body of a discarded response has been read, so its connection can serve the next attempt.
    /// Progress starts at zero with each attempt.
    ///
    /// A cancelled caller gets `CancellationError` at once, also within a wait, and no further attempt is made.
    ///
    /// - Parameters:
    ///   - policy: Whether, when and how often to retry; ``HTTPRequestData/retryPolicy`` replaces it for one request.
    ///   - budget: The share of the requests to a server that may be retries; ``RetryBudget/unlimited`` for no limit.
    ///     By default each stack has its own budget: 20 % of the calls of the last 10 s plus 100, for each
    ///     authority.
    /// - Returns: A component that retries failed requests.
    public func retry(
        _ policy: RetryPolicy = .exponential(),
        budget: RetryBudget = RetryBudget()
    ) -> some NetworkingComponent {
        let hasHedging = modifiers.contains { $0.stackPart.roles.contains(.hedging) }
        return modified(Retry(policy: policy, budget: budget, countsHedges: hasHedging))
    }

    /// Retries requests that failed with one of the given statuses or with a network failure.
    ///
    /// ```swift
    /// let network = URLSession.shared.retry(statuses: [429, 503])
    /// ```
    ///
    /// Otherwise it works like ``retry(_:budget:)``. The statuses 421 and 425 are retried once, even if `statuses` does
    /// not include them.
    ///
    /// - Parameters:
    ///   - policy: Whether, when and how often to retry; ``HTTPRequestData/retryPolicy`` replaces it for one request,
    ///     together with `statuses`.
    ///   - statuses: The statuses that are retried, instead of those of the policy.
    ///   - budget: The share of the requests to a server that may be retries.
    /// - Returns: A component that retries failed requests.
    public func retry(
        _ policy: RetryPolicy = .exponential(),
        statuses: StatusSet,
        budget: RetryBudget = RetryBudget()
    ) -> some NetworkingComponent {
        var policy = policy
        policy.statuses = statuses
        return retry(policy, budget: budget)
    }
}

struct Retry: UpstreamLimited, CustomStringConvertible {
    private let shared: RetryTerms.Rules
    let budget: RetryBudget
    /// Whether extra attempts further in count as retries.
    private let countsHedges: Bool

    init(policy: RetryPolicy, budget: RetryBudget, countsHedges: Bool) {
        shared = RetryTerms.Rules(policy)
        self.budget = budget
        self.countsHedges = countsHedges
    }

    private var policy: RetryPolicy {
        _read { yield shared.policy }
    }

    // Inlined into its witness, so that a call has one frame less.
    @inline(__always)
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard let (rules, start) = begin(request) else { return try await upstream.send(request) }
        // Most calls need a single attempt, so nothing is prepared for retries until the first attempt fails.
        guard request.sink == nil, !rules.policy.addsIdempotencyKeys else {
            return try await retry(request, rules, over: upstream, after: nil, since: start)
        }
        let first: Result<HTTPResponseData, any Error>
        do {
            let response = try await upstream.send(countsHedges ? counted(request, by: rules) : request)
            guard rules.policy.concerns(response) else { return noted(response, of: request) }
            first = .success(response)
        } catch {
            guard mayRetry(request, after: error) else { throw error }
            first = .failure(error)
        }
        return try await retry(request, rules, over: upstream, after: first, since: start)
    }

    /// Begins a call, and returns its rules and the time; `nil` if the policy does nothing.
    ///
    /// It is not inlined, because its values would take memory in every call that waits for its first attempt.
    @inline(never)
    private func begin(_ request: HTTPRequestData) -> (RetryTerms.Rules, start: Duration)? {
        let rules = request.retryPolicy.map { RetryTerms.Rules($0) } ?? shared
        guard !rules.policy.isInert else { return nil }
        let start = NetworkEnvironment.current.clock.now
        budget.begin(request.authorityKey, at: start)
        return (rules, start)
    }

    /// Whether a failure of the first attempt may be retried.
    private func mayRetry(_ request: HTTPRequestData, after error: any Error) -> Bool {
        !(error is CancellationError) && request.exchangeLimit?.isReached != true
    }

    /// Returns a request whose extra attempts further in count as retries.
    private func counted(_ request: HTTPRequestData, by rules: RetryTerms.Rules) -> HTTPRequestData {
        guard countsHedges else { return request }
        var request = request
        request.retryTerms = RetryTerms(attemptsLeft: rules.policy.maximumAttempts, budget: budget, rules: rules)
        return request
    }

    /// Notes in the budget that a call was successful.
    private func noted(_ response: HTTPResponseData, of request: HTTPRequestData) -> HTTPResponseData {
        if budget.countsEnds, response.retryRefusal == nil, !response.status.isServerError {
            budget.endSuccessfully(request.authorityKey, at: NetworkEnvironment.current.clock.now)
        }
        return response
    }

    /// Makes the attempts of a call, after the first if it is given.
    ///
    /// It is not inlined, because its values would take memory in every call that waits for its first attempt.
    @inline(never)
    private func retry(
        _ request: HTTPRequestData,
        _ shared: RetryTerms.Rules,
        over upstream: some NetworkingComponent,
        after first: Result<HTTPResponseData, any Error>?,
        since start: Duration
    ) async throws -> HTTPResponseData {
        // The waits between attempts do not know the limit.
        let response = try await counted(request, by: shared)
            .enforcingLimit { [budget] in
                var call = RetriedCall($0, policy: shared.policy, budget: budget)
                return try await call.finish(over: upstream, after: first, since: start)
            }
        return noted(response, of: request)
    }

    var stackPart: StackPart {
        StackPart(
            roles: [.retry],
            options: policy.connectivityWait == nil ? [.retryPolicy] : [.retryPolicy, .networkAccess],
            rules: [
                .notInside(
                    .retry,
                    "is inside another retry, which does not retry a call after this one has stopped retrying. "
                        + "Keep one of the two."
                ),
                .not(
                    "has a connectivityWait and does not know the network, so its backoff applies. Put whenOffline "
                        + "outside, or set the connectivity of the environment."
                ) { place in
                    policy.connectivityWait != nil && !place.isInside(.connectivity)
                        && place.environment.connectivity == nil
                },
            ]
        )
    }

    var description: String {
        "retry(\(policy), budget: \(budget))"
    }
}
