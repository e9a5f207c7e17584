import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// A storage of sessions behind a network that an app has written, with the default of the protocol.
@Suite(.timeLimit(.minutes(20)))
struct NetworkSessionStorageTests {
    /// Sessions in memory, with one lock that has a lease.
    private final class NetworkSessions: SharedSessionStorage {
        struct Unreachable: Error {}

        let journal = Journal()
        /// The last lease, and the owner of the lock.
        let lock = Mutex<(lease: Duration, owner: String?)>((.zero, nil))
        let isReachable = Mutex(true)
        private let sessions = InMemorySessionStorage()
        private let gate: MockGate?

        init(_ gate: MockGate? = nil) {
            self.gate = gate
        }

        private func call(_ text: String) async throws {
            try await gate?.wait()
            guard isReachable.withLock({ $0 }) else { throw Unreachable() }
            journal.note(text)
        }

        func session(for userID: String) async throws -> Session? {
            try await call("read")
            return sessions.session(for: userID)
        }

        func save(_ session: Session) async throws {
            try await call("save \(session.accessToken)")
            sessions.save(session)
        }

        func removeSession(for userID: String) async throws {
            try await call("remove \(userID)")
            sessions.removeSession(for: userID)
        }

        func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome {
            let start = NetworkEnvironment.current.clock.now
            try await call("lock")
            let isFree = lock.withLock { lock in
                guard lock.owner == nil else { return false }
                lock = (lease, "1")
                return true
            }
            guard isFree else { return .held(retryAfter: .milliseconds(100)) }
            return .acquired(
                SessionLock(
                    owner: "1",
                    lease: lease,
                    since: start,
                    renew: { [self] in
                        try await call("renew")
                        return lock.withLock { $0.owner == "1" }
                    },
                    release: { [self] in lock.withLock { $0.owner = nil } }
                )
            )
        }
    }

    private let server = TokenServer()
    private let clock = ManualClock()
    private let failures = Journal()

    private func store(_ storage: NetworkSessions, _ session: Session? = nil) async -> TokenStore<Session> {
        await TokenStore(
            session,
            sharing: storage,
            delegate: server.delegate,
            timeout: .seconds(20),
            onStorageFailure: { [failures] in failures.note("\($0)") }
        )
    }

    private func stack(_ store: TokenStore<Session>) -> AnyNetworkingComponent {
        AnyNetworkingComponent(
            server.transport.authenticated(with: store).server(authority: "api.example.com")
                .environment(\.clock, .manual(clock))
        )
    }

