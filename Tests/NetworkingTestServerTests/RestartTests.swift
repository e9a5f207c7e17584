#if TestServer
import NetworkingTestServer
import TestSupport
import Testing

/// Overlapping stops and restarts of one server.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct RestartTests {
    /// Runs a server with a handler that waits for a gate.
    ///
    /// A stop has to wait for the handler.
    private func withBusyServer(
        _ body: (_ server: TestServer, _ cancelled: Gate, _ end: Gate) async throws -> Void
    ) async throws {
        try await retryingTakenPort {
            try await withTestServer { server in
                let cancelled = Gate()
                let end = Gate()
                server.route("/") { _ in .ok }
                server.route("/busy") { _ in
                    do { try await Gate().wait() } catch { cancelled.open() }
                    // An unstructured task, because it must not be cancelled with the handler.
                    try await Task { try await end.wait() }.value
                    return .ok
                }
                try await withClient(of: server) { client in
                    try await client.send(get("/busy"))
                    try await server.waitForRequests(1)
                    // A failed scenario would otherwise wait for the handler without end.
                    defer { end.open() }
                    try await body(server, cancelled, end)
                }
            }
        }
    }

    @Test func overlappingRestartsRunOneAfterTheOther() async throws {
        try await withBusyServer { server, _, end in
            try await withThrowingDiscardingTaskGroup { group in
                let started = (1...5).map { _ in Gate() }
                for gate in started {
                    group.addTask {
                        gate.open()
                        try await server.restart()
                    }
                }
                for gate in started { try await gate.wait() }
                end.open()
            }
            let received = try await response(of: server, to: get("/"))
            #expect(received.hasPrefix("HTTP/1.1 200"))
        }
    }

    /// The last call decides: a server that is stopped during its restart does not run.
    @Test func stopDuringARestartStopsTheServer() async throws {
        try await withBusyServer { server, cancelled, end in
            async let restarted: Void = server.restart()
            defer { end.open() }
            // The restart has started to stop the server.
            try await cancelled.wait()
            let started = Gate()
            async let stopped: Void = {
                started.open()
                await server.stop()
            }()
            try await started.wait()
            end.open()
            try await restarted
            await stopped
            let isRefused = (try? await RawClient(to: server)) == nil
            // If another process had the port, this server could not start on it.
            try await withTestServer(port: server.port) { _ in }
            #expect(isRefused)
        }
    }

    /// A cancelled caller does not leave the server half restarted.
    @Test func cancelledCallerDoesNotInterruptARestart() async throws {
        try await withBusyServer { server, cancelled, end in
            let restarting = Task { try await server.restart() }
            defer { end.open() }
            try await cancelled.wait()
            restarting.cancel()
            end.open()
            try await restarting.value
            let received = try await response(of: server, to: get("/"))
            #expect(received.hasPrefix("HTTP/1.1 200"))
        }
    }
}
#endif
