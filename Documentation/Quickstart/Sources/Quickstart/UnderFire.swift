import Foundation
import Networking
import NetworkingTestServer

/// What a stack does when its network is bad or its callers are many.
enum UnderFire {
    static func show(_ server: TestServer) async throws {
        try await retries(from: server)
        try await sharing(from: server)
        try await aThrottle(before: server)
    }

    private static func retries(from server: TestServer) async throws {
        Terminal.title("9. What fails may be tried again")
        Terminal.code(
            """
            let network = URLSession.shared
                .retry(.exponential(base: .milliseconds(20)))
                .deadline(.seconds(5))
                .server(baseURL: server.url)
            let response = try await network.data(HTTPRequestData(path: "busy"))
            """
        )
        let network = URLSession.shared
            .retry(.exponential(base: .milliseconds(20)))
            .deadline(.seconds(5))
            .instrument(Tour.instrument).server(baseURL: server.url)
        let response = try await network.data(HTTPRequestData(path: "busy"))
        for attempt in response.attempts {
            Terminal.say("    attempt \(attempt)")
        }
        Terminal.say("And then: \(response.status)")
        try Tour.expect(response.attempts.count == 2, "the third attempt succeeds")

        let post = try await network.data(HTTPRequestData(method: .post, path: "down"))
        Terminal.say("A POST is not sent twice: \(post.status.code), \(post.retryRefusal?.rawValue ?? "")")
        try Tour.expect(post.retryRefusal == .notIdempotent, "a POST is not tried again")
    }

    private static func sharing(from server: TestServer) async throws {
        Terminal.title("10. Twenty callers, one exchange")
        Terminal.code(
            """
            let network = URLSession.shared.deduplicated().server(baseURL: server.url)
            // … twenty tasks at once: try await network.data(HTTPRequestData(path: "popular"))
            """
        )
        let gate = Gate()
        server.route(.get, "/popular") { _ in
            try await gate.wait()
            return .text("the same for all")
        }
        let flights = Flights()
        let network = URLSession.shared.deduplicated(sharing: flights).instrument(Tour.instrument)
            .server(baseURL: server.url)
        let calls = (1...20).map { _ in Task { try await network.data(HTTPRequestData(path: "popular")) } }
        while flights.waiting < 20 {
            await Task.yield()
        }
        calls[0].cancel()
        gate.open()
        var answered = 0
        for call in calls.dropFirst() {
            answered += try await call.value.data.isEmpty ? 0 : 1
        }
        let exchanges = server.requests(for: .get, path: "/popular").count
        Terminal.say("The first caller gave up. \(answered) others were answered, by \(exchanges) exchange.")
        try Tour.expect(answered == 19 && exchanges == 1, "nineteen callers are answered by one exchange")
    }

    private static func aThrottle(before server: TestServer) async throws {
        Terminal.title("11. No more than two at a time")
        Terminal.code(
            """
            let slots = ConcurrencyLimiter(max: 2)
            let network = URLSession.shared.throttled(by: slots).server(baseURL: server.url)
            """
        )
        let gate = Gate()
        server.route(.get, "/pictures/:id") { _ in
            try await gate.wait()
            return .ok
        }
        let slots = ConcurrencyLimiter(max: 2)
        let network = URLSession.shared.throttled(by: slots).instrument(Tour.instrument).server(baseURL: server.url)
        let calls = (1...8).map { id in Task { try await network.data(HTTPRequestData(path: "pictures/\(id)")) } }
        while slots.waiting < 6 {
            await Task.yield()
        }
        Terminal.say("\(slots.inFlight) are under way, \(slots.waiting) wait their turn.")
        gate.open()
        for call in calls {
            _ = try await call.value
        }
        let count = server.requests(for: .get, path: "/pictures/:id").count
        Terminal.say("All \(count) arrived, never more than two at once.")
        try Tour.expect(count == 8 && slots.inFlight == 0, "all are answered")
    }
}
