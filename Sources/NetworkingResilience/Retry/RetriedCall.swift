import HTTPTypes
import NetworkingCore

/// The state of one call across its attempts.
struct RetriedCall {
    private let policy: RetryPolicy
    private let budget: RetryBudget
    private let environment = NetworkEnvironment.current

    private var request: HTTPRequestData
    private let sinkUse: SinkUse?
    private var history = AttemptHistory()
    /// The number of retries since the server last sent `Retry-After`; the backoff grows with it.
    private var growth = 0
    private var previousDelay: Duration?
    /// The permit from the budget for the retry that is waiting to start.
    private var permit: RetryBudget.Permit?
    private var outcome = RetryBudget.Outcome(isSuccess: false, retries: 0)

    init(_ request: HTTPRequestData, policy: RetryPolicy, budget: RetryBudget) {
        self.request = request
        self.policy = policy
        self.budget = budget
        sinkUse = self.request.observeSink()
        if policy.addsIdempotencyKeys, !request.mayBeSentTwice {
            self.request.headerFields[.idempotencyKey] = .idempotencyKey(from: environment.secureRandom)
        }
    }

    /// Makes attempts until one of them is final.
    mutating func finish(
        over upstream: some NetworkingComponent,
        after first: Result<HTTPResponseData, any Error>?,
        since start: Duration,
        _ outcome: inout RetryBudget.Outcome
    ) async throws -> HTTPResponseData {
        defer { outcome = self.outcome }
        do {
            let response = try await finish(over: upstream, after: first, since: start)
            environment.leaveForDeadline(nil)
            return response
        } catch {
            // At the deadline, only a cancellation is thrown, and the attempts so far belong to the deadline's error.
            if !(error is CancellationError) {
                environment.leaveForDeadline(nil)
            }
            throw error
        }
    }

    private mutating func finish(
        over upstream: some NetworkingComponent,
        after first: Result<HTTPResponseData, any Error>?,
        since start: Duration
    ) async throws -> HTTPResponseData {
        var start = start
        var result = first
        var previous: Result<HTTPResponseData, any Error>?
        while true {
            let attempt: Result<HTTPResponseData, any Error>
            if let result {
                attempt = result
            } else {
                attempt = try await upstream.outcome(of: request)
            }
            // Nothing was sent, so the result of the attempt before it is the result of the call.
            if let previous, attempt.isOfAnotherUser {
                giveBackPermit()
                history.removeLast()
                return try given(previous, refusal: refused(.anotherUser))
            }
            if let response = try await lastWord(attempt, since: start) { return response }
            do {
                try await wait()
            } catch {
                giveBackPermit()
                throw error
            }
            // The next attempt would carry other credentials, or none, for example because the server has changed.
            if let principal = attempt.principal,
                !upstream.principal(for: request.withoutUsers).isSame(as: principal)
            {
                giveBackPermit()
                history.removeLast()
                return try given(attempt, refusal: refused(.anotherUser))
            }
            previous = attempt
            start = environment.clock.now
            result = nil
        }
    }

    /// Returns a final response or throws a final error; `nil` if the request is to be sent again.
    private mutating func lastWord(
        _ result: Result<HTTPResponseData, any Error>,
        since start: Duration
    ) async throws -> HTTPResponseData? {
        if case .success(let response) = result, !policy.concerns(response.status) {
            outcome.isSuccess = !response.status.isServerError
            return response.after(history.attempts, refusal: nil)
        }
        let elapsed = environment.clock.now - start
        var attempt = Attempt(number: history.count + 1, result: result, elapsed: elapsed)
        if case .failure(let error) = result {
            attempt.refusedResponse = request.response(of: error)
        }
        guard let refusal = try await refusal(toRetryAfter: attempt) else { return nil }
        // A refusal is reported only for transient failures. A policy that never retries leaves retries to a part
        // further out.
        let isReported = policy.maximumRetries > 0 || policy.throwsOnExhaustion
        let reported = isReported && policy.isTransient(attempt, after: history.attempts[...]) ? refusal : nil
        return try given(result, refusal: reported)
    }

    /// Returns the response or throws the error of the final attempt.
    private mutating func given(
        _ result: Result<HTTPResponseData, any Error>,
        refusal: RetryRefusal?
    ) throws -> HTTPResponseData {
        switch result {
        case .success(let response):
            outcome.isSuccess = refusal == nil && !response.status.isServerError
            guard policy.throwsOnExhaustion, refusal != nil else {
                return response.after(history.attempts, refusal: refusal)
            }
            throw NetworkingError(.status, request: request, response: response)
                .after(history.attempts, refusal: refusal)
        case .failure(let error as NetworkingError):
            throw error.after(history.attempts, refusal: refusal)
        case .failure(let error):
            throw error
        }
    }

