import Foundation
import Networking
import NetworkingTesting
import Synchronization
import Testing

struct SessionStorageTests {
    private func session(_ user: String?, _ token: String = "access") -> Session {
        Session(userID: user, accessToken: token, refreshToken: "refresh")
    }

    @Test func eachUserHasASession() async throws {
        try await withTemporaryDirectory { directory in
            let file = FileSessionStorage(directory: directory.appending(path: "deep/sessions"))
            for storage in [InMemorySessionStorage(), file] as [any SessionStorage] {
                #expect(try storage.userIDs().isEmpty)
                #expect(try storage.session(for: "emily") == nil)
                for user in ["emily", "../../etc/passwd", "", "名前", "a%2Fb", "Emily"] {
                    try storage.save(session(user))
                    try storage.save(session(user, "newer"))
                    #expect(try storage.session(for: user)?.accessToken == "newer")
                }
                #expect(try storage.userIDs() == ["", "../../etc/passwd", "Emily", "a%2Fb", "emily", "名前"])
                try storage.removeSession(for: "emily")
                try storage.removeSession(for: "emily")
                #expect(try storage.session(for: "emily") == nil)
                #expect(try storage.userIDs().count == 5)
            }
        }
    }

    @Test func removesTheSessionsOfAllUsers() async throws {
        try await withTemporaryDirectory { directory in
            let file = FileSessionStorage(directory: directory.appending(path: "sessions"))
            for storage in [InMemorySessionStorage(), file] as [any SessionStorage] {
                try storage.removeAll()
                for user in ["emily", "", "a.json", "james"] {
                    try storage.save(session(user))
                }
                try storage.removeAll()
                #expect(try storage.userIDs().isEmpty)
                #expect(try storage.session(for: "emily") == nil)
                try storage.save(session("emily"))
                #expect(try storage.userIDs() == ["emily"])
            }
        }
    }

