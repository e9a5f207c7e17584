import NetworkingCore

/// The delay of each response: a minimum and a random jitter.
struct MockLatency: Sendable {
    let minimum: Duration
    let jitter: Duration

    /// Waits for the delay of one response, using the environment's clock and random source.
    func wait() async throws {
        let environment = NetworkEnvironment.current
        var random = environment.random
        let duration = minimum + jitter * Double.random(in: 0...1, using: &random)
        guard duration > .zero else { return }
        try await environment.clock.sleep(for: duration)
    }
}
