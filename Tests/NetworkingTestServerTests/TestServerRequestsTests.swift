#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct TestServerRequestsTests {
    @Test func waitsUntilRequestsHaveArrived() async throws {
        try await withTestServer { server in
            async let arrived = server.waitForRequests(2)
            _ = try await response(of: server, to: get("/1"))
            _ = try await response(of: server, to: get("/2"))
            _ = try await response(of: server, to: get("/3"))
            #expect(try await arrived.map(\.path) == ["/1", "/2"])
            #expect(try await server.waitForRequests(1).map(\.path) == ["/1"])
        }
    }

    @Test func doesNotWaitForZeroRequests() async throws {
        try await withTestServer { server in
            let none = try await server.waitForRequests(0)
            #expect(none == [])
        }
    }

    @Test func waitingThrowsWhenTheTaskIsCancelled() async throws {
        try await withTestServer { server in
            let waiting = Task { try await server.waitForRequests(1) }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
    }

    @Test func waitingThrowsWhenTheServerStops() async throws {
        let server = try await TestServer.start()
        let waiting = Task { try await server.waitForRequests(1) }
        await server.stop()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await #expect(throws: CancellationError.self) { try await server.waitForRequests(1) }
    }

    @Test func countsRequestsInFlight() async throws {
        try await withTestServer { server in
            let gate = Gate()
            server.route("/") { _ in
                try await gate.wait()
                return .ok
            }
            async let first = response(of: server, to: get("/"))
            async let second = response(of: server, to: get("/"))
            try await server.waitForRequests(2)
            #expect(server.activeRequests == 2)
            gate.open()
            _ = try await (first, second)
            #expect(server.activeRequests == 0)
            #expect(server.peakActiveRequests == 2)
        }
    }

    /// The server must count a request as complete before the client can read its response and send the next one.
    @Test(arguments: [
        .ok, .text("data"), .status(.noContent), TestResponse(body: .chunks(["a", "b"])),
        TestResponse(body: .sized(["a", "b"])),
    ])
    func completedRequestIsNotInFlight(response scripted: TestResponse) async throws {
        try await withTestServer { server in
            server.route("/") { _ in scripted }
            try await withClient(of: server) { first in
                try await withClient(of: server) { second in
                    for _ in 0..<25 {
                        try await first.send(get("/"))
                        _ = try await first.receiveResponse()
                        try await second.send(get("/"))
                        _ = try await second.receiveResponse()
                    }
                }
            }
            #expect(server.activeRequests == 0)
            #expect(server.peakActiveRequests == 1)
        }
    }
}
#endif
