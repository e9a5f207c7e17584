import FoundationForNetworking
public import NetworkingCore
import Synchronization

/// A persistent queue of requests that must arrive, even if the app ends or the device is offline.
///
/// ```swift
/// let outbox = Outbox(in: FileOutboxStore(directory: folder), over: network)
/// try await outbox.enqueue(HTTPRequestData(method: .post, path: "orders", body: .json(order)))
///
/// try await outbox.run()   // in a task of the app, as long as it runs
/// ```
///
/// Each request gets an `Idempotency-Key` when it is added. All its attempts have this key, even in a later process, so
/// that a server that supports the key processes the request once. A request may be sent again if the process ends
/// after the server has received it.
///
/// The requests of one principal to one server are sent in order: while the first one fails, the others wait. A request
/// is sent only if the stack would send it for the same principal as when it was added. A server may set, change and
/// remove cookies in the meantime. Cookies that are set after the app has removed all cookies
/// (`CookieJar.removeAll(of:)`) belong to another principal. Credentials are not stored; the stack adds them to each
/// attempt.
///
/// An entry is removed after a status from 200 to 399. It is sent again after a failure of the network and after 401,
/// 408, 409, 423, 425, 429 and 500 to 599, with growing delays, as often and as long as the ``OutboxPolicy`` allows.
/// After any other status, and at the limits of the policy, it becomes a dead letter, which stays in the store until
/// the app removes it or calls ``retry(_:)``.
public final class Outbox: Sendable {
    private let store: any OutboxStore
    private let network: any NetworkingComponent
    private let policy: OutboxPolicy
    private let system = SystemConnectivity()
    private let state = Mutex(State())

    /// Creates an outbox.
    ///
    /// - Parameters:
    ///   - store: The store of the entries.
    ///   - network: The stack that sends the requests.
    ///   - policy: The number of attempts, and the time between them.
    public init(
        in store: some OutboxStore,
        over network: some NetworkingComponent,
        policy: OutboxPolicy = OutboxPolicy()
    ) {
        self.store = store
        self.network = network
        self.policy = policy
    }

    deinit {
        for reader in state.withLock({ $0.readers }).values {
            reader.finish()
        }
    }

    // MARK: Entries

    /// Adds a request; when this returns, the store has it.
    ///
    /// An existing `Idempotency-Key` is kept. The stack's `encoder` encodes the body now. The response is reported as
    /// ``OutboxChange/State/delivered(_:)``, and the request's sink, handlers and listeners are not used.
    ///
    /// - Parameter request: The request, with a body in memory or a file. A file must stay in its place until it is
    ///   sent.
    /// - Returns: The identifier of the entry.
    /// - Throws: The errors of ``HTTPRequestData/encode(to:)``, such as that for a body that is a stream, and those of
    ///   the store.
    @discardableResult
    public func enqueue(_ request: HTTPRequestData) async throws -> OutboxEntry.ID {
        let environment = NetworkEnvironment.current
        var request = request
        let resolved = network.resolved(request)
        if request.body?.isEncodedByStack == true {
            request.body = resolved.body
        }
        if !request.headerFields.contains(.idempotencyKey) {
            request.headerFields[.idempotencyKey] = .idempotencyKey(from: environment.secureRandom)
        }
        if !state.withLock({ $0.hasReadIDs }) {
            // New entries come after those of an earlier process, even if the clock was set back. The identifier of a
            // damaged file must not make the next one overflow.
            let last = min(try await store.ids().last?.nanoseconds ?? 0, .max / 2)
            state.withLock { ($0.hasReadIDs, $0.lastID) = (true, max($0.lastID, last)) }
        }
        let date = environment.clock.date
        let moment = UInt64(max(0, min(date.timeIntervalSince1970, 1e10)) * 1e9)
        let number = state.withLock { state in
            state.lastID = max(state.lastID + 1, moment)
            return state.lastID
        }
        let random = environment.secureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let entry = OutboxEntry(
            id: OutboxEntry.ID(at: number, random),
            request: request,
            principal: network.principal(for: resolved),
            date: date
        )
        try await store.add(entry)
        publish(entry.id, .queued)
        wake()
        return entry.id
    }

