#if URLSession && AsyncHTTPClient && SQLite
import Networking

/// The cost of a test over a mock.
enum Mocks {
    static func measure() async throws -> [Row] {
        let slowness = try await Overhead.slowness()
        var best = Duration.seconds(3_600)
        for _ in 0..<5 {
            // A mock stores its requests, so each round has a new one.
            let transport = MockTransport()
            transport.on(.get, "/users/:id", .json(text: #"{"id":42}"#))
            let network = transport.stackOfNine(authority: "api.example.com")
            let clock = ContinuousClock()
            let start = clock.now
            for id in 0..<10_000 {
                _ = try await network.data(HTTPRequestData(path: "/users/\(id)"))
            }
            best = min(best, clock.now - start)
        }
        return [
            Row(
                name: "10,000 requests through nine modifiers over a mock",
                value: best / .milliseconds(1),
                unit: "ms",
                gate: 1_000 * slowness
            )
        ]
    }
}
#endif
