#if TestServer
import FoundationForNetworking
import NetworkingTestServer
import Testing
import TestSupport

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TestServerTests {
    @Test func acceptsConnectionsOnceStarted() async throws {
        let server = try await TestServer.start()
        let client = try await RawClient(to: server)
        await client.close()
        await server.stop()
    }

    @Test func namesItsAddress() async throws {
        try await withTestServer { server in
            #expect(server.port > 0)
            #expect(server.authority == "127.0.0.1:\(server.port)")
            #expect(server.url.absoluteString == "http://127.0.0.1:\(server.port)")
        }
    }

    @Test func refusesConnectionsOnceStopped() async throws {
        try await retryingTakenPort {
            let server = try await TestServer.start()
            await server.stop()
            let isRefused = (try? await RawClient(to: server)) == nil
            // If another process had the port, this server could not start on it.
            try await withTestServer(port: server.port) { _ in }
            #expect(isRefused)
        }
    }

    @Test func stopsTwice() async throws {
        let server = try await TestServer.start()
        await server.stop()
        await server.stop()
    }

    @Test func stopClosesIdleConnections() async throws {
        let server = try await TestServer.start()
        server.route("/") { _ in .ok }
        var client = try await RawClient(to: server)
        try await client.send(get("/"))
        _ = try await client.receiveResponse()
        await server.stop()
        #expect(try await client.receiveToEnd() == "")
        await client.close()
    }

    @Test func stopCancelsWaitingHandlers() async throws {
        let server = try await TestServer.start()
        let cancelled = Gate()
        server.route("/") { _ in try await neverOpened(reporting: cancelled) }
        var client = try await RawClient(to: server)
        try await client.send(get("/"))
        try await server.waitForRequests(1)
        await server.stop()
        #expect(cancelled.isOpen)
        #expect(server.activeRequests == 0)
        #expect(try await client.receiveToEnd() == "")
        await client.close()
    }

    @Test func stopEndsAHeldBody() async throws {
        let server = try await TestServer.start()
        let gate = Gate()
        server.enqueue(TestResponse(body: .chunks(["a", TestResponse.Chunk("b", gate: gate)])))
        var client = try await RawClient(to: server)
        try await client.send(get("/"))
        _ = try await client.receive(through: "a\r\n")
        await server.stop()
        #expect(try await client.receiveToEnd() == "")
        await client.close()
    }

    @Test func keepsRecordedRequestsAfterStopping() async throws {
        let server = try await TestServer.start()
        _ = try await response(of: server, to: get("/kept"))
        await server.stop()
        #expect(server.requests.map(\.path) == ["/kept"])
    }

    @Test func clientDisconnectCancelsTheHandler() async throws {
        try await withTestServer { server in
            let cancelled = Gate()
            server.route("/") { _ in try await neverOpened(reporting: cancelled) }
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                try await server.waitForRequests(1)
            }
            try await cancelled.wait()
            // Other connections still work.
            server.enqueue(.ok)
            let received = try await response(of: server, to: get("/"))
            #expect(received.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func servesManyConnectionsAtTheSameTime() async throws {
        try await withTestServer { server in
            let gate = Gate()
            server.route("/:number") { request in
                try await gate.wait()
                return .text(request.parameters["number"] ?? "")
            }
            try await withThrowingTaskGroup { group in
                for number in 1...20 {
                    group.addTask {
                        try await response(of: server, to: get("/\(number)")).hasSuffix("\r\n\r\n\(number)")
                    }
                }
                try await server.waitForRequests(20)
                #expect(server.activeRequests == 20)
                gate.open()
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test func serversRunSideBySide() async throws {
        try await withTestServer { first in
            try await withTestServer { second in
                first.enqueue(.text("first"))
                second.enqueue(.text("second"))
                let fromSecond = try await response(of: second, to: get("/"))
                #expect(fromSecond.hasSuffix("\r\nsecond"))
                let fromFirst = try await response(of: first, to: get("/"))
                #expect(fromFirst.hasSuffix("\r\nfirst"))
            }
        }
    }

    /// The system reuses the number of a closed socket for the next one, so no state of the old one may remain.
    @Test func servesManyShortConnections() async throws {
        try await withTestServer { server in
            server.route("/") { _ in .text("ok") }
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<100 {
                            let request = "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"
                            let received = try await response(of: server, to: request)
                            #expect(received.hasSuffix("\r\nok"))
                        }
                    }
                }
            }
            #expect(server.requests.count == 400)
        }
    }
}

/// Waits until the task is cancelled, then opens a gate.
private func neverOpened(reporting cancelled: Gate) async throws -> TestResponse {
    defer { cancelled.open() }
    try await Gate().wait()
    return .ok
}
#endif