    /// Returns all entries in order, including dead letters.
    ///
    /// - Throws: The errors of the store.
    public func entries() async throws -> [OutboxEntry] {
        var entries: [OutboxEntry] = []
        for id in try await store.ids() {
            if let entry = try await entry(id) {
                entries.append(entry)
            }
        }
        return entries
    }

    /// Removes an entry, and cancels its request if it is being sent.
    ///
    /// The server may already have received a request that is being sent.
    ///
    /// - Parameter id: The identifier of the entry.
    /// - Returns: `true` if there was such an entry.
    /// - Throws: The errors of the store.
    @discardableResult
    public func cancel(_ id: OutboxEntry.ID) async throws -> Bool {
        state.withLock { $0.cancelling[id, default: 0] += 1 }
        let existed: Bool
        do {
            existed = try await store.remove(id)
        } catch {
            _ = state.withLock { $0.endCancelling(id, isRemoved: false) }
            throw error
        }
        let task = state.withLock { state in
            if existed {
                state.publish(id, .cancelled)
            }
            return state.endCancelling(id, isRemoved: true)
        }
        task?.cancel()
        if existed {
            wake()
        }
        return existed
    }

    /// Sends a dead letter again, with its old `Idempotency-Key`.
    ///
    /// Its attempts and its age count from zero.
    ///
    /// - Parameter id: The identifier of the entry.
    /// - Returns: `true` if there was such an entry, and it was a dead letter.
    /// - Throws: The errors of the store.
    @discardableResult
    public func retry(_ id: OutboxEntry.ID) async throws -> Bool {
        guard let entry = try await entry(id), entry.progress.isDead else { return false }
        var progress = OutboxEntry.Progress()
        progress.retried = NetworkEnvironment.current.clock.date
        try await store.update(progress, of: id)
        publish(id, .queued)
        wake()
        return true
    }

