import FoundationForNetworking
import NetworkingCore
import Synchronization

extension Outbox {
    /// The intervals at which an outbox checks whether another one has stopped sending.
    private static let claimBackoff = Backoff.exponential(base: .milliseconds(100), cap: .seconds(5), jitter: .none)

    /// Sends what can be sent now, and returns the time until the next entry is due; `nil` if none is.
    ///
    /// If the caller is cancelled while the store is locked, the delivery ends without it, and releases its claim only
    /// after its last change.
    func deliver(_ connectivity: any Connectivity, _ environment: NetworkEnvironment) async throws -> Duration? {
        try await StoreWait.runCancellably { [self] in try await deliverNow(connectivity, environment) }
    }

    private func deliverNow(
        _ connectivity: any Connectivity,
        _ environment: NetworkEnvironment
    ) async throws -> Duration? {
        let number = state.withLock { state -> UInt64? in
            guard !state.isDelivering else { return nil }
            state.isDelivering = true
            state.started += 1
            return state.started
        }
        guard let number else { return claimInterval(environment) }
        defer { endDelivery() }
        guard try await store.claim() else {
            state.withLock { $0.finished = number }
            return claimInterval(environment)
        }
        state.withLock { $0.refusals = 0 }
        do {
            let delivery = OutboxDelivery(outbox: self, connectivity: connectivity, environment: environment)
            let next = try await delivery.deliverClaimed()
            await store.release()
            state.withLock { $0.finished = number }
            return next
        } catch {
            await store.release()
            throw error
        }
    }

    /// Returns the time until this outbox tries again to send: short at first, because most deliveries are.
    private func claimInterval(_ environment: NetworkEnvironment) -> Duration {
        let refusals = state.withLock { state in
            state.refusals += 1
            return state.refusals
        }
        var random = environment.random
        return Self.claimBackoff.delay(beforeRetry: refusals, using: &random)
    }

    private func endDelivery() {
        let flushes = state.withLock { state in
            (state.isDelivering, state.cancelled) = (false, [])
            return Array(state.flushes.values)
        }
        for flush in flushes {
            flush.resume()
        }
    }
}

/// One pass over the entries of an outbox that has claimed its store.
private struct OutboxDelivery {
    let outbox: Outbox
    let connectivity: any Connectivity
    let environment: NetworkEnvironment

    /// Sends each entry that is due, and returns the time until the next entry is due; `nil` if none is.
    func deliverClaimed() async throws -> Duration? {
        var blocked: Set<Lane> = []
        var next: Duration?
        func wait(_ delay: Duration?) {
            next = delay.map { min(next ?? $0, $0) } ?? next
        }
        for id in try await outbox.store.ids() {
            try Task.checkCancellation()
            guard var entry = try await outbox.entry(id), !entry.progress.isDead, !isCancelled(id) else { continue }
            // The age comes first, because an entry that is never sent must become a dead letter, too.
            let lifetime = lifetimeLeft(of: entry)
            if let lifetime, lifetime <= .zero {
                _ = try await giveUp(&entry, "older than \(outbox.policy.maximumAge ?? .zero)")
                continue
            }
            // Noted before the comparison, so that a user who signs in at any moment after it is noticed. The request
            // is sent as it is resolved here, so that a server that the app switches meanwhile does not receive it.
            let resolved = resolved(entry)
            let lane = Lane(principal: entry.principal?.withoutCookies, authority: resolved.authorityKey)
            guard !blocked.contains(lane), entry.isFor(serverOf: resolved), isForUser(of: entry, resolved) else {
                wait(lifetime)
                continue
            }
            if let delay = delay(until: entry.progress.notBefore) {
                blocked.insert(lane)
                wait(lifetime.map { min(delay, $0) } ?? delay)
                continue
            }
            if try await isOffline(resolved) {
                blocked.insert(lane)
                wait(lifetime)
                continue
            }
            if let delay = try await attempt(&entry, sending: resolved) {
                blocked.insert(lane)
                wait(lifetime.map { min(delay, $0) } ?? delay)
            }
        }
        return next
    }

