#if SQLite
import Foundation
import Networking
import NetworkingCore
import NetworkingSQLite
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The sessions of the users, and stores of several processes that share them.
///
/// ``DatabaseFileTests`` tests damage and full disks. `SharedSessionStorageTests` tests the file of the lock.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SQLiteSessionStorageTests {
    private func session(_ user: String?, _ number: Int = 0, expiring date: Date? = nil) -> Session {
        Session(
            userID: user,
            accessToken: "access-\(number)",
            refreshToken: "refresh-\(number)",
            expirationDate: date
        )
    }

    private func withStorage(_ test: (SQLiteSessionStorage, URL) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "new/sessions.sqlite")
            try await test(SQLiteSessionStorage(file: file), file)
        }
    }

    private func acquired(_ outcome: SessionLockOutcome) throws -> SessionLock {
        guard case .acquired(let lock) = outcome else { throw CancellationError() }
        return lock
    }

    @Test func sessionsOfUsersAreApart() async throws {
        try await withStorage { storage, file in
            #expect(try await storage.session(for: "emily") == nil)
            #expect(try await storage.userIDs().isEmpty)
            for user in ["emily", nil, "Émile", "a\u{0}b"] {
                try await storage.save(session(user))
            }
            try await storage.save(session("emily", 1))
            let other = SQLiteSessionStorage(file: file)
            #expect(other.file == file)
            #expect(try await other.userIDs() == ["", "a\u{0}b", "emily", "Émile"])
            #expect(try await other.session(for: "emily") == session("emily", 1))
            #expect(try await other.session(for: "") == session(nil))
            #expect(try await other.session(for: "a") == nil)
            try await other.removeSession(for: "emily")
            #expect(try await storage.session(for: "emily") == nil)
            try await other.removeAll()
            #expect(try await storage.userIDs().isEmpty)
            // No token is left, neither in the file nor in its log.
            for name in try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path) {
                let data = try Data(contentsOf: file.deletingLastPathComponent().appending(path: name))
                #expect(data.firstRange(of: Data("refresh-".utf8)) == nil, "\(name)")
            }
        }
    }

    /// A token that is bound to a key is of no use without it (RFC 9449).
    @Test func keyOfASessionIsKeptByARefresh() async throws {
        try await withStorage { storage, file in
            var bound = session("emily")
            bound.boundKey = Session.BoundKey(representation: Data(repeating: 7, count: 32))
            try await storage.save(bound)
            let other = SQLiteSessionStorage(file: file)
            let stored = try #require(try await other.session(for: "emily"))
            #expect(stored == bound)
            let lock = try acquired(try await other.lockSession(for: "emily", lease: .seconds(1)))
            let next = stored.renewed(accessToken: "access-1", refreshToken: "refresh-1")
            #expect(try await other.save(next, replacing: stored, under: lock))
            lock.release()
            #expect(try await storage.session(for: "emily")?.boundKey == bound.boundKey)
            try await storage.removeSession(for: "emily")
            let key = Data(repeating: 7, count: 32).base64EncodedString()
            for name in try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path) {
                let data = try Data(contentsOf: file.deletingLastPathComponent().appending(path: name))
                #expect(data.firstRange(of: Data(key.utf8)) == nil, "\(name)")
            }
        }
    }

    @Test func changedSessionIsNotReplaced() async throws {
        try await withStorage { storage, _ in
            let lock = try acquired(try await storage.lockSession(for: "emily", lease: .seconds(1)))
            #expect(try await storage.save(session("emily", 1), replacing: nil, under: lock))
            #expect(try await storage.save(session("emily", 2), replacing: session("emily", 1), under: lock))
            // The same change again, after an outcome that was not known.
            #expect(try await storage.save(session("emily", 2), replacing: session("emily", 1), under: lock))
            #expect(try await !storage.save(session("emily", 3), replacing: session("emily", 1), under: lock))
            try await storage.removeSession(for: "emily")
            #expect(try await !storage.save(session("emily", 3), replacing: session("emily", 2), under: lock))
            #expect(try await storage.session(for: "emily") == nil)
        }
    }

    @Test func lockHasOneHolderAndLeavesNoFile() async throws {
        try await withStorage { storage, file in
            let other = SQLiteSessionStorage(file: file)
            let lock = try acquired(try await storage.lockSession(for: "emily", lease: .seconds(1)))
            guard case .held = try await other.lockSession(for: "emily", lease: .seconds(1)) else {
                Issue.record("two holders")
                return
            }
            _ = try acquired(try await other.lockSession(for: "james", lease: .seconds(1)))
            lock.release()
            _ = try acquired(try await other.lockSession(for: "emily", lease: .seconds(1)))
            let names = try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
            #expect(!names.contains { $0.contains("-lock-") })
        }
    }

    @Test func oneOfFourProcessesRefreshes() async throws {
        try await withStorage { storage, file in
            try await storage.save(session("emily", 0, expiring: .distantPast))
            // A server that accepts each refresh token once.
            let number = Mutex(0)
            let refreshes = Journal()
            let delegate = ScriptedAuthenticationDelegate<Session>(refresh: { session, _, _ in
                refreshes.note(session.refreshToken ?? "none")
                try await Task.sleep(for: .milliseconds(50))
                return self.session(
                    "emily",
                    number.withLock { number in
                        number += 1
                        return number
                    }
                )
            })
            let transport = MockTransport { request in
                request.headerFields[.authorization] == "Bearer access-\(number.withLock { $0 })"
                    ? .ok() : .status(.unauthorized)
            }
            var networks: [AnyNetworkingComponent] = []
            for _ in 0..<4 {
                let storage = SQLiteSessionStorage(file: file)
                let tokens = try await TokenStore(for: "emily", sharing: storage, delegate: delegate)
                networks.append(
                    AnyNetworkingComponent(transport.authenticated(with: tokens).server(authority: "api.example.com"))
                )
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<200 {
                    let network = networks[number % 4]
                    group.addTask { try await network.data(HTTPRequestData(path: "me")).status.code }
                }
                for try await status in group {
                    #expect(status == 200)
                }
            }
            #expect(refreshes.entries == ["refresh-0"])
            #expect(try await storage.session(for: "emily") == session("emily", 1))
        }
    }
}
#endif