    @Test func removesTheFilesOfDamagedSessionsToo() async throws {
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            try storage.save(session("emily"))
            try Data("{}".utf8).write(to: directory.appending(path: "session-emily.json"))
            #expect(throws: SessionStorageError.self) { try storage.session(for: "emily") }
            try Data().write(to: directory.appending(path: "notes.txt"))
            try storage.removeAll()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["notes.txt"])
        }
    }

    @Test func removesTheOtherSessionsIfOneCannotBeRemoved() throws {
        struct Pinned: SessionStorage {
            let sessions = InMemorySessionStorage()

            func session(for userID: String) throws -> Session? { sessions.session(for: userID) }
            func save(_ session: Session) throws { sessions.save(session) }
            func removeSession(for userID: String) throws {
                if userID == "emily" { throw SessionStorageError.unusable(reason: "pinned") }
                sessions.removeSession(for: userID)
            }
            func userIDs() throws -> [String] { sessions.userIDs() }
        }

        let storage = Pinned()
        for user in ["a", "emily", "z"] {
            try storage.save(session(user))
        }
        let error = #expect(throws: SessionStorageError.self) { try storage.removeAll() }
        #expect(error?.description == "pinned")
        #expect(try storage.userIDs() == ["emily"])
    }

    @Test func sessionThatCannotBeReadIsNilAndLogged() async throws {
        let log = LogRecorder()
        var environment = NetworkEnvironment()
        environment.logger = log.logger()
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            try storage.save(session("emily"))
            #expect(storage["emily"] == session("emily"))
            #expect(storage["james"] == nil)
            try Data("{}".utf8).write(to: directory.appending(path: "session-emily.json"))
            await withEnvironment(environment) {
                #expect(storage["emily"] == nil)
            }
        }
        #expect(log.messages.count == 1)
        #expect(log.messages.first?.contains("could not be read") == true)
    }

    @Test func storeStartsWithTheStoredSessionOfAUser() async throws {
        try await withTemporaryDirectory { directory in
            let failures = Journal()
            let storage = FileSessionStorage(directory: directory)
            try storage.save(session("emily"))
            let store = TokenStore(for: "emily", in: storage) { failures.note("\($0)") }
            #expect(store.credentials == session("emily"))
            #expect(TokenStore(for: "james", in: storage).credentials == nil)
            #expect(failures.entries.isEmpty)

            try Data("{}".utf8).write(to: directory.appending(path: "session-emily.json"))
            let signedOut = TokenStore(for: "emily", in: storage) { failures.note("\($0)") }
            #expect(signedOut.credentials == nil)
            #expect(failures.entries.count == 1)
            signedOut.set(session("emily", "newer"))
            #expect(storage["emily"]?.accessToken == "newer")
        }
    }

    @Test func fileIsReadableByItsOwnerOnly() async throws {
        try await withTemporaryDirectory { directory in
            let folder = directory.appending(path: "sessions")
            try FileSessionStorage(directory: folder).save(session("emily"))
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names == ["session-emily.json"])
            for (path, mode) in [(folder.path, 0o700), (folder.appending(path: names[0]).path, 0o600)] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode)
            }
        }
    }

    @Test(arguments: [Data(), Data("{}".utf8), Data("half a {".utf8), Data(repeating: 0, count: 3 << 20)])
    func damagedFileIsSetAsideAndReported(content: Data) async throws {
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            try storage.save(session("emily"))
            try content.write(to: directory.appending(path: "session-emily.json"))
            let error = #expect(throws: SessionStorageError.self) { try storage.session(for: "emily") }
            guard case .damaged(let file) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try Data(contentsOf: file) == content)
            #expect(try storage.session(for: "emily") == nil)
            #expect(try storage.userIDs().isEmpty)
            try storage.save(session("emily"))
            #expect(try storage.session(for: "emily") == session("emily"))
        }
    }

    @Test func sessionThatCannotBeSavedIsReportedAndUsed() async throws {
        try await withTemporaryDirectory { directory in
            let blocked = directory.appending(path: "file")
            try Data().write(to: blocked)
            let failures = Journal()
            let store = TokenStore(
                nil,
                in: FileSessionStorage(directory: blocked.appending(path: "sessions")),
                onStorageFailure: { failures.note("\($0)") }
            )
            store.set(session("emily"))
            #expect(store.credentials == session("emily"))
            #expect(failures.entries.count == 1)
            #expect(failures.entries.first?.contains("access") == false)
            let error = #expect(throws: SessionStorageError.self) {
                try FileSessionStorage(directory: directory).save(session(String(repeating: "x", count: 300)))
            }
            #expect(error?.description.contains("too long") == true)
        }
    }

    /// The lock and the temporary files of a session have longer names than its file.
    @Test(arguments: [(194, true), (195, false)])
    func userIDHasAMaximumLength(length: Int, isUsable: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let storage = FileSessionStorage(directory: directory)
            let userID = String(repeating: "x", count: length)
            let result = Result { try storage.save(session(userID)) }
            guard isUsable else {
                #expect(throws: SessionStorageError.self) { try result.get() }
                return
            }
            try result.get()
            try await storage.lockSession(for: userID).release()
            #expect(try storage.session(for: userID)?.userID == userID)
        }
    }

    /// The delegate creates a new session, and a handler signs out.
    @Test func refreshedSessionKeepsItsUser() async throws {
        struct AnonymousRefresh: AuthenticationDelegate {
            func authorize(over network: any NetworkingComponent) async throws -> Session {
                Session(accessToken: "new", refreshToken: "newer")
            }
        }

        let storage = InMemorySessionStorage()
        let store = TokenStore(session("emily"), in: storage, delegate: AnonymousRefresh())
        let network = MockTransport { request in
            request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        .authenticated(with: store).server(authority: "api.example.com")
        #expect(try await network.me().principal == Principal(id: "emily"))
        #expect(storage.userIDs() == ["emily"])
        #expect(storage.session(for: "emily")?.refreshToken == "newer")
    }

    @Test func updatedSessionKeepsItsUser() async throws {
        let storage = InMemorySessionStorage()
        var old = session("emily")
        old.refreshWindow = .seconds(90)
        let store = TokenStore(nil, in: storage)
        var changes = store.changes.makeAsyncIterator()
        store.set(old)
        store.update(Session(accessToken: "new", refreshToken: "newer"))
        #expect(store.credentials?.userID == "emily")
        #expect(store.credentials?.refreshWindow == .seconds(90))
        #expect(store.principal == Principal(id: "emily"))
        #expect(storage.userIDs() == ["emily"])
        #expect(TokenStore(for: "emily", in: storage).credentials?.accessToken == "new")
        _ = await changes.next()
        guard case .refreshed(let session) = await changes.next() else {
            Issue.record("the update was not published")
            return
        }
        #expect(session == store.credentials)
    }

    @Test func failureHandlerMayCallTheStore() throws {
        struct Full: SessionStorage {
            func session(for userID: String) throws -> Session? { nil }
            func save(_ session: Session) throws { throw SessionStorageError.unusable(reason: "full") }
            func removeSession(for userID: String) throws {}
            func userIDs() throws -> [String] { [] }
        }

        final class Box: Sendable {
            let store = Mutex<TokenStore<Session>?>(nil)
        }

        let box = Box()
        let store = TokenStore(nil, in: Full()) { _ in box.store.withLock { $0 }?.remove() }
        box.store.withLock { $0 = store }
        store.set(session("emily"))
        #expect(store.credentials == nil)
        box.store.withLock { $0 = nil }
    }

    @Test func storageMayCallTheStore() throws {
        final class Picky: SessionStorage {
            let sessions = InMemorySessionStorage()
            let store = Mutex<TokenStore<Session>?>(nil)

            func session(for userID: String) throws -> Session? { sessions.session(for: userID) }
            func removeSession(for userID: String) throws { sessions.removeSession(for: userID) }
            func userIDs() throws -> [String] { sessions.userIDs() }

            func save(_ session: Session) throws {
                let store = store.withLock { $0 }
                #expect(store?.credentials?.userID == session.userID)
                store?.remove()
                sessions.save(session)
            }
        }

        let storage = Picky()
        let store = TokenStore(nil, in: storage)
        storage.store.withLock { $0 = store }
        store.set(session("emily"))
        #expect(store.credentials == nil)
        // The removal is stored after the session, although it was made before.
        #expect(try storage.userIDs().isEmpty)
        storage.store.withLock { $0 = nil }
    }

    @Test func storeSavesChangedSessions() async throws {
        let server = TokenServer()
        let storage = InMemorySessionStorage()
        let store = TokenStore(nil, in: storage, delegate: server.delegate)
        let network = server.transport.authenticated(with: store).server(authority: "api.example.com")
        store.set(server.session())
        server.expire()
        try await network.me()
        #expect(storage.session(for: "emily")?.refreshToken == "refresh-1")
        // Another user signs in. The first session stays stored.
        store.set(session("james"))
        #expect(storage.userIDs() == ["emily", "james"])
        store.remove()
        #expect(storage.userIDs() == ["emily"])
    }
}
