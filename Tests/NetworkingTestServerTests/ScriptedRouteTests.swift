#if TestServer
import HTTPTypes
import NetworkingTestServer
import TestSupport
import Testing

/// Routes with a limited number of uses, and the routes, queue and dispatcher around them.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct ScriptedRouteTests {
    /// Sends requests in turn and returns the bodies of the responses.
    private func bodies(of server: TestServer, to paths: String...) async throws -> [String] {
        var bodies: [String] = []
        for path in paths {
            let received = try await response(of: server, to: get(path))
            bodies.append(String(received[(received.firstRange(of: "\r\n\r\n")?.upperBound ?? received.endIndex)...]))
        }
        return bodies
    }

    @Test func routeRespondsTheGivenNumberOfTimes() async throws {
        try await withTestServer { server in
            server.route("/*") { _ in .text("fixture") }
            let route = server.route(.get, "/a", times: 2) { _ in .text("test") }
            #expect(route.uses == 0)
            let responses = try await bodies(of: server, to: "/a", "/b", "/a", "/a")
            #expect(responses == ["test", "fixture", "test", "fixture"])
            #expect(route.uses == 2)
        }
    }

    @Test func sendsResponsesInOrderAndRepeatsTheLast() async throws {
        try await withTestServer { server in
            server.route(.get, "/a", responses: .text("1"), .text("2"))
            let responses = try await bodies(of: server, to: "/a", "/a", "/a")
            #expect(responses == ["1", "2", "2"])
        }
    }

    @Test func removesARoute() async throws {
        try await withTestServer { server in
            server.route("/a") { _ in .text("old") }
            let route = server.route("/a") { _ in .text("new") }
            let new = try await bodies(of: server, to: "/a")
            #expect(new == ["new"])
            route.remove()
            route.remove()
            let old = try await bodies(of: server, to: "/a")
            #expect(old == ["old"])
        }
    }

    @Test func dispatcherHandlesUnroutedRequests() async throws {
        try await withTestServer { server in
            server.dispatch { _ in .text("replaced") }
            server.dispatch { request in request.path == "/nobody" ? nil : .text("dispatched \(request.path)") }
            server.route("/route") { _ in .text("route") }
            server.enqueue(.text("queue"))
            let responses = try await bodies(of: server, to: "/route", "/route", "/a")
            #expect(responses == ["queue", "route", "dispatched /a"])
            let unhandled = try await response(of: server, to: get("/nobody"))
            #expect(unhandled.hasPrefix("HTTP/1.1 501 "))
        }
    }

    @Test func missingRouteListsTheMethodsOfItsPath() async throws {
        try await withTestServer { server in
            server.route(.get, "/users/:id") { _ in .ok }
            server.route(.delete, "/users/*") { _ in .ok }
            server.route(.get, "/users/*") { _ in .ok }
            server.route(.put, "/other") { _ in .ok }
            let received = try await response(of: server, to: "OPTIONS /users/1 HTTP/1.1\r\n\r\n")
            #expect(received.hasSuffix("enqueue a response. This path is scripted for GET, DELETE."))
        }
    }

    @Test func exposesAndClearsTheQueue() async throws {
        try await withTestServer { server in
            server.route("/") { _ in .text("route") }
            server.enqueue(.status(.notFound), .status(.gone))
            #expect(server.queuedResponses.map(\.status) == [.notFound, .gone])
            _ = try await response(of: server, to: get("/"))
            #expect(server.queuedResponses.map(\.status) == [.gone])
            server.enqueueConnections(.close)
            server.clearQueue()
            #expect(server.queuedResponses.isEmpty)
            let responses = try await bodies(of: server, to: "/")
            #expect(responses == ["route"])
        }
    }
}
#endif
