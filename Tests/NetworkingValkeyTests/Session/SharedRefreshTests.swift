#if Valkey
import Foundation
import Networking
import NetworkingTesting
import NetworkingValkey
import Synchronization
import TestSupport
import Testing

extension Servers {
    /// Stores of several machines that share the sessions of one server, each with its own storage object.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct SharedRefreshTests {
        private let clock = ManualClock()
        private let server = RotatingTokens()
        private let failures = Journal()

        /// The store of a machine.
        private func machine(
            _ commands: any ValkeyCommands,
            _ delegate: ScriptedAuthenticationDelegate<Session>,
            of user: String = "emily",
            timeout: Duration = .seconds(60)
        ) async throws -> TokenStore<Session> {
            try await TokenStore(
                for: user,
                sharing: storage(commands),
                delegate: delegate,
                timeout: timeout,
                onStorageFailure: { [failures] in failures.note("\($0)") }
            )
        }

        private func storage(_ commands: any ValkeyCommands) -> ValkeySessionStorage {
            // Longer than any test advances its clock while a command runs.
            ValkeySessionStorage(commands, namespace: "shop", keys: [.first], timeout: .seconds(200))
        }

        /// Advances the clock until a condition is true.
        private func advance(_ expectation: Comment, until condition: () async throws -> Bool) async throws {
            try await eventually(expectation) {
                if try await condition() { return true }
                clock.advance(by: .milliseconds(10))
                return false
            }
        }

        /// Runs a test on its clock.
        private func onClock(_ test: (FakeValkey) async throws -> Void) async throws {
            let clock = NetworkClock.manual(clock)
            var environment = NetworkEnvironment()
            environment.clock = clock
            try await withEnvironment(environment) { try await test(.ofSessions(on: clock)) }
        }

        private func stack(_ tokens: TokenStore<Session>) -> AnyNetworkingComponent {
            server.stack(tokens, on: .manual(clock))
        }

        /// Releases are made in the background.
        private func lockIsReleased(in valkey: FakeValkey) async throws {
            try await eventually("the lock is released") { !valkey.hasKey(ending: "lock") }
        }

        // MARK: One refresh

        /// Sends the requests of several machines at once, and checks that one of them has refreshed the session.
        private func refreshOnce(_ engines: [any ValkeyCommands], timeout: Duration, requests: Int) async throws {
            var networks: [AnyNetworkingComponent] = []
            for engine in engines {
                let machine = try await machine(engine, server.delegate(taking: .milliseconds(50)), timeout: timeout)
                networks.append(server.stack(machine))
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<requests {
                    let network = networks[number % networks.count]
                    group.addTask { try await network.me().status.code }
                }
                for try await status in group {
                    #expect(status == 200)
                }
            }
            #expect(server.refreshes == 1)
            #expect(!server.isRevoked)
            #expect(failures.entries.isEmpty)
        }

        @Test func oneOfFourMachinesRefreshesForAThousandRequests() async throws {
            let valkey = FakeValkey.ofSessions(on: .continuous)
            try await storage(valkey).save(server.session())
            try await refreshOnce(Array(repeating: valkey, count: 4), timeout: .seconds(200), requests: 1_000)
        }

        /// The machine that has the lock was killed before it sent its request.
        @Test func anotherMachineRefreshesWhenTheLeaseOfAKilledOneHasEnded() async throws {
            let valkey = FakeValkey.ofSessions(on: .continuous)
            try await storage(valkey).save(server.session())
            // Nobody renews or releases this lock.
            valkey.withKeys { keys in
                for key in keys.names {
                    keys.set(key.replacing(":session", with: ":lock"), to: [1], expiry: .milliseconds(300))
                }
            }
            let start = ContinuousClock.now
            try await refreshOnce(Array(repeating: valkey, count: 4), timeout: .seconds(200), requests: 100)
            #expect(ContinuousClock.now - start > .milliseconds(250))
        }

