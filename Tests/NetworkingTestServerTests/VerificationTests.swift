#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

/// Checks of the requests that arrived.
///
/// Each check must fail when it should.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct VerificationTests {
    /// Returns the description of a failed check.
    ///
    /// The test fails if the check passes.
    private func failureDescription(of check: () throws -> Void) throws -> String {
        let error = #expect(throws: TestServerError.self) { try check() }
        return try #require(error).description
    }

    /// A whole test: a reset connection, a truncated response, a successful retry, and no other request.
    @Test func verifiesAWholeScenario() async throws {
        try await withTestServer { server in
            server.enqueueConnections(.reset)
            server.route(
                .get,
                "/report",
                responses: .text("never all of it").disconnecting(.close, at: .responseBody(after: 5)),
                .text("done").preceded(by: .earlyHints("</style.css>; rel=preload")).trailers([.eTag: "\"1\""])
            )
            var responses: [String] = []
            for _ in 1...3 {
                // The client can already fail while it connects, because the server resets the connection.
                guard var client = try? await RawClient(to: server) else { continue }
                try? await client.send(get("/report"))
                responses.append((try? await client.receive(through: "\"1\"\r\n\r\n")) ?? "")
                await client.close()
            }
            #expect(responses.last?.hasSuffix("4\r\ndone\r\n0\r\nETag: \"1\"\r\n\r\n") == true)
            for _ in 1...2 { try await server.takeRequest().expect(.get, "/report") }
            try server.verify()
        }
    }

    @Test func takesRequestsInOrder() async throws {
        try await withTestServer { server in
            server.route("/*") { _ in .ok }
            async let first = server.takeRequest()
            for path in ["/1", "/2", "/3"] { _ = try await response(of: server, to: get(path)) }
            #expect(try await first.path == "/1")
            let third = try await server.takeRequest(.get, "/3")
            #expect(third.path == "/3")
            let second = try await server.takeRequest()
            #expect(second.path == "/2")
            try server.verifyAllClaimed()
            #expect(server.requests.count == 3)
        }
    }

    @Test func concurrentTakersGetDifferentRequests() async throws {
        try await withTestServer { server in
            server.route("/*") { _ in .ok }
            async let first = server.takeRequest()
            async let second = server.takeRequest()
            _ = try await response(of: server, to: get("/1"))
            _ = try await response(of: server, to: get("/2"))
            #expect(try await Set([first.path, second.path]) == ["/1", "/2"])
        }
    }

    @Test func cancelledTakeRequestThrowsCancellationError() async throws {
        try await withTestServer { server in
            let taking = Task { try await server.takeRequest() }
            let takingWithTimeLimit = Task { try await server.takeRequest(within: .seconds(600)) }
            taking.cancel()
            takingWithTimeLimit.cancel()
            await #expect(throws: CancellationError.self) { try await taking.value }
            await #expect(throws: CancellationError.self) { try await takingWithTimeLimit.value }
        }
    }

    @Test func takeRequestTimesOut() async throws {
        try await withTestServer(clock: RecordingClock()) { server in
            server.route("/*") { _ in .ok }
            _ = try await response(of: server, to: get("/other"))
            let error = await #expect(throws: TestServerError.self) {
                try await server.takeRequest(.post, "/users", within: .seconds(3))
            }
            #expect(error?.kind == .noRequest)
            #expect(
                error?.description == """
                    No request matched within 3.0 seconds: a request POST /users. These requests have arrived:
                      1. GET /other (connection 1, request 1)
                    """
            )
        }
    }

    @Test func takeRequestReturnsARequestWithinItsTimeLimit() async throws {
        try await withTestServer(clock: HeldClock()) { server in
            server.route("/*") { _ in .ok }
            async let taken = server.takeRequest(within: .seconds(3))
            _ = try await response(of: server, to: get("/1"))
            #expect(try await taken.path == "/1")
        }
    }

    @Test func takeRequestThrowsIfTheServerStops() async throws {
        let server = try await TestServer.start()
        let taking = Task { try await server.takeRequest() }
        await server.stop()
        for _ in 0..<2 {
            let error = await #expect(throws: TestServerError.self) { try await taking.value }
            #expect(error?.description == "The server stopped before any request arrived. No request has arrived.")
        }
        await #expect(throws: TestServerError.self) { try await server.takeRequest() }
    }

    @Test func verifyReportsRequestsThatWereNotTaken() async throws {
        try await withTestServer { server in
            server.route("/*") { _ in .ok }
            try await withClient(of: server) { client in
                for request in [get("/1"), "POST /2?token=t&page=3 HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"] {
                    try await client.send(request)
                    _ = try await client.receiveResponse()
                }
            }
            try server.verifyAllUsed()
            try server.verifyAllScripted()
            let expected = """
                These requests were not taken:
                  1. GET /1 (connection 1, request 1)
                  2. POST /2?token=<redacted>&page=3, 4 bytes (connection 1, request 2)
                Take each request with takeRequest(), or call forgetRequests() if they do not matter.
                """
            #expect(try failureDescription { try server.verifyAllClaimed() } == expected)
            #expect(try failureDescription { try server.verify() } == expected)
            server.forgetRequests()
            try server.verify()
        }
    }

    @Test func verifyReportsUnusedResponses() async throws {
        try await withTestServer { server in
            server.route(.get, "/unlimited") { _ in .ok }
            server.route(.get, "/users/:id", times: 3) { _ in .ok }
            server.route(.get, "/report", responses: .status(.accepted), .ok)
            _ = try await response(of: server, to: get("/users/1"))
            _ = try await response(of: server, to: get("/report"))
            server.enqueue(.status(.notFound), .hangUp, .reset)
            server.enqueueConnections(.stall)
            server.onConnection(7, .close)
            server.forgetRequests()
            let expected = """
                These scripted responses were not used:
                  1. a queued response: 404 Not Found
                  2. a queued response: a hang-up
                  3. a queued response: a raw response
                  4. a queued connection: stall
                  5. connection 7: close
                  6. the route GET /users/:id, 2 times more
                  7. the route GET /report, once more
                Script only responses that the client requests, or call clearQueue() if they do not matter.
                """
            #expect(try failureDescription { try server.verifyAllUsed() } == expected)
            #expect(try failureDescription { try server.verify() } == expected)
        }
    }

    @Test func verifyReportsAnUnusedSingleResponse() async throws {
        try await withTestServer { server in
            server.route(.get, "/report", responses: .ok)
            let expected = """
                These scripted responses were not used:
                  1. the route GET /report, once more
                Script only responses that the client requests, or call clearQueue() if they do not matter.
                """
            #expect(try failureDescription { try server.verifyAllUsed() } == expected)
            for _ in 0..<2 {
                _ = try await response(of: server, to: get("/report"))
                try server.verifyAllUsed()
            }
        }
    }

    @Test func verifyReportsUnscriptedRequests() async throws {
        struct Broken: Error {}
        try await withTestServer { server in
            server.route("/broken") { _ in throw Broken() }
            _ = try await response(of: server, to: get("/nobody"))
            _ = try await response(of: server, to: get("/broken"))
            _ = try await response(of: server, to: "nonsense\r\n\r\n")
            server.forgetRequests()
            let expected = """
                These requests had no scripted response:
                  1. GET /nobody (connection 1, request 1) got 501: it has no scripted response
                  2. GET /broken (connection 2, request 1) got 500: The handler of GET /broken threw Broken().
                  3. bytes on connection 3 got 400: they are not a request
                Add a route or enqueue a response for each expected request.
                """
            #expect(try failureDescription { try server.verifyAllScripted() } == expected)
            #expect(try failureDescription { try server.verify() } == expected)
        }
    }

    /// A client disconnect cancels its handler, which is no mistake in the script.
    @Test func cancelledHandlerIsNotReported() async throws {
        try await withTestServer { server in
            server.route("/") { _ in
                try await Gate().wait()
                return .ok
            }
            try await withClient(of: server) { client in
                try await client.send(get("/"))
                try await server.waitForRequests(1)
            }
            try await server.waitForOpenConnections(0)
            try server.verifyAllScripted()
        }
    }
}
#endif