    /// Returns the request of an entry as the stack sends it now, for the users who are signed in now.
    private func resolved(_ entry: OutboxEntry) -> HTTPRequestData {
        outbox.network.routed(entry.request, keepingUsers: true)
    }

    /// Whether a request that was resolved for an entry is for the entry's user.
    private func isForUser(of entry: OutboxEntry, _ resolved: HTTPRequestData) -> Bool {
        outbox.network.principal(for: resolved).isSame(as: entry.principal)
    }

    /// A group of entries that are sent in order: those of one principal to one server.
    private struct Lane: Hashable {
        let principal: Principal?
        let authority: AuthorityKey?
    }

    /// The time until an entry is as old as the policy allows, zero or less afterwards; `nil` if there is no limit.
    private func lifetimeLeft(of entry: OutboxEntry) -> Duration? {
        guard let age = outbox.policy.maximumAge else { return nil }
        let start = entry.progress.retried ?? entry.date
        let seconds = age / .seconds(1) - environment.clock.date.timeIntervalSince(start)
        // A damaged date may be any number.
        return .seconds(max(-1e9, min(1e9, seconds)))
    }

    /// The time until an entry may be sent; `nil` if it may be sent now.
    private func delay(until date: Date?) -> Duration? {
        guard let date else { return nil }
        let seconds = date.timeIntervalSince(environment.clock.date)
        // A longer delay was never set, so the clock has been changed since.
        guard seconds > 0, seconds <= outbox.policy.maximumDelay / .seconds(1) + 1 else { return nil }
        return .seconds(seconds)
    }

    private func isOffline(_ request: HTTPRequestData) async throws -> Bool {
        guard !request.isLoopback else { return false }
        var status = connectivity.status
        if status == nil {
            status = try await connectivity.firstStatus { _ in true }
        }
        return status.map { request.networkAccess.refusal(over: $0) != nil } ?? false
    }

    /// Makes an attempt.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - request: Its request, resolved by the stack.
    /// - Returns: `nil` if the entries after this one may be sent now; otherwise the time until the next attempt.
    /// - Throws: `CancellationError`, and the errors of the store.
    private func attempt(_ entry: inout OutboxEntry, sending request: HTTPRequestData) async throws -> Duration? {
        let id = entry.id
        let policy = outbox.policy
        guard entry.progress.attempts < policy.maximumAttempts else {
            // The process ended during the last attempt, or an earlier policy allowed more of them.
            return try await giveUp(&entry, entry.progress.lastFailure ?? "too many attempts")
        }
        // The attempt is counted before it starts, so that a request that ends the process is not tried forever. A
        // damaged number may be negative.
        entry.progress.attempts = max(0, entry.progress.attempts) + 1
        entry.progress.notBefore = nil
        try await outbox.store.update(entry.progress, of: id)
        let outcome: OutboxOutcome?
        do {
            outcome = try await send(request, of: entry)
        } catch {
            // The task that sends was cancelled, which says nothing about the request.
            entry.progress.attempts -= 1
            try await outbox.store.update(entry.progress, of: id)
            throw error
        }
        guard var outcome, outcome.isDelivered || !isCancelled(id) else { return nil }
        if case .transient = outcome, !isForUser(of: entry, resolved(entry)) {
            // The user has left, which may be the reason for the failure, whatever error the stack throws for it.
            outcome = .ofAnotherUser
        }
        switch outcome {
        case .delivered(let response):
            if try await outbox.store.remove(id) {
                outbox.publish(id, .delivered(response))
            }
            return nil
        case .refused(let reason):
            return try await giveUp(&entry, reason)
        case .ofAnotherUser:
            // The entry waits as if it had not been tried, until its user signs in again.
            entry.progress.attempts -= 1
            try await outbox.store.update(entry.progress, of: id)
            outbox.publish(id, .queued)
            return policy.maximumDelay
        case .offline:
            entry.progress.attempts -= 1
            // The attempt does not count, so a policy without a delay would send the request without a pause.
            let delay = policy.delay(after: 1, wanted: nil, using: environment.random)
            return try await postpone(&entry, "offline", by: max(delay, Self.offlinePause))
        case .transient(let reason, let retryAfter):
            entry.progress.lastFailure = reason
            guard entry.progress.attempts < policy.maximumAttempts else { return try await giveUp(&entry, reason) }
            let delay = policy.delay(
                after: entry.progress.attempts,
                wanted: retryAfter,
                using: environment.random
            )
            return try await postpone(&entry, reason, by: delay)
        }
    }

