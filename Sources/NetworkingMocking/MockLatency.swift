import NetworkingCore

/// How long each answer takes: a time, and up to so much more.
struct MockLatency: Sendable {
    let least: Duration
    let jitter: Duration

    /// Waits as long as one answer takes, on the environment's clock and by its chance.
    func wait() async throws {
        let environment = NetworkEnvironment.current
        var random = environment.random
        let duration = least + jitter * Double.random(in: 0...1, using: &random)
        guard duration > .zero else { return }
        try await environment.clock.sleep(for: duration)
    }
}
