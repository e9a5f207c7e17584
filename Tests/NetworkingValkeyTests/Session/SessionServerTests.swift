#if Valkey
import Foundation
import Networking
import NetworkingCore
import NetworkingTesting
import NetworkingValkey
import TestSupport
import Testing

extension Servers {
    /// The sessions in a real server, which runs the scripts and measures the leases.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)), .requires(.valkey))
    struct SessionServerTests {
        private let tokens = RotatingTokens()
        private let failures = Journal()
        // A busy machine may take seconds for a connection.
        private let patient = ValkeyConfiguration(
            timeout: .seconds(200),
            connectTimeout: .seconds(200),
            backoff: .immediate
        )

        private func storage(
            _ server: ValkeyServer,
            _ configuration: ValkeyConfiguration? = nil
        ) -> ValkeySessionStorage {
            let client = ValkeyClient(server.address, configuration: configuration ?? patient)
            return ValkeySessionStorage(client, namespace: "shop", keys: [.first], timeout: .seconds(200))
        }

        /// The stack of a machine with a client of its own.
        private func machine(
            _ server: ValkeyServer,
            _ delegate: ScriptedAuthenticationDelegate<Session>
        ) async throws -> AnyNetworkingComponent {
            tokens.stack(
                try await TokenStore(
                    for: "emily",
                    sharing: storage(server),
                    delegate: delegate,
                    timeout: .seconds(200),
                    onStorageFailure: { [failures] in failures.note("\($0)") }
                )
            )
        }

        /// The stack of a machine that already has its session, with a short time limit for commands.
        private func impatientMachine(_ server: ValkeyServer, _ session: Session) async -> AnyNetworkingComponent {
            let storage = storage(server, ValkeyConfiguration(timeout: .milliseconds(200)))
            return tokens.stack(await TokenStore(session, sharing: storage, delegate: tokens.delegate()))
        }

        /// Returns how many scripts a server has run.
        private func scripts(of server: ValkeyServer) throws -> Int {
            let statistics = try server.command("INFO", "commandstats")
            return try #require(statistics.firstMatch(of: /cmdstat_evalsha:calls=(\d+)/).flatMap { Int($0.1) })
        }

        private func acquired(_ outcome: SessionLockOutcome) -> SessionLock? {
            if case .acquired(let lock) = outcome { lock } else { nil }
        }

        @Test func scriptsCompareTheHolder() async throws {
            try await withValkeyServer { server in
                let (first, second) = (storage(server), storage(server))
                let (old, new) = (tokens.session(), Session(userID: "emily", accessToken: "new"))
                try await first.save(old)
                let lock = try #require(acquired(try await first.lockSession(for: "emily", lease: .seconds(8))))
                let key = try #require(
                    try server.command("KEYS", "*:lock").split(separator: "\r\n").last.map(String.init)
                )
                #expect(try server.command("PERSIST", key) == ":1\r\n")
                #expect(acquired(try await second.lockSession(for: "emily", lease: .seconds(60))) == nil)
                try await eventually("the lock is renewed") { try server.command("PTTL", key) != ":-1\r\n" }
                try server.command("SET", key, "another", "PX", "60000")
                try await eventually("the holder notices it") { !lock.isHeld }
                #expect(try await !first.save(new, replacing: old, under: lock))
                let scripts = try scripts(of: server)
                lock.release()
                try await eventually("the release is decided") { try self.scripts(of: server) > scripts }
                #expect(try server.command("GET", key).contains("another"))
                try server.command("DEL", key)
                #expect(try await !first.save(new, replacing: new, under: lock))
                #expect(try await first.save(new, replacing: old, under: lock))
                #expect(try await second.session(for: "emily") == new)
                try await second.removeSession(for: "emily")
                #expect(try await first.session(for: "emily") == nil)
                #expect(try await !first.save(old, replacing: new, under: lock))
            }
        }

        @Test func withoutTheServerNoTokenIsSentAndAValidOneIsUsed() async throws {
            try await withValkeyServer { server in
                try await storage(server).save(tokens.session())
                let expired = await impatientMachine(server, tokens.session())
                // In the leeway: the refresh in the background fails.
                let valid = await impatientMachine(server, tokens.session(expiring: .now.addingTimeInterval(20)))
                server.kill()
                for _ in 0..<20 {
                    let error = await #expect(throws: NetworkingError.self) { try await expired.me() }
                    #expect(error?.kind == .storage)
                    #expect(error?.underlying is SessionStorageError)
                    #expect(try await valid.me().status == .ok)
                }
                #expect(tokens.refreshes == 0)
                try await server.start()
                try await storage(server).save(tokens.session())
                try await eventually("the session is refreshed") {
                    (try? await expired.me())?.status == .ok
                }
                #expect(tokens.refreshes == 1)
                #expect(!tokens.isRevoked)
            }
        }

        @Test func serverThatHangsFailsTheRefreshInTime() async throws {
            try await withValkeyServer { server in
                try await storage(server).save(tokens.session())
                let network = await impatientMachine(server, tokens.session())
                server.pause()
                let start = ContinuousClock.now
                let error = await #expect(throws: NetworkingError.self) { try await network.me() }
                #expect(error?.kind == .storage)
                #expect(ContinuousClock.now - start < .seconds(30))
                #expect(tokens.refreshes == 0)
                server.resume()
                // The server has run the command of the lock, and the lock is released again.
                try await eventually("the session is refreshed") {
                    (try? await network.me())?.status == .ok
                }
                #expect(tokens.refreshes == 1)
            }
        }
    }
}
#endif