    @Test func changesAreStoredInOrderInTheBackground() async throws {
        let gate = MockGate()
        let storage = NetworkSessions(gate)
        let store = await store(storage)
        for number in 1...3 {
            store.set(Session(userID: "emily", accessToken: "\(number)"))
        }
        store.remove()
        #expect(storage.journal.entries.isEmpty)
        let flush = Task { try await store.flush() }
        let cancelled = Task { try await store.flush() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        gate.open()
        try await flush.value
        #expect(storage.journal.entries == ["save 1", "save 2", "save 3", "remove emily"])
        try await TokenStore(Session(accessToken: "a")).flush()
    }

    @Test func refreshIsStoredUnderTheLock() async throws {
        let storage = NetworkSessions()
        let store = await store(storage)
        store.set(server.session())
        try await store.flush()
        server.expire()
        let response = try await stack(store).me()
        #expect(response.status == .ok)
        #expect(storage.journal.entries == ["save access-0", "lock", "read", "read", "save access-1"])
        #expect(storage.lock.withLock { $0.lease } == .seconds(30))
        try await eventually("the lock is released") { storage.lock.withLock { $0.owner == nil } }
        try await eventually("nothing waits") { clock.sleepers == 0 }
        #expect(failures.entries.isEmpty)
    }

    /// The server accepts only the new session, so it is used at once, and stored as soon as the storage responds.
    @Test(arguments: [true, false])
    func refreshedSessionIsStoredLaterIfTheStorageFails(recovers: Bool) async throws {
        let storage = NetworkSessions()
        let store = await store(storage)
        store.set(server.session())
        try await store.flush()
        server.expire()
        server.delegate.hold()
        let network = stack(store)
        let call = Task { try await network.me() }
        try await server.delegate.waitForCalls()
        storage.isReachable.withLock { $0 = false }
        server.delegate.release()
        #expect(try await call.value.status == .ok)
        #expect(store.credentials?.accessToken == "access-1")
        #expect(storage.lock.withLock { $0.owner } == "1")
        storage.isReachable.withLock { $0 = recovers }
        try await eventually("the lock is released") {
            clock.advance(by: .milliseconds(100))
            return storage.lock.withLock { $0.owner == nil }
        }
        #expect(storage.journal.entries.contains("save access-1") == recovers)
        #expect(failures.entries.count == (recovers ? 0 : 1))
    }

    /// The storage could not be reached at the sign-out, so the session is removed later, unless there is a new one.
    @Test func lateSignOutLeavesTheSessionOfTheNextSignIn() async throws {
        let storage = NetworkSessions()
        let store = await store(storage)
        store.set(server.session())
        try await store.flush()
        storage.isReachable.withLock { $0 = false }
        store.remove()
        try await store.flush()
        storage.isReachable.withLock { $0 = true }
        store.set(server.session())
        try await store.flush()
        server.expire()
        #expect(try await stack(store).me().status == .ok)
        #expect(!storage.journal.entries.contains("remove emily"))
        #expect(failures.entries.count == 1)
    }

    @Test func errorOfTheStorageIsNamedWithoutItsText() async throws {
        let storage = NetworkSessions()
        let store = await store(storage, server.session(expiring: .distantPast))
        storage.isReachable.withLock { $0 = false }
        let error = await #expect(throws: NetworkingError.self) { try await stack(store).me() }
        #expect(error?.kind == .storage)
        #expect(error?.underlying is NetworkSessions.Unreachable)
        #expect(error?.reason.contains("The storage threw Unreachable.") == true)
        #expect(server.refreshes == 0)
        storage.isReachable.withLock { $0 = true }
        #expect(try await stack(store).me().status == .ok)
    }

    @Test func defaultComparesTheStoredSessionAndTheLock() async throws {
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        try await withEnvironment(environment) {
            let storage = NetworkSessions()
            let (old, new) = (server.session(), Session(userID: "emily", accessToken: "new"))
            let lock = try await storage.lockSession(for: "emily")
            #expect(lock.owner == "1")
            #expect(try await storage.save(old, replacing: nil, under: lock))
            #expect(try await !storage.save(new, replacing: nil, under: lock))
            #expect(try await storage.save(new, replacing: old, under: lock))
            lock.release()
            #expect(try await !storage.save(old, replacing: new, under: lock))
        }
    }

    @Test func lockEndsWithItsLeaseOrWhenAnotherHolderHasIt() async throws {
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        try await withEnvironment(environment) {
            let storage = NetworkSessions()
            let lock = try await storage.lockSession(for: "emily")
            try await clock.advance(by: .seconds(30), afterSleepers: 1)
            try await eventually("it is renewed") { storage.journal.entries.count { $0 == "renew" } == 1 }
            storage.isReachable.withLock { $0 = false }
            try await clock.advance(by: .seconds(89), afterSleepers: 1)
            #expect(lock.isHeld)
            clock.advance(by: .seconds(1))
            #expect(!lock.isHeld)
            storage.isReachable.withLock { $0 = true }
            storage.lock.withLock { $0.owner = "2" }
            try await eventually("the holder notices it") {
                clock.advance(by: .seconds(30))
                return clock.sleepers == 0
            }
            #expect(!lock.isHeld)
            #expect(SessionLock {}.isHeld)
        }
    }
}
