#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

/// Fixed ports, and servers that restart on their port.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct PortTests {
    @Test func errorNamesThePortInUse() async throws {
        try await withTestServer { server in
            let error = await #expect(throws: TestServerError.self) { try await TestServer.start(port: server.port) }
            #expect(error?.kind == .portTaken)
            #expect(
                error?.description == """
                    Port \(server.port) of 127.0.0.1 is in use: another process, or another test of this process, listens there. \
                    Omit the port to use a free one, or end the other listener.
                    """
            )
        }
    }

    /// Connections that the server closed stay in the system for some time, but do not block the port.
    @Test func startsOnThePortOfAStoppedServer() async throws {
        try await retryingTakenPort {
            let port = try await withTestServer { server in
                server.enqueue(.ok)
                _ = try await response(of: server, to: "GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
                return server.port
            }
            try await withTestServer(port: port) { server in
                #expect(server.port == port)
                server.enqueue(.text("second"))
                let received = try await response(of: server, to: get("/"))
                #expect(received.hasSuffix("second"))
            }
        }
    }

    @Test func restartsOnItsPort() async throws {
        try await retryingTakenPort {
            try await withTestServer { server in
                server.route("/") { _ in .text("\(server.acceptedConnections)") }
                var kept = try await RawClient(to: server)
                try await kept.send(get("/"))
                _ = try await kept.receiveResponse()

                await server.stop()
                let isRefused = (try? await RawClient(to: server)) == nil
                try await server.restart()
                #expect(isRefused)
                #expect(try await kept.receiveToEnd() == "")
                await kept.close()

                let arrived = try await server.waitForRequests(1)
                #expect(arrived.count == 1)
                let received = try await response(of: server, to: get("/"))
                #expect(received.hasSuffix("\r\n2"))
                async let third = server.takeRequest(.get, "/third")
                _ = try await response(of: server, to: get("/third"))
                #expect(try await third.connection == 3)
            }
        }
    }

    @Test func restartStopsARunningServer() async throws {
        try await retryingTakenPort {
            try await withTestServer { server in
                server.route("/") { _ in .ok }
                try await withClient(of: server) { client in
                    try await server.restart()
                    #expect(try await client.receiveToEnd() == "")
                }
                let received = try await response(of: server, to: get("/"))
                #expect(received.hasPrefix("HTTP/1.1 200"))
            }
        }
    }

    @Test func restartFailsIfThePortIsInUse() async throws {
        try await retryingTakenPort {
            let server = try await TestServer.start()
            await server.stop()
            try await withTestServer(port: server.port) { _ in
                let error = await #expect(throws: TestServerError.self) { try await server.restart() }
                #expect(error?.kind == .portTaken)
            }
            await server.stop()
        }
    }

    /// Another process can take a port that the scenario released.
    ///
    /// The scenario then runs again.
    @Test func runsAScenarioAgainIfItsPortWasTaken() async throws {
        var ports: [Int] = []
        try await retryingTakenPort {
            let server = try await TestServer.start()
            await server.stop()
            ports.append(server.port)
            guard ports.count == 1 else { return }
            try await withTestServer(port: server.port) { _ in try await server.restart() }
        }
        #expect(ports.count > 1)
    }
}
#endif
