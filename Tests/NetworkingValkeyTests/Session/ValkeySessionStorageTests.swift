#if Valkey
import Foundation
import Networking
import NetworkingTesting
import NetworkingValkey
import TestSupport
import Testing

extension Servers {
    /// The values and the locks of sessions, in a server whose time is that of the test.
    @Suite(.timeLimit(.minutes(20)))
    struct ValkeySessionStorageTests {
        private let clock = ManualClock()
        private let valkey: FakeValkey
        private let session = Session(
            userID: "emily@example.com",
            accessToken: "access-token",
            refreshToken: "refresh-token",
            expirationDate: Date(timeIntervalSince1970: 1_800_000_000.25)
        )

        init() {
            valkey = .ofSessions(on: .manual(clock))
        }

        private func storage(
            _ namespace: String = "shop",
            _ keys: [SessionSealingKey] = [.first],
            lifetime: Duration = .seconds(90 * 86_400)
        ) -> ValkeySessionStorage {
            ValkeySessionStorage(valkey, namespace: namespace, keys: keys, lifetime: lifetime)
        }

        /// Runs a test on its clock.
        private func onClock(_ test: () async throws -> Void) async throws {
            var environment = NetworkEnvironment()
            environment.clock = .manual(clock)
            try await withEnvironment(environment) { try await test() }
        }

        private func acquired(_ outcome: SessionLockOutcome) -> SessionLock? {
            if case .acquired(let lock) = outcome { lock } else { nil }
        }

        /// Advances the clock to the next renewal of a lock with a lease of nine seconds.
        private func advanceToRenewal() async throws {
            // The time limits of commands are shorter.
            try await eventually("the lock waits for its renewal") {
                clock.nextDeadline.map { clock.now.duration(to: $0) } == .seconds(3)
            }
            clock.advance(by: .seconds(3))
        }

        private var sessionKey: String? {
            valkey.withKeys { keys in keys.names.first { $0.hasSuffix(":session") } }
        }

        // MARK: Sessions

        /// A token that is bound to a key is of no use without it (RFC 9449).
        @Test func keyOfASessionIsSealedAndKeptByARefresh() async throws {
            try await onClock {
                let storage = storage()
                var bound = session
                bound.boundKey = Session.BoundKey(representation: Data(repeating: 7, count: 32))
                try await storage.save(bound)
                let stored = try #require(try await storage.session(for: "emily@example.com"))
                #expect(stored == bound)
                let outcome = try await storage.lockSession(for: "emily@example.com", lease: .seconds(9))
                let lock = try #require(acquired(outcome))
                let next = stored.renewed(accessToken: "access-1", refreshToken: "refresh-1")
                #expect(try await storage.save(next, replacing: stored, under: lock))
                lock.release()
                #expect(try await storage.session(for: "emily@example.com")?.boundKey == bound.boundKey)
                let name = try #require(sessionKey)
                let value = Data(valkey.withKeys { $0[name] ?? [] })
                let key = Data(repeating: 7, count: 32)
                for secret in [key, Data(key.base64EncodedString().utf8)] {
                    #expect(value.firstRange(of: secret) == nil)
                }
            }
        }

        @Test func sessionIsStoredWithoutItsSecretsAndExpires() async throws {
            try await onClock {
                let storage = storage(lifetime: .seconds(100))
                #expect(try await storage.session(for: "emily@example.com") == nil)
                try await storage.save(session)
                #expect(try await storage.session(for: "emily@example.com") == session)
                #expect(try await storage.session(for: "") == nil)
                let key = try #require(sessionKey)
                #expect(key.wholeMatch(of: /\{shop:[0-9a-f]{32}\}:session/) != nil)
                let (value, lifetime) = valkey.withKeys { ($0[key] ?? [], $0.lifetime(of: key)) }
                #expect(lifetime == .seconds(100))
                let text = String(decoding: value, as: UTF8.self)
                for secret in ["access-token", "refresh-token", "emily"] {
                    #expect(!text.contains(secret))
                    #expect(!valkey.commands.joined().contains(secret))
                }
                // A session that is saved again is stored for as long as a new one.
                clock.advance(by: .seconds(60))
                try await storage.save(session)
                clock.advance(by: .seconds(60))
                #expect(try await storage.session(for: "emily@example.com") == session)
                clock.advance(by: .seconds(40))
                #expect(try await storage.session(for: "emily@example.com") == nil)
            }
        }