        @Test func leaseIsLongerThanTheRefreshMayTake() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let delegate = server.delegate()
                let tokens = try await machine(valkey, delegate, timeout: .seconds(20))
                delegate.hold()
                async let response = stack(tokens).me()
                try await delegate.waitForCalls()
                for second in 0..<19 {
                    let rest = valkey.withKeys { keys in
                        keys.names.first { $0.hasSuffix("lock") }.flatMap { keys.lifetime(of: $0) }
                    }
                    #expect(try #require(rest) > .seconds(20 - second))
                    clock.advance(by: .seconds(1))
                    try await eventually("renewed") {
                        valkey.commands.count { $0.hasPrefix("RENEW") } == (second + 1) / 10
                    }
                }
                delegate.release()
                #expect(try await response.status == .ok)
                try await lockIsReleased(in: valkey)
            }
            try await eventually("nothing waits") { clock.sleepers == 0 }
        }

        /// The machine that has refreshed the session was killed before it released the lock.
        @Test func waitingMachineUsesTheStoredSessionBeforeTheLockIsReleased() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let tokens = try await machine(valkey, server.delegate())
                let new = try server.refresh(server.session())
                let lock = try await storage(valkey).lockSession(for: "emily", lease: .seconds(90))
                async let response = stack(tokens).me()
                try await eventually("it waits") { valkey.commands.count { $0.hasPrefix("SET") } == 3 }
                try await storage(valkey).save(new)
                try await advance("the session is used") { tokens.credentials == new }
                #expect(try await response.status == .ok)
                #expect(server.refreshes == 1)
                withExtendedLifetime(lock) {}
            }
        }

        @Test func waitForTheLockEndsAtTheTimeLimitAndWithTheCaller() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let tokens = try await machine(valkey, server.delegate(), timeout: .seconds(5))
                let lock = try await storage(valkey).lockSession(for: "emily", lease: .seconds(900))
                let network = stack(tokens)
                let events = [EventRecorder(), EventRecorder()]
                let calls = events.map { events in
                    let request = HTTPRequestData(path: "me").with { $0.addObserver(events) }
                    return Task { try await network.data(request) }
                }
                let (call, cancelled) = (calls[0], calls[1])
                try await eventually("both wait") { events.allSatisfy { $0.names.contains("waiting") } }
                try await eventually("one asks for the lock") { valkey.commands.count { $0.hasPrefix("SET") } == 3 }
                cancelled.cancel()
                let result = await cancelled.result
                #expect(throws: CancellationError.self) { try result.get() }
                clock.advance(by: .seconds(5))
                let error = await #expect(throws: NetworkingError.self) { try await call.value }
                #expect(error?.kind == .timeout)
                #expect(server.refreshes == 0)
                withExtendedLifetime(lock) {}
            }
        }

        @Test func oneMachineFetchesTheFirstSession() async throws {
            try await onClock { valkey in
                let delegate = server.delegate()
                let first = try await machine(valkey, delegate, of: "")
                let second = try await machine(valkey, delegate, of: "")
                #expect(try await stack(first).me().status == .ok)
                try await lockIsReleased(in: valkey)
                #expect(try await stack(second).me().status == .ok)
                #expect(server.authorizations == 1)
                #expect(second.credentials == first.credentials)
            }
        }

        // MARK: Outages

        @Test(arguments: ["SET", "GET"])
        func withoutTheServerNoTokenIsSentAndAValidOneIsUsed(command: String) async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session(expiring: clock.date.addingTimeInterval(20)))
                let tokens = try await machine(valkey, server.delegate())
                valkey.fail { $0.hasPrefix(command) ? .failure(ValkeyError(.unreachable)) : nil }
                #expect(try await stack(tokens).me().status == .ok)
                clock.advance(by: .seconds(20))
                for _ in 1...10 {
                    let error = await #expect(throws: NetworkingError.self) { try await stack(tokens).me() }
                    #expect(error?.kind == .storage)
                    #expect(error?.wasNotProcessed == true)
                    #expect(error?.underlying is SessionStorageError)
                    #expect(error?.reason.contains("so no token was sent") == true)
                }
                #expect(server.refreshes == 0)
                valkey.recover()
                try await lockIsReleased(in: valkey)
                #expect(try await stack(tokens).me().status == .ok)
                #expect(server.refreshes == 1)
            }
        }

        @Test func outageIsRetriedAlsoForAPost() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let tokens = try await machine(valkey, server.delegate())
                let failing = Mutex(2)
                valkey.fail { command in
                    guard command.hasPrefix("SET") else { return nil }
                    let isFailing = failing.withLock { count in
                        defer { count -= 1 }
                        return count > 0
                    }
                    return isFailing ? .failure(ValkeyError(.unreachable)) : nil
                }
                let network = server.api.authenticated(with: tokens).retry().server(authority: "api.example.com")
                    .environment(\.clock, .manual(clock))
                let call = Task { try await network.data(HTTPRequestData(method: .post, path: "orders")) }
                try await advance("the session is refreshed") { server.refreshes == 1 }
                #expect(try await call.value.status == .ok)
                #expect(server.refreshes == 1)
            }
        }

        @Test func slowServerFailsTheRefreshAtItsLimit() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let storage = ValkeySessionStorage(valkey, namespace: "shop", keys: [.first])
                let tokens = try await TokenStore(for: "emily", sharing: storage, delegate: server.delegate())
                valkey.fail { _ in .silence }
                let network = stack(tokens)
                let call = Task { try await network.me() }
                try await clock.advance(by: .milliseconds(500), afterSleepers: 2)
                let error = await #expect(throws: NetworkingError.self) { try await call.value }
                #expect(error?.kind == .storage)
                #expect(error?.reason.contains("did not reply within 0.5 seconds") == true)
                #expect(server.refreshes == 0)
            }
        }

        /// The refresh token was used, so the new session is stored as soon as possible, and nobody else refreshes.
        @Test func sessionThatCannotBeStoredIsUsedAndStoredLater() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let first = try await machine(valkey, server.delegate())
                let second = try await machine(valkey, server.delegate())
                valkey.fail { $0.hasPrefix("REPLACE") ? .failure(ValkeyError(.connectionLost)) : nil }
                #expect(try await stack(first).me().status == .ok)
                #expect(valkey.hasKey(ending: "lock"))
                let network = stack(second)
                let call = Task { try await network.me() }
                try await eventually("it waits for the lock") { valkey.commands.count { $0.hasPrefix("SET") } == 3 }
                valkey.recover()
                try await advance("the other machine uses it") { second.credentials == first.credentials }
                #expect(try await call.value.status == .ok)
                #expect(server.refreshes == 1)
                #expect(!server.isRevoked)
                #expect(failures.entries.isEmpty)
                #expect(try await storage(valkey).session(for: "emily")?.accessToken == "access-1")
                try await lockIsReleased(in: valkey)
            }
        }

        @Test func sessionThatIsNeverStoredIsReportedAndTheLockReleased() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let tokens = try await machine(valkey, server.delegate(), timeout: .seconds(5))
                valkey.fail { $0.hasPrefix("REPLACE") ? .failure(ValkeyError(.reply, code: "OOM")) : nil }
                #expect(try await stack(tokens).me().status == .ok)
                try await advance("the failure is reported") { !failures.entries.isEmpty }
                #expect(failures.entries.count == 1)
                #expect(failures.entries.first?.contains("OOM") == true)
                try await lockIsReleased(in: valkey)
            }
        }

        // MARK: Lost locks

        @Test func machineThatHasLostItsLockUsesWhatAnotherHasStored() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let delegate = ScriptedAuthenticationDelegate<Session>(refresh: { _, _, _ in
                    Session(userID: "emily", accessToken: "late", refreshToken: "late")
                })
                let tokens = try await machine(valkey, delegate)
                delegate.hold()
                async let response = stack(tokens).me()
                try await delegate.waitForCalls()
                // The process is suspended, and another machine refreshes the session.
                valkey.replaceKeys(ending: "lock")
                try await storage(valkey).save(try server.refresh(server.session()))
                delegate.release()
                #expect(try await response.status == .ok)
                #expect(tokens.credentials?.accessToken == "access-1")
                #expect(try await storage(valkey).session(for: "emily")?.accessToken == "access-1")
            }
        }

        @Test func machineThatHasLostItsLockStoresNothingWhileAnotherRefreshes() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let delegate = server.delegate()
                let tokens = try await machine(valkey, delegate)
                delegate.hold()
                async let response = stack(tokens).me()
                try await delegate.waitForCalls()
                valkey.replaceKeys(ending: "lock", with: [1], expiry: .seconds(90))
                delegate.release()
                #expect(try await response.status == .ok)
                #expect(tokens.credentials?.accessToken == "access-1")
                #expect(failures.entries.first?.contains("was lost during its refresh") == true)
                #expect(try await storage(valkey).session(for: "emily")?.accessToken == "access-0")
            }
        }

        // MARK: Signing in and out

        @Test func signInAndSignOutAreStoredInOrder() async throws {
            try await onClock { valkey in
                let tokens = await TokenStore(nil, sharing: storage(valkey), delegate: server.delegate())
                tokens.set(server.session())
                tokens.remove()
                tokens.set(server.session(of: "james"))
                tokens.update(Session(accessToken: "newer"))
                try await tokens.flush()
                #expect(try await storage(valkey).session(for: "emily") == nil)
                #expect(try await storage(valkey).session(for: "james")?.accessToken == "newer")
            }
        }

        /// The user who has signed out would be signed in again otherwise.
        @Test func signOutDuringAnOutageIsCarriedOutBeforeTheNextRefresh() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let tokens = try await machine(valkey, server.delegate())
                valkey.fail { _ in .failure(ValkeyError(.unreachable)) }
                tokens.remove()
                try await tokens.flush()
                #expect(failures.entries.count == 1)
                await #expect(throws: NetworkingError.self) { try await stack(tokens).me() }
                valkey.recover()
                _ = try? await stack(tokens).me()
                #expect(server.authorizations == 1)
                #expect(try await storage(valkey).session(for: "emily") == nil)
            }
        }

        @Test func signOutOfAnotherMachineDuringTheRefreshLasts() async throws {
            try await onClock { valkey in
                try await storage(valkey).save(server.session())
                let delegate = server.delegate()
                let tokens = try await machine(valkey, delegate)
                delegate.hold()
                let network = stack(tokens)
                let call = Task { try await network.me() }
                try await delegate.waitForCalls()
                try await storage(valkey).removeSession(for: "emily")
                delegate.release()
                let error = await #expect(throws: NetworkingError.self) { try await call.value }
                #expect(error?.kind == .unauthorized)
                #expect(tokens.credentials == nil)
                #expect(try await storage(valkey).session(for: "emily") == nil)
            }
        }

        @Test func storeIsNotCreatedWithoutTheServer() async throws {
            try await onClock { valkey in
                valkey.fail { _ in .failure(ValkeyError(.unreachable)) }
                await #expect(throws: SessionStorageError.self) { try await machine(valkey, server.delegate()) }
                let session = server.session()
                let tokens = await TokenStore(
                    session,
                    sharing: storage(valkey),
                    delegate: server.delegate(),
                    onStorageFailure: { [failures] in failures.note("\($0)") }
                )
                #expect(tokens.credentials == session)
                #expect(failures.entries.count == 1)
            }
        }
    }
}
#endif
