#if (os(Linux) || os(macOS)) && AsyncHTTPClient && TestServer
import Foundation
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// Servers in processes of their own, of which one dies or hangs.
    @Suite(.timeLimit(.minutes(20)))
    struct EndpointProcessTests {
        private let request = HTTPRequestData(scheme: "http", path: "who")

        @Test func deadProcessOfThreeCostsNoCall() async throws {
            try await withProcesses(3) { processes, endpoints, transport in
                // A retry moves on, so no caller notices.
                let network = transport.timeout(.seconds(2)).server(endpoints: endpoints)
                    .retry(.immediate(), budget: .unlimited)
                let dead = processes[1]
                try await withThrowingTaskGroup(of: Void.self) { callers in
                    for _ in 0..<4 {
                        callers.addTask {
                            for _ in 0..<100 {
                                let response = try await network.data(request)
                                #expect(response.status == .ok)
                            }
                        }
                    }
                    callers.addTask { dead.end() }
                    try await callers.waitForAll()
                }
                #expect(endpoints.statuses.map(\.isEjected) == [false, true, false])
                #expect(endpoints.statuses.allSatisfy { $0.inFlight == 0 })
            }
        }

        @Test func hangingProcessIsHedgedByTheOther() async throws {
            try await withProcesses(2) { processes, endpoints, transport in
                let network = transport.server(endpoints: endpoints)
                    .hedged(.after(.milliseconds(50), extraLoad: 1)).deadline(.seconds(4))
                for _ in 0..<8 { _ = try await network.data(request) }
                processes[0].pause()
                var hedges = 0
                // Chance begins each second call at the process that hangs, which would end it at the deadline.
                for _ in 0..<64 where hedges == 0 {
                    let response = try await network.data(request)
                    #expect(response.endpoint == endpoints.statuses[1].authority)
                    hedges += response.attempts.isEmpty ? 0 : 1
                }
                #expect(hedges > 0)
            }
        }

        /// Starts servers, and stops them afterwards.
        private func withProcesses(
            _ count: Int,
            _ body: ([ChildProcess], ServerEndpoints, AsyncHTTPClientTransport) async throws -> Void
        ) async throws {
            try await withTemporaryDirectory { directory in
                let processes = try (0..<count)
                    .map { try ChildProcess("AnsweringServer", [], output: directory.appending(path: "output\($0)")) }
                defer { for process in processes { process.end() } }
                try await eventually("the servers listen") { processes.allSatisfy { !$0.lines.isEmpty } }
                let endpoints = ServerEndpoints(
                    "localhost",
                    endpoints: processes.map { .init("127.0.0.1:\($0.lines[0])") }
                )
                let transport = AsyncHTTPClientTransport()
                do {
                    try await body(processes, endpoints, transport)
                } catch {
                    try? await transport.shutdown()
                    throw error
                }
                try await transport.shutdown()
            }
        }
    }
}
#endif