        @Test func removedSessionIsGone() async throws {
            try await onClock {
                try await storage().save(session)
                try await storage().removeSession(for: "emily@example.com")
                try await storage().removeSession(for: "emily@example.com")
                #expect(valkey.withKeys { $0.names }.isEmpty)
            }
        }

        @Test func keysAreReplacedOneAfterTheOther() async throws {
            try await onClock {
                try await storage("shop", [.first]).save(session)
                // The processes receive the new key before the first of them seals with it.
                #expect(try await storage("shop", [.first, .second]).session(for: "emily@example.com") == session)
                try await storage("shop", [.second, .first]).save(session)
                #expect(try await storage("shop", [.first, .second]).session(for: "emily@example.com") == session)
                #expect(try await storage("shop", [.second]).session(for: "emily@example.com") == session)
                let error = await #expect(throws: SessionStorageError.self) {
                    try await storage("shop", [.first]).session(for: "emily@example.com")
                }
                #expect(error?.description.contains("Give all processes the same keys") == true)
                await #expect(throws: SessionStorageError.self) { try await storage("shop", []).save(session) }
            }
            #expect("\(SessionSealingKey.first)" == "SessionSealingKey(1)")
            #expect(SessionSealingKey.first.id == "1")
        }

        @Test func changedOrForeignValueIsAnError() async throws {
            try await onClock {
                let storage = storage()
                try await storage.save(session)
                let key = try #require(sessionKey)
                let value = try #require(valkey.withKeys { $0[key] })
                var values = (0..<value.count).map { Array(value.prefix($0)) }
                for index in value.indices {
                    var changed = value
                    changed[index] ^= 1
                    values.append(changed)
                }
                values += [
                    [1, 255], [1, 0], [2] + value.dropFirst(), value + [0], Array(repeating: 1, count: 2 << 20),
                ]
                for value in values {
                    valkey.withKeys { $0.set(key, to: value, expiry: nil) }
                    await #expect(throws: SessionStorageError.self, "\(value.count) bytes") {
                        try await storage.session(for: "emily@example.com")
                    }
                }
                // The value of one user is not that of another one, nor that of another service.
                valkey.withKeys { $0.set(key, to: value, expiry: nil) }
                try await storage.save(Session(userID: "james", accessToken: "james"))
                let other = try #require(valkey.withKeys { keys in keys.names.first { $0 != key } })
                valkey.withKeys { $0.set(other, to: value, expiry: nil) }
                await #expect(throws: SessionStorageError.self) { try await storage.session(for: "james") }
                valkey.withKeys { $0.set(key.replacing("shop", with: "bank"), to: value, expiry: nil) }
                await #expect(throws: SessionStorageError.self) {
                    try await self.storage("bank").session(for: "emily@example.com")
                }
            }
        }

        // MARK: The lock

        @Test func lockHasOneHolderAndTheSlotOfItsSession() async throws {
            try await onClock {
                let (first, second) = (storage(), storage())
                let lock = try #require(acquired(try await first.lockSession(for: "emily", lease: .seconds(9))))
                #expect(lock.isHeld)
                guard case .held(let delay) = try await second.lockSession(for: "emily", lease: .seconds(9)) else {
                    Issue.record("two holders")
                    return
                }
                #expect(delay >= .milliseconds(50) && delay <= .milliseconds(150))
                // Held, because a lock that nobody holds is released.
                let other = try #require(acquired(try await second.lockSession(for: "james", lease: .seconds(9))))
                try await first.save(Session(userID: "emily", accessToken: "a"))
                let slots = valkey.withKeys { $0.names }.map { $0.prefix { $0 != "}" } }
                #expect(slots.count == 3)
                #expect(Set(slots).count == 2)
                withExtendedLifetime(other) {}
                lock.release()
                #expect(!lock.isHeld)
                try await eventually("the lock is released") {
                    acquired(try await second.lockSession(for: "emily", lease: .seconds(9))) != nil
                }
            }
            try await eventually("no renewal is left") { clock.sleepers == 0 }
        }

        @Test func lockIsRenewedWhileItIsHeld() async throws {
            try await onClock {
                let lock = try #require(acquired(try await storage().lockSession(for: "emily", lease: .seconds(9))))
                for number in 1...9 {
                    try await advanceToRenewal()
                    try await eventually("it is renewed") {
                        valkey.commands.count { $0.hasPrefix("RENEW") } == number
                    }
                }
                #expect(lock.isHeld)
                #expect(acquired(try await storage().lockSession(for: "emily", lease: .seconds(9))) == nil)
                lock.release()
            }
        }

        @Test func oneLostRenewalDoesNotLoseTheLock() async throws {
            try await onClock {
                let lock = try #require(acquired(try await storage().lockSession(for: "emily", lease: .seconds(9))))
                valkey.fail { $0.hasPrefix("RENEW") ? .failure(ValkeyError(.connectionLost)) : nil }
                try await advanceToRenewal()
                try await eventually("it is tried") { valkey.commands.last?.hasPrefix("RENEW") == true }
                valkey.recover()
                try await advanceToRenewal()
                try await eventually("it is renewed") { valkey.commands.count { $0.hasPrefix("RENEW") } == 2 }
                try await clock.waitForSleepers()
                clock.advance(by: .seconds(2))
                #expect(lock.isHeld)
                lock.release()
            }
        }

        /// The server and its holder agree that the lock has ended, whichever of them is asked.
        @Test func lockOfASuspendedHolderEnds() async throws {
            try await onClock {
                let storage = storage()
                try await storage.save(session)
                let user = "emily@example.com"
                let former = try #require(acquired(try await storage.lockSession(for: user, lease: .seconds(9))))
                valkey.fail { $0.hasPrefix("RENEW") ? .failure(ValkeyError(.unreachable)) : nil }
                try await clock.advance(by: .seconds(9), afterSleepers: 1)
                #expect(!former.isHeld)
                valkey.recover()
                let lock = try #require(acquired(try await storage.lockSession(for: user, lease: .seconds(9))))
                // It stores nothing while another holder refreshes, nor after that.
                let mine = Session(userID: user, accessToken: "mine")
                #expect(try await !storage.save(mine, replacing: session, under: former))
                let other = Session(userID: user, accessToken: "other")
                #expect(try await storage.save(other, replacing: session, under: lock))
                former.release()
                #expect(lock.isHeld)
                lock.release()
                try await eventually("the lock is released") { valkey.withKeys { $0.names.count } == 1 }
                #expect(try await !storage.save(mine, replacing: session, under: former))
                #expect(try await storage.session(for: user) == other)
            }
        }

        /// Nobody else has refreshed the session, so the new tokens are the only valid ones.
        @Test func holderOfAnEndedLockStoresTheSuccessorOfTheStoredSession() async throws {
            try await onClock {
                let storage = storage()
                try await storage.save(session)
                let user = "emily@example.com"
                let lock = try #require(acquired(try await storage.lockSession(for: user, lease: .seconds(9))))
                valkey.replaceKeys(ending: "lock")
                let new = Session(userID: user, accessToken: "new")
                #expect(try await storage.save(new, replacing: session, under: lock))
                // A sign-out is not undone.
                try await storage.removeSession(for: user)
                #expect(try await !storage.save(session, replacing: new, under: lock))
                #expect(try await storage.save(new, replacing: nil, under: lock))
            }
        }

        @Test func lostReplyOfASaveIsFoundOut() async throws {
            try await onClock {
                let storage = storage()
                let lock = try #require(acquired(try await storage.lockSession(for: "emily", lease: .seconds(9))))
                let new = Session(userID: "emily", accessToken: "new")
                valkey.fail { $0.hasPrefix("REPLACE") ? .lostReply(ValkeyError(.connectionLost)) : nil }
                await #expect(throws: SessionStorageError.self) {
                    try await storage.save(new, replacing: nil, under: lock)
                }
                #expect(try await storage.save(new, replacing: nil, under: lock))
                #expect(valkey.commands.count { $0.hasPrefix("REPLACE") } == 1)
            }
        }

        /// Otherwise nobody could refresh the session before the end of the lease.
        @Test func lockWhoseReplyIsLostIsReleased() async throws {
            try await onClock {
                valkey.fail { $0.hasPrefix("SET") ? .lostReply(ValkeyError(.timedOut)) : nil }
                await #expect(throws: SessionStorageError.self) {
                    try await storage().lockSession(for: "emily", lease: .seconds(9))
                }
                try await eventually("the lock is released") { valkey.withKeys { $0.names.isEmpty } }
            }
        }

        /// Otherwise each attempt during an outage would leave a release that is tried again for seconds.
        @Test(arguments: ValkeyError.Kind.allCases) func lockThatWasNotAskedForIsNotReleased(
            kind: ValkeyError.Kind
        ) async throws {
            try await onClock {
                valkey.fail { $0.hasPrefix("SET") ? .failure(ValkeyError(kind)) : nil }
                await #expect(throws: SessionStorageError.self) {
                    try await storage().lockSession(for: "emily", lease: .seconds(9))
                }
                let isUncertain = [.connectionLost, .timedOut, .malformedReply].contains(kind)
                if isUncertain {
                    try await eventually("it is released") { valkey.commands.contains { $0.hasPrefix("RELEASE") } }
                } else {
                    for _ in 0..<20 { await Task.yield() }
                    #expect(valkey.commands.count == 1)
                }
            }
        }

        @Test func waitForTheServerEndsAtItsLimitAndWithTheCaller() async throws {
            try await onClock {
                valkey.fail { _ in .silence }
                let storage = storage()
                let slow = Task { try await storage.session(for: "emily") }
                try await clock.advance(by: .milliseconds(500), afterSleepers: 1)
                let error = await #expect(throws: SessionStorageError.self) { try await slow.value }
                #expect(error?.description.contains("did not reply within 0.5 seconds") == true)
                let calls: [@Sendable () async throws -> Void] = [
                    { _ = try await storage.session(for: "emily") },
                    { try await storage.save(Session(accessToken: "a")) },
                    { try await storage.removeSession(for: "emily") },
                    { _ = try await storage.lockSession(for: "emily", lease: .seconds(9)) },
                    { _ = try await storage.lockSession(for: "emily") },
                    { _ = try await storage.save(Session(accessToken: "a"), replacing: nil, under: SessionLock {}) },
                ]
                for call in calls {
                    let count = valkey.commands.count
                    let task = Task { try await call() }
                    try await eventually("it waits") { valkey.commands.count > count }
                    task.cancel()
                    await #expect(throws: CancellationError.self) { try await task.value }
                }
            }
        }

        @Test func errorOfTheClientIsNamedWithoutItsText() async throws {
            struct Secret: Error, CustomStringConvertible {
                var description: String { "secret" }
            }
            try await onClock {
                valkey.fail { _ in .failure(Secret()) }
                let error = await #expect(throws: SessionStorageError.self) {
                    try await storage().session(for: "emily")
                }
                #expect(error?.description.contains("The client threw Secret.") == true)
                #expect(error?.description.contains("secret") == false)
                valkey.fail { _ in .failure(ValkeyError(.reply, code: "OOM", message: "secret")) }
                let other = await #expect(throws: SessionStorageError.self) { try await storage().save(session) }
                #expect(other?.description.contains("reply (OOM)") == true)
            }
        }
    }
}
#endif
