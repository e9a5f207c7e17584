#if os(Linux) && ServiceLifecycle && AsyncHTTPClient && TestServer
import Foundation
import Networking
import NetworkingTestServer
import NetworkingTesting
import TestSupport
import Testing

/// A process with a `ServiceGroup` that the system stops while a request is in flight.
@Suite(.timeLimit(.minutes(20)))
struct StoppedServiceTests {
    @Test func callInFlightCompletesAfterSIGTERM() async throws {
        let gate = Gate()
        let lines = try await linesOfProcess(limit: 60_000, gate) { gate.open() }
        #expect(lines.first == "stopping")
        // The call is resumed and the transport closes at the same time.
        #expect(Set(lines.dropFirst().prefix(2)) == ["call: 200", "closed"])
        #expect(lines.dropFirst(3) == ["late call: rejected", "late exchange: rejected"])
    }

    @Test func callInFlightIsCancelledAtTheLimit() async throws {
        let gate = Gate()
        let lines = try await linesOfProcess(limit: 100, gate) {}
        #expect(lines.first == "stopping")
        #expect(Set(lines.dropFirst().prefix(2)) == ["call: connectionLost", "closed"])
        #expect(lines.dropFirst(3) == ["late call: rejected", "late exchange: rejected"])
    }

    /// Stops the process during its request, and returns its lines.
    private func linesOfProcess(
        limit: Int,
        _ gate: Gate,
        afterStart: () -> Void
    ) async throws -> [String] {
        try await withTemporaryDirectory { directory in
            try await withTestServer { server in
                server.route(.get, "/held") { _ in
                    try await gate.wait()
                    return .text("done")
                }
                let process = try ChildProcess(
                    "StoppedService",
                    ["\(server.url)", "\(limit)"],
                    output: directory.appending(path: "output")
                )
                try await server.waitForRequests(1)
                process.terminate()
                try await eventually("the service stops") { process.lines.first == "stopping" }
                afterStart()
                #expect(await process.status() == 0)
                return process.lines
            }
        }
    }
}
#endif
