#if AsyncHTTPClient && TestServer
import FoundationForNetworking
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer
import NIOCore
import NIOPosix
import Synchronization
import Testing
import TestSupport

extension Loopback {
    /// Exchanges on event loops that an app provides.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
    struct EventLoopTests {
        /// Counts the ticks of event loops.
        private final class Work: NIOEventLoopMetricsDelegate {
            private let ticks = Atomic(0)

            var count: Int { ticks.load(ordering: .relaxed) }

            func processedTick(info: NIOEventLoopTickInfo) {
                ticks.add(1, ordering: .relaxed)
            }
        }

        @Test func exchangesRunOnTheGivenEventLoopGroup() async throws {
            try await withTestServer { server in
                server.route("/") { _ in .text("Hello") }
                let work = Work()
                let group = MultiThreadedEventLoopGroup(numberOfThreads: 1, metricsDelegate: work)
                let transport = AsyncHTTPClientTransport(eventLoopGroup: group)
                // A new group has finished its initial work.
                for _ in 1...3 { try await group.next().submit {}.get() }
                let before = work.count
                for _ in 1...10 {
                    let response = try await transport.server(baseURL: server.url).data(HTTPRequestData())
                    #expect(response.data == Data("Hello".utf8))
                }
                #expect(work.count - before >= 10)
                try await transport.shutdown()
                try await group.shutdownGracefully()
            }
        }
    }
}
#endif