    /// Decides about an attempt: returns `nil` when everything is ready for the next one, or the reason to stop.
    ///
    /// - Throws: The error of the strategy, or `CancellationError` if the caller was cancelled.
    private mutating func refusal(toRetryAfter attempt: Attempt) async throws -> RetryRefusal? {
        history.append(attempt)
        if policy.isTransient(attempt, after: history.attempts.dropLast()) {
            budget.note(request.authorityKey, at: environment.clock.now)
        }
        defer {
            // The final attempt is reported separately from the attempts before it.
            if history.attempts.last?.backoff == nil {
                history.removeLast()
            }
        }
        var decision = RetryDecision.standard
        if let strategy = policy.strategy {
            do {
                decision = try await strategy.decide(about: request.besideStack, after: history.attempts)
            } catch {
                // A strategy may throw its own error for a cancellation.
                try Task.checkCancellation()
                throw error
            }
        }
        let isStandard = decision == .standard
        if isStandard {
            // A failure that an inner `retry` no longer retries is not retried here: that would multiply the attempts.
            if let refusal = attempt.refusalFurtherIn { return refusal }
            guard policy.isTransient(attempt, after: history.attempts.dropLast()) else { return .decision }
            guard request.mayBeSentTwice || attempt.showsThatNothingWasSent else { return refused(.notIdempotent) }
        }
        guard environment.retries != .off else { return refused(.switchedOff) }
        guard decision != .giveUp else { return refused(.decision) }
        guard history.count <= policy.maximumRetries else { return refused(.exhausted) }
        guard request.body?.isReplayable ?? true else { return refused(.bodyNotReplayable) }
        guard sinkUse?.canStartOver ?? true else { return refused(.sinkNotRestartable) }

        let now = environment.clock.now
        var delay = Duration.zero
        if case .retry(let wanted) = decision {
            delay = max(.zero, wanted)
        } else {
            growth += 1
            var random = environment.random
            delay = policy.backoff.delay(beforeRetry: growth, after: previousDelay, using: &random)
            previousDelay = delay
        }
        var isDelayGiven = false
        if case .retry = decision {
            isDelayGiven = true
        }
        var latestDelay = delay
        if let wanted = attempt.retryAfter(now: environment.clock.date), !isDelayGiven {
            guard wanted <= policy.maximumRetryAfter else { return refused(.retryAfter) }
            if wanted > delay {
                delay = wanted
                // The jitter keeps clients that received the same `Retry-After` from returning together.
                latestDelay = wanted + wanted * (policy.retryAfterJitter * environment.random.fraction())
                // The server paces its clients now; when it stops, the backoff starts over.
                (growth, previousDelay) = (0, nil)
            }
        }
        if case .withoutWaiting = environment.retries {
            (delay, latestDelay) = (.zero, .zero)
        }
        let deadline = environment.deadline
        if let deadline, now + delay >= deadline { return refused(.deadline) }
        // The jitter of Retry-After is not a reason to give up.
        if deadline.map({ now + latestDelay < $0 }) ?? true {
            delay = latestDelay
        }
        permit = budget.withdraw(
            request.authorityKey,
            after: attempt.budgetFailure,
            isFirst: outcome.retries == 0,
            at: now
        )
        guard permit != nil else { return refused(.budget) }

        outcome.retries += 1
        outcome.lastFailure = attempt.budgetFailure
        history.replaceLast(by: attempt.trimmed(backoff: delay))
        environment.leaveForDeadline(UnfinishedAttempts(history.attempts, of: request))
        return nil
    }

    /// Returns the permit for a retry that is not made to the budget.
    private mutating func giveBackPermit() {
        guard let permit else { return }
        budget.refund(permit, request.authorityKey, at: environment.clock.now)
        self.permit = nil
        outcome.retries -= 1
    }

    private func refused(_ refusal: RetryRefusal) -> RetryRefusal {
        request.emit(RetryEvent.refused(refusal))
        return refusal
    }

    /// Waits for the next attempt and prepares the request for it.
    mutating func wait() async throws {
        guard let last = history.attempts.last, let delay = last.backoff else { return }
        request.emit(RetryEvent.retrying(last))
        if let wait = try await waitForConnectivity(after: last) {
            history.replaceLast(by: last.followed(by: wait))
        } else if delay > .zero {
            try await request.wait(.backoff, for: delay, on: environment.clock)
        } else {
            try Task.checkCancellation()
        }
        request.attempt = history.count + 1
        if let name = policy.attemptHeaderField {
            let maximum = min(policy.maximumRetries, .max - 1) + 1
            request.headerFields[name] = "attempt=\(history.count + 1); max=\(maximum)"
        }
        request.progressHandler?(TransferProgress(sent: request.bytesToSend))
        // The sink asks only for the bytes that it does not have yet.
        request.sink?.prepare(&request)
    }
}

extension RetriedCall {
    /// Waits for a network, if the last attempt failed because there is none.
    ///
    /// - Returns: The duration of the wait; `nil` if the backoff applies.
    private func waitForConnectivity(after attempt: Attempt) async throws -> Duration? {
        guard let limit = policy.connectivityWait, environment.retries == .enabled, attempt.response == nil,
            !request.isLoopback, let connectivity = environment.connectivity, let status = connectivity.status,
            request.networkAccess.refusal(over: status) != nil
        else { return nil }
        let clock = environment.clock
        let start = clock.now
        let end = min(start + limit, environment.deadline ?? .seconds(Int64.max))
        _ = try await request.waiting(.connectivity, upTo: end - start, on: clock) {
            try await connectivity.waitUntilOnline(for: request.networkAccess, until: end, on: clock)
        }
        return clock.now - start
    }
}
