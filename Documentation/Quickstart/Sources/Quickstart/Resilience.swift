import Foundation
import Networking
import NetworkingTestServer

/// Retries, shared requests and limits: a stack with an unreliable server and many callers.
enum Resilience {
    static func show(_ server: TestServer) async throws {
        try await retries(from: server)
        try await sharing(from: server)
        try await limit(of: server)
    }

    private static func retries(from server: TestServer) async throws {
        Terminal.title("9. Failed requests are retried")
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
        Terminal.say("    attempt 3: \(response.status)")
        try Tour.expect(response.attempts.count == 2, "the third attempt succeeds")

        let post = try await network.data(HTTPRequestData(method: .post, path: "down"))
        Terminal.say("A POST is not sent twice: \(post.status.code), \(post.retryRefusal?.rawValue ?? "")")
        try Tour.expect(post.retryRefusal == .notIdempotent, "a POST is not retried")
    }

    private static func sharing(from server: TestServer) async throws {
        Terminal.title("10. Twenty callers, one exchange")
        Terminal.code(
            """
            let network = URLSession.shared.deduplicated().server(baseURL: server.url)
            // in twenty concurrent tasks: try await network.data(HTTPRequestData(path: "popular"))
            """
        )
        let gate = Gate()
        server.route(.get, "/popular") { _ in
            try await gate.wait()
            return .text("the same for every caller")
        }
        let inFlightRequests = InFlightRequests()
        let network = URLSession.shared.deduplicated(sharing: inFlightRequests).instrument(Tour.instrument)
            .server(baseURL: server.url)
        let calls = (1...20).map { _ in Task { try await network.data(HTTPRequestData(path: "popular")) } }
        while inFlightRequests.waiting < 20 {
            await Task.yield()
        }
        calls[0].cancel()
        gate.open()
        var completed = 0
        for call in calls.dropFirst() {
            completed += try await call.value.data.isEmpty ? 0 : 1
        }
        let exchanges = server.requests(for: .get, path: "/popular").count
        Terminal.say(
            "The first caller was cancelled. \(completed) other callers got the response of \(exchanges) exchange."
        )
        try Tour.expect(completed == 19 && exchanges == 1, "nineteen callers share one exchange")
    }

    private static func limit(of server: TestServer) async throws {
        Terminal.title("11. At most two requests at a time")
        Terminal.code(
            """
            let limiter = ConcurrencyLimiter(max: 2)
            let network = URLSession.shared.throttled(by: limiter).server(baseURL: server.url)
            """
        )
        let gate = Gate()
        server.route(.get, "/pictures/:id") { _ in
            try await gate.wait()
            return .ok
        }
        let limiter = ConcurrencyLimiter(max: 2)
        let network = URLSession.shared.throttled(by: limiter).instrument(Tour.instrument).server(baseURL: server.url)
        let calls = (1...8).map { id in Task { try await network.data(HTTPRequestData(path: "pictures/\(id)")) } }
        while limiter.waiting < 6 {
            await Task.yield()
        }
        Terminal.say("\(limiter.inFlight) are in flight, \(limiter.waiting) wait.")
        gate.open()
        for call in calls {
            _ = try await call.value
        }
        let count = server.requests(for: .get, path: "/pictures/:id").count
        Terminal.say("All \(count) arrived, at most two at the same time.")
        try Tour.expect(count == 8 && limiter.inFlight == 0, "all requests complete")
    }
}
