import Foundation
import Networking
import NetworkingCore
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// Stores of several processes that share the files of their sessions.
///
/// Each store has its own storage object, so its lock excludes the other stores as in another process.
@Suite(.timeLimit(.minutes(20)))
struct SharedSessionStorageTests {
    private let server = TokenServer()
    private let transport: MockTransport
    private let clock = ManualClock()
    private let failures = Journal()

    init() {
        transport = server.transport
    }

    private func store(_ directory: URL, timeout: Duration = .seconds(60)) throws -> TokenStore<Session> {
        let storage = FileSessionStorage(directory: directory)
        return TokenStore(
            try storage.session(for: "emily"),
            in: storage,
            delegate: server.delegate,
            timeout: timeout,
            onStorageFailure: { [failures] in failures.note("\($0)") }
        )
    }

    private func stack(_ store: TokenStore<Session>) -> AnyNetworkingComponent {
        AnyNetworkingComponent(
            transport.authenticated(with: store).server(authority: "api.example.com")
                .environment(\.clock, .manual(clock))
        )
    }

    /// Runs a test with the files of a session that the server accepts.
    private func withSession(
        expiring date: Date? = nil,
        _ test: (URL, FileSessionStorage) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            try storage.save(server.session(expiring: date))
            try await test(directory, storage)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: directory.path).allSatisfy { $0.hasSuffix(".json") }
            )
        }
    }

    // MARK: Refreshes

    @Test func storesThatRefreshAtOnceSendOneRefresh() async throws {
        try await withSession { directory, storage in
            let (first, second) = (try store(directory), try store(directory))
            let (one, other) = (stack(first), stack(second))
            server.expire()
            server.delegate.hold()
            async let response = one.me()
            try await server.delegate.waitForCalls()
            async let otherResponse = other.me()
            // The sleepers are the time limits of both refreshes and the wait for the lock.
            try await clock.waitForSleepers(3)
            server.delegate.release()
            #expect(try await response.status == .ok)
            clock.advance(by: .milliseconds(20))
            #expect(try await otherResponse.status == .ok)
            #expect(server.refreshes == 1)
            #expect(first.credentials?.accessToken == "access-1")
            #expect(second.credentials == first.credentials)
            #expect(try storage.session(for: "emily") == first.credentials)
            #expect(failures.entries.isEmpty)
        }
    }

    @Test func sessionThatAnotherProcessHasRefreshedIsUsedAndNotRefreshed() async throws {
        try await withSession { directory, _ in
            let (first, second) = (try store(directory), try store(directory))
            for number in 1...3 {
                server.expire()
                #expect(try await stack(first).me().status == .ok)
                try await lockIsReleased(in: directory)
                #expect(try await stack(second).me().status == .ok)
                #expect(server.refreshes == number)
            }
            // The stores exchange their roles.
            server.expire()
            #expect(try await stack(second).me().status == .ok)
            #expect(try await stack(first).me().status == .ok)
            try await lockIsReleased(in: directory)
            #expect(server.refreshes == 4)
        }
    }

    @Test func expiredSessionOfAnotherProcessIsRefreshedWithItsOwnToken() async throws {
        server.giveTokens(lifetime: .seconds(100))
        try await withSession(expiring: clock.date.addingTimeInterval(100)) { directory, _ in
            let (first, second) = (try store(directory), try store(directory))
            server.expire()
            #expect(try await stack(first).me().status == .ok)
            try await lockIsReleased(in: directory)
            clock.advance(by: .seconds(100))
            server.failRefreshes(with: NetworkingError(.connectionLost, request: .lawful))
            await #expect(throws: NetworkingError.self) { try await stack(second).me() }
            // A failed refresh does not adopt the newer session, so the next one starts from it again.
            server.failRefreshes(with: nil)
            #expect(try await stack(second).me().status == .ok)
            #expect(second.credentials?.accessToken == "access-2")
        }
    }

    /// Waits until the lock is released, slightly after the response.
    ///
    /// Another store would wait on the manual clock, which does not advance.
    private func lockIsReleased(in directory: URL, of user: String = "emily") async throws {
        let lock = directory.appending(path: "session-\(user).json.lock").path
        try await eventually("the lock is released") { !FileManager.default.fileExists(atPath: lock) }
    }

    @Test func refreshBeforeTheExpiryUsesTheSessionOfAnotherProcess() async throws {
        server.giveTokens(lifetime: .seconds(1_000))
        try await withSession(expiring: clock.date.addingTimeInterval(20)) { directory, _ in
            let (first, second) = (try store(directory), try store(directory))
            #expect(try await stack(first).me().status == .ok)
            try await lockIsReleased(in: directory)
            try await eventually("first.credentials?.accessToken == 'access-1'") {
                first.credentials?.accessToken == "access-1"
            }
            // The first store releases its lock later. The second one would wait for it on the manual clock.
            let lock = directory.appending(path: "session-emily.json.lock").path
            try await eventually("the lock is released") { !FileManager.default.fileExists(atPath: lock) }
            #expect(try await stack(second).me().status == .ok)
            try await eventually("second.credentials?.accessToken == 'access-1'") {
                second.credentials?.accessToken == "access-1"
            }
            #expect(server.refreshes == 1)
        }
    }

    @Test func sessionThatCouldNotBeSavedIsNotReplacedByTheStoredOne() async throws {
        try await withSession { directory, storage in
            let unsaved = UnsavedSessions(storage)
            let store = TokenStore(
                try storage.session(for: "emily"),
                in: unsaved,
                delegate: server.delegate,
                onStorageFailure: { [failures] in failures.note("\($0)") }
            )
            server.expire()
            #expect(try await stack(store).me().status == .ok)
            #expect(failures.entries == ["full"])
            #expect(try storage.session(for: "emily")?.accessToken == "access-0")
            unsaved.isFull.withLock { $0 = false }
            server.expire()
            #expect(try await stack(store).me().status == .ok)
            #expect(store.credentials?.accessToken == "access-2")
            #expect(try storage.session(for: "emily")?.accessToken == "access-2")
        }
    }

    /// The files of a disk that is full.
    private final class UnsavedSessions: SessionStorage, SharedSessionStorage {
        let isFull = Mutex(true)
        private let files: FileSessionStorage

        init(_ files: FileSessionStorage) {
            self.files = files
        }

        func save(_ session: Session) throws {
            guard !isFull.withLock({ $0 }) else { throw SessionStorageError.unusable(reason: "full") }
            try files.save(session)
        }

        func session(for userID: String) throws -> Session? { try files.session(for: userID) }
        func removeSession(for userID: String) throws { try files.removeSession(for: userID) }
        func userIDs() throws -> [String] { try files.userIDs() }

        func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome {
            try await files.lockSession(for: userID, lease: lease)
        }
    }

    @Test func sessionThatWasNeverStoredIsRefreshed() async throws {
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory.appending(path: "sessions"))
            let store = TokenStore(server.session(), in: storage, delegate: server.delegate)
            server.expire()
            let response = try await stack(store).me()
            #expect(response.status == .ok)
            #expect(try storage.session(for: "emily")?.accessToken == "access-1")
        }
    }

    // MARK: Sign-outs

    @Test func sessionThatAnotherProcessHasRemovedIsNotRefreshed() async throws {
        try await withSession { directory, storage in
            let (first, second) = (try store(directory), try store(directory))
            let changes = second.changes
            first.remove()
            server.expire()
            let error = await #expect(throws: NetworkingError.self) { try await stack(second).me() }
            #expect(error?.kind == .unauthorized)
            #expect(server.refreshes == 0)
            #expect(second.credentials == nil)
            #expect(try storage.session(for: "emily") == nil)
            for await change in changes {
                guard case .removed = change else {
                    Issue.record("\(change)")
                    break
                }
                break
            }
        }
    }

    @Test func signOutOfAnotherProcessDuringTheRefreshLasts() async throws {
        try await withSession { directory, storage in
            let (first, second) = (try store(directory), try store(directory))
            server.expire()
            server.delegate.hold()
            async let response = stack(first).me()
            try await server.delegate.waitForCalls()
            second.remove()
            server.delegate.release()
            let result: Result<HTTPResponseData, any Error>
            do { result = .success(try await response) } catch { result = .failure(error) }
            #expect(throws: NetworkingError.self) { try result.get() }
            #expect(first.credentials == nil)
            #expect(try storage.session(for: "emily") == nil)
        }
    }

    @Test func signOutWhileTheStoreWaitsForTheLockLasts() async throws {
        try await withSession { directory, storage in
            let store = try store(directory)
            let lock = try await storage.lockSession(for: "emily")
            server.expire()
            let network = stack(store)
            let call = Task { try await network.me() }
            try await clock.waitForSleepers(2)
            // Another process has refreshed the session, and this one signs out.
            try storage.save(Session(userID: "emily", accessToken: "newer", refreshToken: "newer"))
            store.remove()
            let result = await call.result
            #expect(throws: NetworkingError.self) { try result.get() }
            lock.release()
            #expect(store.credentials == nil)
            #expect(server.refreshes == 0)
            #expect(try storage.session(for: "emily") == nil)
            try await eventually("clock.sleepers == 0") { clock.sleepers == 0 }
        }
    }

    @Test func signOutLeavesTheLockOfAnotherProcess() async throws {
        try await withSession { directory, storage in
            let lock = try await storage.lockSession(for: "emily")
            try storage.removeSession(for: "emily")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["session-emily.json.lock"])
            lock.release()
            // A process that has ended leaves this file.
            try Data().write(to: directory.appending(path: "session-emily.json.lock"))
            try storage.removeSession(for: "emily")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        }
    }

    // MARK: Sessions without a user id

    /// Runs a test with the stores of two processes that have one session without a user id.
    private func withSharedSession(
        isExpired: Bool = false,
        _ test: (
            _ first: TokenStore<Session>,
            _ second: TokenStore<Session>,
            _ delegate: ScriptedAuthenticationDelegate<Session>,
            _ storage: FileSessionStorage
        ) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            let delegate = ScriptedAuthenticationDelegate<Session>(
                refresh: { session, _, _ in Session(accessToken: "renewed", refreshToken: session.refreshToken) }
            )
            func store() -> TokenStore<Session> {
                TokenStore(for: "", in: FileSessionStorage(directory: directory), delegate: delegate)
            }
            let first = store()
            let date = isExpired ? clock.date.addingTimeInterval(-1) : nil
            first.set(Session(accessToken: "emily", refreshToken: "r-emily", expirationDate: date))
            try await test(first, store(), delegate, storage)
        }
    }

    /// A server that refuses the session of Emily and accepts all others.
    private let refusing = MockTransport { request in
        request.headerFields[.authorization] == "Bearer emily" ? .status(.unauthorized) : .ok()
    }

    private func stackOfRefusingServer(_ store: TokenStore<Session>) -> AnyNetworkingComponent {
        AnyNetworkingComponent(
            refusing.authenticated(with: store).server(authority: "api.example.com")
                .environment(\.clock, .manual(clock))
        )
    }

    private let james = Session(accessToken: "james", refreshToken: "r-james")

    /// An order of Emily must not be placed on the account of James.
    @Test(arguments: [false, true])
    func requestIsNotSentForTheNextUserOfAnotherProcess(isExpired: Bool) async throws {
        try await withSharedSession(isExpired: isExpired) { first, second, delegate, storage in
            let network = stackOfRefusingServer(first)
            let emily = first.principal
            let changes = first.changes
            second.remove()
            second.set(james)
            let call = Task { try await network.me { $0.method = .post } }
            let result = await call.result
            if isExpired {
                let error = #expect(throws: NetworkingError.self) { try result.get() }
                #expect(error?.kind == .unauthorized)
            } else {
                #expect(try result.get().status == .unauthorized)
            }
            #expect(!refusing.requests.contains { $0.headerFields[.authorization] != "Bearer emily" })
            #expect(first.credentials == james)
            #expect(first.principal != emily)
            var iterator = changes.makeAsyncIterator()
            let change = await iterator.next()
            if case .set(let session) = change {
                #expect(session == james)
            } else {
                Issue.record("\(String(describing: change))")
            }
            let next = try await network.me()
            #expect(next.status == .ok)
            #expect(delegate.refreshes == 0)
            #expect(try storage.session(for: "") == james)
        }
    }

    /// The store that is created with the session of a login has saved nothing yet.
    @Test func sessionOfANewStoreIsOfAnotherSignIn() async throws {
        try await withSharedSession { first, _, delegate, storage in
            let emily = first.principal
            let other = TokenStore(james, in: storage, delegate: delegate)
            other.update(Session(accessToken: "newer", refreshToken: "r-newer"))
            let response = try await stackOfRefusingServer(first).me { $0.method = .post }
            #expect(response.status == .unauthorized)
            #expect(!refusing.requests.contains { $0.headerFields[.authorization] != "Bearer emily" })
            #expect(first.principal != emily)
        }
    }

    @Test func copyOfTheStoredSessionIsOfTheSameSignIn() async throws {
        try await withSharedSession { first, _, delegate, storage in
            let copy = Session(accessToken: "emily", refreshToken: "r-emily")
            let store = TokenStore(copy, in: storage, delegate: delegate)
            let principal = store.principal
            first.update(Session(accessToken: "newer", refreshToken: "r-newer"))
            let response = try await stackOfRefusingServer(store).me { $0.method = .post }
            #expect(response.status == .ok)
            #expect(delegate.refreshes == 0)
            #expect(store.principal == principal)
        }
    }

    @Test func signInOfAnotherProcessDuringTheRefreshLasts() async throws {
        try await withSharedSession { first, second, delegate, storage in
            let network = stackOfRefusingServer(first)
            let emily = first.principal
            delegate.hold()
            async let response = network.me { $0.method = .post }
            try await delegate.waitForCalls()
            second.remove()
            second.set(james)
            delegate.release()
            #expect(try await response.status == .unauthorized)
            #expect(refusing.requests.count == 1)
            #expect(first.credentials == james)
            #expect(first.principal != emily)
            #expect(try storage.session(for: "") == james)
        }
    }

    @Test func sessionThatAnotherProcessHasRenewedDuringTheRefreshLasts() async throws {
        try await withSharedSession { first, second, delegate, storage in
            let network = stackOfRefusingServer(first)
            let emily = first.principal
            delegate.hold()
            async let response = network.me()
            try await delegate.waitForCalls()
            second.update(Session(accessToken: "newer", refreshToken: "r-newer"))
            delegate.release()
            #expect(try await response.status == .ok)
            #expect(refusing.requests.last?.headerFields[.authorization] == "Bearer newer")
            #expect(first.principal == emily)
            #expect(try storage.session(for: "")?.accessToken == "newer")
        }
    }

    @Test func sessionThatAnotherProcessHasRefreshedIsOfTheSameUser() async throws {
        try await withSharedSession { first, second, delegate, storage in
            let emily = first.principal
            #expect(try await stackOfRefusingServer(second).me().status == .ok)
            try await lockIsReleased(in: storage.directory, of: "")
            #expect(try await stackOfRefusingServer(first).me { $0.method = .post }.status == .ok)
            #expect(delegate.refreshes == 1)
            #expect(first.credentials == second.credentials)
            #expect(first.principal == emily)
        }
    }

    /// Emily's session in the file is older than James's in the store, although another process has renewed it.
    @Test func sessionThatCouldNotBeSavedIsNotReplacedByTheRenewedSessionOfTheFormerUser() async throws {
        try await withSharedSession { first, second, _, storage in
            let file = storage.directory.appending(path: "session-.json")
            try FileManager.default.removeItem(at: file)
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
            first.set(Session(accessToken: "james", refreshToken: "r-james", expirationDate: .distantPast))
            try FileManager.default.removeItem(at: file)
            second.update(Session(accessToken: "newer", refreshToken: "r-newer"))
            #expect(try await stackOfRefusingServer(first).me().status == .ok)
            #expect(refusing.requests.map { $0.headerFields[.authorization] } == ["Bearer renewed"])
            #expect(first.credentials?.refreshToken == "r-james")
        }
    }

    // MARK: Locks

    @Test func lockIsExclusiveUntilItIsReleased() async throws {
        try await withSession { _, storage in
            var environment = NetworkEnvironment()
            environment.clock = .manual(clock)
            try await withEnvironment(environment) {
                let lock = try await storage.lockSession(for: "emily")
                _ = try await storage.lockSession(for: "james")
                let waiter = Task { try await storage.lockSession(for: "emily") }
                for _ in 1...3 {
                    try await clock.waitForSleepers()
                    clock.advance(by: .milliseconds(20))
                }
                try await clock.waitForSleepers()
                lock.release()
                lock.release()
                clock.advance(by: .milliseconds(20))
                let second = try await waiter.value
                let cancelled = Task { try await storage.lockSession(for: "emily") }
                try await clock.waitForSleepers()
                cancelled.cancel()
                let result = await cancelled.result
                #expect(throws: CancellationError.self) { try result.get() }
                second.release()
                // The cancelled waiter does not hold the lock, and the end of the last reference releases it.
                _ = try await storage.lockSession(for: "emily")
                _ = try await storage.lockSession(for: "emily")
            }
        }
    }

    @Test func lockIsHeldUntilAnotherThreadHasStoredTheNewSession() async throws {
        let storage = HoldingStorage()
        let new = Session(userID: "emily", accessToken: "new")
        let store = TokenStore(
            nil,
            in: storage,
            delegate: ScriptedAuthenticationDelegate<Session>(refreshing: [.success(new)])
        )
        let signedIn = Outcome<Void>()
        await withCheckedContinuation { saving in
            storage.holdFirstSave { saving.resume() }
            Thread.detachNewThread {
                store.set(Session(userID: "emily", accessToken: "old"))
                signedIn.end(with: .success(()))
            }
        }
        // The thread is storing the first session, so it will also store the one of this refresh.
        let network = MockTransport { request in
            request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        let response = try await network.authenticated(with: store).server(authority: "api.example.com")
            .environment(\.clock, .manual(clock))
            .data(HTTPRequestData(path: "me"))
        #expect(response.status == .ok)
        #expect(storage.journal.entries == ["locked"])
        storage.endHold()
        try await signedIn.value()
        #expect(storage.journal.entries == ["locked", "saved old", "saved new", "released"])
    }

    /// A storage that holds the first call of `save`.
    private final class HoldingStorage: SessionStorage, SharedSessionStorage {
        let journal = Journal()
        private let sessions = InMemorySessionStorage()
        private let onFirstSave = Mutex<(@Sendable () -> Void)?>(nil)
        private let hold = DispatchSemaphore(value: 0)

        func holdFirstSave(_ onSave: @escaping @Sendable () -> Void) {
            onFirstSave.withLock { $0 = onSave }
        }

        func endHold() {
            hold.signal()
        }

        func save(_ session: Session) throws {
            if let onSave = onFirstSave.withLock({ $0.take() }) {
                onSave()
                hold.wait()
            }
            sessions.save(session)
            journal.note("saved \(session.accessToken)")
        }

        func lockSession(for userID: String, lease: Duration) async throws -> SessionLockOutcome {
            journal.note("locked")
            return .acquired(SessionLock { [journal] in journal.note("released") })
        }

        func session(for userID: String) throws -> Session? { sessions.session(for: userID) }
        func removeSession(for userID: String) throws { sessions.removeSession(for: userID) }
        func userIDs() throws -> [String] { sessions.userIDs() }
    }

    /// The number of tasks that hold a lock.
    private final class Holders: Sendable {
        private let state = Mutex((count: 0, maximum: 0))

        var maximum: Int {
            state.withLock { $0.maximum }
        }

        func begin() {
            state.withLock { $0 = ($0.count + 1, max($0.maximum, $0.count + 1)) }
        }

        func end() {
            state.withLock { $0.count -= 1 }
        }
    }

    /// Tasks delete the lock file while other tasks open it.
    @Test func lockHasOneHolderAtATime() async throws {
        try await withSession { _, storage in
            let holders = Holders()
            var environment = NetworkEnvironment()
            environment.clock = .immediate()
            try await withEnvironment(environment) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 1...8 {
                        group.addTask {
                            for _ in 1...50 {
                                let lock = try await storage.lockSession(for: "emily")
                                holders.begin()
                                await Task.yield()
                                holders.end()
                                lock.release()
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(holders.maximum == 1)
        }
    }

    @Test func storeThatCannotGetTheLockInTimeFailsWithTimeout() async throws {
        try await withSession { directory, storage in
            let lock = try await storage.lockSession(for: "emily")
            let store = try store(directory, timeout: .seconds(5))
            server.expire()
            let network = stack(store)
            let call = Task { try await network.me() }
            try await clock.waitForSleepers(2)
            clock.advance(by: .seconds(5))
            let result = await call.result
            let error = #expect(throws: NetworkingError.self) { try result.get() }
            #expect(error?.kind == .timeout)
            #expect(error?.reason.contains("has held the lock of the stored session for 5.0 seconds") == true)
            #expect(server.refreshes == 0)
            lock.release()
            #expect(try await network.me().status == .ok)
            #expect(server.refreshes == 1)
            try await eventually("clock.sleepers == 0") { clock.sleepers == 0 }
        }
    }

    /// Without the lock, another process could use the same refresh token.
    @Test(arguments: ["lock", "session"])
    func storeDoesNotRefreshWithoutItsLockOrTheStoredSession(obstacle: String) async throws {
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            let date = clock.date.addingTimeInterval(20)
            try storage.save(server.session(expiring: date))
            let store = try store(directory)
            let file = directory.appending(path: "session-emily.json\(obstacle == "lock" ? ".lock" : "")")
            let content = try? Data(contentsOf: file)
            try? FileManager.default.removeItem(at: file)
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
            // The token is still valid, and its refresh in the background fails.
            #expect(try await stack(store).me().status == .ok)
            clock.advance(by: .seconds(20))
            let error = await #expect(throws: NetworkingError.self) { try await stack(store).me() }
            #expect(error?.kind == .storage)
            #expect(error?.wasNotProcessed == true)
            #expect(error?.underlying is SessionStorageError)
            #expect(error?.reason.contains("so no token was sent") == true)
            #expect(server.refreshes == 0)
            try FileManager.default.removeItem(at: file)
            try content?.write(to: file)
            #expect(try await stack(store).me().status == .ok)
            #expect(server.refreshes == 1)
        }
    }

    /// The damaged file was moved, so that no process can refresh its session.
    @Test func damagedSessionIsReplacedByThatOfTheStore() async throws {
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            try storage.save(server.session())
            let store = try store(directory)
            try Data("damaged".utf8).write(to: directory.appending(path: "session-emily.json"))
            server.expire()
            #expect(try await stack(store).me().status == .ok)
            #expect(failures.entries.count == 1)
            #expect(try storage.session(for: "emily")?.accessToken == "access-1")
        }
    }
}
