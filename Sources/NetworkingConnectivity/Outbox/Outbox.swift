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
/// is sent only if the stack would send it for the same principal and to the same server as when it was added, so it
/// does not follow a `SwitchableServer`. A server may set, change and remove cookies in the meantime. Cookies that are
/// set after the app has removed all cookies (`CookieJar.removeAll(of:)`) belong to another principal. Credentials are
/// not stored; the stack adds them to each attempt.
///
/// An entry is removed after a status from 200 to 399. It is sent again after a failure of the network and after 401,
/// 408, 409, 423, 425, 429 and 500 to 599, with growing delays, as often and as long as the ``OutboxPolicy`` allows.
/// The status decides even if the stack throws an error of the app for it, as `checkedStatusCode(as:)` does. After any
/// other status, and at the limits of the policy, it becomes a dead letter, which stays in the store until
/// the app removes it or calls ``retry(_:)``.
public final class Outbox: Sendable {
    let store: any OutboxStore
    let network: any NetworkingComponent
    let policy: OutboxPolicy
    private let system = SystemConnectivity()
    let state = Mutex(State())
    private let reported = Broadcast<OutboxChange>(buffering: .bufferingNewest(1_000))

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
        reported.finish()
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
    ///   the store. `CancellationError` if the caller is cancelled; a store that has started to add the request
    ///   completes that.
    @discardableResult
    public func enqueue(_ request: HTTPRequestData) async throws -> OutboxEntry.ID {
        let environment = NetworkEnvironment.current
        var request = request
        let resolved = network.resolved(request)
        // Before the first wait, after which another user may be signed in.
        let principal = network.principal(for: resolved)
        if request.body?.isEncodedByStack == true {
            request.body = resolved.body
        }
        if !request.headerFields.contains(.idempotencyKey) {
            request.headerFields[.idempotencyKey] = .idempotencyKey(from: environment.secureRandom)
        }
        if !state.withLock({ $0.hasReadIDs }) {
            // New entries come after those of an earlier process, even if the clock was set back. The identifier of a
            // damaged file must not make the next one overflow.
            let ids = try await StoreWait.run(until: nil) { [store] in try await store.ids() }
            let last = min(ids.last?.nanoseconds ?? 0, .max / 2)
            state.withLock { ($0.hasReadIDs, $0.lastID) = (true, max($0.lastID, last)) }
        }
        let date = environment.clock.date
        let moment = UInt64(max(0, min(date.bounded.timeIntervalSince1970, 1e10)) * 1e9)
        let number = state.withLock { state in
            state.lastID = max(state.lastID + 1, moment)
            return state.lastID
        }
        let random = environment.secureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let entry = OutboxEntry(
            id: OutboxEntry.ID(at: number, random),
            request: request,
            principal: principal,
            server: resolved.server,
            date: date
        )
        try await StoreWait.run(until: nil) { [self] in
            try await store.add(entry)
            publish(entry.id, .queued)
            wake()
        }
        return entry.id
    }

    /// Returns all entries in order, including dead letters.
    ///
    /// - Throws: The errors of the store.
    public func entries() async throws -> [OutboxEntry] {
        try await StoreWait.run(until: nil) { [self] in try await storedEntries() }
    }

    private func storedEntries() async throws -> [OutboxEntry] {
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
        try await StoreWait.run(until: nil) { [self] in try await remove(id) }
    }

    private func remove(_ id: OutboxEntry.ID) async throws -> Bool {
        state.withLock { $0.cancelling.append(id) }
        let existed: Bool
        do {
            existed = try await store.remove(id)
        } catch {
            _ = state.withLock { $0.endCancelling(id, isRemoved: false) }
            throw error
        }
        let task = state.withLock { state in
            if existed {
                publish(id, .cancelled)
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
        let date = NetworkEnvironment.current.clock.date
        return try await StoreWait.run(until: nil) { [self] in try await revive(id, at: date) }
    }

    private func revive(_ id: OutboxEntry.ID, at date: Date) async throws -> Bool {
        guard let entry = try await entry(id), entry.progress.isDead else { return false }
        var progress = OutboxEntry.Progress()
        progress.retried = date
        try await store.update(progress, of: id)
        publish(id, .queued)
        wake()
        return true
    }

    /// The changes of the entries from now on, for any number of readers.
    ///
    /// A reader that falls behind by more than 1,000 changes misses the oldest of them.
    public var changes: AsyncStream<OutboxChange> {
        reported.elements()
    }

    /// Reports a change to the readers, in the order of the calls.
    func publish(_ id: OutboxEntry.ID, _ change: OutboxChange.State) {
        reported.publish(OutboxChange(id: id, state: change))
    }

    func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? {
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
        let isInside = environment[SendingOutboxes.self].contains(self)
        // A delivery that has started already may have passed the place of an entry.
        let next = state.withLock { $0.started + 1 }
        while true {
            _ = try await deliver(environment.connectivity ?? system, environment)
            // The delivery would never end if a request waited for it.
            guard !isInside, state.withLock({ $0.finished < next }) else { break }
            try await waitForDelivery()
        }
        wake()
        return try await entries().count { !$0.progress.isDead }
    }
}
