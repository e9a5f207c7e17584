#if TestServer && URLSession
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// `server(endpoints:)` over sockets.
    @Suite(.timeLimit(.minutes(20)))
    struct EndpointTests {
        @Test func threeServersOfWhichOneDies() async throws {
            try await withTestServer { first in
                try await withTestServer { second in
                    try await withTestServer { third in
                        try await run([first, second, third])
                    }
                }
            }
        }

        private func run(_ servers: [TestServer]) async throws {
            for server in servers {
                server.route("/who") { _ in .text(server.authority) }
            }
            let endpoints = ServerEndpoints("localhost", endpoints: servers.map { .init($0.authority) })
            let clock = ManualClock()
            let network = URLSessionTransport(configuration: .ephemeral)
                .server(endpoints: endpoints)
                .authenticated(with: BearerCredentials(token: "secret"))
                .retry(.immediate(), budget: .unlimited)
                .server(scheme: "http")
                .environment(\.clock, .manual(clock))

            func send(_ count: Int) async throws -> [String: Int] {
                var counts: [String: Int] = [:]
                for _ in 0..<count {
                    let response = try await network.data(HTTPRequestData(path: "who"))
                    let text = String(decoding: response.data, as: UTF8.self)
                    #expect(response.endpoint == text)
                    #expect(response.url?.absoluteString == "http://localhost/who")
                    counts[text, default: 0] += 1
                }
                return counts
            }

            #expect(try await send(60).count == 3)
            let authorizations = servers.flatMap(\.requests).map { $0.headerFields[.authorization] }
            #expect(authorizations.count == 60 && authorizations.allSatisfy { $0 == "Bearer secret" })

            // Every call succeeds, because a retry moves on.
            await servers[1].stop()
            let afterDeath = try await send(60)
            #expect(Set(afterDeath.keys) == [servers[0].authority, servers[2].authority])
            #expect(endpoints.statuses.map(\.isEjected) == [false, true, false])

            try await servers[1].restart()
            clock.advance(by: .seconds(34))
            #expect(try await send(60).count == 3)
            #expect(endpoints.statuses.allSatisfy { !$0.isEjected && $0.inFlight == 0 })
        }
    }
}
#endif