    /// The minimum wait after an attempt that failed because there is no network.
    private static let offlinePause = Duration.seconds(1)

    /// Sends the request of an entry; returns `nil` if the entry was cancelled.
    private func send(_ request: HTTPRequestData, of entry: OutboxEntry) async throws -> OutboxOutcome? {
        var request = request
        let id = entry.id
        let received = ReceivedResponse()
        request.addObserver(received)
        // The outbox has already checked the network, and a wait in the stack would hold back the other entries.
        if request.offlinePolicy == nil {
            request.offlinePolicy = .fail
        }
        let begins = outbox.state.withLock { state in
            guard !state.isCancelled(id) else { return false }
            outbox.publish(id, .sending(attempt: entry.progress.attempts))
            return true
        }
        guard begins else { return nil }
        let task = OwnedTask.immediate { [outbox, request] in
            try await EnvironmentScope.run({ $0[SendingOutboxes.self].insert(outbox, during: $1) }) {
                try await outbox.network.begin(routed: request, for: request)
            }
        }
        let isLate = outbox.state.withLock { state in
            state.sending = (id, task)
            return state.isCancelled(id)
        }
        if isLate {
            task.cancel()
        }
        defer { outbox.state.withLock { $0.sending = nil } }
        do {
            return OutboxOutcome(try await task.value, now: environment.clock.date)
        } catch {
            try Task.checkCancellation()
            guard !isCancelled(id) else { return nil }
            let response = request.response(of: error) ?? received.refusal
            return OutboxOutcome(error, about: response, now: environment.clock.date)
        }
    }

    /// Whether the app has cancelled an entry that the outbox may have read before.
    private func isCancelled(_ id: OutboxEntry.ID) -> Bool {
        outbox.state.withLock { $0.isCancelled(id) }
    }

    private func postpone(_ entry: inout OutboxEntry, _ reason: String, by delay: Duration) async throws -> Duration {
        let date = environment.clock.date.addingTimeInterval(delay / .seconds(1))
        entry.progress.notBefore = date
        entry.progress.lastFailure = reason
        try await outbox.store.update(entry.progress, of: entry.id)
        outbox.publish(entry.id, .waiting(until: date))
        return delay
    }

    private func giveUp(_ entry: inout OutboxEntry, _ reason: String) async throws -> Duration? {
        entry.progress.isDead = true
        entry.progress.lastFailure = reason
        try await outbox.store.update(entry.progress, of: entry.id)
        outbox.publish(entry.id, .dead(reason: reason))
        return nil
    }
}

/// The response of the last exchange of a request.
///
/// A part of the stack may throw an error of its own for it, which does not contain the response.
private final class ReceivedResponse: NetworkEventObserver {
    private let last = Mutex<HTTPResponseData?>(nil)

    /// The response, if its status reports a failure.
    var refusal: HTTPResponseData? {
        last.withLock { $0 }.flatMap { $0.status.code >= 400 ? $0 : nil }
    }

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        switch event as? ExchangeEvent {
        case .started: last.withLock { $0 = nil }
        case .responseReceived(let response):
            // Without the options of the request, which hold this listener.
            let sent = HTTPRequestData(
                method: response.sentRequest.method,
                headerFields: response.sentRequest.headerFields
            )
            last.withLock {
                $0 = HTTPResponseData(request: sent, http: response.http, body: .delivered(byteCount: 0))
            }
        default: break
        }
    }
}

/// The outboxes that send an entry in this task.
enum SendingOutboxes: NetworkEnvironmentKey {
    static let defaultValue = ActiveObjects()
    static let affectsResponses = false
}
