import HTTPTypes
import NetworkingCore

/// The state of one call across its attempts.
struct RetriedCall {
    private let policy: RetryPolicy
    private let budget: RetryBudget
    private let environment = NetworkEnvironment.current

    private var request: HTTPRequestData
    private let sinkUse: SinkUse?
    private let hasNewKey: Bool
    private var history = AttemptHistory()
    /// The number of extra attempts that `hedged` has made further in.
    private var hedges = 0
    /// The number of retries since the server last sent `Retry-After`; the backoff grows with it.
    private var growth = 0
    private var previousDelay: Duration?
    /// The permit from the budget for the retry that is waiting to start.
    private var permit: RetryBudget.Permit?

    init(_ request: HTTPRequestData, policy: RetryPolicy, budget: RetryBudget) {
        self.request = request
        self.policy = policy
        self.budget = budget
        sinkUse = self.request.observeSink()
        hasNewKey = policy.addsIdempotencyKeys && !request.mayBeSentTwice
        if hasNewKey {
            self.request.headerFields[.idempotencyKey] = .idempotencyKey(from: environment.secureRandom)
        }
    }

    /// Makes attempts until one of them is final.
    mutating func finish(
        over upstream: some NetworkingComponent,
        after first: Result<HTTPResponseData, any Error>?,
        since start: Duration
    ) async throws -> HTTPResponseData {
        do {
            let response = try await makeAttempts(over: upstream, after: first, since: start)
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

    private mutating func makeAttempts(
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
            if attempt.wasRejected {
                giveBackUnsent(startedAt: start)
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
            if !upstream.isSameUser(of: request, as: attempt.principal) {
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
        if case .success(let response) = result, !policy.concerns(response) {
            return response.after(history.attempts, refusal: nil)
        }
        let elapsed = environment.clock.now - start
        var attempt = Attempt(number: history.count + 1, result: result, elapsed: elapsed, hasNewKey: hasNewKey)
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

    /// Returns the reason why an attempt is the last one; `nil` if everything is ready for the next one.
    ///
    /// - Throws: The error of the strategy, or `CancellationError` if the caller was cancelled.
    private mutating func refusal(toRetryAfter attempt: Attempt) async throws -> RetryRefusal? {
        history.append(attempt)
        hedges += attempt.result.hedges
        if isTransient(attempt) {
            budget.note(request.authorityKey, at: environment.clock.now)
        }
        defer {
            // The final attempt is reported separately from the attempts before it.
            if history.attempts.last?.backoff == nil {
                history.removeLast()
            }
        }
        let decision = try await askStrategy()
        if decision == .standard {
            // A failure that an inner `retry` no longer retries is not retried here: that would multiply the attempts.
            if let refusal = attempt.refusalFurtherIn { return refusal }
            guard isTransient(attempt) else { return .decision }
        }
        let refusal: RetryRefusal? =
            switch decide(about: attempt, decision) {
            case .retry(let pause): commit(pause, after: attempt)
            case .stop(let refusal): refusal
            }
        return refusal.map { refused($0) }
    }

    private func isTransient(_ attempt: Attempt) -> Bool {
        policy.isTransient(attempt, after: history.attempts.dropLast())
    }

    private func askStrategy() async throws -> RetryDecision {
        guard let strategy = policy.strategy else { return .standard }
        do {
            return try await strategy.decide(about: request.besideStack, after: history.attempts)
        } catch {
            // A strategy may throw its own error for a cancellation.
            try Task.checkCancellation()
            throw error
        }
    }

    /// The wait before the next attempt, and the state of the backoff after it.
    private struct Pause {
        var delay: Duration
        var growth: Int
        var previousDelay: Duration?
    }

    private enum Verdict {
        case retry(after: Pause)
        case stop(RetryRefusal)
    }

    /// Decides about a failed attempt, without a change of the call or its budget.
    private func decide(about attempt: Attempt, _ decision: RetryDecision) -> Verdict {
        if decision == .standard, !request.mayBeSentTwice, !attempt.showsThatNothingWasSent {
            return .stop(.notIdempotent)
        }
        guard environment.retries != .off else { return .stop(.switchedOff) }
        guard decision != .giveUp else { return .stop(.decision) }
        guard history.count + hedges <= policy.maximumRetries else { return .stop(.exhausted) }
        guard request.body?.isReplayable ?? true else { return .stop(.bodyNotReplayable) }
        guard sinkUse?.canStartOver ?? true else { return .stop(.sinkNotRestartable) }

        var pause = Pause(delay: .zero, growth: growth, previousDelay: previousDelay)
        var latestDelay: Duration
        if case .retry(let wanted) = decision {
            pause.delay = max(.zero, wanted)
            latestDelay = pause.delay
        } else {
            var random = environment.random
            pause.growth += 1
            pause.delay = policy.backoff.delay(beforeRetry: pause.growth, after: previousDelay, using: &random)
            pause.previousDelay = pause.delay
            latestDelay = pause.delay
            if let wanted = attempt.retryAfter(now: environment.clock.date) {
                guard wanted <= policy.maximumRetryAfter else { return .stop(.retryAfter) }
                if wanted >= pause.delay {
                    // The server paces its clients now; when it stops, the backoff starts over.
                    pause = Pause(delay: wanted, growth: 0, previousDelay: nil)
                    // The jitter keeps clients that received the same `Retry-After` from returning together.
                    latestDelay = wanted + wanted * (policy.retryAfterJitter * random.fraction())
                }
            }
        }
        if case .withoutWaiting = environment.retries {
            (pause.delay, latestDelay) = (.zero, .zero)
        }
        guard let deadline = environment.deadline else {
            pause.delay = latestDelay
            return .retry(after: pause)
        }
        let now = environment.clock.now
        guard now + pause.delay < deadline else { return .stop(.deadline) }
        // The jitter of Retry-After is not a reason to give up.
        if now + latestDelay < deadline {
            pause.delay = latestDelay
        }
        return .retry(after: pause)
    }

    /// Takes the next attempt from the budget, and records the failed one.
    ///
    /// - Returns: The reason why the attempt is not made; `nil` if it is.
    private mutating func commit(_ pause: Pause, after attempt: Attempt) -> RetryRefusal? {
        permit = budget.withdraw(request.authorityKey, at: environment.clock.now)
        guard permit != nil else { return .budget }
        (growth, previousDelay) = (pause.growth, pause.previousDelay)
        history.replaceLast(by: attempt.trimmed(backoff: pause.delay))
        environment.leaveForDeadline(UnfinishedAttempts(history.attempts, of: request))
        return nil
    }

    /// Returns the permit for a retry that is not made to the budget.
    private mutating func giveBackPermit() {
        guard let permit else { return }
        budget.refund(permit, request.authorityKey, at: environment.clock.now)
        self.permit = nil
    }

    /// Returns what the budget has counted for an attempt that was not sent.
    private mutating func giveBackUnsent(startedAt start: Duration) {
        if history.count == 0 {
            budget.cancelBegin(request.authorityKey, startedAt: start, at: environment.clock.now)
        } else {
            giveBackPermit()
        }
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
        request.moveOn(after: last)
        if let name = policy.attemptHeaderField {
            request.headerFields[name] = "attempt=\(history.count + 1); max=\(policy.maximumAttempts)"
        }
        let attemptsLeft = policy.maximumAttempts - history.count - hedges
        request.retryTerms?.attemptsLeft = attemptsLeft
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
