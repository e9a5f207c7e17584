#if TestServer
import NetworkingTestServer
import TestSupport
import Testing

/// Stops and restarts of one server that overlap.
@Suite(.tags(.concurrency), .timeLimit(.minutes(5)))
struct RestartTests {
    /// Runs a server with a request whose handler goes on until a gate opens, so that whoever stops the server has to
    /// wait.
    private func withBusyServer(
        _ body: (_ server: TestServer, _ cancelled: Gate, _ end: Gate) async throws -> Void
    ) async throws {
        try await withPortOfItsOwn {
            try await withTestServer { server in
                let cancelled = Gate()
                let end = Gate()
                server.route("/") { _ in .ok }
                server.route("/busy") { _ in
                    do { try await Gate().wait() } catch { cancelled.open() }
                    // In a task of its own, which is not cancelled with the handler.
                    try await Task { try await end.wait() }.value
                    return .ok
                }
                try await withClient(of: server) { client in
                    try await client.send(get("/busy"))
                    try await server.waitForRequests(1)
                    // Else a scenario that fails would wait for it for ever.
                    defer { end.open() }
                    try await body(server, cancelled, end)
                }
            }
        }
    }

    @Test func restartsThatOverlapAreMadeOneAfterTheOther() async throws {
        try await withBusyServer { server, _, end in
            try await withThrowingDiscardingTaskGroup { group in
                let begun = (1...5).map { _ in Gate() }
                for gate in begun {
                    group.addTask {
                        gate.open()
                        try await server.restart()
                    }
                }
                for gate in begun { try await gate.wait() }
                end.open()
            }
            let answer = try await response(of: server, to: get("/"))
            #expect(answer.hasPrefix("HTTP/1.1 200"))
        }
    }

    /// The last word counts: a server that was stopped while it restarts does not run.
    @Test func aStopDuringARestartLeavesTheServerStopped() async throws {
        try await withBusyServer { server, cancelled, end in
            async let restarted: Void = server.restart()
            // The restart is at its stop.
            try await cancelled.wait()
            let begun = Gate()
            async let stopped: Void = {
                begun.open()
                await server.stop()
            }()
            try await begun.wait()
            end.open()
            try await restarted
            await stopped
            let isRefused = (try? await RawClient(to: server)) == nil
            // Nobody else answered: the port is free.
            try await withTestServer(port: server.port) { _ in }
            #expect(isRefused)
        }
    }

    /// A caller that is cancelled does not leave the server between two states.
    @Test func aRestartIsMadeThoughItsCallerIsCancelled() async throws {
        try await withBusyServer { server, cancelled, end in
            let restarting = Task { try await server.restart() }
            try await cancelled.wait()
            restarting.cancel()
            end.open()
            try await restarting.value
            let answer = try await response(of: server, to: get("/"))
            #expect(answer.hasPrefix("HTTP/1.1 200"))
        }
    }
}
#endif
