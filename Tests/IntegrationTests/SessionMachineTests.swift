#if os(Linux) && Valkey && Crypto
import Crypto
import Foundation
import Networking
import NetworkingTesting
import NetworkingValkey
import TestSupport
import Testing

extension Loopback {
    /// Processes that share an expired session, whose refresh token is valid once.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(5)), .requires(.valkey))
    struct SessionMachineTests {
        private func storage(_ server: ValkeyServer) -> ValkeySessionStorage {
            let patient = ValkeyConfiguration(timeout: .seconds(10), connectTimeout: .seconds(10))
            let key = SessionSealingKey(id: "1", SymmetricKey(data: Array(repeating: 1, count: 32)))
            let client = ValkeyClient(.host("127.0.0.1", port: server.port), configuration: patient)
            return ValkeySessionStorage(client, namespace: "shop", keys: [key], timeout: .seconds(10))
        }

        /// Sends 1,000 requests in four processes, the first of which may hang in its refresh until it is killed.
        @Test(arguments: [false, true])
        func oneProcessRefreshesForAll(killsTheFirst: Bool) async throws {
            try await withTemporaryDirectory { directory in
                try await withValkeyServer { server in
                    let session = Session(
                        userID: "emily",
                        accessToken: "access-0",
                        refreshToken: "refresh-0",
                        expirationDate: .distantPast
                    )
                    try await storage(server).save(session)
                    func process(_ number: Int, _ mode: String) throws -> ChildProcess {
                        try ChildProcess(
                            "SessionMachine",
                            ["\(server.port)", "250", mode],
                            output: directory.appending(path: "\(number)")
                        )
                    }
                    let first = try process(0, killsTheFirst ? "hang" : "run")
                    if killsTheFirst {
                        try await eventually("it refreshes") { first.lines.contains("refreshing") }
                        first.end()
                    }
                    let others = try (1...3).map { try process($0, "run") }
                    for process in (killsTheFirst ? [] : [first]) + others {
                        #expect(await process.status() == 0)
                        #expect(process.lines == ["answered 250"])
                    }
                    #expect(try server.command("GET", "used:refresh-0") == "$1\r\n1\r\n")
                    #expect(try server.command("EXISTS", "used:refresh-1") == ":0\r\n")
                    #expect(try await storage(server).session(for: "emily")?.refreshToken == "refresh-1")
                }
            }
        }
    }
}
#endif