    /// The changes of the entries from now on, for any number of readers.
    ///
    /// A reader that falls behind by more than 1,000 changes misses the oldest of them.
    public var changes: AsyncStream<OutboxChange> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1_000)) { continuation in
            let reader = state.withLock { state in
                state.lastReader += 1
                state.readers[state.lastReader] = continuation
                return state.lastReader
            }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.readers.removeValue(forKey: reader) }
            }
        }
    }

    private func publish(_ id: OutboxEntry.ID, _ change: OutboxChange.State) {
        state.withLock { $0.publish(id, change) }
    }

    private func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? {
        do {
            return try await store.entry(id)
        } catch OutboxStoreError.damaged(let id) {
            publish(id, .damaged)
            return nil
        }
    }

    // MARK: Sending

    /// Sends each entry when it is due and the network allows it, until the calling task is cancelled.
    ///
    /// It uses ``NetworkEnvironment/connectivity`` and the clock of its caller. A second call, and one in another
    /// process on the same files, waits until the first one has ended. After a user has signed in, call ``flush()``, so
    /// that the entries of that user are sent.
    ///
    /// - Throws: `CancellationError`, and the errors of the store.
    public func run() async throws {
        let environment = NetworkEnvironment.current
        let connectivity = environment.connectivity ?? system
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                for await _ in connectivity.changes {
                    wake()
                }
            }
            group.addTask { [self] in
                let clock = environment.clock
                while true {
                    let wakes = state.withLock { $0.wakes }
                    let next = try await deliver(connectivity, environment)
                    try await waitForWork(after: wakes, until: next.map { clock.now + $0 }, on: clock)
                }
            }
            do {
                try await group.waitForAll()
            } catch {
                group.cancelAll()
                throw error
            }
        }
    }

    /// Sends the entries that are due and that the network allows, each at most once.
    ///
    /// If ``run()`` or another call of this object is sending, this call waits until that one has passed all entries,
    /// and then sends those that were added in the meantime. A call sends nothing while another process is sending, and
    /// if the stack makes it while it sends an entry, such as in an authentication delegate. A ``run()`` of this object
    /// then checks the entries again.
    ///
    /// - Returns: The number of entries that are left, without dead letters.
    /// - Throws: `CancellationError`, and the errors of the store.
    @discardableResult
    public func flush() async throws -> Int {
        let environment = NetworkEnvironment.current
        let isInside = environment[SendingOutboxes.self].contains(ObjectIdentifier(self))
        // A delivery that has started already may have passed the place of an entry.
        let next = state.withLock { $0.started + 1 }
        while true {
            _ = try await deliver(environment.connectivity ?? system, environment)
            // The delivery would never end if a request waited for it.
            guard !isInside, state.withLock({ $0.finished < next }) else { break }
            try await waitForDelivery()
        }
        wake()
        var count = 0
        for id in try await store.ids() {
            if let entry = try await entry(id), !entry.progress.isDead {
                count += 1
            }
        }
        return count
    }

    /// The interval at which a process checks whether another one has stopped sending.
    private static let claimInterval = Duration.seconds(5)

    /// Sends what can be sent now, and returns the time until the next entry is due; `nil` if none is.
    private func deliver(
        _ connectivity: any Connectivity,
        _ environment: NetworkEnvironment
    ) async throws -> Duration? {
        try Task.checkCancellation()
        let number = state.withLock { state -> UInt64? in
            guard !state.isDelivering else { return nil }
            state.isDelivering = true
            state.started += 1
            return state.started
        }
        guard let number else { return Self.claimInterval }
        defer { endDelivery() }
        guard try await store.claim() else {
            state.withLock { $0.finished = number }
            return Self.claimInterval
        }
        do {
            let next = try await deliverClaimed(connectivity, environment)
            await store.release()
            state.withLock { $0.finished = number }
            return next
        } catch {
            await store.release()
            throw error
        }
    }

    private func deliverClaimed(
        _ connectivity: any Connectivity,
        _ environment: NetworkEnvironment
    ) async throws -> Duration? {
        var blocked: Set<Lane> = []
        var next: Duration?
        func wait(_ delay: Duration?) {
            next = delay.map { min(next ?? $0, $0) } ?? next
        }
        for id in try await store.ids() {
            try Task.checkCancellation()
            guard var entry = try await entry(id), !entry.progress.isDead, !isCancelled(id) else { continue }
            // The age comes first, because an entry that is never sent must become a dead letter, too.
            let lifetime = lifetimeLeft(of: entry, on: environment.clock)
            if let lifetime, lifetime <= .zero {
                _ = try await giveUp(&entry, "older than \(policy.maximumAge ?? .zero)")
                continue
            }
            let resolved = network.resolved(entry.request)
            let lane = Lane(principal: entry.principal?.withoutCookies, authority: resolved.authority?.lowercased())
            guard !blocked.contains(lane), network.principal(for: resolved).isSame(as: entry.principal) else {
                wait(lifetime)
                continue
            }
            if let delay = delay(until: entry.progress.notBefore, on: environment.clock) {
                blocked.insert(lane)
                wait(lifetime.map { min(delay, $0) } ?? delay)
                continue
            }
            if try await isOffline(resolved, connectivity) {
                blocked.insert(lane)
                wait(lifetime)
                continue
            }
            if let delay = try await attempt(&entry, environment) {
                blocked.insert(lane)
                wait(delay > .zero ? delay : lifetime)
            }
        }
        return next
    }

    /// The time until an entry is as old as the policy allows, zero or less afterwards; `nil` if there is no limit.
    private func lifetimeLeft(of entry: OutboxEntry, on clock: NetworkClock) -> Duration? {
        guard let age = policy.maximumAge else { return nil }
        let start = entry.progress.retried ?? entry.date
        let seconds = age / .seconds(1) - clock.date.timeIntervalSince(start)
        // A damaged date may be any number.
        return .seconds(max(-1e9, min(1e9, seconds)))
    }

    /// The time until an entry may be sent; `nil` if it may be sent now.
    private func delay(until date: Date?, on clock: NetworkClock) -> Duration? {
        guard let date else { return nil }
        let seconds = date.timeIntervalSince(clock.date)
        // A longer delay was never set, so the clock has been changed since.
        guard seconds > 0, seconds <= policy.maximumDelay / .seconds(1) + 1 else { return nil }
        return .seconds(seconds)
    }

    private func isOffline(_ request: HTTPRequestData, _ connectivity: any Connectivity) async throws -> Bool {
        guard !request.isLoopback else { return false }
        var status = connectivity.status
        if status == nil {
            status = try await connectivity.firstStatus { _ in true }
        }
        return status.map { request.networkAccess.refusal(over: $0) != nil } ?? false
    }

    /// Makes an attempt.
    ///
    /// - Returns: `nil` if the entries after this one may be sent now; otherwise the time until the next attempt, which
    ///   is zero if that depends on the network.
    private func attempt(_ entry: inout OutboxEntry, _ environment: NetworkEnvironment) async throws -> Duration? {
        let id = entry.id
        let clock = environment.clock
        guard entry.progress.attempts < policy.maximumAttempts else {
            // The process ended during the last attempt, or an earlier policy allowed more of them.
            return try await giveUp(&entry, entry.progress.lastFailure ?? "too many attempts")
        }
        // The attempt is counted before it starts, so that a request that ends the process is not tried forever.
        entry.progress.attempts += 1
        entry.progress.notBefore = nil
        try await store.update(entry.progress, of: id)
        let sent: Result<HTTPResponseData, any Error>?
        do {
            sent = try await send(entry)
        } catch {
            // The task that sends was cancelled, which says nothing about the request.
            entry.progress.attempts -= 1
            try await store.update(entry.progress, of: id)
            throw error
        }
        guard let result = sent else { return nil }
        let outcome: OutboxOutcome =
            switch result {
            case .success(let response): OutboxOutcome(response, now: clock.date)
            case .failure(let error): OutboxOutcome(error, now: clock.date)
            }
        if isCancelled(id), !outcome.isDelivered { return nil }
        switch outcome {
        case .delivered(let response):
            if try await store.remove(id) {
                publish(id, .delivered(response))
            }
            return nil
        case .refused(let reason):
            return try await giveUp(&entry, reason)
        case .offline:
            entry.progress.attempts -= 1
            return try await postpone(
                &entry,
                "offline",
                by: policy.delay(after: 1, wanted: nil, using: environment.random),
                clock
            )
        case .transient(let reason, let retryAfter):
            entry.progress.lastFailure = reason
            guard entry.progress.attempts < policy.maximumAttempts else { return try await giveUp(&entry, reason) }
            let delay = policy.delay(
                after: entry.progress.attempts,
                wanted: retryAfter,
                using: environment.random
            )
            return try await postpone(&entry, reason, by: delay, clock)
        }
    }

    /// Sends the request of an entry; returns `nil` if the entry was cancelled.
    private func send(_ entry: OutboxEntry) async throws -> Result<HTTPResponseData, any Error>? {
        var request = entry.request
        let id = entry.id
        // The outbox has already checked the network, and a wait in the stack would hold back the other entries.
        if request.offlinePolicy == nil {
            request.offlinePolicy = .fail
        }
        let begins = state.withLock { state in
            guard !state.isCancelled(id) else { return false }
            state.publish(id, .sending(attempt: entry.progress.attempts))
            return true
        }
        guard begins else { return nil }
        var environment = NetworkEnvironment.current
        environment[SendingOutboxes.self].insert(ObjectIdentifier(self))
        let task = OwnedTask.immediate { [network, request, environment] in
            try await withEnvironment(environment) { try await network.data(request) }
        }
        let isLate = state.withLock { state in
            state.sending = (id, task)
            return state.isCancelled(id)
        }
        if isLate {
            task.cancel()
        }
        defer { state.withLock { $0.sending = nil } }
        do {
            return .success(try await task.value)
        } catch {
            try Task.checkCancellation()
            return isCancelled(id) ? nil : .failure(error)
        }
    }

    /// Whether the app has cancelled an entry that this outbox may have read before.
    private func isCancelled(_ id: OutboxEntry.ID) -> Bool {
        state.withLock { $0.isCancelled(id) }
    }

    private func postpone(
        _ entry: inout OutboxEntry,
        _ reason: String,
        by delay: Duration,
        _ clock: NetworkClock
    ) async throws -> Duration {
        let date = clock.date.addingTimeInterval(delay / .seconds(1))
        entry.progress.notBefore = date
        entry.progress.lastFailure = reason
        try await store.update(entry.progress, of: entry.id)
        publish(entry.id, .waiting(until: date))
        return delay
    }

    private func giveUp(_ entry: inout OutboxEntry, _ reason: String) async throws -> Duration? {
        entry.progress.isDead = true
        entry.progress.lastFailure = reason
        try await store.update(entry.progress, of: entry.id)
        publish(entry.id, .dead(reason: reason))
        return nil
    }

    // MARK: Waiting

    /// Waits until the current delivery has ended; returns at once if there is none.
    private func waitForDelivery() async throws {
        let wait = Suspension<Void>()
        let isOver = state.withLock { state in
            guard state.isDelivering else { return true }
            state.flushes[ObjectIdentifier(wait)] = wait
            return false
        }
        guard !isOver else { return }
        defer { state.withLock { $0.flushes[ObjectIdentifier(wait)] = nil } }
        try await wait.value()
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

    /// Makes ``run()`` check the entries again.
    private func wake() {
        let waiters = state.withLock { state in
            state.wakes += 1
            return Array(state.waiters.values)
        }
        for waiter in waiters {
            waiter.resume()
        }
    }

    /// Waits until `wake()` has been called more often than a number of times, at the latest until a moment.
    private func waitForWork(after wakes: UInt64, until moment: Duration?, on clock: NetworkClock) async throws {
        let wait = Suspension<Void>()
        let isWoken = state.withLock { state in
            state.waiters[ObjectIdentifier(wait)] = wait
            return state.wakes != wakes
        }
        defer { state.withLock { $0.waiters[ObjectIdentifier(wait)] = nil } }
        guard !isWoken else { return }
        let alarm = moment.map { moment in clock.alarm(at: moment) { wait.resume() } }
        defer { alarm?.cancel() }
        try await wait.value()
    }

    /// A group of entries that are sent in order: those of one principal to one server.
    private struct Lane: Hashable {
        let principal: Principal?
        let authority: String?
    }

    private struct State {
        var lastID: UInt64 = 0
        var hasReadIDs = false
        var isDelivering = false
        /// The number of deliveries so far, and the last one that has passed all entries.
        var started: UInt64 = 0
        var finished: UInt64 = 0
        /// The calls of `flush()` that wait for the end of a delivery.
        var flushes: [ObjectIdentifier: Suspension<Void>] = [:]
        /// The entries that are being removed from the store, with the number of calls that do so.
        var cancelling: [OutboxEntry.ID: Int] = [:]
        /// The entries that the app has cancelled since the current delivery started.
        var cancelled: Set<OutboxEntry.ID> = []
        var sending: (id: OutboxEntry.ID, task: OwnedTask<HTTPResponseData>)?
        /// The number of calls of `wake()` so far.
        var wakes: UInt64 = 0
        var waiters: [ObjectIdentifier: Suspension<Void>] = [:]
        var readers: [Int: AsyncStream<OutboxChange>.Continuation] = [:]
        var lastReader = 0

        /// Reports a change under the lock, which keeps the changes in order.
        ///
        /// Yielding only adds the change to a buffer.
        func publish(_ id: OutboxEntry.ID, _ change: OutboxChange.State) {
            for reader in readers.values {
                reader.yield(OutboxChange(id: id, state: change))
            }
        }

        func isCancelled(_ id: OutboxEntry.ID) -> Bool {
            cancelling[id] != nil || cancelled.contains(id)
        }

        /// Ends a call that cancels an entry, and returns the task that sends the entry.
        mutating func endCancelling(_ id: OutboxEntry.ID, isRemoved: Bool) -> OwnedTask<HTTPResponseData>? {
            cancelling[id] = cancelling[id].flatMap { $0 > 1 ? $0 - 1 : nil }
            guard isRemoved else { return nil }
            if isDelivering {
                cancelled.insert(id)
            }
            return sending?.id == id ? sending?.task : nil
        }
    }
}

/// The outboxes that send an entry in this task.
private enum SendingOutboxes: NetworkEnvironmentKey {
    static let defaultValue: Set<ObjectIdentifier> = []
}
